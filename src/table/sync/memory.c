#include "table/sync/memory.h"

#include "base/invariant.h"

#define MEMORY_DEFAULT (256ull << 20)
#define REQUEST_LEAST (16ull << 20) /* one request may take that, however small the budget is */

void memory_init(struct memory *m, const struct wr_options *o)
{
    m->requests = mem_zalloc(sizeof(*m->requests));
    atomic_init(&m->requests->refs, 1);
    m->total = o->memory_bytes ? o->memory_bytes : MEMORY_DEFAULT;
    m->front = o->front_memory;
    m->front_arg = o->front_arg;
    pthread_mutex_init(&m->lock, NULL);
}

void held_memory_unref(struct held_memory *h)
{
    int refs = (int)atomic_fetch_sub(&h->refs, 1);

    invariant(refs > 0);
    if (refs == 1)
        mem_free(h);
}

void memory_release(struct memory *m)
{
    held_memory_unref(m->requests);
    pthread_mutex_destroy(&m->lock);
}

uint64_t memory_of_engine(const struct memory *m)
{
    return m->total / 8 * 7;
}

uint64_t memory_of_requests(const struct memory *m)
{
    return m->total / 2;
}

static uint64_t held(struct memory *m)
{
    return atomic_load_explicit(&m->requests->bytes, memory_order_relaxed) +
           (m->front ? m->front(m->front_arg) : 0);
}

/* What the engine has to do without, in steps, so that it is seldom asked. */
static uint64_t wanted(const struct memory *m, uint64_t requests)
{
    uint64_t own = m->total / 8, most = m->total / 8 * 3, step = m->total / 16 + 1, more;

    more = atomic_load_explicit(&m->search, memory_order_relaxed);
    more += requests > own ? requests - own : 0;
    more = (more + step - 1) / step * step;
    return more < most ? more : most;
}

static void spare(struct memory *m, struct engine *e, uint64_t less)
{
    invariant(less <= m->total / 8 * 3);
    atomic_store_explicit(&m->spared, less, memory_order_relaxed);
    engine_spare(e, less);
}

bool memory_full(struct memory *m, struct engine *e)
{
    uint64_t requests = held(m), want = wanted(m, requests);

    if (PORT_UNLIKELY(want > atomic_load_explicit(&m->spared, memory_order_relaxed)) &&
        pthread_mutex_trylock(&m->lock) == 0) {
        if (want > m->spared)
            spare(m, e, want);
        pthread_mutex_unlock(&m->lock);
    }
    return requests >= memory_of_requests(m);
}

void memory_search(struct memory *m, struct engine *e, uint64_t size)
{
    atomic_store_explicit(&m->search, size, memory_order_relaxed);
    memory_full(m, e);
    memory_give_back(m, e);
}

uint64_t memory_most(const struct memory *m)
{
    return m->total / 16 * 9;
}

uint64_t memory_of_request(const struct memory *m)
{
    uint64_t most = m->total / 4 * 3;

    return most > REQUEST_LEAST ? most : REQUEST_LEAST;
}

bool memory_spent(struct memory *m)
{
    return held(m) >= m->total / 8 * 5;
}

bool memory_lacks(struct memory *m, uint64_t size)
{
    return held(m) + size > memory_most(m);
}

void memory_give_back(struct memory *m, struct engine *e)
{
    uint64_t want = wanted(m, held(m));

    if (want >= atomic_load_explicit(&m->spared, memory_order_relaxed))
        return;
    pthread_mutex_lock(&m->lock);
    if (want < m->spared)
        spare(m, e, want);
    pthread_mutex_unlock(&m->lock);
}
