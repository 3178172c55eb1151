/* rocks_view.c: the open database and the points in time that readers share. Both are counted: a
 * reader takes a reference under read_lock (a few nanoseconds) and whoever drops the last one
 * frees. The packaged library asserts that no iterator or snapshot outlives its database. */
#include "engine/rocks.h"

#include "base/invariant.h"

/* A value of an enum that RocksDB's C header takes but does not name. */
#define READ_TIER_CACHE 1

/* An iterator with them leaves keys out where there are range tombstones: rocks_tombstones.c. */
void rocks_options_cached(rocksdb_readoptions_t *o)
{
    rocksdb_readoptions_set_read_tier(o, READ_TIER_CACHE);
}

void rocks_cache_unref(struct cache *cache)
{
    if (atomic_fetch_sub(&cache->refs, 1) != 1)
        return;
    rocksdb_cache_destroy(cache->lru);
    mem_free(cache);
}

struct handle *rocks_handle_new(struct rocks *r, rocksdb_t *db, bool flushed)
{
    struct handle *h = mem_zalloc(sizeof(*h));

    h->rocks = r;
    h->db = db;
    h->latest = rocksdb_readoptions_create();
    h->cached = rocksdb_readoptions_create();
    rocks_options_cached(h->cached);
    rocks_tombstones_init(&h->tombstones, !flushed);
    atomic_init(&h->refs, 1);
    return h;
}

void rocks_handle_unref(struct handle *h)
{
    unsigned refs;

    if (!h)
        return;
    refs = atomic_fetch_sub(&h->refs, 1);
    invariant(refs);
    if (refs != 1)
        return;
    rocksdb_readoptions_destroy(h->latest);
    rocksdb_readoptions_destroy(h->cached);
    rocksdb_close(h->db);
    mem_free(h);
}

uint64_t rocks_property(struct handle *h, const char *name)
{
    uint64_t n = 0;

    return rocksdb_property_int(h->db, name, &n) == 0 ? n : 0;
}

struct view *rocks_view_new(struct handle *h)
{
    struct view *v = mem_zalloc(sizeof(*v));

    atomic_fetch_add(&h->refs, 1);
    v->handle = h;
    /* First the number, then the snapshot: the view may show more than the number says, never
     * less. */
    v->sequence = rocksdb_get_latest_sequence_number(h->db);
    v->snapshot = rocksdb_create_snapshot(h->db);
    v->cached = rocksdb_readoptions_create();
    rocks_options_cached(v->cached);
    rocksdb_readoptions_set_snapshot(v->cached, v->snapshot);
    v->all = rocksdb_readoptions_create();
    rocksdb_readoptions_set_snapshot(v->all, v->snapshot);
    atomic_init(&v->refs, 1);
    return v;
}

void rocks_view_unref(struct view *v)
{
    unsigned refs;

    if (!v)
        return;
    refs = atomic_fetch_sub(&v->refs, 1);
    invariant(refs);
    if (refs != 1)
        return;
    rocksdb_readoptions_destroy(v->cached);
    rocksdb_readoptions_destroy(v->all);
    rocksdb_release_snapshot(v->handle->db, v->snapshot);
    rocks_handle_unref(v->handle);
    mem_free(v);
}

int rocks_enter(struct ctx *c, struct rocks *r, enum engine_view view, struct entry *in)
{
    *in = (struct entry){0};
    rocksdb_set_perf_level(rocksdb_disable); /* its counters, of this thread: nobody reads them */
    pthread_mutex_lock(&r->read_lock);
    invariant(!r->handle == !r->view);
    if (r->handle && view == VIEW_DURABLE) {
        in->view = r->view;
        in->handle = r->view->handle;
        atomic_fetch_add(&r->view->refs, 1);
    } else if (r->handle) {
        in->handle = r->handle;
        atomic_fetch_add(&r->handle->refs, 1);
    }
    pthread_mutex_unlock(&r->read_lock);
    if (!in->handle)
        return fail(c, E_UNAVAILABLE, "Storage is being reopened after a failure.");
    return E_OK;
}

void rocks_leave(struct entry *in)
{
    if (in->view)
        rocks_view_unref(in->view);
    else
        rocks_handle_unref(in->handle);
}
