/* stream_carry.c
 *
 * The order in which things are read is the point of it: the tails of the logs, then the records
 * beside the rows, both as they are durable. A record that stands beside its row then, and was
 * appended before, is listed by the tail; if somebody appends it later, our own append fails,
 * for it is guarded by the tail. A record that was seen to be gone never comes back, so a tail need
 * not list it any more. */
#include "table/stream/stream_carry.h"

#include "base/fault.h"
#include "table/catalog/catalog.h"
#include "table/catalog/route.h"
#include "table/core/db.h"
#include "table/stream/stream_beside.h"
#include "table/stream/stream_log.h"
#include "table/stream/stream_record.h"
#include "table/sync/wait.h"

#include <stdlib.h>

#define PAGE_RECORDS 500
#define PAGE_BYTES (2u << 20)
#define TRIES_MAX 50
#define TAKEN_TIDY 512 /* so many are listed, and a walk is made in order to shorten the list */

/* A record of the page. */
struct item {
    bytes key, value;
    struct record_id id;
    uint64_t number;
    uint16_t shard;
    bool ours;     /* of the stream that the table has; else it may go */
    bool appended; /* it is in the log, and may go */
};

/* One page; all of it lives in the page's own context. */
struct carry {
    struct stream_carry *walk;
    struct ctx *c;
    struct table *table;
    struct stream_log logs[SCHEMA_SHARDS_MAX];
    bool open[SCHEMA_SHARDS_MAX];
    struct item *items;
    size_t count;
    bool whole; /* the page is all that stands beside rows of the table */
};

static struct key_range beside_range(struct carry *k)
{
    const struct stream_carry *w = k->walk;
    uint32_t id = k->table->schema.location.id;
    struct arena *a = &k->c->arena;

    return (struct key_range){w->after.ptr ? key_after(a, w->after)
                                           : key_prefix(a, id, (uint8_t)w->bucket, KIND_CHANGE),
                              key_prefix(a, id, (uint8_t)w->bucket, KIND_CHANGE + 1)};
}

static int beside_scan(struct carry *k, size_t items_max, struct page *page)
{
    struct key_range range = beside_range(k);
    struct scan scan = {.view = VIEW_DURABLE,
                        .ranges = &range,
                        .range_count = 1,
                        .items_max = items_max,
                        .bytes_max = PAGE_BYTES,
                        .pages = page};

    *page = (struct page){0};
    return route_scan_now(k->c, k->table, &scan);
}

/* ---- what is in a page ---- */

static void items_take(struct carry *k, const struct page *page)
{
    const struct schema *s = &k->table->schema;

    k->items = ARENA_ARRAY(&k->c->arena, struct item, page->count + 1);
    for (size_t i = 0; i < page->count; i++) {
        bytes key = page->items[i].key;
        struct stream_beside b;

        if (!stream_beside_read(s, key, &b))
            continue; /* of an index */
        k->items[k->count++] = (struct item){.key = key,
                                             .value = page->items[i].value,
                                             .id = record_id_of(key),
                                             .number = b.number,
                                             .ours = b.stream == s->stream.location};
        if (b.stream == s->stream.location)
            k->items[k->count - 1].shard = stream_shard(s, b.cols);
    }
}

static int compare_numbers(const void *x, const void *y)
{
    const struct item *a = x, *b = y;

    return a->number < b->number ? -1 : a->number > b->number;
}

/* Do records of another stream go? They stay if the description that we have is not the newest; ids
 * are used once. */
static int check_foreign(struct carry *k, bool *out)
{
    const struct table *t = k->table;
    struct get g = {.partition = PARTITION_SYSTEM,
                    .key = catalog_table_key(&k->c->arena, t->schema.instance, t->schema.d.table),
                    .view = VIEW_DURABLE};
    bool foreign = false;

    for (size_t i = 0; i < k->count; i++)
        foreign |= !k->items[i].ours;
    if (foreign)
        TRY(wait_get(k->c, t->db->engine, &g));
    *out = foreign && g.found && bytes_equal(g.value, t->stored);
    return E_OK;
}

/* ---- removing ---- */

/* All in one batch that may go and lie in the partition of the first. Their keys never come again,
 * so that it does no harm to do so twice, or late. E_PARTITION: a split is under way, and somebody
 * will find them again. */
static int remove_batch(struct carry *k, struct item **list, size_t *count)
{
    struct edit *edits = ARENA_ARRAY(&k->c->arena, struct edit, *count);
    struct write_batch b = {.partition = route_find(k->table, list[0]->key), .edits = edits};
    size_t left = 0;

    for (size_t i = 0; i < *count; i++) {
        if (route_find(k->table, list[i]->key) == b.partition)
            edits[b.edit_count++] = (struct edit){EDIT_DELETE, list[i]->key, BYTES_NONE};
        else
            list[left++] = list[i];
    }
    *count = left;
    return wait_apply(k->c, k->table->db->engine, &b);
}

static int remove_appended(struct carry *k)
{
    struct item **list = ARENA_ARRAY(&k->c->arena, struct item *, k->count + 1);
    size_t count = 0;

    for (size_t i = 0; i < k->count; i++)
        if (k->items[i].appended)
            list[count++] = &k->items[i];
    while (count)
        TRY(remove_batch(k, list, &count));
    return E_OK;
}

/* ---- appending ---- */

/* Those that a tail lists were appended before. */
static void mark_taken(struct carry *k, bool removes_foreign)
{
    for (size_t i = 0; i < k->count; i++) {
        struct item *x = &k->items[i];

        x->appended = x->ours ? stream_tail_lists(&k->logs[x->shard].tail, x->id) : removes_foreign;
    }
}

/* What the tail lists and is gone: what this page or the one before had and was removed, durably;
 * and, if the page is all there is, all. */
static size_t gone_of(struct carry *k, const struct stream_log *log, struct record_id **out)
{
    const struct stream_carry *w = k->walk;
    const struct stream_tail *t = &log->tail;
    size_t n = 0;

    *out = ARENA_ARRAY(&k->c->arena, struct record_id, t->taken_count + 1);
    for (size_t i = 0; i < t->taken_count; i++) {
        bool gone = k->whole;

        for (size_t j = 0; j < k->count && !gone; j++)
            gone = record_id_equal(k->items[j].id, t->taken[i]);
        for (size_t j = 0; j < w->removed_count && !gone; j++)
            gone = record_id_equal(w->removed[j], t->taken[i]);
        if (gone)
            (*out)[n++] = t->taken[i];
    }
    return n;
}

static int append_shard(struct carry *k, uint16_t shard)
{
    struct stream_log *log = &k->logs[shard];
    struct stream_entry *entries = ARENA_ARRAY(&k->c->arena, struct stream_entry, k->count + 1);
    struct record_id *gone;
    size_t count = 0, gone_count;

    for (size_t i = 0; i < k->count; i++)
        if (k->items[i].ours && k->items[i].shard == shard && !k->items[i].appended)
            entries[count++] = (struct stream_entry){k->items[i].id, k->items[i].value};
    if (!count)
        return E_OK;
    gone_count = gone_of(k, log, &gone);
    TRY(stream_log_append(k->c, log, entries, count, gone, gone_count));
    k->walk->carried += count;
    return E_OK;
}

/* ---- a page ---- */

static void note_removed(struct carry *k)
{
    struct stream_carry *w = k->walk;

    if (!w->removed)
        w->removed = ARENA_ARRAY(&w->c->arena, struct record_id, PAGE_RECORDS);
    w->removed_count = 0;
    for (size_t i = 0; i < k->count; i++)
        if (k->items[i].appended)
            w->removed[w->removed_count++] = k->items[i].id;
}

static int open_logs(struct ctx *c, struct stream_carry *w, struct stream_log *logs)
{
    const struct schema *s = &w->table->schema;

    for (uint16_t i = 0; i < s->stream.shards; i++) {
        logs[i] = (struct stream_log){.engine = w->table->db->engine,
                                      .location = s->stream.location,
                                      .shard = i,
                                      .segment = w->segments[i]};
        TRY(stream_log_open(c, &logs[i]));
        w->segments[i] = logs[i].segment;
        w->crowded |= logs[i].tail.taken_count > TAKEN_TIDY;
    }
    return E_OK;
}

static int carry_items(struct carry *k)
{
    bool removes_foreign;

    TRY(check_foreign(k, &removes_foreign));
    if (k->count)
        qsort(k->items, k->count, sizeof(*k->items), compare_numbers);
    mark_taken(k, removes_foreign);
    TRY(remove_appended(k));
    if (fault_hit(FAULT_carry_removed))
        return fail_code(k->c, E_BUSY);
    if (k->walk->removes_only)
        return E_OK;
    for (uint16_t shard = 0; shard < k->table->schema.stream.shards; shard++) {
        TRY(append_shard(k, shard));
        if (fault_hit(FAULT_carry_appended))
            return fail_code(k->c, E_BUSY);
    }
    for (size_t i = 0; i < k->count; i++)
        k->items[i].appended |= k->items[i].ours;
    TRY(remove_appended(k));
    note_removed(k);
    return E_OK;
}

static void go_on(struct stream_carry *w, const struct page *page)
{
    if (page->more && page->count) {
        w->after = arena_copy(&w->c->arena, page->items[page->count - 1].key);
        return;
    }
    w->after = BYTES_NONE;
    w->bucket++;
    w->ended = w->bucket >= w->table->schema.location.layout.buckets;
}

static int carry_page(struct carry *k)
{
    struct page page;

    TRY(beside_scan(k, 1, &page));
    if (!page.count) {
        go_on(k->walk, &page);
        return E_OK;
    }
    TRY(open_logs(k->c, k->walk, k->logs));
    TRY(beside_scan(k, PAGE_RECORDS, &page));
    k->whole = !k->walk->after.ptr && !page.more && k->table->schema.location.layout.buckets == 1;
    items_take(k, &page);
    TRY(carry_items(k));
    go_on(k->walk, &page);
    return E_OK;
}

int stream_carry_page(struct stream_carry *w)
{
    struct carry k = {.walk = w, .table = w->table};
    struct ctx c;
    int code;

    ctx_init(&c, w->c->clock, w->c->log, NULL, 0);
    k.c = &c;
    code = carry_page(&k);
    if (code == E_GUARD || code == E_PARTITION)
        code = E_BUSY;
    if (code)
        fail(w->c, code, "%s", c.text ? c.text : err_info(code)->text);
    ctx_release(&c);
    return code;
}

static int walk_all(struct stream_carry *w)
{
    int code = E_OK;

    for (int tries = 0; !w->ended && tries < TRIES_MAX;) {
        code = stream_carry_page(w);
        if (code && code != E_BUSY)
            return code;
        tries = code ? tries + 1 : 0;
        if (code)
            ctx_clear(w->c);
    }
    return code ? fail_code(w->c, code) : E_OK;
}

/* What the tails list before a walk is removed, or was, when the walk has ended. */
static int tidy(struct ctx *c, struct table *t)
{
    struct stream_carry w = {.table = t, .c = c, .removes_only = true};
    struct stream_log before[SCHEMA_SHARDS_MAX], now[SCHEMA_SHARDS_MAX];

    TRY(open_logs(c, &w, before));
    TRY(walk_all(&w));
    TRY(open_logs(c, &w, now));
    for (uint16_t i = 0; i < t->schema.stream.shards; i++) {
        int code = stream_log_append(c, &now[i], NULL, 0, before[i].tail.taken,
                                     before[i].tail.taken_count);

        if (code && code != E_GUARD)
            return code;
        if (code)
            ctx_clear(c); /* somebody else appends, and the next walk shortens it */
    }
    return E_OK;
}

int stream_carry_all(struct ctx *c, struct table *t, size_t *carried)
{
    struct stream_carry w = {.table = t, .c = c};
    int code = walk_all(&w);

    *carried = w.carried;
    if (!w.crowded || (code && code != E_BUSY))
        return code;
    ctx_clear(c);
    TRY(tidy(c, t));
    return code ? fail_code(c, code) : E_OK;
}
