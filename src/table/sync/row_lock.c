#include "table/sync/row_lock.h"

#include "base/invariant.h"
#include "base/port.h"

#include <pthread.h>
#include <xxhash.h>

#define SHARDS 64
#define BUCKETS 256 /* a shard; chains stay short with some ten thousand rows in flight */

static_assert(SHARDS * BUCKETS == ROW_LOCK_GROUPS, "a group of rows is a bucket");

struct bucket {
    struct row_lock *holders;
    uint32_t version;
};

struct shard {
    pthread_mutex_t lock;
    struct bucket buckets[BUCKETS];
};

struct row_locks {
    struct shard shards[SHARDS];
};

struct row_locks *row_locks_new(void)
{
    struct row_locks *t = mem_zalloc(sizeof(*t));

    for (int i = 0; i < SHARDS; i++)
        pthread_mutex_init(&t->shards[i].lock, NULL);
    return t;
}

void row_locks_free(struct row_locks *t)
{
    if (!t)
        return;
    for (int i = 0; i < SHARDS; i++)
        pthread_mutex_destroy(&t->shards[i].lock);
    mem_free(t);
}

static struct shard *shard_of(struct row_locks *t, uint64_t hash)
{
    return &t->shards[hash % SHARDS];
}

static size_t bucket_of(uint64_t hash)
{
    return hash / SHARDS % BUCKETS;
}

/* Where the pointer to the holder of l's key is, or would be. */
static struct row_lock **holder_at(struct shard *s, const struct row_lock *l)
{
    struct row_lock **at = &s->buckets[bucket_of(l->hash)].holders;

    while (*at && !((*at)->hash == l->hash && bytes_equal((*at)->key, l->key)))
        at = &(*at)->chain;
    return at;
}

static bool row_lock_get(struct row_locks *t, struct row_lock *l, bool wait)
{
    struct shard *s;
    struct row_lock **at;
    bool got;

    l->hash = XXH3_64bits(l->key.ptr, l->key.len);
    l->chain = l->head = l->tail = l->next = NULL;
    s = shard_of(t, l->hash);
    pthread_mutex_lock(&s->lock);
    at = holder_at(s, l);
    got = *at == NULL;
    if (got) {
        *at = l;
    } else if (wait) {
        if ((*at)->tail)
            (*at)->tail->next = l;
        else
            (*at)->head = l;
        (*at)->tail = l;
    }
    pthread_mutex_unlock(&s->lock);
    return got;
}

bool row_lock_is_held(struct row_locks *t, const struct row_lock *l)
{
    struct shard *s = shard_of(t, l->hash);
    bool held;

    pthread_mutex_lock(&s->lock);
    held = *holder_at(s, l) == l;
    pthread_mutex_unlock(&s->lock);
    return held;
}

bool row_lock_take(struct row_locks *t, struct row_lock *l)
{
    return row_lock_get(t, l, true);
}

bool row_lock_try(struct row_locks *t, struct row_lock *l)
{
    return row_lock_get(t, l, false);
}

static void pass_on(struct row_locks *t, struct row_lock *l, bool changed, struct run_list *woken)
{
    struct shard *s = shard_of(t, l->hash);
    struct row_lock **at, *first;

    pthread_mutex_lock(&s->lock);
    at = holder_at(s, l);
    invariant(*at == l);
    s->buckets[bucket_of(l->hash)].version += changed;
    first = l->head;
    if (first) {
        /* The first waiter takes the holder's place in the chain, and the others with it. */
        first->head = first->next;
        first->tail = first->head ? l->tail : NULL;
        first->chain = l->chain;
        first->next = NULL;
        *at = first;
    } else {
        *at = l->chain;
    }
    pthread_mutex_unlock(&s->lock);
    if (!first)
        return;
    if (woken->tail)
        woken->tail->next = first;
    else
        woken->head = first;
    woken->tail = first;
}

void row_lock_pass(struct row_locks *t, struct row_lock *l, struct run_list *woken)
{
    pass_on(t, l, true, woken);
}

void row_lock_pass_unchanged(struct row_locks *t, struct row_lock *l, struct run_list *woken)
{
    pass_on(t, l, false, woken);
}

void row_locks_versions(struct row_locks *t, uint32_t versions[ROW_LOCK_GROUPS])
{
    for (size_t i = 0; i < SHARDS; i++) {
        struct shard *s = &t->shards[i];

        pthread_mutex_lock(&s->lock);
        for (size_t k = 0; k < BUCKETS; k++)
            versions[i * BUCKETS + k] = s->buckets[k].version;
        pthread_mutex_unlock(&s->lock);
    }
}

bool row_lock_has_version(struct row_locks *t, const struct row_lock *l,
                          const uint32_t versions[ROW_LOCK_GROUPS])
{
    struct shard *s = shard_of(t, l->hash);
    size_t bucket = bucket_of(l->hash);
    uint32_t version;

    pthread_mutex_lock(&s->lock);
    version = s->buckets[bucket].version;
    pthread_mutex_unlock(&s->lock);
    return version == versions[l->hash % SHARDS * BUCKETS + bucket];
}

void row_lock_run(struct run_list *woken)
{
    while (woken->head) {
        struct row_lock *l = woken->head;

        woken->head = l->next;
        if (!woken->head)
            woken->tail = NULL;
        l->next = NULL;
        l->run(l, woken);
    }
}
