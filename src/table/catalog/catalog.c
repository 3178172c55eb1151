/* catalog.c
 *
 * core/catalog_key.h says where it is stored.
 *
 * A table's id is never used again, so a write that is still under way when its
 * table is dropped lands where nobody looks and goes with the rest. */
#include "table/catalog/catalog_own.h"

#include "table/catalog/route.h"
#include "table/model/key.h"
#include "table/stats/tally.h"
#include "table/sync/wait.h"

#include <stdlib.h>
#include <xxhash.h>

/* ---- the cache ---- */

static uint64_t name_hash(bytes instance, bytes name)
{
    return XXH3_64bits_withSeed(name.ptr, name.len, XXH3_64bits(instance.ptr, instance.len));
}

static void live_add(struct catalog *cat, struct table *t)
{
    t->catalog = cat;
    pthread_mutex_lock(&cat->live_lock);
    t->live_next = cat->live;
    t->live_at = &cat->live;
    if (cat->live)
        cat->live->live_at = &t->live_next;
    cat->live = t;
    pthread_mutex_unlock(&cat->live_lock);
}

static void live_remove(struct table *t)
{
    if (!t->catalog)
        return;
    pthread_mutex_lock(&t->catalog->live_lock);
    *t->live_at = t->live_next;
    if (t->live_next)
        t->live_next->live_at = t->live_at;
    pthread_mutex_unlock(&t->catalog->live_lock);
}

/* The rows of a table are the same whichever of its descriptions a request holds: all of them that
 * are still held know of detached data from now on. */
static void live_mark_detached(struct catalog *cat, uint32_t id)
{
    pthread_mutex_lock(&cat->live_lock);
    for (struct table *t = cat->live; t; t = t->live_next)
        if (t->schema.id == id)
            atomic_store(&t->has_detached, true);
    pthread_mutex_unlock(&cat->live_lock);
}

bool catalog_settled(struct catalog *cat, const struct table *t)
{
    bool settled = true;

    pthread_mutex_lock(&cat->live_lock);
    for (const struct table *other = cat->live; other; other = other->live_next)
        settled &=
            other->schema.id != t->schema.id || (other->schema.rekey == t->schema.rekey &&
                                                 other->schema.place.id == t->schema.place.id &&
                                                 other->schema.mirror.id == t->schema.mirror.id);
    pthread_mutex_unlock(&cat->live_lock);
    return settled;
}

int catalog_table_new(struct ctx *c, struct catalog *cat, bytes stored,
                      const struct map_source *from, struct table **out)
{
    struct table *t = mem_zalloc(sizeof(*t));
    struct wr_db *db = cat->db;
    int code;

    t->db = db;
    ctx_init(&t->ctx, &db->clock, &db->log, NULL, 0);
    atomic_init(&t->refs, 1);
    if (schema_decode(&t->ctx, stored, &t->schema)) {
        code = fail(c, t->ctx.code, "%s", t->ctx.text);
        table_release(t);
        return code;
    }
    t->stored = arena_copy(&t->ctx.arena, stored);
    code = catalog_map_init(c, cat, from, &t->schema, &t->partitions);
    if (code) {
        table_release(t);
        return code;
    }
    t->traffic = traffic_new();
    if (!engine_one_key_space(db->engine))
        traffic_reroute(t->traffic, &t->partitions);
    atomic_init(&t->has_detached, t->schema.has_detached);
    t->tally = tally_open(db->tally, t->schema.place.layout.buckets);
    t->hash = name_hash(t->schema.instance, t->schema.d.table);
    live_add(cat, t);
    *out = t;
    return E_OK;
}

struct table *table_ref(struct table *t)
{
    atomic_fetch_add_explicit(&t->refs, 1, memory_order_relaxed);
    return t;
}

void table_release(struct table *t)
{
    if (!t || atomic_fetch_sub_explicit(&t->refs, 1, memory_order_acq_rel) != 1)
        return;
    live_remove(t);
    partition_map_release(&t->partitions);
    traffic_release(t->traffic);
    tally_close(t->tally);
    mem_free((void *)t->swept_key.ptr);
    ctx_release(&t->ctx);
    mem_free(t);
}

static struct table **cache_at(struct catalog *cat, bytes instance, bytes name)
{
    uint64_t hash = name_hash(instance, name);
    struct table **at = &cat->buckets[hash % CATALOG_BUCKETS];

    while (*at && !((*at)->hash == hash && bytes_equal((*at)->schema.d.table, name) &&
                    bytes_equal((*at)->schema.instance, instance)))
        at = &(*at)->next;
    return at;
}

/* `t` follows `old`: what requests count goes on where it was. */
static void table_follow(struct table *t, struct table *old)
{
    if (atomic_load(&old->has_detached))
        atomic_store(&t->has_detached, true);
    if (old->schema.place.id == t->schema.place.id) {
        tally_close(t->tally);
        t->tally = tally_ref(old->tally);
    }
    if (old->schema.id != t->schema.id)
        return;
    traffic_release(t->traffic);
    t->traffic = traffic_ref(old->traffic);
    partition_map_adopt(&t->partitions, &old->partitions, t->traffic);
    if (t->traffic->route)
        traffic_reroute(t->traffic, &t->partitions);
}

/* Ids ascend: a table that was made anew has a greater one. */
static bool is_older(const struct schema *a, const struct schema *b)
{
    return a->id != b->id ? a->id < b->id : a->version < b->version;
}

/* Requests are looked at before their table is known: what the largest table allows is let in. */
static void let_in(struct wr_db *db, const struct schema *s)
{
    int64_t columns = (int64_t)s->d.key_count;

    if (s->d.options.cell_bytes_max > db->limits.cell_bytes_max)
        atomic_store(&db->has_lifted, true);
    if (columns > db->limits.table_key_columns)
        db->limits.table_key_columns = db->lifted.table_key_columns = columns;
}

static bool swap(struct catalog *cat, bytes instance, bytes name, struct table *t,
                 struct refused *refused, const uint64_t *expected)
{
    struct table **at, *old;
    bool is_new;

    pthread_rwlock_wrlock(&cat->lock);
    if (t)
        let_in(cat->db, &t->schema);
    if (expected && atomic_load(&cat->changes) != *expected) {
        pthread_rwlock_unlock(&cat->lock);
        table_release(t);
        mem_free(refused);
        return false;
    }
    atomic_fetch_add(&cat->changes, 1);
    at = cache_at(cat, instance, name);
    old = *at;
    if (t && old && is_older(&t->schema, &old->schema)) {
        /* Whoever stored it was overtaken by one who read what followed. */
        pthread_rwlock_unlock(&cat->lock);
        table_release(t);
        return true;
    }
    if (t) {
        t->next = old ? old->next : NULL;
        if (t->schema.has_detached && !(old && atomic_load(&old->has_detached)))
            live_mark_detached(cat, t->schema.id);
        if (old)
            table_follow(t, old);
        *at = t;
    } else if (old) {
        *at = old->next;
    }
    is_new = refused_set(cat, instance, name, refused);
    pthread_rwlock_unlock(&cat->lock);
    if (refused && is_new)
        log_error(&cat->db->log, "catalog: table '%.*s' of '%.*s' is refused, others are served",
                  BYTES_FMT(name), BYTES_FMT(instance));
    table_release(old);
    router_wake(cat->db->router);
    return true;
}

bool catalog_swap(struct catalog *cat, bytes instance, bytes name, struct table *t,
                  const uint64_t *expected)
{
    return swap(cat, instance, name, t, NULL, expected);
}

bool catalog_refuse(struct catalog *cat, bytes instance, bytes name, int code, const char *text,
                    const uint64_t *expected)
{
    return swap(cat, instance, name, NULL, refused_new(instance, name, code, text), expected);
}

void catalog_publish(struct catalog *cat, bytes instance, bytes name, struct table *t)
{
    catalog_swap(cat, instance, name, t, NULL);
}

struct table *catalog_get(struct catalog *cat, bytes instance, bytes name)
{
    struct table *t;

    pthread_rwlock_rdlock(&cat->lock);
    t = *cache_at(cat, instance, name);
    if (t)
        table_ref(t);
    pthread_rwlock_unlock(&cat->lock);
    return t;
}

int catalog_missing(struct ctx *c, struct catalog *cat, bytes instance, bytes name)
{
    TRY(catalog_refusal(c, cat, instance, name));
    if (catalog_is_fresh(cat))
        return fail_code(c, E_NOT_EXIST);
    return fail(c, E_UNAVAILABLE,
                "This server has not heard of the others for some seconds; the table may be new.");
}

int catalog_find(struct ctx *c, struct catalog *cat, bytes instance, bytes name, struct table **out)
{
    struct table *t;

    TRY(catalog_check(c, cat));
    t = catalog_get(cat, instance, name);
    if (!t)
        return catalog_missing(c, cat, instance, name);
    if (t->schema.d.status != WR_TABLE_ACTIVE) {
        table_release(t);
        return fail(c, E_NOT_READY, "The table is unloaded. Load it with LoadTable.");
    }
    *out = t;
    return E_OK;
}

int call_open_table(struct call *call, bytes name, struct table **out)
{
    return catalog_find(&call->c, call->db->catalog, call->req->instance, name, out);
}

size_t catalog_all(struct catalog *cat, struct arena *a, struct table ***tables)
{
    size_t n = 0, i = 0;

    pthread_rwlock_rdlock(&cat->lock);
    for (int b = 0; b < CATALOG_BUCKETS; b++)
        for (struct table *t = cat->buckets[b]; t; t = t->next)
            n++;
    *tables = ARENA_ARRAY(a, struct table *, n);
    for (int b = 0; b < CATALOG_BUCKETS; b++)
        for (struct table *t = cat->buckets[b]; t; t = t->next)
            (*tables)[i++] = table_ref(t);
    pthread_rwlock_unlock(&cat->lock);
    return n;
}

static int compare_names(const void *a, const void *b)
{
    return bytes_compare(*(const bytes *)a, *(const bytes *)b);
}

size_t catalog_list(struct catalog *cat, struct arena *a, bytes instance, bytes **names)
{
    struct table **tables;
    size_t all = catalog_all(cat, a, &tables), n = 0, refused = catalog_refused_count(cat);

    *names = ARENA_ARRAY(a, bytes, all + refused);
    for (size_t i = 0; i < all; i++) {
        if (bytes_equal(tables[i]->schema.instance, instance))
            (*names)[n++] = arena_copy(a, tables[i]->schema.d.table);
        table_release(tables[i]);
    }
    n += catalog_refused_names(cat, a, instance, *names + n, refused);
    if (n)
        qsort(*names, n, sizeof(bytes), compare_names);
    return n;
}

/* ---- open and close ---- */

/* A description that cannot be read. *changed: what was read may be older than the cache. */
static int load_refused(struct ctx *c, struct catalog *cat, bytes key, int code,
                        const uint64_t *before, bool *changed)
{
    bytes instance, name;
    const char *text;

    if (!catalog_may_refuse(cat, code))
        return code;
    text = arena_printf(&c->arena, "%s", c->text).ptr;
    ctx_clear(c);
    TRY(catalog_key_names(c, key, &instance, &name));
    *changed = !catalog_refuse(cat, instance, name, code, text, before);
    return E_OK;
}

int catalog_load(struct ctx *c, struct catalog *cat)
{
    struct key_range range = {catalog_plain_key(&c->arena, CATALOG_TABLE),
                              catalog_plain_key(&c->arena, CATALOG_DROPPED)};
    struct page page = {.more = true};
    bytes tried = BYTES_NONE; /* the last one whose pages were newer than what named them */
    int tries = 0;

    while (page.more) {
        struct scan scan = {.partition = PARTITION_SYSTEM,
                            .view = VIEW_LATEST,
                            .ranges = &range,
                            .range_count = 1,
                            .items_max = 256,
                            .bytes_max = 1 << 20,
                            .pages = &page};
        uint64_t before = atomic_load(&cat->changes);
        bool changed = false;

        TRY(wait_scan(c, cat->db->engine, &scan));
        for (size_t i = 0; i < page.count && !changed; i++) {
            struct map_source from = {.view = VIEW_LATEST, .read = true};
            struct table *t;
            int code = catalog_table_new(c, cat, page.items[i].value, &from, &t);

            if (code == E_GUARD && !bytes_equal(tried, page.items[i].key)) {
                tried = arena_copy(&c->arena, page.items[i].key);
                tries = 0;
            }
            if (code == E_GUARD && tries++ < CATALOG_TRIES_MAX) {
                ctx_clear(c);
                changed = true;
                continue;
            }
            if (code == E_GUARD)
                code = fail(c, E_CORRUPT, "A page of a table's partitions is missing.");
            if (code)
                TRY(load_refused(c, cat, page.items[i].key, code, &before, &changed));
            else
                changed = !catalog_swap(cat, t->schema.instance, t->schema.d.table, t, &before);
            before++;
        }
        if (changed) { /* what was read may be older: once more */
            page.more = true;
            continue;
        }
        if (page.count)
            range.start = key_after(&c->arena, page.items[page.count - 1].key);
        else
            page.more = false;
    }
    return E_OK;
}

int catalog_open(struct ctx *c, struct wr_db *db, struct catalog **out)
{
    struct catalog *cat = mem_zalloc(sizeof(*cat));
    uint64_t next_id = 0;
    int code;

    cat->db = db;
    if (db_is_shared(db))
        db->lease = &cat->touch;
    atomic_init(&cat->reloading, true);
    pthread_rwlock_init(&cat->lock, NULL);
    pthread_mutex_init(&cat->live_lock, NULL);
    code = catalog_load_number(c, db->engine, CATALOG_NEXT_ID, &next_id);
    if (!code)
        code = catalog_load(c, cat);
    cat->next_id = next_id ? (uint32_t)next_id : 1;
    if (!code)
        code = catalog_numbers_open(c, cat);
    if (code) {
        refused_free(cat);
        pthread_rwlock_destroy(&cat->lock);
        for (int b = 0; b < CATALOG_BUCKETS; b++)
            for (struct table *t = cat->buckets[b], *next; t; t = next) {
                next = t->next;
                table_release(t);
            }
        mem_free(cat);
        return code;
    }
    *out = cat;
    return E_OK;
}

void catalog_close(struct catalog *cat)
{
    if (!cat)
        return;
    catalog_numbers_close(cat);
    for (int b = 0; b < CATALOG_BUCKETS; b++)
        for (struct table *t = cat->buckets[b], *next; t; t = next) {
            next = t->next;
            table_release(t);
        }
    refused_free(cat);
    pthread_rwlock_destroy(&cat->lock);
    mem_free(cat);
}
