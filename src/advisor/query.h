/* query.h: the reads that a key must serve, in the advisor's words: "CardID=, time range". */
#ifndef ADVISOR_QUERY_H
#define ADVISOR_QUERY_H

#include "advisor/layout_form.h"
#include "base/ctx.h"

#define QUERY_PARTS_MAX 8
#define QUERIES_MAX 16

struct query {
    bytes text;
    size_t equal[QUERY_PARTS_MAX]; /* columns */
    size_t equal_count;
    size_t range;   /* a column read in order; SIZE_MAX: none */
    bool unordered; /* the order of that column's texts is not the one that is meant (dates) */
};

/* How a key serves a query, best first. */
enum reach {
    REACH_RANGE,     /* one range within one partition key */
    REACH_ORDER,     /* one range over partitions, in order */
    REACH_MERGE,     /* one range in each bucket, merged in order by the server */
    REACH_PARTITION, /* one range that holds more than was asked for: the rest is filtered out */
    REACH_LOST,      /* the whole table is read */
};

/* Parses "COL=, COL range; COL=" into queries[*count...]. Refuses what it does not understand, with
 * the place in the text. */
int query_parse(struct ctx *c, const char *text, const bytes *names, size_t name_count,
                struct query *queries, size_t *count);

/* How rows under a key of `columns` are reached, the first `partition` of them (1 unless the
 * partition key is composite) being the partition key. */
enum reach query_reach(const struct query *q, const size_t *columns, size_t count, size_t partition,
                       struct layout_form layout);

const char *reach_name(enum reach reach); /* "range" */
const char *reach_text(enum reach reach); /* "one range in one partition" */

#endif
