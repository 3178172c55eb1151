#include "table/search/searches.h"

#include "base/pool.h"
#include "base/thread.h"

#include <stdio.h>

#define ROUND_US 200000
#define POOL_THREADS 2
#define CACHE_SHARE 6 /* of --memory, for what is in memory of stored segments */

struct searches {
    struct wr_db *db;
    struct searches_work work;
    pthread_t feed, merger;
    bool fed, merges;
    pthread_mutex_t lock; /* of the list and of `stopping`, `woken` */
    pthread_cond_t wake;
    struct search_index *list;
    bool stopping, woken;
    struct pool *pool;
    _Atomic uint64_t searches;
    struct part_cache *cache;
};

static bool wait_round(struct searches *s, bool more)
{
    struct timespec until = thread_time_in(ROUND_US);
    bool stopping;

    pthread_mutex_lock(&s->lock);
    while (!more && !s->stopping && !s->woken &&
           pthread_cond_timedwait(&s->wake, &s->lock, &until) == 0)
        ;
    s->woken = false;
    stopping = s->stopping;
    pthread_mutex_unlock(&s->lock);
    return !stopping;
}

static struct search_index *first_index(struct searches *s)
{
    struct search_index *x;

    pthread_mutex_lock(&s->lock);
    x = s->list;
    if (x)
        atomic_fetch_add(&x->refs, 1);
    pthread_mutex_unlock(&s->lock);
    return x;
}

static struct search_index *next_index(struct searches *s, struct search_index *x)
{
    struct search_index *next;

    pthread_mutex_lock(&s->lock);
    next = x->next;
    if (next)
        atomic_fetch_add(&next->refs, 1);
    pthread_mutex_unlock(&s->lock);
    search_index_release(x);
    return next;
}

/* Indexes that no table has any more leave the list; true: some did. */
static bool drop_unseen(struct searches *s)
{
    bool some;

    struct search_index **at, *gone = NULL;

    pthread_mutex_lock(&s->lock);
    for (at = &s->list; *at;) {
        struct search_index *x = *at;

        if (x->seen) {
            x->seen = false;
            at = &x->next;
            continue;
        }
        if (atomic_load(&x->refs) > 1) { /* somebody walks past it, or searches */
            at = &x->next;
            continue;
        }
        *at = x->next;
        x->next = gone;
        gone = x;
    }
    pthread_mutex_unlock(&s->lock);
    some = gone != NULL;
    while (gone) {
        struct search_index *x = gone;

        gone = x->next;
        search_index_release(x);
    }
    return some;
}

static void *feed(void *arg)
{
    struct searches *s = arg;
    bool more = false, sweep = false;

    thread_background();
    while (wait_round(s, more)) {
        more = s->work.round(s->db, sweep);
        sweep = drop_unseen(s);
    }
    for (struct search_index *x = first_index(s); x; x = next_index(s, x))
        s->work.end(x);
    return NULL;
}

static void *merge(void *arg)
{
    struct searches *s = arg;
    bool more = false;

    thread_background();
    while (wait_round(s, more)) {
        more = false;
        for (struct search_index *x = first_index(s); x; x = next_index(s, x))
            more |= s->work.merge(x);
    }
    return NULL;
}

struct searches *searches_start(struct wr_db *db, const struct searches_work *work)
{
    struct searches *s = mem_zalloc(sizeof(*s));

    s->db = db;
    s->work = *work;
    s->cache = part_cache_new(db->memory.total / CACHE_SHARE);
    pthread_mutex_init(&s->lock, NULL);
    thread_cond_init(&s->wake);
    s->pool = pool_start(
        &(struct pool_conf){.name = "wr-search", .threads = POOL_THREADS, .background = true});
    return s->pool ? s : (searches_free(s), NULL);
}

/* The threads begin with the first index: most databases have none. */
static void begin_threads(struct searches *s)
{
    if (!s->fed && !s->stopping)
        s->fed = thread_start(&s->feed, "wr-search-feed", feed, s);
    if (!s->merges && !s->stopping)
        s->merges = thread_start(&s->merger, "wr-search-merge", merge, s);
}

void searches_wake(struct searches *s)
{
    if (!s)
        return;
    pthread_mutex_lock(&s->lock);
    begin_threads(s);
    s->woken = true;
    pthread_cond_broadcast(&s->wake);
    pthread_mutex_unlock(&s->lock);
}

struct part_cache *searches_cache(struct searches *s)
{
    return s->cache;
}

struct pool *searches_pool(struct searches *s)
{
    return s->pool;
}

void searches_count(struct searches *s)
{
    atomic_fetch_add_explicit(&s->searches, 1, memory_order_relaxed);
}

static void add_stat(struct search_index *x, int64_t now_us, struct searches_stat *out)
{
    struct view *v = search_index_view(x);

    out->indexes++;
    out->documents += v->documents;
    out->segments += v->count;
    out->bytes += v->bytes;
    view_release(v);
    pthread_mutex_lock(&x->lock);
    out->reading += x->phase != SEARCH_FOLLOWING;
    out->stopped += x->full || x->stuck;
    if (x->phase == SEARCH_FOLLOWING && now_us - x->synced_us > out->behind_us)
        out->behind_us = now_us - x->synced_us;
    pthread_mutex_unlock(&x->lock);
}

void searches_stat(struct searches *s, int64_t now_us, struct searches_stat *out)
{
    *out = (struct searches_stat){0};
    if (!s)
        return;
    for (struct search_index *x = first_index(s); x; x = next_index(s, x))
        add_stat(x, now_us, out);
    out->searches = atomic_load(&s->searches);
}

void searches_stop(struct searches *s)
{
    if (!s)
        return;
    pthread_mutex_lock(&s->lock);
    s->stopping = true;
    pthread_cond_broadcast(&s->wake);
    pthread_mutex_unlock(&s->lock);
    if (s->fed)
        pthread_join(s->feed, NULL);
    if (s->merges)
        pthread_join(s->merger, NULL);
    s->fed = s->merges = false;
    pool_stop(s->pool);
    s->pool = NULL;
}

void searches_free(struct searches *s)
{
    if (!s)
        return;
    searches_stop(s);
    while (s->list) {
        struct search_index *x = s->list;

        s->list = x->next;
        search_index_release(x);
    }
    part_cache_free(s->cache);
    pthread_cond_destroy(&s->wake);
    pthread_mutex_destroy(&s->lock);
    mem_free(s);
}

void search_index_release(struct search_index *x)
{
    if (atomic_fetch_sub(&x->refs, 1) != 1)
        return;
    view_release(x->view);
    for (size_t i = 0; i < x->saved_count; i++)
        dead_release(x->saved[i].dead);
    mem_free(x->saved);
    mem_free(x->freed);
    pthread_mutex_destroy(&x->lock);
    mem_free((void *)(uintptr_t)x->walked.ptr);
    ctx_release(&x->ctx);
    mem_free(x);
}

/* segment_owner.freed */
static void segment_freed(struct segment_owner *o, const struct segment *segment)
{
    struct search_index *x = PORT_CONTAINER(o, struct search_index, owner);

    pthread_mutex_lock(&x->lock);
    if (x->freed_count == x->freed_capacity) {
        x->freed_capacity = x->freed_capacity * 2 + 16;
        x->freed = mem_realloc(x->freed, x->freed_capacity * sizeof(x->freed[0]));
    }
    x->freed[x->freed_count++] = (struct search_freed){segment->id, segment->len};
    x->changed = true;
    pthread_mutex_unlock(&x->lock);
}

/* segment_owner.read */
static int segment_read(struct ctx *c, struct segment_owner *o, const struct segment *segment,
                        uint64_t at, uint64_t len, uint8_t *to)
{
    struct search_index *x = PORT_CONTAINER(o, struct search_index, owner);

    return search_store_read(c, &x->store, segment->id, segment->len, at, len, to);
}

uint64_t search_index_made(struct search_index *x)
{
    uint64_t made;

    pthread_mutex_lock(&x->lock);
    made = x->made;
    pthread_mutex_unlock(&x->lock);
    return made;
}

void search_index_damaged(struct search_index *x, uint64_t made, const char *text)
{
    pthread_mutex_lock(&x->lock);
    if (!x->damaged && made == x->made) {
        snprintf(x->text, sizeof(x->text), "%s", text ? text : "it is damaged");
        x->damaged = true;
    }
    pthread_mutex_unlock(&x->lock);
}

void searches_range_damaged(struct searches *s, const struct key_range *range)
{
    if (!s)
        return;
    for (struct search_index *x = first_index(s); x; x = next_index(s, x))
        if (search_store_overlaps(&x->store, range))
            search_index_damaged(x, search_index_made(x),
                                 "storage has found a damaged block among its segments");
}

struct view *search_index_view(struct search_index *x)
{
    struct view *v;

    pthread_mutex_lock(&x->lock);
    v = view_ref(x->view);
    pthread_mutex_unlock(&x->lock);
    return v;
}

static int index_new(struct ctx *c, struct wr_db *db, const struct schema_search *of,
                     struct search_index **out)
{
    struct search_index *x = mem_zalloc(sizeof(*x));
    struct wr_search_schema *d;

    x->refs = 1;
    x->number = of->number;
    ctx_init(&x->ctx, &db->clock, &db->log, NULL, 0);
    pthread_mutex_init(&x->lock, NULL);
    x->view = view_empty();
    x->owner = (struct segment_owner){.read = segment_read, .freed = segment_freed};
    x->hidden = of->creation_us / 1000 < db->opened_ms;
    x->phase = search_stores(db) ? SEARCH_LOADING : SEARCH_NEW;
    x->store = (struct search_store){.db = db, .index = of->number};
    d = ARENA_NEW(&x->ctx.arena, struct wr_search_schema);
    *d = search_schema_copy(&x->ctx.arena, &of->d);
    if (search_schema_make(&x->ctx, d, &x->schema)) {
        int rc = ctx_fail_part(c, &x->ctx);

        search_index_release(x);
        return rc;
    }
    *out = x;
    return E_OK;
}

int searches_find(struct ctx *c, struct wr_db *db, const struct schema_search *of,
                  struct search_index **out)
{
    struct searches *s = db->searches;
    struct search_index *x;
    int rc = E_OK;

    pthread_mutex_lock(&s->lock);
    for (x = s->list; x && x->number != of->number; x = x->next)
        ;
    if (!x) {
        rc = index_new(c, db, of, &x);
        if (!rc) {
            x->next = s->list;
            s->list = x;
        }
    }
    if (!rc) {
        x->seen = true;
        atomic_fetch_add(&x->refs, 1);
        *out = x;
    }
    begin_threads(s);
    pthread_mutex_unlock(&s->lock);
    return rc;
}
