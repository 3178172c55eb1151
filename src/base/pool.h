/* pool.h: worker threads for requests that would hold a loop thread for too long.
 *
 * Jobs queue by client (an access key, say). Clients take turns, whatever number of jobs each has;
 * the jobs of one client run in the order in which they came, but for those that give way; and
 * those of many parts take turns with the others, a part at a time. No client has all threads at
 * once. Workers run at a low priority: while loops want the processors, they get about a tenth of
 * them.
 *
 * The pool also keeps an account of the time that a client's requests took on loop threads, so that
 * who takes much of it is served by workers. Clients are told apart by POOL_QUEUES hashes: two of
 * one hash share turns and account. All functions may be called from any thread. */
#ifndef BASE_POOL_H
#define BASE_POOL_H

#include "base/clock.h"

#include <stdbool.h>
#include <stddef.h>

#define POOL_QUEUES 256

struct pool;

/* Embedded in what is to be run; it may be gone when run() returns. */
struct pool_job {
    void (*run)(struct pool_job *self);
    struct pool_job *next;
    size_t turns;     /* the pool's: how many it still takes */
    int64_t until_us; /* the pool's: of one that gives way */
};

struct pool_conf {
    const char *name; /* of the threads */
    int threads;      /* at least 1, or as many as the system gives */
    /* They mostly wait, for a disk: they are no workers (pool_here()), and there is one more than
     * were ever at work at once. Else they are workers, and all begin at once. */
    bool wait;
    bool background; /* at a low priority: what is asked meanwhile and takes little comes first */
    struct clock *clock; /* for pool_submit_last() */
};

/* NULL: the system gives no thread. The name is used until pool_stop(). */
struct pool *pool_start(const struct pool_conf *conf);

/* `urgent`: before all other jobs, also those of other clients, for who holds a row lock. */
void pool_submit(struct pool *p, uint64_t client, struct pool_job *job, bool urgent);

/* A job of many parts: run() is called `turns` times, at least once, by several threads at the same
 * time, and after each part the job goes behind the others of its client. It may be gone when the
 * last run() returns. */
void pool_submit_parts(struct pool *p, uint64_t client, struct pool_job *job, size_t turns);

/* A job that gives way: to all others of its client, also to those that come later, until none of
 * them waits for a thread or the first such job has waited for `patience_us`. */
void pool_submit_last(struct pool *p, uint64_t client, struct pool_job *job, int64_t patience_us);

/* True: the client has not as many threads as it may: a job that it has now soon gets one. A guess,
 * for which nothing is locked. */
bool pool_takes(struct pool *p, uint64_t client);

/* True: jobs wait for a thread. */
bool pool_waiting(struct pool *p);

/* Runs the jobs that are queued, and what these submit, and stops. NULL is allowed. */
void pool_stop(struct pool *p);

/* True: the calling thread is a worker, of any pool. Threads that wait for a disk are none. */
bool pool_here(void);

/* The client has held a loop thread for `us` microseconds, up to `now_us` (monotonic). */
void pool_charge(struct pool *p, uint64_t client, int64_t us, int64_t now_us);

/* True: the client may do so again, as it has taken less than a fifth of one thread's time, or not
 * much more for a short while. */
bool pool_has_credit(struct pool *p, uint64_t client, int64_t now_us);

#endif
