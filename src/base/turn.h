/* turn.h: how long a request may run on a thread before others have their turn.
 *
 * A request begins on the thread that brings it, mostly a loop of the HTTP server, where it must
 * end or give way within some milliseconds: everybody else on that loop waits for it. What it has
 * left to do then it does on a worker (pool.h), a turn at a time. ctx.turn leads there from
 * everywhere; where it is NULL the thread is the work's own (a sweeper's, say) and nothing gives
 * way. Used by one thread at a time, as its context is. */
#ifndef BASE_TURN_H
#define BASE_TURN_H

#include "base/ctx.h"
#include "base/pool.h"

#define TURN_LOOP_US 2000
#define TURN_WORKER_US 10000

struct turn {
    struct pool *pool;
    uint64_t client;     /* pool.h */
    const int32_t *gone; /* not 0 once nobody waits for the answer; NULL: somebody does */
    int64_t start_us;    /* monotonic: when this turn began */
    int64_t matched_us;  /* time that regular expressions have taken, over all turns */
};

/* May the calling thread wait for a disk for the request that it is about to bring? It is the
 * request's own then, as long as that stays on it. To begin with it may not. */
void turn_wait_here(bool may);
bool turn_waits_here(void);

static inline void turn_begin(struct turn *t, const struct ctx *c)
{
    t->start_us = clock_mono_us(c->clock);
}

static inline bool turn_over(const struct turn *t, int64_t now_us)
{
    return now_us - t->start_us >= (pool_here() ? TURN_WORKER_US : TURN_LOOP_US);
}

/* E_BUSY, recorded in c, when its deadline has passed or nobody waits for the answer any more. */
static inline int turn_check_deadline(struct ctx *c, int64_t now_us)
{
    if ((c->deadline_ms && now_us / 1000 > c->deadline_ms) ||
        (c->turn && c->turn->gone && __atomic_load_n(c->turn->gone, __ATOMIC_RELAXED)))
        return fail_code(c, E_BUSY);
    return E_OK;
}

/* Between two steps of work: E_OK, go on. E_BUSY: as of turn_check_deadline(). E_LATER:
 * the turn is over; job->run() will be called on a worker and goes on there, perhaps before this
 * returns. `urgent`: a row lock is held. */
static inline int turn_step(struct ctx *c, struct pool_job *job, bool urgent)
{
    struct turn *t = c->turn;
    int64_t now_us = clock_mono_us(c->clock);

    TRY(turn_check_deadline(c, now_us));
    if (!t || !turn_over(t, now_us))
        return E_OK;
    if (!pool_here())
        pool_charge(t->pool, t->client, now_us - t->start_us, now_us);
    pool_submit(t->pool, t->client, job, urgent);
    return E_LATER;
}

#endif
