/* split.c: ComputeSplitPointsBySize.
 *
 * The stored size of a key range can be asked of the engine, so the place where the table's first n
 * bytes end is found by halving the range of keys as numbers, and then moved to the next row that
 * is really there. */
#include "table/call.h"
#include "table/halve.h"
#include "table/key.h"
#include "table/meter.h"
#include "table/name.h"
#include "table/route.h"
#include "table/sweep.h"
#include "table/wait.h"

#include <inttypes.h>

#define UNIT_BYTES_MIN (1 << 20)
#define UNIT_BYTES_DEFAULT (100ll << 20)
#define SPLITS_MAX 10000
#define MEASURED_MAX 16 /* partitions of which none is taken as it was measured last */

struct split_op {
    struct job job;
    struct call *call;
    struct table *table;
};

/* Heads and cells of one bucket whose encoded key columns lie in [from, to); empty ends are open.
 */
static void bucket_ranges(struct split_op *op, size_t bucket, bytes from, bytes to,
                          struct key_range ranges[2])
{
    struct arena *a = &op->call->c.arena;
    uint32_t id = op->table->schema.place.id;

    for (int i = 0; i < 2; i++) {
        enum key_kind kind = i ? KIND_CELL : KIND_HEAD;
        struct buf start, end;

        buf_init(&start, a, KEY_PREFIX_BYTES + from.len);
        key_put_prefix(&start, id, (uint8_t)bucket, kind);
        buf_put_bytes(&start, from);
        buf_init(&end, a, KEY_PREFIX_BYTES + to.len);
        key_put_prefix(&end, id, (uint8_t)bucket, to.len ? kind : kind + 1);
        buf_put_bytes(&end, to);
        ranges[i] = (struct key_range){buf_bytes(&start), buf_bytes(&end)};
    }
}

/* Bytes stored for the rows in [from, to). */
static int size_between(struct split_op *op, bytes from, bytes to, uint64_t *out)
{
    size_t buckets = op->table->schema.place.layout.buckets;
    struct key_range *ranges = ARENA_ARRAY(&op->call->c.arena, struct key_range, 2 * buckets);

    for (size_t i = 0; i < buckets; i++)
        bucket_ranges(op, i, from, to, ranges + 2 * i);
    return route_size_now(&op->call->c, op->table, ranges, 2 * buckets, out);
}

/* The first row at or behind `cols` or, backward, the last one; found false: none. */
static int first_row(struct split_op *op, bytes cols, bool backward, bool *found, bytes *out)
{
    struct arena *a = &op->call->c.arena;
    const struct place *p = &op->table->schema.place;
    size_t buckets = p->layout.buckets;
    struct key_range *ranges = ARENA_ARRAY(a, struct key_range, buckets);
    struct page *pages = ARENA_ARRAY(a, struct page, buckets);
    struct scan scan = {.view = VIEW_DURABLE,
                        .ranges = ranges,
                        .range_count = buckets,
                        .backward = backward,
                        .items_max = 1,
                        .bytes_max = 1,
                        .pages = pages};

    for (size_t i = 0; i < buckets; i++) {
        struct buf start, end;

        buf_init(&start, a, KEY_PREFIX_BYTES + cols.len);
        key_put_prefix(&start, p->id, (uint8_t)i, KIND_HEAD);
        buf_put_bytes(&start, cols);
        buf_init(&end, a, KEY_PREFIX_BYTES);
        key_put_prefix(&end, p->id, (uint8_t)i, KIND_CELL);
        ranges[i] = (struct key_range){buf_bytes(&start), buf_bytes(&end)};
    }
    TRY(route_scan_now(&op->call->c, op->table, &scan));
    *found = false;
    for (size_t i = 0; i < buckets; i++) {
        bytes row;

        if (!pages[i].count)
            continue;
        row = bytes_skip(pages[i].items[0].key, KEY_PREFIX_BYTES);
        if (!*found || (bytes_compare(row, *out) < 0) != backward)
            *out = row;
        *found = true;
    }
    return E_OK;
}

struct piece {
    struct split_op *op;
    bytes origin;
};

static int piece_size(void *arg, bytes cols, uint64_t *out)
{
    struct piece *p = arg;

    return size_between(p->op, p->origin, cols, out);
}

/* A key in [low, high] such that about `target` bytes lie between low and it. */
static int find_place(struct split_op *op, bytes low, bytes high, uint64_t target, bytes *out)
{
    struct piece piece = {op, low};

    return halve_find(&op->call->c.arena, low, high, target, piece_size, &piece, out);
}

static int add_point(struct split_op *op, bytes cols, struct wr_key *out)
{
    const struct wr_table_description *d = &op->table->schema.d;
    struct wr_key_column *columns =
        ARENA_ARRAY(&op->call->c.arena, struct wr_key_column, d->key_count);
    size_t used;

    TRY(key_read_columns(&op->call->c, cols, d->key, d->key_count, columns, &used));
    for (size_t i = 0; i < d->key_count; i++)
        columns[i].name = arena_copy(&op->call->c.arena, d->key[i].name);
    *out = (struct wr_key){columns, d->key_count};
    return E_OK;
}

/* ---- where partitions are objects ---- */

/* What one partition holds of the bucket that is looked through. */
struct part {
    bytes from, to; /* encoded key columns; empty: open */
    uint64_t bytes; /* as far as is known */
};

struct parts {
    struct part *list; /* in the order of keys */
    size_t count;
    uint8_t bucket;
    uint64_t stored; /* in all of them, and in */
    uint64_t total;  /* the table */
};

static int part_size(struct split_op *op, const struct parts *ps, const struct part *part, bytes to,
                     uint64_t *out)
{
    struct key_range ranges[2];

    TRY(call_check_deadline(op->call));
    bucket_ranges(op, ps->bucket, part->from, to, ranges);
    return route_size_now(&op->call->c, op->table, ranges, 2, out);
}

/* The buckets that a partition has rows of: [first, last]. */
static void buckets_of(const struct partition_map *m, size_t i, size_t buckets, size_t *first,
                       size_t *last)
{
    bytes start = partition_at(m, i)->start, end = partition_end(m, i);

    *first = start.len ? *bytes_u8(start) : 0;
    *last = !end.len ? buckets - 1 : *bytes_u8(end) - (size_t)(end.len == 1);
}

/* Listed once, where there are few, or if nobody has measured the partition here. */
static int known_bytes(struct split_op *op, const struct partition_map *m, size_t i, uint64_t *out)
{
    const struct partition_at *at = partition_at(m, i);
    bytes end = partition_end(m, i);
    size_t first, last;

    *out = atomic_load(&at->partition->bytes);
    if (*out && m->count > MEASURED_MAX)
        return E_OK;
    *out = 0;
    buckets_of(m, i, op->table->schema.place.layout.buckets, &first, &last);
    for (size_t b = first; b <= last; b++) {
        struct parts ps = {.bucket = (uint8_t)b};
        struct part part = {.from = b == first && at->start.len ? bytes_skip(at->start, 1)
                                                                : BYTES_NONE};
        bool ends = end.len && *bytes_u8(end) == b;
        uint64_t here;

        TRY(part_size(op, &ps, &part, ends ? bytes_skip(end, 1) : BYTES_NONE, &here));
        *out += here;
    }
    atomic_store(&at->partition->bytes, *out);
    return E_OK;
}

/* All partitions' figures, shared out among their buckets. */
static int weigh(struct split_op *op, struct parts *ps, uint64_t *known)
{
    const struct partition_map *m = &op->table->partitions;
    size_t buckets = op->table->schema.place.layout.buckets, first, last;
    uint64_t *stored = ARENA_ARRAY(&op->call->c.arena, uint64_t, buckets);

    memset(stored, 0, buckets * sizeof(*stored));
    for (size_t i = 0; i < m->count; i++) {
        TRY(known_bytes(op, m, i, &known[i]));
        ps->total += known[i];
        buckets_of(m, i, buckets, &first, &last);
        known[i] /= last - first + 1;
        for (size_t b = first; b <= last; b++)
            stored[b] += known[i];
    }
    for (size_t b = 0; b < buckets; b++)
        if (stored[b] > stored[ps->bucket])
            ps->bucket = (uint8_t)b;
    ps->stored = stored[ps->bucket];
    return E_OK;
}

static int find_parts(struct split_op *op, struct parts *ps)
{
    const struct partition_map *m = &op->table->partitions;
    struct arena *a = &op->call->c.arena;
    uint64_t *known = ARENA_ARRAY(a, uint64_t, m->count);
    size_t first, last;

    *ps = (struct parts){.list = ARENA_ARRAY(a, struct part, m->count)};
    TRY(weigh(op, ps, known));
    for (size_t i = 0; i < m->count; i++) {
        bytes start = partition_at(m, i)->start, end = partition_end(m, i);

        buckets_of(m, i, op->table->schema.place.layout.buckets, &first, &last);
        if (ps->bucket < first || ps->bucket > last)
            continue;
        ps->list[ps->count++] = (struct part){
            .from = ps->bucket == first && start.len ? bytes_skip(start, 1) : BYTES_NONE,
            .to = end.len && *bytes_u8(end) == ps->bucket ? bytes_skip(end, 1) : BYTES_NONE,
            .bytes = known[i]};
    }
    return E_OK;
}

struct in_part {
    struct split_op *op;
    const struct parts *ps;
    const struct part *part;
};

static int in_part_size(void *arg, bytes cols, uint64_t *out)
{
    struct in_part *in = arg;

    return part_size(in->op, in->ps, in->part, cols, out);
}

/* A key below which the bucket holds about `target` bytes. `low` and `high` are rows, the first and
 * the last of the table. */
static int find_in_parts(struct split_op *op, const struct parts *ps, uint64_t target, bytes low,
                         bytes high, bytes *out)
{
    struct in_part in = {.op = op, .ps = ps};
    const struct part *part = ps->list, *end = ps->list + ps->count;
    uint64_t holds;

    for (; part + 1 < end && part->bytes <= target; part++)
        target -= part->bytes;
    in.part = part;
    TRY(part_size(op, ps, part, part->to, &holds));
    if (part->bytes) /* its figure may be old */
        target = (uint64_t)((double)target * (double)holds / (double)part->bytes);
    if (part->from.len && bytes_compare(part->from, low) > 0)
        low = part->from;
    if (part->to.len && bytes_compare(part->to, high) < 0)
        high = part->to;
    *out = low;
    if (bytes_compare(low, high) >= 0)
        return E_OK;
    return halve_find(&op->call->c.arena, low, high, target, in_part_size, &in, out);
}

/* ---- the points ---- */

struct points {
    uint64_t piece; /* bytes between two */
    uint64_t total;
    size_t max;
    bytes low, high; /* the first row and the last one */
    struct wr_key *list;
    bytes last; /* the row of the last point; at first the first row */
};

/* The row at or behind `place`, if it is behind the last point. *ended: none is to come. */
static int take_place(struct split_op *op, struct points *ps, bytes place, bool *ended)
{
    struct wr_split_result *r = &op->call->reply.splits;
    bool found;
    bytes row;

    TRY(first_row(op, place, false, &found, &row));
    *ended = !found || bytes_compare(row, ps->high) >= 0;
    if (*ended || bytes_compare(row, ps->last) <= 0)
        return E_OK;
    TRY(add_point(op, row, &ps->list[r->point_count]));
    r->point_count++;
    ps->last = row;
    return E_OK;
}

static int points_in_parts(struct split_op *op, const struct parts *parts, struct points *ps)
{
    double piece = (double)ps->piece * (double)parts->stored / (double)ps->total;
    bool ended = false;

    for (size_t i = 1; i <= ps->max && (uint64_t)i * ps->piece < ps->total && !ended; i++) {
        bytes place;

        TRY(call_check_deadline(op->call));
        TRY(find_in_parts(op, parts, (uint64_t)((double)i * piece), ps->low, ps->high, &place));
        TRY(take_place(op, ps, place, &ended));
    }
    return E_OK;
}

static int points_in_one(struct split_op *op, struct points *ps)
{
    uint64_t left = ps->total;

    for (size_t i = 0; i < ps->max && left > ps->piece; i++, left -= ps->piece) {
        bytes place, before = ps->last;
        bool ended;

        TRY(call_check_deadline(op->call));
        TRY(find_place(op, before, ps->high, ps->piece, &place));
        TRY(take_place(op, ps, place, &ended));
        if (ended || bytes_compare(ps->last, before) <= 0)
            break;
    }
    return E_OK;
}

static int compute(struct split_op *op)
{
    const struct wr_split_points *p = &op->call->req->compute_split_points;
    struct ctx *c = &op->call->c;
    bool parted = !(op->call->db->caps & ENGINE_ONE_MAP);
    struct points ps = {.piece = (uint64_t)p->split_size *
                                 (uint64_t)(p->has_unit ? p->unit_bytes : UNIT_BYTES_DEFAULT),
                        .max = p->has_limit && p->limit > 0 && p->limit < SPLITS_MAX
                                   ? (size_t)p->limit
                                   : SPLITS_MAX};
    struct parts parts;
    bool found;

    if (parted) {
        TRY(find_parts(op, &parts));
        ps.total = parts.total;
    } else {
        TRY(size_between(op, BYTES_NONE, BYTES_NONE, &ps.total));
    }
    TRY(first_row(op, BYTES_NONE, false, &found, &ps.low));
    if (found)
        TRY(first_row(op, BYTES_NONE, true, &found, &ps.high));
    if (!found)
        return E_OK;
    if (ps.total / ps.piece < ps.max)
        ps.max = ps.total / ps.piece;
    ps.list = ARENA_ARRAY(&c->arena, struct wr_key, ps.max + 1);
    op->call->reply.splits.points = ps.list;
    ps.last = ps.low;
    return parted ? points_in_parts(op, &parts, &ps) : points_in_one(op, &ps);
}

static void split_run(struct job *job)
{
    struct split_op *op = PORT_CONTAINER(job, struct split_op, job);
    struct call *call = op->call;
    struct wr_split_result *r = &call->reply.splits;
    struct wr_table_description d;

    if (!compute(op)) {
        schema_describe(&call->c.arena, &op->table->schema, &d);
        r->schema = d.key;
        r->schema_count = d.key_count;
        r->consumed.read = (int32_t)r->point_count + 1;
    }
    table_release(op->table);
    call_finish(call);
}

static int start(struct call *call)
{
    const struct wr_split_points *p = &call->req->compute_split_points;
    struct ctx *c = &call->c;
    struct split_op *op;

    TRY(name_check_table(c, p->table));
    if (p->split_size <= 0)
        return fail(c, E_PARAMETER, "The split_size should be greater than 0.");
    if (p->has_unit && p->unit_bytes < UNIT_BYTES_MIN)
        return fail(c, E_PARAMETER, "The split_size_unit_in_byte should be greater equal than: %d",
                    UNIT_BYTES_MIN);
    if (p->split_size > INT64_MAX / (p->has_unit ? p->unit_bytes : UNIT_BYTES_DEFAULT))
        return fail(c, E_PARAMETER, "The split_size is too large.");
    op = ARENA_NEW(&c->arena, struct split_op);
    TRY(catalog_find(c, call->db->catalog, call->req->instance, p->table, &op->table));
    op->call = call;
    op->job.run = split_run;
    sweeper_submit(call->db->sweeper, &op->job);
    return E_OK;
}

void split_exec(struct call *call)
{
    if (start(call))
        call_finish(call);
}
