/* catalog_sweep.c: removes what dropped tables have left. */
#include "table/catalog/catalog_own.h"

#include "table/model/batch_builder.h"
#include "table/model/key.h"
#include "table/sync/wait.h"

#define DROP_GRACE_MS 60000 /* no request lives longer */

void catalog_drop_edit(struct batch_builder *e, uint32_t location_id, int64_t now_ms)
{
    batch_add(e, EDIT_PUT, catalog_dropped_key(e->arena, location_id),
              catalog_number_value(e->arena, (uint64_t)now_ms));
}

void catalog_drop_stream(struct batch_builder *e, struct wr_db *db, const struct schema_stream *s,
                         int64_t now_ms)
{
    struct buf b;

    if (!db->drop_stream) {
        catalog_drop_edit(e, s->location, now_ms);
        return;
    }
    buf_init(&b, e->arena, 9);
    store_u64(buf_reserve(&b, 8), (uint64_t)now_ms);
    buf_commit(&b, 8);
    buf_put_u8(&b, (uint8_t)(CATALOG_DROPPED_STREAM + s->shards - 1));
    batch_add(e, EDIT_PUT, catalog_dropped_key(e->arena, s->location), buf_bytes(&b));
}

/* When a table was dropped, and, where partitions are more than ranges, the partitions it had or
 * was about to have: those that stand in pages are named by a mark, for the pages stay. */
static bytes dropped_value(struct arena *a, const struct wr_db *db, const struct schema *s,
                           int64_t now_ms)
{
    size_t listed = s->page_count ? 0 : s->partition_count;
    struct buf b;

    buf_init(&b, a, 9 + 8 * (listed + s->repartition.made_count));
    store_u64(buf_reserve(&b, 8), (uint64_t)now_ms);
    buf_commit(&b, 8);
    if (s->page_count)
        buf_put_u8(&b, CATALOG_DROPPED_PAGED);
    if (engine_one_key_space(db->engine))
        return buf_bytes(&b);
    for (size_t i = 0; i < listed + s->repartition.made_count; i++) {
        store_u64(buf_reserve(&b, 8),
                  i < listed ? s->partitions[i].id : s->repartition.made[i - listed].id);
        buf_commit(&b, 8);
    }
    return buf_bytes(&b);
}

void catalog_drop_rows(struct batch_builder *e, struct wr_db *db, const struct schema *s)
{
    int64_t now_ms = db_clock_ms(db);

    batch_add(e, EDIT_PUT, catalog_dropped_key(e->arena, s->location.id),
              dropped_value(e->arena, db, s, now_ms));
    if (s->stream.location)
        catalog_drop_stream(e, db, &s->stream, now_ms);
    if (s->change_log)
        catalog_drop_edit(e, s->change_log, now_ms);
    for (size_t i = 0; i < s->tunnel_count; i++)
        batch_add(e, EDIT_DELETE, catalog_tunnel_key(e->arena, s->id, s->tunnels[i].number),
                  BYTES_NONE);
    if (s->base.table.len && s->base.phase != INDEX_INCR)
        batch_add(e, EDIT_DELETE, catalog_rekey_key(e->arena, s->id), BYTES_NONE);
    if (!s->shadow.id)
        return;
    catalog_drop_edit(e, s->shadow.id, now_ms);
    batch_add(e, EDIT_DELETE, catalog_rekey_key(e->arena, s->id), BYTES_NONE);
}

/* The partitions that one page names, and the page. */
static int drop_page(struct ctx *c, struct wr_db *db, const struct kv *page)
{
    struct edit edit = {EDIT_DELETE, page->key, BYTES_NONE};
    struct write_batch batch = {.partition = PARTITION_SYSTEM, .edits = &edit, .edit_count = 1};
    uint64_t *ids;
    size_t n = 0;

    if (!engine_one_key_space(db->engine))
        TRY(schema_page_ids(c, page->value, &ids, &n));
    for (size_t i = 0; i < n; i++) {
        struct partition_spec spec = {.id = ids[i]};

        TRY(engine_drop(c, db->engine, &spec));
    }
    return wait_apply(c, db->engine, &batch);
}

/* One after the other, so that a crash loses one page's work at most. */
static int drop_pages(struct ctx *c, struct wr_db *db, uint32_t location_id)
{
    struct key_range range = {catalog_page_key(&c->arena, location_id, 0),
                              catalog_page_key(&c->arena, location_id, UINT64_MAX)};
    struct page page = {.more = true};

    while (page.more) {
        struct scan scan = {.partition = PARTITION_SYSTEM,
                            .view = VIEW_DURABLE,
                            .ranges = &range,
                            .range_count = 1,
                            .items_max = 64,
                            .bytes_max = 1 << 20,
                            .pages = &page};

        TRY(wait_scan(c, db->engine, &scan));
        for (size_t i = 0; i < page.count; i++)
            TRY(drop_page(c, db, &page.items[i]));
        if (!page.count)
            break;
        range.start = key_after(&c->arena, page.items[page.count - 1].key);
    }
    return E_OK;
}

/* `ids`: eight bytes each; none: the one that all of the table is in, unless there are pages. */
static int drop_sweep_drop_table(struct ctx *c, struct wr_db *db, bytes record_key, bool paged,
                                 bytes ids)
{
    uint32_t id = load_u32_be(bytes_u8(record_key) + KEY_PREFIX_BYTES);
    struct buf from, to;
    struct key_range range;
    struct partition_spec spec = {.id = id, .ranges = &range, .range_count = 1};
    struct edit edit = {EDIT_DELETE, record_key, BYTES_NONE};
    struct write_batch batch = {.partition = PARTITION_SYSTEM, .edits = &edit, .edit_count = 1};
    bool whole = !ids.len && !(paged && !engine_one_key_space(db->engine));

    buf_init(&from, &c->arena, 8);
    buf_init(&to, &c->arena, 8);
    store_u32_be(buf_reserve(&from, 4), id);
    buf_commit(&from, 4);
    store_u32_be(buf_reserve(&to, 4), id + 1);
    buf_commit(&to, 4);
    range = (struct key_range){buf_bytes(&from), buf_bytes(&to)};
    if (paged)
        TRY(drop_pages(c, db, id));
    for (size_t i = 0; i < ids.len / 8 + whole; i++) {
        if (ids.len)
            spec.id = load_u64(bytes_u8(ids) + 8 * i);
        TRY(engine_drop(c, db->engine, &spec));
    }
    return wait_apply(c, db->engine, &batch);
}

/* A drop whose answer stayed open (E_UNSURE) may be stored although the table is served. Then it is
 * read again, long before its rows go. */
static void forget_dropped(struct ctx *c, struct catalog *cat, const struct page *page)
{
    struct table **cached;
    size_t n = page->count ? catalog_all(cat, &c->arena, &cached) : 0;

    for (size_t i = 0; i < n; i++) {
        const struct schema *s = &cached[i]->schema;
        bool stale = false;

        for (size_t j = 0; j < page->count && !stale; j++) {
            bytes key = page->items[j].key;
            uint32_t id =
                key.len == KEY_PREFIX_BYTES + 4 ? load_u32_be(bytes_u8(key) + KEY_PREFIX_BYTES) : 0;

            stale = id && (id == s->location.id || id == s->shadow.id || id == s->stream.location ||
                           id == s->change_log);
        }
        if (stale && catalog_reread(c, cat, s->instance, s->d.table))
            log_warn(&cat->db->log, "sweep: a dropped table cannot be read again yet: %s",
                     c->text ? c->text : "storage error");
        table_release(cached[i]);
    }
}

/* A record whose time will not come for long, for the clock was set back: as of now. */
static void drop_sweep_date_anew(struct ctx *c, struct wr_db *db, const struct kv *kv)
{
    uint8_t *value = arena_alloc(&c->arena, kv->value.len);
    struct guard guard = {kv->key, kv->value, false};
    struct edit edit = {EDIT_PUT, kv->key, bytes_of(value, kv->value.len)};
    struct write_batch batch = {.partition = PARTITION_SYSTEM,
                                .guards = &guard,
                                .guard_count = 1,
                                .edits = &edit,
                                .edit_count = 1};

    memcpy(value, kv->value.ptr, kv->value.len);
    store_u64(value, (uint64_t)db_clock_ms(db));
    if (wait_apply(c, db->engine, &batch))
        ctx_clear(c); /* the next sweep */
}

/* How many shards the stream had; 0: it is none. */
static uint16_t dropped_shards(bytes value)
{
    uint8_t mark = value.len == 9 ? bytes_u8(value)[8] : 0;
    bool stream =
        mark >= CATALOG_DROPPED_STREAM && mark < CATALOG_DROPPED_STREAM + SCHEMA_SHARDS_MAX;

    return stream ? (uint16_t)(mark - CATALOG_DROPPED_STREAM + 1) : 0;
}

static int drop_logs(struct ctx *c, struct wr_db *db, bytes record_key, uint16_t shards)
{
    struct edit edit = {EDIT_DELETE, record_key, BYTES_NONE};
    struct write_batch batch = {.partition = PARTITION_SYSTEM, .edits = &edit, .edit_count = 1};

    TRY(db->drop_stream(c, db, load_u32_be(bytes_u8(record_key) + KEY_PREFIX_BYTES), shards));
    return wait_apply(c, db->engine, &batch);
}

static int drop_stored(struct ctx *c, struct wr_db *db, const struct kv *kv, bool paged)
{
    uint16_t shards = db->drop_stream ? dropped_shards(kv->value) : 0;

    return shards ? drop_logs(c, db, kv->key, shards)
                  : drop_sweep_drop_table(c, db, kv->key, paged, bytes_skip(kv->value, 8 + paged));
}

static void sweep_dropped(struct ctx *c, struct wr_db *db, const struct kv *kv)
{
    bool paged = kv->value.len % 8 == 1 &&
                 bytes_u8(kv->value)[kv->value.len > 8 ? 8 : 0] == CATALOG_DROPPED_PAGED;
    bool stream = db->drop_stream && dropped_shards(kv->value);
    int64_t time_ms;

    if (kv->value.len < 8 || !(kv->value.len % 8 == 0 || paged || stream) ||
        kv->key.len != KEY_PREFIX_BYTES + 4)
        return;
    time_ms = (int64_t)load_u64(kv->value.ptr);
    if (clock_watch_ahead(db, time_ms))
        drop_sweep_date_anew(c, db, kv);
    else if ((db_clock_is_before(db, time_ms) ||
              time_ms <= clock_watch_before(db, DROP_GRACE_MS)) &&
             drop_stored(c, db, kv, paged))
        log_warn(&db->log, "sweep: a dropped table could not be removed yet: %s",
                 c->text ? c->text : "storage error");
}

void catalog_sweep(struct wr_db *db)
{
    struct catalog *cat = db->catalog;
    struct ctx c;
    struct key_range range;
    struct page page = {0};
    struct scan scan = {.partition = PARTITION_SYSTEM,
                        .view = VIEW_DURABLE,
                        .ranges = &range,
                        .range_count = 1,
                        .items_max = 64,
                        .bytes_max = 1 << 16,
                        .pages = &page};

    ctx_init(&c, &db->clock, &db->log, NULL, 0);
    /* So that one who was paused catches up though nobody asks him for a table. */
    if (catalog_check(&c, cat))
        ctx_clear(&c);
    catalog_numbers_sweep(&c, cat);
    range = (struct key_range){catalog_plain_key(&c.arena, CATALOG_DROPPED),
                               catalog_plain_key(&c.arena, CATALOG_LEASE)};
    if (!wait_scan(&c, db->engine, &scan)) {
        forget_dropped(&c, cat, &page);
        for (size_t i = 0; i < page.count; i++)
            sweep_dropped(&c, db, &page.items[i]);
    }
    ctx_release(&c);
}
