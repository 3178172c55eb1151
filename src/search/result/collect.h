/* collect.h: aggregations and groups over the documents that a query found.
 *
 * Documents come segment after segment, each with the bucket that it belongs to: 0 at the top, and
 * below a group-by the number of the group. */
#ifndef SEARCH_RESULT_COLLECT_H
#define SEARCH_RESULT_COLLECT_H

#include "search/query/node.h"
#include "search/result/top.h"

#define COLLECT_NAMES_MAX 32 /* aggregations, or group-bys, of one level */
#define COLLECT_LEVELS_MAX 5
#define GROUPS_MAX 2000
#define BUCKETS_MAX (1u << 20) /* groups of a request, of all levels */

struct collect {
    struct ctx *c;
    const struct search_schema *schema;
    const struct view *view;
    const struct part_set *needs; /* as of struct query */
    struct held_parts *held;      /* as well */
    bool rows;                    /* some aggregation gives rows: keys are looked at */
    size_t bytes_max;             /* what all aggregations of the request may hold */
    size_t bytes;                 /* held, about */
    size_t buckets;
    bool over;         /* more than it may */
    uint64_t expected; /* documents that the query finds in the segment, about */
    int64_t now_ms;
    /* The row of a key, without attributes: for TOP_ROWS. */
    int (*row)(void *arg, bytes key, struct wr_row *out);
    void *row_arg;
};

/* ---- one aggregation (metric.c) ---- */

struct metric;
int metric_make(struct collect *k, const struct wr_aggregation *a, struct metric **out);
void metric_segment(struct metric *m, const struct segment *s);
void metric_add(struct metric *m, uint32_t doc, uint32_t bucket);
/* The documents of a window, all of bucket 0. */
void metric_window(struct metric *m, uint32_t base, const uint64_t *bits);
int metric_result(struct metric *m, uint32_t bucket, struct wr_aggregation_result *out);
/* What groups are sorted by. */
double metric_value(struct metric *m, uint32_t bucket);

/* ---- one group-by (group.c) ---- */

struct group_by;
int group_make(struct collect *k, const struct wr_group_by *g, int level, struct group_by **out);
int group_segment(struct group_by *g, const struct segment *s);
/* Before documents of a window come. */
void group_window(struct group_by *g, uint32_t base, const uint64_t *bits);
void group_add(struct group_by *g, uint32_t doc, uint32_t bucket);
/* The documents of a window, all of bucket 0. */
void group_add_window(struct group_by *g, uint32_t base, const uint64_t *bits);
/* Behind the last document. */
void group_finish(struct group_by *g);
int group_result(struct group_by *g, uint32_t bucket, struct wr_group_by_result *out);

/* ---- those of one level (collectors.c) ---- */

struct collectors {
    struct collect *k;
    struct metric **metrics;
    const struct wr_aggregation *aggregations;
    size_t metric_count;
    struct group_by **groups;
    size_t group_count;
};

/* Checks and makes them. E_PARAMETER. */
int collectors_make(struct collect *k, const struct wr_aggregation *aggregations,
                    size_t aggregation_count, const struct wr_group_by *group_bys,
                    size_t group_by_count, int level, struct collectors *out);
int collectors_segment(struct collectors *s, const struct segment *segment);
/* No more documents of that segment come; nothing of it is looked at from now on. */
void collectors_segment_end(struct collectors *s);
void collectors_window(struct collectors *s, uint32_t base, const uint64_t *bits);
void collectors_add(struct collectors *s, uint32_t doc, uint32_t bucket);
/* The documents of a window, all of bucket 0; collectors_window() is not needed before. */
void collectors_add_window(struct collectors *s, uint32_t base, const uint64_t *bits);
int collectors_result(struct collectors *s, uint32_t bucket,
                      const struct wr_aggregation_result **aggregations,
                      const struct wr_group_by_result **group_bys);
static inline bool collectors_any(const struct collectors *s)
{
    return s->metric_count || s->group_count;
}

#endif
