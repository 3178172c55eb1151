/* size_walk.c
 *
 * The rows of one partition key value stand together, but for each kind of key apart: row records,
 * cells of wide rows, chunks of big cells. So a walk has a cursor for each kind, and goes on with
 * the one whose key columns sort first: all of one value is seen before anything of the next.
 * Buckets of a key layout come one after the other, but for the layout that puts the rows of one
 * value into many buckets: there the cursors of all buckets go side by side. */
#include "table/admin/size_walk.h"

#include "base/invariant.h"
#include "table/catalog/route.h"
#include "table/model/key.h"
#include "table/stats/sampler.h"
#include "table/sync/wait.h"

#define PAGE_ITEMS 1024
#define PAGE_BYTES (1u << 20)

static const enum key_kind kinds[] = {KIND_RECORD, KIND_CELL, KIND_CHUNK};

struct cursor {
    enum key_kind kind;
    uint8_t bucket;
    struct ctx c; /* owns the page */
    struct page page;
    size_t at;
    uint8_t *next; /* where the next page begins; owned */
    size_t next_len;
    bool ended; /* there is no next page */
};

struct size_walk {
    struct wr_db *db;
    const struct table *table; /* during a step */
    uint64_t warn_bytes;
    unsigned bucket; /* the first of those under way, which are `abreast` */
    unsigned abreast;
    bool begun;
    struct cursor *cursors;
    size_t cursor_count;
    struct size_entry now; /* the value being added up; key NULL: none */
    size_t now_room;
    struct size_found found;
};

/* ---- what is found ---- */

void size_found_release(struct size_found *f)
{
    for (size_t i = 0; i < f->top_count; i++)
        mem_free(f->top[i].key);
    *f = (struct size_found){.bytes = 0};
}

/* Into its place among the largest, if it is one of them. */
static void keep_entry(struct size_found *f, const struct size_entry *e)
{
    size_t at;

    invariant(f->top_count <= WR_SIZES_MAX && e->key_len);
    if (f->top_count == WR_SIZES_MAX) {
        if (e->bytes <= f->top[WR_SIZES_MAX - 1].bytes)
            return;
        mem_free(f->top[--f->top_count].key);
    }
    for (at = f->top_count++; at && f->top[at - 1].bytes < e->bytes; at--)
        f->top[at] = f->top[at - 1];
    f->top[at] = *e;
    f->top[at].key = mem_alloc(e->key_len);
    memcpy(f->top[at].key, e->key, e->key_len);
}

/* The value is complete. */
static void end_value(struct size_walk *w)
{
    struct size_found *f = &w->found;

    if (!w->now.key_len)
        return;
    f->values++;
    f->bytes += w->now.bytes;
    f->rows += w->now.rows;
    f->over += w->now.bytes > w->warn_bytes;
    keep_entry(f, &w->now);
    w->now.key_len = 0;
}

static void size_walk_begin_value(struct size_walk *w, uint8_t bucket, bytes partition_key)
{
    size_t n = partition_key.len + 1;

    invariant(!w->now.key_len);
    if (w->now_room < n) {
        mem_free(w->now.key);
        w->now.key = mem_alloc(n);
        w->now_room = n;
    }
    w->now.key[0] = bucket;
    memcpy(w->now.key + 1, partition_key.ptr, partition_key.len);
    w->now.key_len = n;
    w->now.hash = sampler_hash(partition_key);
    w->now.bytes = w->now.rows = 0;
}

/* ---- cursors ---- */

static void cursor_release(struct cursor *cur)
{
    ctx_release(&cur->c);
    mem_free(cur->next);
    cur->next = NULL;
    cur->page.count = cur->at = 0;
}

static void set_next(struct cursor *cur, bytes key)
{
    mem_free(cur->next);
    cur->next = mem_alloc(key.len);
    memcpy(cur->next, key.ptr, key.len);
    cur->next_len = key.len;
}

static bytes kind_start(struct size_walk *w, struct cursor *cur, enum key_kind kind)
{
    struct buf b;

    buf_init(&b, &cur->c.arena, KEY_PREFIX_BYTES);
    key_put_prefix(&b, w->table->schema.location.id, cur->bucket, kind);
    return buf_bytes(&b);
}

static void cursor_begin(struct size_walk *w, struct cursor *cur, unsigned bucket,
                         enum key_kind kind)
{
    cursor_release(cur);
    *cur = (struct cursor){.kind = kind, .bucket = (uint8_t)bucket};
    ctx_init(&cur->c, &w->db->clock, &w->db->log, NULL, 0);
    set_next(cur, kind_start(w, cur, kind));
    cur->ended = kind != KIND_RECORD && !atomic_load(&w->table->has_out_of_line);
}

/* The next page. On failure nothing has changed but the page, which was used up. */
static int cursor_read(struct ctx *c, struct size_walk *w, struct cursor *cur, uint64_t *read)
{
    struct key_range range;
    struct scan scan = {.view = VIEW_DURABLE,
                        .ranges = &range,
                        .range_count = 1,
                        .items_max = PAGE_ITEMS / w->abreast,
                        .bytes_max = PAGE_BYTES / w->abreast,
                        .pages = &cur->page};
    int code;

    ctx_release(&cur->c);
    ctx_init(&cur->c, &w->db->clock, &w->db->log, NULL, 0);
    cur->page.count = cur->at = 0;
    range.start = bytes_of(cur->next, cur->next_len);
    range.end = kind_start(w, cur, cur->kind + 1);
    code = route_scan_now(&cur->c, w->table, &scan);
    if (code) {
        cur->page.count = 0;
        return fail(c, code, "%s", cur->c.text ? cur->c.text : err_info(code)->text);
    }
    cur->ended = !cur->page.more || !cur->page.count;
    if (cur->page.count)
        set_next(cur, key_after(&cur->c.arena, cur->page.items[cur->page.count - 1].key));
    *read += cur->page.bytes;
    return E_OK;
}

static bool has_item(const struct cursor *cur)
{
    return cur->at < cur->page.count;
}

static bytes cursor_cols(const struct cursor *cur)
{
    return bytes_skip(cur->page.items[cur->at].key, KEY_PREFIX_BYTES);
}

/* ---- the walk ---- */

struct size_walk *size_walk_new(struct wr_db *db, const struct table *t, uint64_t warn_bytes)
{
    struct size_walk *w = mem_zalloc(sizeof(*w));

    w->db = db;
    w->warn_bytes = warn_bytes;
    w->abreast =
        t->schema.location.layout.form == LAYOUT_RANDOM ? t->schema.location.layout.buckets : 1;
    w->cursor_count = w->abreast * PORT_COUNT(kinds);
    w->cursors = mem_zalloc(w->cursor_count * sizeof(*w->cursors));
    for (size_t i = 0; i < w->cursor_count; i++)
        ctx_init(&w->cursors[i].c, &db->clock, &db->log, NULL, 0);
    return w;
}

void size_walk_free(struct size_walk *w)
{
    if (!w)
        return;
    for (size_t i = 0; i < w->cursor_count; i++)
        cursor_release(&w->cursors[i]);
    mem_free(w->cursors);
    size_found_release(&w->found);
    mem_free(w->now.key);
    mem_free(w);
}

struct size_found *size_walk_found(struct size_walk *w)
{
    return &w->found;
}

static void add_item(struct size_walk *w, struct cursor *cur)
{
    const struct location *p = &w->table->schema.location;
    const struct kv *kv = &cur->page.items[cur->at];
    bytes cols = cursor_cols(cur);

    /* One encoded value is never the beginning of another one. */
    if (!w->now.key_len || !bytes_starts(cols, bytes_of(w->now.key + 1, w->now.key_len - 1))) {
        end_value(w);
        cols.len = key_columns_length(p->key, cols, p->layout.partition_cols);
        size_walk_begin_value(w, cur->bucket, cols);
    }
    w->now.bytes += kv->key.len + kv->value.len;
    w->now.rows += cur->kind == KIND_RECORD;
    cur->at++;
}

/* Adds up what is there, until a cursor is at its page's end: then nobody knows which comes first.
 * NULL: these buckets are done. */
static struct cursor *add_pages(struct size_walk *w)
{
    for (;;) {
        struct cursor *first = NULL;

        for (size_t i = 0; i < w->cursor_count; i++) {
            struct cursor *cur = &w->cursors[i];

            if (!has_item(cur)) {
                if (!cur->ended)
                    return cur;
            } else if (!first || bytes_compare(cursor_cols(cur), cursor_cols(first)) < 0) {
                first = cur;
            }
        }
        if (!first)
            return NULL;
        add_item(w, first);
    }
}

static int walk_some(struct ctx *c, struct size_walk *w, uint64_t *read, bool *ended)
{
    struct cursor *empty;

    if (!w->begun) {
        for (size_t i = 0; i < w->cursor_count; i++)
            cursor_begin(w, &w->cursors[i], w->bucket + (unsigned)(i / PORT_COUNT(kinds)),
                         kinds[i % PORT_COUNT(kinds)]);
        w->begun = true;
    }
    empty = add_pages(w);
    if (empty)
        return cursor_read(c, w, empty, read);
    end_value(w);
    w->begun = false;
    w->bucket += w->abreast;
    *ended = w->bucket >= w->table->schema.location.layout.buckets;
    return E_OK;
}

int size_walk_step(struct ctx *c, struct size_walk *w, const struct table *t, uint64_t *read,
                   bool *ended)
{
    int code;

    *read = 0;
    *ended = false;
    w->table = t;
    code = walk_some(c, w, read, ended);
    w->table = NULL;
    return code;
}
