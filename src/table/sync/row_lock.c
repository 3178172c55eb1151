#include "table/sync/row_lock.h"

#include "base/invariant.h"
#include "base/port.h"

#include <pthread.h>
#include <xxhash.h>

#define SHARDS 64
#define BUCKETS 256 /* a shard; chains stay short with some ten thousand rows in flight */

struct shard {
    pthread_mutex_t lock;
    struct latch *buckets[BUCKETS];
};

struct latch_table {
    struct shard shards[SHARDS];
};

struct latch_table *latch_table_new(void)
{
    struct latch_table *t = mem_zalloc(sizeof(*t));

    for (int i = 0; i < SHARDS; i++)
        pthread_mutex_init(&t->shards[i].lock, NULL);
    return t;
}

void latch_table_free(struct latch_table *t)
{
    if (!t)
        return;
    for (int i = 0; i < SHARDS; i++)
        pthread_mutex_destroy(&t->shards[i].lock);
    mem_free(t);
}

static struct shard *shard_of(struct latch_table *t, uint64_t hash)
{
    return &t->shards[hash % SHARDS];
}

/* Where the pointer to the holder of l's key is, or would be. */
static struct latch **holder_at(struct shard *s, const struct latch *l)
{
    struct latch **at = &s->buckets[l->hash / SHARDS % BUCKETS];

    while (*at && !((*at)->hash == l->hash && bytes_equal((*at)->key, l->key)))
        at = &(*at)->chain;
    return at;
}

static bool latch_get(struct latch_table *t, struct latch *l, bool wait)
{
    struct shard *s;
    struct latch **at;
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

bool latch_is_held(struct latch_table *t, const struct latch *l)
{
    struct shard *s = shard_of(t, l->hash);
    bool held;

    pthread_mutex_lock(&s->lock);
    held = *holder_at(s, l) == l;
    pthread_mutex_unlock(&s->lock);
    return held;
}

bool latch_take(struct latch_table *t, struct latch *l)
{
    return latch_get(t, l, true);
}

bool latch_try(struct latch_table *t, struct latch *l)
{
    return latch_get(t, l, false);
}

void latch_pass(struct latch_table *t, struct latch *l, struct run_list *woken)
{
    struct shard *s = shard_of(t, l->hash);
    struct latch **at, *first;

    pthread_mutex_lock(&s->lock);
    at = holder_at(s, l);
    invariant(*at == l);
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

void latch_run(struct run_list *woken)
{
    while (woken->head) {
        struct latch *l = woken->head;

        woken->head = l->next;
        if (!woken->head)
            woken->tail = NULL;
        l->next = NULL;
        l->run(l, woken);
    }
}
