/* The row records of each bucket are read in pages, and the buckets merged by the encoded key
 * columns. */
#include "table/admin/split_points_walk.h"

#include "base/invariant.h"
#include "table/catalog/route.h"
#include "table/model/big.h"
#include "table/model/key.h"
#include "table/model/layout.h"
#include "table/model/row.h"

#define WALK_BYTES (4u << 20) /* of pages, all buckets together */
#define PAGE_BYTES_MIN (16u << 10)
#define PAGE_BYTES_MAX (512u << 10)
#define PAGE_ITEMS 4096

struct split_points_stream {
    struct ctx c; /* owns the page */
    struct page page;
    size_t at;
    struct buf from; /* where the next page begins */
    bytes end;
};

static bytes stream_cols(const struct split_points_stream *s)
{
    return bytes_skip(s->page.items[s->at].key, KEY_PREFIX_BYTES);
}

/* The next page; empty at the end. */
static int stream_fill(struct split_points_walk *w, struct split_points_stream *s)
{
    struct key_range range = {buf_bytes(&s->from), s->end};
    struct scan scan = {.view = VIEW_DURABLE,
                        .ranges = &range,
                        .range_count = 1,
                        .items_max = PAGE_ITEMS,
                        .bytes_max = w->page_bytes,
                        .pages = &s->page};

    TRY(call_check_deadline(w->call));
    ctx_release(&s->c);
    ctx_init_part(&s->c, &w->call->c, NULL, 0);
    s->page = (struct page){0};
    s->at = 0;
    if (route_scan_now(&s->c, w->table, &scan))
        return ctx_fail_part(&w->call->c, &s->c);
    if (!s->page.count)
        return E_OK;
    s->from.len = 0;
    buf_put_bytes(&s->from, s->page.items[s->page.count - 1].key);
    buf_put_u8(&s->from, 0);
    return E_OK;
}

/* Puts a stream where its row belongs among those that have one. */
static void order_insert(struct split_points_walk *w, struct split_points_stream *s)
{
    size_t low = 0, high = w->order_count;

    invariant(s->at < s->page.count && high < w->table->schema.location.layout.buckets);
    while (low < high) {
        size_t middle = (low + high) / 2;

        if (bytes_compare(stream_cols(s), stream_cols(w->order[middle])) < 0)
            high = middle;
        else
            low = middle + 1;
    }
    memmove(w->order + low + 1, w->order + low, (w->order_count - low) * sizeof(*w->order));
    w->order[low] = s;
    w->order_count++;
}

static int stream_enter(struct split_points_walk *w, struct split_points_stream *s)
{
    if (s->at == s->page.count)
        TRY(stream_fill(w, s));
    if (s->at < s->page.count)
        order_insert(w, s);
    return E_OK;
}

static void stream_open(struct split_points_walk *w, struct split_points_stream *s, uint8_t bucket)
{
    struct arena *a = &w->call->c.arena;
    uint32_t id = w->table->schema.location.id;

    buf_init(&s->from, a, 256);
    key_put_prefix(&s->from, id, bucket, KIND_RECORD);
    s->end = key_prefix(a, id, bucket, KIND_RECORD + 1);
    ctx_init_part(&s->c, &w->call->c, NULL, 0);
}

int split_points_walk_open(struct split_points_walk *w, struct call *call, const struct table *t)
{
    size_t buckets = t->schema.location.layout.buckets, page = WALK_BYTES / buckets;

    *w = (struct split_points_walk){.call = call, .table = t};
    w->page_bytes = page < PAGE_BYTES_MIN   ? PAGE_BYTES_MIN
                    : page > PAGE_BYTES_MAX ? PAGE_BYTES_MAX
                                            : page;
    buf_init(&w->cols, &call->c.arena, 256);
    w->streams = ARENA_ARRAY(&call->c.arena, struct split_points_stream, buckets);
    w->order = ARENA_ARRAY(&call->c.arena, struct split_points_stream *, buckets);
    for (size_t i = 0; i < buckets; i++)
        stream_open(w, &w->streams[i], (uint8_t)i);
    for (size_t i = 0; i < buckets; i++)
        TRY(stream_enter(w, &w->streams[i]));
    return E_OK;
}

void split_points_walk_close(struct split_points_walk *w)
{
    for (size_t i = 0; i < w->table->schema.location.layout.buckets; i++)
        ctx_release(&w->streams[i].c);
}

/* What is stored elsewhere for cells: big ones. */
static uint64_t out_of_line_bytes(const struct wr_cell *cells, size_t count)
{
    uint64_t n = 0;

    for (size_t i = 0; i < count; i++)
        n += cells[i].apart ? big_out_of_line_size(&cells[i]) : 0;
    return n;
}

/* One page of a wide row's cells; *range goes on behind it. */
static int add_cells_page(struct split_points_walk *w, struct ctx *c, struct key_range *range,
                          bool *more, uint64_t *size)
{
    struct page page = {0};
    struct scan scan = {.view = VIEW_DURABLE,
                        .ranges = range,
                        .range_count = 1,
                        .items_max = PAGE_ITEMS,
                        .bytes_max = PAGE_BYTES_MAX,
                        .pages = &page};

    TRY(call_check_deadline(w->call));
    TRY(route_scan_now(c, w->table, &scan));
    for (size_t i = 0; i < page.count; i++) {
        struct wr_cell cell;

        TRY(cell_decode(c, page.items[i].value, &cell));
        *size += page.items[i].key.len + page.items[i].value.len + out_of_line_bytes(&cell, 1);
    }
    *more = page.more && page.count;
    if (*more)
        range->start = key_after(&w->call->c.arena, page.items[page.count - 1].key);
    return E_OK;
}

static int add_cells(struct split_points_walk *w, const struct split_points_stream *s, uint64_t id,
                     uint64_t *size)
{
    struct ctx c;
    struct buf from, to;
    struct key_range range;
    bool more = true;
    int code = E_OK;

    buf_init(&from, &w->call->c.arena, 256);
    buf_put_bytes(&from, s->page.items[s->at].key);
    from.data[KEY_PREFIX_BYTES - 1] = KIND_CELL;
    cell_put_key_id(&from, id);
    buf_init(&to, &w->call->c.arena, from.len + KEY_PAST_BYTES);
    buf_put_bytes(&to, buf_bytes(&from));
    key_put_past(&to);
    range = (struct key_range){buf_bytes(&from), buf_bytes(&to)};
    while (more && !code) {
        ctx_init_part(&c, &w->call->c, NULL, 0);
        code = add_cells_page(w, &c, &range, &more, size);
        if (code && !w->call->c.code)
            ctx_fail_part(&w->call->c, &c);
        ctx_release(&c);
    }
    return code;
}

int split_points_walk_next(struct split_points_walk *w, bool *found, bytes *cols, uint64_t *size)
{
    struct split_points_stream *s;
    const struct kv *kv;
    struct row row;

    *found = w->order_count > 0;
    if (!*found)
        return E_OK;
    s = w->order[0];
    kv = &s->page.items[s->at];
    w->cols.len = 0;
    buf_put_bytes(&w->cols, stream_cols(s));
    *cols = buf_bytes(&w->cols);
    *size = kv->key.len + kv->value.len;
    if (row_decode(&s->c, kv->value, &row))
        return ctx_fail_part(&w->call->c, &s->c);
    *size += out_of_line_bytes(row.cells, row.wide ? 0 : row.cell_count);
    if (row.wide)
        TRY(add_cells(w, s, row.id, size));
    s->at++;
    w->order_count--;
    memmove(w->order, w->order + 1, w->order_count * sizeof(*w->order));
    return stream_enter(w, s);
}
