/* split_points.c: ComputeSplitPointsBySize.
 *
 * The rows are walked and their bytes added up, so that the same data gives the same points
 * wherever it lies. That would take too long for a large table; behind its first COUNTED_BYTES_MAX
 * the points are estimated, and all of them where the request says that this will do. The stored
 * size of a key range can be asked of the engine, so the place where the next n bytes end is found
 * by bisecting the range of keys as numbers, and then moved to the next row that is really there.
 * Where partitions are objects each such question may read a whole one; there the place is found
 * among the parts that the table is in (size_histogram.h). */
#include "table/admin/size_histogram.h"
#include "base/invariant.h"
#include "table/admin/split_points_walk.h"
#include "table/catalog/catalog.h"
#include "table/catalog/route.h"
#include "table/core/call.h"
#include "table/core/jobs.h"
#include "table/maint/bisect.h"
#include "table/maint/sweep.h"
#include "table/model/key.h"
#include "table/model/meter.h"
#include "table/sync/wait.h"

#include <inttypes.h>

#define UNIT_BYTES_MIN (1 << 20)
#define UNIT_BYTES_DEFAULT (100ll << 20)
#define SPLITS_MAX 10000
#define COUNTED_BYTES_MAX (256ull << 20)
#define SLACK_PART 8 /* of a piece: what an estimate may be off, if asked for one */

struct split_points_call {
    struct job job;
    struct call *call;
    struct table *table;
};

/* Bytes stored for the rows in [from, to). */
static int size_between(struct split_points_call *op, bytes from, bytes to, uint64_t *out)
{
    struct arena *a = &op->call->c.arena;
    const struct location *p = &op->table->schema.location;
    struct key_range *ranges = ARENA_ARRAY(a, struct key_range, SIZE_BIN_KINDS * p->layout.buckets);
    size_t count = 0;

    for (size_t i = 0; i < p->layout.buckets; i++)
        count += size_bin_ranges(a, p->id, (uint8_t)i, from, to, KIND_CHUNK, ranges + count);
    return route_size_now(&op->call->c, op->table, ranges, count, out);
}

/* The first row at or behind `cols` or, backward, the last one; found false: none. */
static int first_row(struct split_points_call *op, bytes cols, bool backward, bool *found,
                     bytes *out)
{
    struct arena *a = &op->call->c.arena;
    const struct location *p = &op->table->schema.location;
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
        key_put_prefix(&start, p->id, (uint8_t)i, KIND_RECORD);
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
    struct split_points_call *op;
    bytes origin;
};

static int piece_size(void *arg, bytes cols, uint64_t *out)
{
    struct piece *p = arg;

    return size_between(p->op, p->origin, cols, out);
}

/* A key in [low, high] such that about `target` bytes lie between low and it. */
static int find_bin(struct split_points_call *op, bytes low, bytes high, uint64_t target,
                    bytes *out)
{
    struct piece piece = {op, low};
    uint64_t slack = op->call->req->compute_split_points.estimated ? target / SLACK_PART : 0;

    return bisect_find(&op->call->c.arena, low, high, target, slack, piece_size, &piece, out);
}

static int add_point(struct split_points_call *op, bytes cols, struct wr_key *out)
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

/* ---- the points ---- */

struct points {
    uint64_t piece; /* bytes between two */
    size_t max;
    bytes low, high; /* the first row and the last one */
    struct wr_key *list;
    bytes last; /* the row of the last point; at first the first row */
};

/* The row at or behind `place`, if it is behind the last point. *ended: none is to come. */
static int take_position(struct split_points_call *op, struct points *ps, bytes location,
                         bool *ended)
{
    struct wr_split_result *r = &op->call->reply.splits;
    bool found;
    bytes row;

    TRY(first_row(op, location, false, &found, &row));
    *ended = !found || bytes_compare(row, ps->high) >= 0;
    if (*ended || bytes_compare(row, ps->last) <= 0)
        return E_OK;
    invariant(r->point_count < ps->max);
    TRY(add_point(op, row, &ps->list[r->point_count]));
    r->point_count++;
    ps->last = row;
    return E_OK;
}

/* A part counts where it ends. */
static int points_in_bins(struct split_points_call *op, const struct size_histogram *histogram,
                          struct points *ps)
{
    uint64_t below = 0, next = ps->piece;
    bool ended = false;

    for (const struct size_bin *p = histogram->list;
         p < histogram->list + histogram->count && op->call->reply.splits.point_count < ps->max &&
         !ended;
         p++) {
        below += p->bytes;
        if (below < next || !p->to.len)
            continue;
        TRY(call_check_deadline(op->call));
        TRY(take_position(op, ps, p->to, &ended));
        next = below - below % ps->piece + ps->piece;
    }
    return E_OK;
}

/* A row that begins a piece. */
static int split_points_take_row(struct split_points_call *op, struct points *ps, bytes cols)
{
    struct wr_split_result *r = &op->call->reply.splits;

    invariant(r->point_count < ps->max);
    ps->last = arena_copy(&op->call->c.arena, cols);
    TRY(add_point(op, ps->last, &ps->list[r->point_count]));
    r->point_count++;
    return E_OK;
}

/* Counts from the first row on. *ended: no point is to come. */
static int points_counted(struct split_points_call *op, struct points *ps, bool *ended)
{
    const size_t *made = &op->call->reply.splits.point_count;
    uint64_t counted = 0, since = 0, size;
    struct split_points_walk walk;
    int code = split_points_walk_open(&walk, op->call, op->table);

    *ended = false;
    while (!code && !*ended && counted < COUNTED_BYTES_MAX) {
        bool found;
        bytes cols;

        code = split_points_walk_next(&walk, &found, &cols, &size);
        *ended = !code && !found;
        if (code || !found)
            break;
        if (since >= ps->piece) {
            code = split_points_take_row(op, ps, cols);
            since = 0;
        }
        since += size;
        counted += size;
        *ended = *made == ps->max;
    }
    split_points_walk_close(&walk);
    return code;
}

static int points_estimated(struct split_points_call *op, struct points *ps)
{
    uint64_t left;

    TRY(size_between(op, ps->last, BYTES_NONE, &left));
    for (; op->call->reply.splits.point_count < ps->max && left > ps->piece; left -= ps->piece) {
        bytes location, before = ps->last;
        bool ended;

        TRY(call_check_deadline(op->call));
        TRY(find_bin(op, before, ps->high, ps->piece, &location));
        TRY(take_position(op, ps, location, &ended));
        if (ended || bytes_compare(ps->last, before) <= 0)
            break;
    }
    return E_OK;
}

static int points_in_one(struct split_points_call *op, struct points *ps)
{
    bool ended = false;

    if (!op->call->req->compute_split_points.estimated)
        TRY(points_counted(op, ps, &ended));
    return ended ? E_OK : points_estimated(op, ps);
}

static int compute(struct split_points_call *op)
{
    const struct wr_split_points *p = &op->call->req->compute_split_points;
    struct ctx *c = &op->call->c;
    bool bin_wide = !engine_one_key_space(op->call->db->engine);
    struct points ps = {.piece = (uint64_t)p->split_size *
                                 (uint64_t)(p->has_unit ? p->unit_bytes : UNIT_BYTES_DEFAULT),
                        .max = p->has_limit && p->limit > 0 && p->limit < SPLITS_MAX
                                   ? (size_t)p->limit
                                   : SPLITS_MAX};
    struct size_histogram histogram;
    bool found;

    TRY(first_row(op, BYTES_NONE, false, &found, &ps.low));
    if (found)
        TRY(first_row(op, BYTES_NONE, true, &found, &ps.high));
    if (!found)
        return E_OK;
    if (bin_wide) {
        TRY(size_histogram_find(op->call, op->table, ps.low, ps.high, ps.piece, ps.max,
                                &histogram));
        if (histogram.total / ps.piece < ps.max)
            ps.max = histogram.total / ps.piece;
    }
    ps.list = ARENA_ARRAY(&c->arena, struct wr_key, ps.max + 1);
    op->call->reply.splits.points = ps.list;
    ps.last = ps.low;
    return bin_wide ? points_in_bins(op, &histogram, &ps) : points_in_one(op, &ps);
}

static void split_run(struct job *job)
{
    struct split_points_call *op = PORT_CONTAINER(job, struct split_points_call, job);
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

int split_points_start(struct call *call)
{
    const struct wr_split_points *p = &call->req->compute_split_points;
    struct ctx *c = &call->c;
    struct split_points_call *op;

    if (p->split_size <= 0)
        return fail(c, E_PARAMETER, "The split_size should be greater than 0.");
    if (p->has_unit && p->unit_bytes < UNIT_BYTES_MIN)
        return fail(c, E_PARAMETER, "The split_size_unit_in_byte should be greater equal than: %d",
                    UNIT_BYTES_MIN);
    if (p->split_size > INT64_MAX / (p->has_unit ? p->unit_bytes : UNIT_BYTES_DEFAULT))
        return fail(c, E_PARAMETER, "The split_size is too large.");
    op = ARENA_NEW(&c->arena, struct split_points_call);
    TRY(call_open_table(call, p->table, &op->table));
    op->call = call;
    op->job.run = split_run;
    jobs_submit(call->db->jobs, &op->job);
    return E_OK;
}
