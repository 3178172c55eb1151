#include "table/core/row_walk.h"

#include "base/invariant.h"
#include "table/core/catalog_key.h"
#include "table/model/layout.h"
#include "table/sync/blocking_lock.h"
#include "table/sync/wait.h"

#define SLICE_MS 100 /* a step; progress that a crash may cost */
#define RECORD_VERSION 1
#define RECORD_BYTES 13 /* version, id, rows; the position follows */

/* ---- progress ---- */

static struct key_range location_range(struct arena *a, const struct location *p)
{
    uint8_t *bounds = arena_alloc(a, 8);

    store_u32_be(bounds, p->id);
    store_u32_be(bounds + 4, p->id + 1);
    return (struct key_range){bytes_of(bounds, 4), bytes_of(bounds + 4, 4)};
}

/* How much of the location lies behind the walk; -1: it is not known. */
static int walk_percent(struct row_walk *w)
{
    const struct location *p = &w->table->schema.location;
    struct key_range whole = location_range(&w->c->arena, p), done = whole;
    struct partition_spec spec = {p->id, &whole, 1};
    uint64_t all = 0, part = 0;

    if (!w->position.len)
        return 0;
    done.end = w->position;
    if (engine_size(w->c, w->db->engine, &spec, &all))
        return -1;
    spec.ranges = &done;
    if (engine_size(w->c, w->db->engine, &spec, &part) || !all)
        return -1;
    return part >= all ? 99 : (int)(part * 100 / all);
}

static int walk_load(struct row_walk *w)
{
    struct get get = {.partition = PARTITION_SYSTEM, .key = w->record, .view = VIEW_LATEST};

    TRY(wait_get(w->c, w->db->engine, &get));
    w->position = BYTES_NONE;
    w->rows = 0;
    if (!get.found || get.value.len < RECORD_BYTES || bytes_u8(get.value)[0] != RECORD_VERSION ||
        load_u32(bytes_u8(get.value) + 1) != w->id)
        return E_OK;
    w->rows = load_u64(bytes_u8(get.value) + 5);
    w->position = bytes_skip(get.value, RECORD_BYTES);
    return E_OK;
}

/* Unless the table has changed meanwhile: it, or the index that the walk is for, may be gone, and
 * then nobody would remove the record. Otherwise the next slice does this one again. */
static int walk_store(struct row_walk *w)
{
    const struct table *t = w->table;
    struct guard guard = {catalog_table_key(&w->c->arena, t->schema.instance, t->schema.d.table),
                          t->stored, false};
    struct edit edit = {.type = EDIT_PUT, .key = w->record};
    struct write_batch batch = {.partition = PARTITION_SYSTEM,
                                .guards = &guard,
                                .guard_count = 1,
                                .edits = &edit,
                                .edit_count = 1};
    struct buf b;
    int code;

    buf_init(&b, &w->c->arena, RECORD_BYTES + w->position.len);
    buf_put_u8(&b, RECORD_VERSION);
    buf_put_u32(&b, w->id);
    buf_put_u64(&b, w->rows);
    buf_put_bytes(&b, w->position);
    edit.value = buf_bytes(&b);
    code = wait_apply(w->c, w->db->engine, &batch);
    if (code != E_GUARD)
        return code;
    ctx_clear(w->c);
    return E_OK;
}

/* ---- a page ---- */

/* Its batches under way. */
struct row_walk_page {
    pthread_mutex_t lock;
    pthread_cond_t woken;
    size_t open;
    int code; /* the first failure */
};

static void batch_done(void *arg, int code)
{
    struct row_walk_page *p = arg;

    pthread_mutex_lock(&p->lock);
    if (!p->code)
        p->code = code;
    p->open--;
    pthread_cond_signal(&p->woken);
    pthread_mutex_unlock(&p->lock);
}

static int page_wait(struct row_walk_page *p)
{
    pthread_mutex_lock(&p->lock);
    while (p->open)
        pthread_cond_wait(&p->woken, &p->lock);
    pthread_mutex_unlock(&p->lock);
    return p->code;
}

void row_walk_apply(struct row_walk *w, struct ctx *c, const struct batch_builder *e,
                    partition_id partition)
{
    struct write_batch *batch;

    if (!e->count)
        return;
    batch = ARENA_NEW(&c->arena, struct write_batch);
    *batch =
        (struct write_batch){.partition = partition, .edits = e->items, .edit_count = e->count};
    pthread_mutex_lock(&w->page->lock);
    w->page->open++;
    pthread_mutex_unlock(&w->page->lock);
    engine_apply(c, w->db->engine, batch, batch_done, w->page);
}

/* Each under its row lock; durable on return. */
static int visit_rows(struct row_walk *w, struct ctx *c, const struct page *page)
{
    struct row_walk_page p = {.open = 0};
    int code = E_OK, applied;

    pthread_mutex_init(&p.lock, NULL);
    pthread_cond_init(&p.woken, NULL);
    w->page = &p;
    for (size_t i = 0; i < page->count && !code; i++) {
        bytes key = page->items[i].key;
        struct blocking_lock lock;

        blocking_lock(
            w->db->row_locks, &lock,
            schema_lock_key(&c->arena, &w->table->schema, bytes_skip(key, KEY_PREFIX_BYTES)));
        assert(row_lock_is_held(w->db->row_locks, &lock.row_lock));
        code = w->visit(w, c, key);
        blocking_unlock(w->db->row_locks, &lock);
    }
    applied = page_wait(&p);
    w->page = NULL;
    pthread_mutex_destroy(&p.lock);
    pthread_cond_destroy(&p.woken);
    return code ? code : applied;
}

/* The row records behind the position, of the bucket it is in and then of the next. */
static int next_records(struct row_walk *w, struct ctx *c, struct page *page)
{
    const struct location *p = &w->table->schema.location;
    size_t bucket = w->position.len > 4 ? bytes_u8(w->position)[4] : 0;
    bytes after = w->position;

    *page = (struct page){.count = 0};
    for (; bucket < p->layout.buckets && !page->count; bucket++) {
        struct key_range range;
        struct scan scan = {.partition = p->id,
                            .view = VIEW_LATEST,
                            .ranges = &range,
                            .range_count = 1,
                            .items_max = ROW_WALK_PAGE_ROWS,
                            .bytes_max = ROW_WALK_PAGE_BYTES,
                            .pages = page};

        range.start = after.len ? key_after(&c->arena, after)
                                : key_prefix(&c->arena, p->id, (uint8_t)bucket, KIND_RECORD);
        range.end = key_prefix(&c->arena, p->id, (uint8_t)bucket, KIND_RECORD + 1);
        after = BYTES_NONE;
        TRY(wait_scan(c, w->db->engine, &scan));
    }
    return E_OK;
}

/* *ended: there was none. */
static int walk_page(struct row_walk *w, bool *ended)
{
    struct page page;
    struct ctx c;
    int code;

    ctx_init(&c, w->c->clock, w->c->log, NULL, 0);
    code = next_records(w, &c, &page);
    *ended = !code && !page.count;
    if (!code && page.count)
        code = visit_rows(w, &c, &page);
    if (!code && page.count) {
        w->position = arena_copy(&w->c->arena, page.items[page.count - 1].key);
        w->rows += page.count;
        for (size_t i = 0; i < page.count; i++)
            w->step->bytes += page.items[i].key.len + page.items[i].value.len;
    }
    if (code && c.text)
        fail(w->c, code, "%s", c.text);
    ctx_release(&c);
    return code;
}

int row_walk_slice(struct row_walk *w, bool *ended)
{
    int64_t until_ms = clock_mono_ms(&w->db->clock) + SLICE_MS;

    invariant(w->record.len && w->visit);
    TRY(walk_load(w));
    do {
        TRY(walk_page(w, ended));
        if (w->paged)
            TRY(w->paged(w));
    } while (!*ended && clock_mono_ms(&w->db->clock) < until_ms &&
             !scheduler_stopping(w->db->background));
    w->step->percent = walk_percent(w);
    return *ended ? E_OK : walk_store(w);
}
