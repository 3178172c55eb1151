#include "sql/run/reach.h"

#include "sql/run/order.h"

#include <ctype.h>

/* ---- what there is ---- */

/* Of a layout as text: how many first key columns tell a row's bucket; 0: all of them do together.
 */
static size_t columns_together(bytes layout)
{
    bytes splice = BYTES_LIT("splice:"), random = BYTES_LIT("random:");
    size_t at = 0, columns = 1;

    if (layout.len > splice.len && memcmp(layout.ptr, splice.ptr, splice.len) == 0) {
        columns = 0;
        for (at = splice.len; at < layout.len && isdigit(bytes_u8(layout)[at]); at++)
            columns = 10 * columns + (size_t)(bytes_u8(layout)[at] - '0');
        at++; /* + */
    }
    if (at + random.len <= layout.len && memcmp(bytes_u8(layout) + at, random.ptr, random.len) == 0)
        return 0;
    return columns;
}

static void bounds_look(struct reach *p)
{
    for (size_t i = 0; i < p->count; i++) {
        p->buckets |= p->list[i].begin_bucket > 0;
        p->values_are_cut |= p->list[i].begin_more_count > 0;
    }
}

int reach_find(struct run *r, const struct sql_table *t, const struct table_path *path,
               struct reach **out)
{
    struct wr_request request = {WR_REQUEST(DESCRIBE_PARTITIONS), .instance = t->database};
    struct wr_request read = {WR_REQUEST(GET_RANGE), .instance = t->database};
    const struct wr_reply *reply;
    int code;

    read.get_range.table = t->name;
    request.describe_partitions.table = path->name;
    RUN_TRY(run_allowed(r, &read));
    session_wait_begin(r->session);
    code = run_exec(r, &request, &reply);
    session_wait_end(r->session);
    if (code)
        return -1;
    *out = ARENA_NEW(r->arena, struct reach);
    **out = (struct reach){.list = reply->partitions.partitions,
                           .count = reply->partitions.count,
                           .stored_bytes = reply->partitions.stored_bytes,
                           .table = t,
                           .path = path,
                           .together = path->given ? path->hashed
                                                   : columns_together(t->description->layout)};
    bounds_look(*out);
    return 0;
}

struct reached reached_none(struct run *r, const struct reach *reach)
{
    return (struct reached){.marks = ARENA_ARRAY(r->arena, bool, reach->count)};
}

/* ---- bounds ---- */

static int infinity(enum wr_type type)
{
    return type == WR_INF_MIN ? -1 : type == WR_INF_MAX;
}

/* A partition's bound against one of a walk, in the order of keys. */
static int bound_order(struct run *r, const struct reach *p, const struct wr_value *first,
                       const struct wr_value *more, size_t more_count, const struct wr_key *key)
{
    static const struct wr_value least = {.type = WR_INF_MIN};

    for (size_t i = 0; i < key->count; i++) {
        const struct wr_value *x = i == 0 ? first : i <= more_count ? &more[i - 1] : &least;
        const struct wr_value *y = &key->columns[i].value;
        int order = infinity(x->type) - infinity(y->type);

        if (!order && !infinity(x->type)) {
            order = value_order(r->arena, x, y);
            if (p->path->descending[i])
                order = -order;
        }
        if (order)
            return order;
    }
    return 0;
}

static bool begins_before(struct run *r, const struct reach *p, const struct wr_partition *q,
                          const struct key_part *part)
{
    int order = bound_order(r, p, &q->begin, q->begin_more, q->begin_more_count, &part->end);

    return order < 0 || (order == 0 && part->with_end);
}

static bool ends_behind(struct run *r, const struct reach *p, const struct wr_partition *q,
                        const struct key_part *part)
{
    return bound_order(r, p, &q->end, q->end_more, q->end_more_count, &part->start) > 0;
}

static bool is_reached(struct run *r, const struct reach *p, size_t i, const struct key_part *part)
{
    const struct wr_partition *q = &p->list[i];
    uint32_t last = p->buckets && i + 1 == p->count ? UINT32_MAX : q->end_bucket;

    if (!p->buckets || q->begin_bucket == last)
        return begins_before(r, p, q, part) && ends_behind(r, p, q, part);
    /* The part is walked in each bucket; between its first and its last one a partition has all. */
    return last - q->begin_bucket > 1 || begins_before(r, p, q, part) || ends_behind(r, p, q, part);
}

void reach_mark(struct run *r, const struct reach *reach, const struct key_part *part, size_t equal,
                struct reached *to)
{
    bool one_bucket = reach->buckets && reach->together && equal >= reach->together;

    if (one_bucket && !reach->values_are_cut) {
        to->somewhere++;
        return;
    }
    for (size_t i = 0; i < reach->count; i++) {
        bool is = is_reached(r, reach, i, part);

        to->somewhere += one_bucket && is;
        to->marks[i] = to->marks[i] || (is && !one_bucket);
    }
}

bytes reached_text(struct arena *a, const struct reach *reach, const struct reached *to)
{
    size_t n = 0;

    for (size_t i = 0; i < reach->count; i++)
        n += to->marks[i];
    if (!to->somewhere || n == reach->count)
        return arena_printf(a, "%zu", n);
    n += to->somewhere;
    return arena_printf(a, n == 1 ? "%zu" : "at most %zu", n < reach->count ? n : reach->count);
}
