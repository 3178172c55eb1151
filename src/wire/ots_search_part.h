/* ots_search_part.h: what the files of the messages of search indexes share. Each message is
 * written beside where it is read.
 *
 *   ots_search.c         what reads an index    ots_search_index.c  what indexes there are
 *   ots_search_schema.c  schemas             ots_search_sort.c    sorting, highlights
 *   ots_search_query.c   queries             ots_search_score.c   functions of scores
 *   ots_search_group.c   aggregations        ots_search_result.c  what they give
 *
 * Readers fill in what a client may leave out, and refuse what is no message, what has no meaning,
 * and what is nested too deep or is too much in all. Views point into the bytes that were read. */
#ifndef WIRE_OTS_SEARCH_PART_H
#define WIRE_OTS_SEARCH_PART_H

#include "wire/ots_part.h"
#include "wire/pb_read.h"

#define SEARCH_DEPTH_MAX 20
#define SEARCH_PARTS_MAX 65536 /* queries, fields, sorters, values, groups: all together */

/* One reading. */
struct search_read {
    struct ctx *c;
    const char *text; /* what is said of bytes that are no message */
    uint32_t depth;
    size_t parts;
};

static inline struct search_read search_read_request(struct ctx *c)
{
    return (struct search_read){.c = c, .text = ots_text_parse};
}

/* Of answers: they are as large as the server made them. */
static inline struct search_read search_read_reply(struct ctx *c)
{
    return (struct search_read){.c = c, .text = ots_text_reply};
}

/* Around what may hold more of its kind. */
int search_enter(struct search_read *s);
static inline void search_leave(struct search_read *s)
{
    s->depth--;
}

/* Once the loop over a message is over. */
int search_end(struct search_read *s, const struct pb_reader *r);

/* Memory for n things, cleared. */
int search_items(struct search_read *s, size_t n, size_t item_bytes, void *out);

/* A value as bytes. */
int search_value(struct search_read *s, struct pb_reader *r, struct wr_value *out);
void search_put_value(struct buf *b, unsigned field, const struct wr_value *v); /* WR_NULL: none */

/* The field's texts, which stand in the message `in`. */
int search_texts(struct search_read *s, bytes in, unsigned field, const bytes **out, size_t *count);

/* A number of the protocol between these two; `what` names it. */
int search_enum(struct search_read *s, struct pb_reader *r, int32_t least, int32_t most,
                const char *what, int32_t *out);

/* What aggregations, group-bys and their results are on the wire: a name, a type from 1 to `most`,
 * and the bytes of the message of that type. */
struct search_named {
    bytes name; /* ptr NULL: not there */
    bytes body;
    int32_t type; /* 0: not there */
};
int search_read_named(struct search_read *s, bytes in, int32_t most, const char *what,
                      struct search_named *out);

/* `what` needs `member`. */
int search_need(struct search_read *s, bool given, const char *what, const char *member);

static inline void search_put_optional(struct buf *b, unsigned field, bytes v)
{
    if (v.ptr)
        pb_put_bytes(b, field, v);
}

static inline bytes search_optional(int has, ProtobufCBinaryData field)
{
    return has ? pb_view(field) : BYTES_NONE;
}

/* What all requests begin with. */
static inline void search_put_name(struct buf *b, bytes table, bytes index)
{
    pb_put_bytes(b, 1, table);
    pb_put_bytes(b, 2, index);
}

/* With nothing for 0. */
static inline void search_put_given(struct buf *b, unsigned field, int64_t v)
{
    if (v)
        pb_put_int(b, field, v);
}

/* ---- messages; the puts write the field with its head */

int search_read_schema(struct search_read *s, bytes in, struct wr_search_schema *out);
int search_read_field(struct search_read *s, bytes in, struct wr_field_schema *out);
/* `effective`: all that holds, as an answer tells it; else what was given. */
void search_put_schema(struct buf *b, unsigned field, const struct wr_search_schema *schema,
                       bool effective);
void search_put_field(struct buf *b, unsigned field, const struct wr_field_schema *f,
                      bool effective);

int search_read_condition(struct search_read *s, bytes in, struct wr_search_condition *out);
/* The same, in memory of its own. */
int search_read_query(struct search_read *s, bytes in, const struct wr_search_condition **out);
void search_put_condition(struct buf *b, unsigned field, const struct wr_search_condition *q);

int search_read_functions(struct search_read *s, bytes in, struct wr_functions_condition *out);
void search_put_functions(struct buf *b, const struct wr_functions_condition *f);

int search_read_sort(struct search_read *s, bytes in, struct wr_sort *out);
void search_put_sort(struct buf *b, unsigned field, const struct wr_sort *sort);
int search_read_order(struct search_read *s, struct pb_reader *r, enum wr_order *out);
int search_read_highlight(struct search_read *s, bytes in, struct wr_highlight *out);
void search_put_highlight(struct buf *b, unsigned field, const struct wr_highlight *h);
int search_read_inner_hits(struct search_read *s, bytes in, struct wr_inner_hits *out);
void search_put_inner_hits(struct buf *b, unsigned field, const struct wr_inner_hits *h);

int search_read_interval(struct search_read *s, bytes in, struct wr_date_interval *out);
void search_put_interval(struct buf *b, unsigned field, const struct wr_date_interval *v);

int search_read_aggregations(struct search_read *s, bytes in, const struct wr_aggregation **out,
                             size_t *count);
void search_put_aggregations(struct buf *b, unsigned field, const struct wr_aggregation *list,
                             size_t n);
int search_read_group_bys(struct search_read *s, bytes in, const struct wr_group_by **out,
                          size_t *count);
void search_put_group_bys(struct buf *b, unsigned field, const struct wr_group_by *list, size_t n);

int search_read_aggregation_results(struct search_read *s, bytes in,
                                    const struct wr_aggregation_result **out, size_t *count);
void search_put_aggregation_results(struct buf *b, unsigned field,
                                    const struct wr_aggregation_result *list, size_t n);
int search_read_group_by_results(struct search_read *s, bytes in,
                                 const struct wr_group_by_result **out, size_t *count);
void search_put_group_by_results(struct buf *b, unsigned field,
                                 const struct wr_group_by_result *list, size_t n);

/* Rows, each a field of its own. */
int search_read_row(struct search_read *s, bytes in, struct wr_row *out);
void search_put_rows(struct buf *b, unsigned field, const struct wr_row *rows, size_t n);

#endif
