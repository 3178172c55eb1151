#include "table/core/row_walk.h"

#include "base/invariant.h"
#include "table/core/catalog_key.h"
#include "table/model/layout.h"
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
    const struct location *p = &w->visitor.table->schema.location;
    struct key_range whole = location_range(&w->c->arena, p), done = whole;
    struct partition_spec spec = {p->id, &whole, 1};
    uint64_t all = 0, part = 0;

    if (!w->position.len)
        return 0;
    done.end = w->position;
    if (engine_size(w->c, w->visitor.db->engine, &spec, &all))
        return -1;
    spec.ranges = &done;
    if (engine_size(w->c, w->visitor.db->engine, &spec, &part) || !all)
        return -1;
    return part >= all ? 99 : (int)(part * 100 / all);
}

static int walk_load(struct row_walk *w)
{
    struct get get = {.partition = PARTITION_SYSTEM, .key = w->record, .view = VIEW_LATEST};

    TRY(wait_get(w->c, w->visitor.db->engine, &get));
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
    const struct table *t = w->visitor.table;
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
    code = wait_apply(w->c, w->visitor.db->engine, &batch);
    if (code != E_GUARD)
        return code;
    ctx_clear(w->c);
    return E_OK;
}

/* ---- a page ---- */

/* The row records behind the position, of the bucket it is in and then of the next. */
static int next_records(struct row_walk *w, struct ctx *c, struct page *page)
{
    const struct location *p = &w->visitor.table->schema.location;
    size_t bucket = w->position.len > 4 ? bytes_u8(w->position)[4] : 0;
    bytes after = w->position;

    *page = (struct page){.count = 0};
    for (; bucket < p->layout.buckets && !page->count; bucket++) {
        struct key_range range;
        struct scan scan = {.partition = p->id,
                            .view = w->record.len ? VIEW_LATEST : VIEW_DURABLE,
                            .ranges = &range,
                            .range_count = 1,
                            .items_max = ROW_WALK_PAGE_ROWS,
                            .bytes_max = ROW_WALK_PAGE_BYTES,
                            .pages = page};

        range.start = after.len ? key_after(&c->arena, after)
                                : key_prefix(&c->arena, p->id, (uint8_t)bucket, KIND_RECORD);
        range.end = key_prefix(&c->arena, p->id, (uint8_t)bucket, KIND_RECORD + 1);
        after = BYTES_NONE;
        TRY(wait_scan(c, w->visitor.db->engine, &scan));
    }
    return E_OK;
}

static int walk_page_rows(struct row_walk *w, struct walk_page *p, bool *ended)
{
    struct page page;
    bytes last;

    TRY(next_records(w, &p->c, &page));
    *ended = !page.count;
    if (*ended)
        return E_OK;
    last = page.items[page.count - 1].key;
    TRY(walk_page_visit(p, &page));
    w->position = arena_copy(&w->c->arena, last);
    w->rows += page.count;
    for (size_t i = 0; i < page.count; i++)
        w->step->bytes += page.items[i].key.len + page.items[i].value.len;
    return E_OK;
}

/* *ended: there was none. */
static int walk_page(struct row_walk *w, bool *ended)
{
    struct walk_page *p;
    int code;

    TRY(walk_pages_wait(w->pages, false));
    p = walk_page_new(w->pages);
    code = walk_page_rows(w, p, ended);
    if (code && p->c.text)
        fail(w->c, code, "%s", p->c.text);
    walk_page_unref(p);
    return code;
}

static int walk_some(struct row_walk *w, bool *ended)
{
    int64_t until_ms =
        clock_mono_ms(&w->visitor.db->clock) + (w->slice_ms ? w->slice_ms : SLICE_MS);

    do {
        TRY(walk_page(w, ended));
        if (w->paged)
            TRY(w->paged(w));
    } while (!*ended && clock_mono_ms(&w->visitor.db->clock) < until_ms &&
             !scheduler_stopping(w->visitor.db->background));
    return E_OK;
}

int row_walk_slice(struct row_walk *w, bool *ended)
{
    int code, landed;

    invariant(w->visitor.visit && w->visitor.visit_alone);
    if (w->record.len)
        TRY(walk_load(w));
    w->pages = walk_pages_new(&w->visitor);
    code = walk_some(w, ended);
    landed = walk_pages_wait(w->pages, true);
    walk_pages_free(w->pages);
    w->pages = NULL;
    TRY(code);
    TRY(landed);
    w->step->percent = walk_percent(w);
    return *ended || !w->record.len ? E_OK : walk_store(w);
}
