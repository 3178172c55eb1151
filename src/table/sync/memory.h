/* memory.h: one budget for what the engine keeps and what requests hold.
 *
 * Of wr_options.memory_bytes a quarter is for write buffers. The engine's cache has five eighths as
 * long as requests need no more than the last eighth; as they hold more it gives way, down to a
 * quarter, and so it does for search indexes. When they hold a half of all, no new request begins,
 * and batches go no further; only requests for single rows may, until it is five eighths, so that
 * who needs little is served while others take much. What has begun goes on until all together hold
 * nine sixteenths; then it ends with E_BUSY where it needs more than a little, so that the rest is
 * left to small ones. */
#ifndef TABLE_SYNC_MEMORY_H
#define TABLE_SYNC_MEMORY_H

#include "engine/engine.h"
#include "widerow.h"

#include <pthread.h>
#include <stdatomic.h>

/* What requests hold: the meter of their arenas. A reply may be freed when the database is closed
 * already, so the database and each reply have a reference. */
struct held_memory {
    atomic_size_t bytes;
    atomic_uint refs;
};

static inline struct held_memory *held_memory_ref(struct held_memory *h)
{
    atomic_fetch_add_explicit(&h->refs, 1, memory_order_relaxed);
    return h;
}

void held_memory_unref(struct held_memory *h);

struct memory {
    uint64_t total;
    struct held_memory *requests;
    uint64_t (*front)(void *arg);
    void *front_arg;
    pthread_mutex_t lock;    /* of the engine's share */
    _Atomic uint64_t spared; /* what the engine was asked to do without */
    _Atomic uint64_t search; /* what search indexes hold */
};

void memory_init(struct memory *m, const struct wr_options *o);

void memory_release(struct memory *m);

/* The value of engine_conf.memory_bytes. */
uint64_t memory_of_engine(const struct memory *m);

/* No new request begins while requests hold more than this. */
uint64_t memory_of_requests(const struct memory *m);

/* True: they hold so much, although the engine has been told to give way. Any thread; does not
 * wait. */
bool memory_full(struct memory *m, struct engine *e);

/* True: they hold so much that not even a small one may begin. */
bool memory_spent(struct memory *m);

/* True: a request that has begun cannot have `size` bytes more. */
bool memory_lacks(struct memory *m, uint64_t size);

/* Those that need much end when all of them hold more than this. */
uint64_t memory_most(const struct memory *m);

/* One request may take so much at most, even where its setting (request_memory_max) allows more. */
uint64_t memory_of_request(const struct memory *m);

/* What search indexes hold from now on; the engine's cache gives way to it. Not from a loop thread.
 */
void memory_search(struct memory *m, struct engine *e, uint64_t size);

/* Lets the engine have again what requests do not need any more. Not from a loop thread. */
void memory_give_back(struct memory *m, struct engine *e);

#endif
