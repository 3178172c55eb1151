/* split_key.c
 *
 * A position is bucket and encoded key columns, as in a bound. The engine tells what is stored
 * between two positions, so the middle is found by bisecting keys as numbers, and then moved to the
 * beginning of the first partition-key value behind it, or of the first row. */
#include "table/maint/split_key.h"

#include "base/invariant.h"
#include "base/scheduler.h"
#include "table/maint/bisect.h"
#include "table/model/key.h"
#include "table/sync/wait.h"

struct split_search {
    struct ctx *c;
    struct wr_db *db;
    const struct location *at;
    partition_id id;
    bytes start, end;
    size_t columns; /* of a bound: those of the partition key, or all */
};

/* A search asks for many sizes, so here it ends when the database closes. */
static int size_below(void *arg, bytes location, uint64_t *out)
{
    struct split_search *m = arg;
    struct partition_spec spec = partition_spec(&m->c->arena, m->at->id, m->id, m->start, location);

    if (scheduler_stopping(m->db->background))
        return fail_code(m->c, E_BUSY);
    return engine_size(m->c, m->db->engine, &spec, out);
}

/* A place below which `target` bytes of the partition lie, `slack` more or less. */
static int split_key_bisect(struct split_search *m, uint64_t target, uint64_t slack, bytes *out)
{
    static const uint8_t above[9] = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};
    bytes low = m->start.len ? m->start : bytes_of(above, 0);
    bytes high = m->end.len ? m->end : bytes_of(above, sizeof(above));

    return bisect_find(&m->c->arena, low, high, target, slack, size_below, m, out);
}

/* Head keys of one bucket from place to place; no columns: from the bucket's start, to its end. */
static struct key_range split_key_records(struct split_search *m, int bucket, bytes from, bytes to)
{
    struct arena *a = &m->c->arena;
    struct buf start, end;

    buf_init(&start, a, KEY_PREFIX_BYTES + from.len);
    key_put_prefix(&start, m->at->id, (uint8_t)bucket, KIND_RECORD);
    buf_put_bytes(&start, from);
    buf_init(&end, a, KEY_PREFIX_BYTES + to.len);
    key_put_prefix(&end, m->at->id, (uint8_t)bucket, to.len ? KIND_RECORD : KIND_RECORD + 1);
    buf_put_bytes(&end, to);
    return (struct key_range){buf_bytes(&start), buf_bytes(&end)};
}

/* The bound of the first or last row in a range of row records. */
static int row_bound(struct split_search *m, const struct key_range *range, bool backward,
                     bool *found, bytes *out)
{
    struct page page = {0};
    struct scan scan = {.partition = m->id,
                        .view = VIEW_DURABLE,
                        .ranges = range,
                        .range_count = 1,
                        .backward = backward,
                        .items_max = 1,
                        .bytes_max = 1,
                        .pages = &page};
    struct wr_key_column columns[WR_KEY_COLUMNS_MAX];
    bytes cols;
    size_t used;
    uint8_t *bound;

    *found = false;
    if (bytes_compare(range->start, range->end) >= 0)
        return E_OK;
    TRY(wait_scan(m->c, m->db->engine, &scan));
    if (!page.count)
        return E_OK;
    cols = bytes_skip(page.items[0].key, KEY_PREFIX_BYTES);
    TRY(key_read_columns(m->c, cols, m->at->key, m->columns, columns, &used));
    bound = arena_alloc(&m->c->arena, used + 1);
    bound[0] = bytes_u8(page.items[0].key)[4];
    memcpy(bound + 1, cols.ptr, used);
    *out = bytes_of(bound, used + 1);
    *found = true;
    return E_OK;
}

static bytes location_cols(bytes location)
{
    return location.len ? bytes_skip(location, 1) : BYTES_NONE;
}

/* The bound of the first row at or behind a place; found false: none in this partition. */
static int next_bound(struct split_search *m, bytes location, bool *found, bytes *out)
{
    int bucket = location.len ? *bytes_u8(location) : 0;
    int last = m->end.len ? *bytes_u8(m->end) : m->at->layout.buckets - 1;
    bytes from = location_cols(location);

    *found = false;
    for (; bucket <= last && !*found; bucket++) {
        bytes to = bucket == last ? location_cols(m->end) : BYTES_NONE;
        struct key_range range = split_key_records(m, bucket, from, to);

        if (bucket < last || !m->end.len || to.len)
            TRY(row_bound(m, &range, false, found, out));
        from = BYTES_NONE;
    }
    return E_OK;
}

/* The bound of the last row before a place, in its bucket or one before; found false: none in this
 * partition. A place without columns is the beginning of its bucket: nothing of that lies before
 * it. */
static int last_bound(struct split_search *m, bytes location, bool *found, bytes *out)
{
    int first = m->start.len ? *bytes_u8(m->start) : 0, bucket = *bytes_u8(location);
    bool whole = bucket >= (int)m->at->layout.buckets; /* behind all */
    bytes to = whole ? BYTES_NONE : location_cols(location);

    *found = false;
    for (bucket = whole ? (int)m->at->layout.buckets - 1 : bucket; bucket >= first && !*found;
         bucket--) {
        bytes from = bucket == first ? location_cols(m->start) : BYTES_NONE;
        struct key_range range = split_key_records(m, bucket, from, to);

        if (whole || to.len)
            TRY(row_bound(m, &range, true, found, out));
        to = BYTES_NONE;
        whole = true;
    }
    return E_OK;
}

/* The place behind every row at a bound: no key column begins with this byte. */
static bytes split_key_behind(struct arena *a, bytes bound)
{
    uint8_t *p = arena_alloc(a, bound.len + 1);

    memcpy(p, bound.ptr, bound.len);
    p[bound.len] = 0xFF;
    return bytes_of(p, bound.len + 1);
}

/* The bound next to a key in the middle; `first` is the first one, at which no split can be. */
static int bound_at(struct split_search *m, bytes location, bytes first, bool *found, bytes *out)
{
    TRY(next_bound(m, location, found, out));
    /* The middle lies in the first value: the next one then. */
    if (*found && bytes_compare(*out, first) <= 0)
        TRY(next_bound(m, split_key_behind(&m->c->arena, first), found, out));
    /* No row behind the middle: the last value is more than half, and is parted from the others. */
    else if (!*found)
        TRY(last_bound(m, location, found, out));
    *found = *found && bytes_compare(*out, first) > 0;
    return E_OK;
}

/* The partition is all one value, in one bucket: the bisection begins between its first row and its
 * last, so that long texts which all rows share do not count. */
static int split_key_find_row(struct split_search *m, uint64_t total, bytes value, bool *found,
                              bytes *out)
{
    bytes first, last, location, end = split_key_behind(&m->c->arena, value);

    m->columns = m->at->key_count;
    if (m->end.len && bytes_compare(m->end, end) < 0)
        end = m->end;
    TRY(next_bound(m, m->start, found, &first));
    if (*found)
        TRY(last_bound(m, end, found, &last));
    if (!*found || bytes_equal(first, last)) {
        *found = false;
        return E_OK;
    }
    TRY(bisect_find_about(&m->c->arena, first, last, total / 2, total / 16, size_below, m,
                          &location));
    return bound_at(m, location, first, found, out);
}

int split_key_find(struct ctx *c, struct wr_db *db, const struct table *t, size_t i, bool *found,
                   bytes *out)
{
    const struct partition_at *at = partition_at(&t->partitions, i);
    const struct location *p = &t->schema.location;
    struct split_search m = {.c = c,
                             .db = db,
                             .at = p,
                             .id = at->partition->id,
                             .start = at->start,
                             .end = partition_end(&t->partitions, i),
                             .columns = p->layout.partition_cols};
    bytes first, location;
    uint64_t total;

    invariant(i < t->partitions.count);
    TRY(next_bound(&m, m.start, found, &first));
    if (!*found)
        return E_OK;
    TRY(size_below(&m, m.end, &total));
    TRY(split_key_bisect(&m, total / 2, total / 64, &location));
    TRY(bound_at(&m, location, first, found, out));
    if (*found || engine_one_key_space(db->engine) || p->key_count == p->layout.partition_cols)
        return E_OK;
    if (t->schema.txn_records) /* a commit is one batch, of one partition */
        return E_OK;
    return split_key_find_row(&m, total, first, found, out);
}

/* ---- a whole place ---- */

/* The list that split_key_spread() makes. */
struct spread {
    struct schema_partition *list;
    size_t count, max;
    uint64_t piece; /* bytes that each shall hold */
};

static bytes bucket_start(struct arena *a, size_t bucket)
{
    uint8_t *p = arena_alloc(a, 1);

    *p = (uint8_t)bucket;
    return bytes_of(p, bucket ? 1 : 0);
}

/* Adds bounds behind m->start, which is the last one in the list, and before m->end, until what
 * lies between two of them is about a piece, or one value. The bound in the middle comes first, so
 * that the sizes that are asked for are those of ever smaller ranges: what is in write buffers is
 * counted, key by key. */
static int spread_range(struct split_search *m, size_t later, struct spread *out)
{
    struct split_search left = *m, right = *m;
    struct schema_partition *last = &out->list[out->count - 1];
    bytes first, location, bound;
    uint64_t pieces;
    bool found;

    TRY(size_below(m, m->end, &last->bytes));
    pieces = (last->bytes + out->piece / 2) / out->piece;
    if (pieces < 2 || out->count + later == out->max)
        return E_OK;
    TRY(next_bound(m, m->start, &found, &first));
    if (!found)
        return E_OK;
    TRY(split_key_bisect(m, last->bytes / pieces * (pieces / 2), out->piece / 4, &location));
    TRY(bound_at(m, location, first, &found, &bound));
    if (!found)
        return E_OK;
    left.end = bound;
    TRY(spread_range(&left, later + 1, out));
    out->list[out->count++].start = bound;
    right.start = bound;
    return spread_range(&right, later, out);
}

int split_key_spread(struct ctx *c, struct wr_db *db, const struct location *at, size_t count,
                     struct schema_partition **list, size_t *made)
{
    size_t buckets = at->layout.buckets ? at->layout.buckets : 1;
    struct split_search m = {
        .c = c, .db = db, .at = at, .id = at->id, .columns = at->layout.partition_cols};
    struct spread s = {.max = buckets > count ? buckets : count};
    uint64_t total;

    s.list = ARENA_ARRAY(&c->arena, struct schema_partition, s.max);
    TRY(size_below(&m, BYTES_NONE, &total));
    s.piece = total / s.max + 1;
    for (size_t b = 0; b < buckets; b++) {
        m.start = bucket_start(&c->arena, b);
        m.end = b + 1 < buckets ? bucket_start(&c->arena, b + 1) : BYTES_NONE;
        s.list[s.count++].start = m.start;
        TRY(spread_range(&m, buckets - b - 1, &s));
    }
    assert(s.count >= buckets && s.count <= s.max);
    *list = s.list;
    *made = s.count;
    return E_OK;
}
