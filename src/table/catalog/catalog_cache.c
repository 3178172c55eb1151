/* catalog_cache.c: all tables in memory, and who holds them.
 *
 * A table's id is never used again, so a write that is still under way when its
 * table is dropped lands where nobody looks and goes with the rest. */
#include "table/catalog/catalog_own.h"

#include "base/invariant.h"
#include "table/core/db_limits.h"
#include "table/core/jobs.h"
#include "table/stats/sampler.h"

#include <stdlib.h>
#include <xxhash.h>

static uint64_t name_hash(bytes instance, bytes name)
{
    return XXH3_64bits_withSeed(name.ptr, name.len, XXH3_64bits(instance.ptr, instance.len));
}

void catalog_live_add(struct catalog *cat, struct table *t)
{
    t->hash = name_hash(t->schema.instance, t->schema.d.table);
    t->catalog = cat;
    pthread_mutex_lock(&cat->live_lock);
    t->live_next = cat->live;
    t->live_at = &cat->live;
    if (cat->live)
        cat->live->live_at = &t->live_next;
    cat->live = t;
    pthread_mutex_unlock(&cat->live_lock);
}

/* Under the lock. */
static bool live_keeps_frozen(const struct catalog *cat, uint32_t series, int64_t number)
{
    bool all = true;

    for (const struct table *t = cat->live; t && all; t = t->live_next)
        all = t->schema.period.series != series || t->schema.period.number >= number ||
              t->schema.period.frozen;
    return all;
}

/* Under the lock: those who waited for the last of such descriptions to go. */
static void end_freezes(struct catalog *cat)
{
    struct catalog_freeze **at = &cat->freezes, *f;

    while ((f = *at)) {
        if (live_keeps_frozen(cat, f->series, f->number)) {
            *at = f->next;
            jobs_submit(cat->db->jobs, &f->job);
        } else {
            at = &f->next;
        }
    }
}

static void live_remove(struct table *t)
{
    struct catalog *cat = t->catalog;

    if (!cat)
        return;
    pthread_mutex_lock(&cat->live_lock);
    invariant(*t->live_at == t);
    *t->live_at = t->live_next;
    if (t->live_next)
        t->live_next->live_at = t->live_at;
    if (t->schema.period.series && !t->schema.period.frozen)
        end_freezes(cat);
    pthread_mutex_unlock(&cat->live_lock);
}

/* The rows of a table are the same whichever of its descriptions a request holds: all of them that
 * are still held know of data out of line from now on. */
static void live_mark_out_of_line(struct catalog *cat, uint32_t id)
{
    pthread_mutex_lock(&cat->live_lock);
    for (struct table *t = cat->live; t; t = t->live_next)
        if (t->schema.id == id)
            atomic_store(&t->has_out_of_line, true);
    pthread_mutex_unlock(&cat->live_lock);
}

void catalog_overtake(struct catalog *cat, const struct table *next)
{
    pthread_mutex_lock(&cat->live_lock);
    for (struct table *t = cat->live; t; t = t->live_next)
        if (t->schema.id == next->schema.id && t->schema.version < next->schema.version)
            atomic_store(&t->is_overtaken, true);
    pthread_mutex_unlock(&cat->live_lock);
}

/* Does every version of the table that somebody holds keep what has that storage id? */
static bool all_keep(struct catalog *cat, const struct table *t, uint32_t id,
                     bool (*keeps)(const struct schema *s, uint32_t id))
{
    bool all = true;

    pthread_mutex_lock(&cat->live_lock);
    for (const struct table *other = cat->live; other; other = other->live_next)
        all &= other->schema.id != t->schema.id || keeps(&other->schema, id);
    pthread_mutex_unlock(&cat->live_lock);
    return all;
}

static bool has_stream(const struct schema *s, uint32_t id)
{
    return s->stream.location == id;
}

static bool has_change_log(const struct schema *s, uint32_t id)
{
    return s->change_log == id;
}

static bool has_index(const struct schema *s, uint32_t id)
{
    for (size_t i = 0; i < s->index_count; i++)
        if (s->indexes[i].id == id)
            return true;
    return false;
}

bool catalog_keeps_stream(struct catalog *cat, const struct table *t)
{
    return all_keep(cat, t, t->schema.stream.location, has_stream);
}

bool catalog_keeps_change_log(struct catalog *cat, const struct table *t)
{
    return all_keep(cat, t, t->schema.change_log, has_change_log);
}

bool catalog_keeps_index(struct catalog *cat, const struct table *t, uint32_t index_id)
{
    return all_keep(cat, t, index_id, has_index);
}

static bool fills_index(const struct schema *s, uint32_t id)
{
    for (size_t i = 0; i < s->index_count; i++)
        if (s->indexes[i].id == id)
            return s->indexes[i].phase != INDEX_COMING;
    return false;
}

bool catalog_fills_index(struct catalog *cat, const struct table *t, uint32_t index_id)
{
    return all_keep(cat, t, index_id, fills_index);
}

bool catalog_keeps_frozen(struct catalog *cat, uint32_t series, int64_t number)
{
    bool all;

    pthread_mutex_lock(&cat->live_lock);
    all = live_keeps_frozen(cat, series, number);
    pthread_mutex_unlock(&cat->live_lock);
    return all;
}

bool catalog_await_frozen(struct catalog *cat, struct catalog_freeze *f)
{
    bool waits;

    pthread_mutex_lock(&cat->live_lock);
    waits = !live_keeps_frozen(cat, f->series, f->number);
    if (waits) {
        f->next = cat->freezes;
        cat->freezes = f;
    }
    pthread_mutex_unlock(&cat->live_lock);
    return waits;
}

bool catalog_reconciled(struct catalog *cat, const struct table *t)
{
    bool settled = true;

    pthread_mutex_lock(&cat->live_lock);
    for (const struct table *other = cat->live; other; other = other->live_next)
        settled &= other->schema.id != t->schema.id ||
                   (other->schema.rekey == t->schema.rekey &&
                    other->schema.location.id == t->schema.location.id &&
                    other->schema.shadow.id == t->schema.shadow.id);
    pthread_mutex_unlock(&cat->live_lock);
    return settled;
}

struct table *table_ref(struct table *t)
{
    int before = atomic_fetch_add_explicit(&t->refs, 1, memory_order_relaxed);

    invariant(before > 0); /* else it is being freed */
    return t;
}

void table_release(struct table *t)
{
    if (!t)
        return;
    invariant(atomic_load_explicit(&t->refs, memory_order_relaxed) > 0);
    if (atomic_fetch_sub_explicit(&t->refs, 1, memory_order_acq_rel) != 1)
        return;
    live_remove(t);
    partition_map_release(&t->partitions);
    traffic_release(t->traffic);
    sampler_close(t->sampler);
    for (size_t i = 0; t->index_samplers && i < t->schema.index_count; i++)
        sampler_close(t->index_samplers[i]);
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
    if (atomic_load(&old->has_out_of_line))
        atomic_store(&t->has_out_of_line, true);
    if (old->schema.location.id == t->schema.location.id) {
        sampler_close(t->sampler);
        t->sampler = sampler_ref(old->sampler);
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

static int64_t cell_bytes_of(const struct table *t)
{
    return t ? t->schema.d.options.cell_bytes_max : 0;
}

static int64_t largest_cell_bytes(const struct catalog *cat)
{
    int64_t most = 0;

    for (size_t i = 0; i < CATALOG_BUCKETS; i++)
        for (const struct table *t = cat->buckets[i]; t; t = t->next)
            if (cell_bytes_of(t) > most)
                most = cell_bytes_of(t);
    return most;
}

/* Requests are looked at before their table is known: what the largest table allows is let in. `t`
 * stands in the cache where `old` stood; each may be NULL. */
static void let_in(struct catalog *cat, const struct table *old, const struct table *t)
{
    int64_t before = cell_bytes_of(old), now = cell_bytes_of(t), most = cat->db->table_cell_bytes;

    if (t && (int64_t)t->schema.d.key_count > cat->db->limits.table_key_columns)
        cat->db->limits.table_key_columns = cat->db->lifted.table_key_columns =
            (int64_t)t->schema.d.key_count;
    if (now > most)
        db_limits_let_in(cat->db, now);
    else if (before > now && before == most)
        db_limits_let_in(cat->db, largest_cell_bytes(cat));
}

static bool swap(struct catalog *cat, bytes instance, bytes name, struct table *t,
                 struct refused *refused, const uint64_t *expected)
{
    struct table **at, *old;
    bool is_new;

    invariant(!(t && refused));
    assert(!t ||
           (bytes_equal(t->schema.d.table, name) && bytes_equal(t->schema.instance, instance)));
    pthread_rwlock_wrlock(&cat->lock);
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
        if (t->schema.has_out_of_line && !(old && atomic_load(&old->has_out_of_line)))
            live_mark_out_of_line(cat, t->schema.id);
        if (old)
            table_follow(t, old);
        *at = t;
    } else if (old) {
        *at = old->next;
    }
    let_in(cat, old, t);
    is_new = refused_set(cat, instance, name, refused);
    pthread_rwlock_unlock(&cat->lock);
    if (refused && is_new)
        log_error(&cat->db->log, "catalog: table '%.*s' of '%.*s' is refused, others are served",
                  BYTES_FMT(name), BYTES_FMT(instance));
    table_release(old);
    cat->listener->published(cat->db);
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
        if (bytes_equal(tables[i]->schema.instance, instance) && !tables[i]->schema.period.series)
            (*names)[n++] = arena_copy(a, tables[i]->schema.d.table);
        table_release(tables[i]);
    }
    n += catalog_refused_names(cat, a, instance, *names + n, refused);
    if (n)
        qsort(*names, n, sizeof(bytes), compare_names);
    return n;
}
