/* committer.c: group commit.
 *
 * Each round:
 *   0. have appended what was only announced.
 *   1. swap the queue of completions for an empty one. Whoever is in it appended before queueing.
 *   2. take a view. It shows at least what the queue's writes did, since they were appended before.
 *   3. sync the log. It covers the view, since what the view shows was appended before.
 *   4. mark: remember on disk how far acknowledgements go. After the sync, so that the mark never
 *      claims more than the log holds; before any answer, so that no answer goes beyond it.
 *   5. publish the view for readers. Before the answers, so that whoever got one sees its write.
 *   6. call the completions.
 *   7. let the engine do what follows: now and then the mark is synced. Not before the answers, for
 *      what was answered lately may miss from it: so a write after a pause waits for one sync.
 *
 * A crash between any two steps loses nothing that was answered, and readers never saw anything
 * that a crash can take back.
 *
 * Gathering. Before a round the thread waits until a part of the writers are there (gather.h), so
 * that one part goes to disk while the loops serve the other. To wait for all lets the disk idle
 * while they serve, and them while it syncs (2 cores, PutRow of 1 KB: 22,200 a second instead of
 * 26,900 with half of 64 connections, 16,900 instead of 22,600 with 16; not to wait at all has 9
 * writes a sync instead of 22, and 17 us of processor time a write in this thread instead of 10).
 *
 * One thread. A second one, which appends and answers while the first syncs, was built twice and
 * shows its gain on busy machines only, where it gets more of the processors (bench/history,
 * "Two committers").
 *
 * When a step fails, nobody can say what of the round is on disk (a failed sync may have written
 * any part, and a second sync may succeed without writing the rest). So the round's completions get
 * E_UNSURE, and so does everything after, until the engine has gone back to what the disk really
 * holds and calls committer_reset(). */
#include "engine/committer.h"

#include "base/fault.h"
#include "base/invariant.h"
#include "base/thread.h"
#include "engine/gather.h"

#include <stdatomic.h>
#include <time.h>

#define IDLE_US 100000

struct entry {
    apply_done done;
    void *arg;
};

struct queue {
    struct entry *entries;
    size_t count, capacity;
    size_t writes; /* that the entries stand for */
    uint64_t bytes;
};

struct committer {
    const struct committer_ops *ops;
    void *arg;
    pthread_t thread;
    pthread_mutex_t lock;   /* of all below */
    pthread_cond_t wake;    /* there is something for the thread */
    pthread_cond_t settled; /* the thread has nothing to do */
    struct queue waiting;
    size_t announced; /* writes that are to be appended */
    bool busy;        /* the thread is in a round */
    bool asleep;      /* it waits on `wake` */
    size_t enough;    /* it gathers, and so many will do; 0: it does not */
    bool failed;      /* acknowledge nothing */
    bool closing;     /* end when the queue is empty */
    struct committer_stat stat;
    struct gather gather;
    struct queue round;           /* the thread's own */
    atomic_ullong unsynced_bytes; /* without the lock: every write looks at it */
};

static int64_t mono_us(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * (int64_t)1000000 + ts.tv_nsec / 1000;
}

static void queue_add(struct queue *q, struct entry e)
{
    if (q->count == q->capacity) {
        q->capacity = q->capacity ? q->capacity * 2 : 64;
        q->entries = mem_realloc(q->entries, q->capacity * sizeof(*q->entries));
    }
    q->entries[q->count++] = e;
}

/* Steps 2 to 5. */
static int commit(struct committer *c)
{
    void *view = c->ops->view_take(c->arg);
    int code = E_OK;

    if (!view)
        return E_OK;
    if (fault_hit(FAULT_commit_before_sync))
        code = E_UNAVAILABLE;
    if (!code)
        code = c->ops->sync(c->arg);
    if (!code && fault_hit(FAULT_commit_after_sync_before_watermark))
        code = E_UNAVAILABLE;
    if (!code)
        code = c->ops->mark(c->arg, view);
    if (!code && fault_hit(FAULT_commit_after_watermark_before_publish))
        code = E_UNAVAILABLE;
    if (code) {
        c->ops->view_drop(c->arg, view);
        return code;
    }
    c->ops->publish(c->arg, view);
    return E_OK;
}

/* True: what was in it is durable. */
static bool round_run(struct committer *c, bool failed)
{
    int code;

    invariant(c->busy && c->round.count);
    code = failed ? E_UNSURE : commit(c);
    if (code && !failed) {
        committer_fail(c);
        c->ops->failed(c->arg, code);
        code = E_UNSURE;
    }
    (void)fault_hit(FAULT_commit_before_complete);

    pthread_mutex_lock(&c->lock);
    /* Before the completions, so that a client which has its answer finds itself counted and its
     * bytes given back. */
    invariant(atomic_load(&c->unsynced_bytes) >= c->round.bytes);
    atomic_fetch_sub(&c->unsynced_bytes, c->round.bytes);
    c->stat.rounds += !failed;
    if (code == E_OK)
        c->stat.acked += c->round.writes;
    pthread_mutex_unlock(&c->lock);

    for (size_t i = 0; i < c->round.count; i++)
        c->round.entries[i].done(c->round.entries[i].arg, code);
    c->round.count = c->round.writes = 0;
    c->round.bytes = 0;
    return code == E_OK;
}

/* Under the lock: the writes that a round could take. */
static size_t coming(const struct committer *c)
{
    return c->waiting.writes + c->announced;
}

/* Under the lock: lets a round that has begun to form grow, see "Gathering". */
static void gather(struct committer *c)
{
    size_t enough = gather_enough(&c->gather, coming(c));
    int64_t until_us = gather_until_us(&c->gather);
    struct timespec until = {until_us / 1000000, until_us % 1000000 * 1000};

    c->enough = enough;
    while (coming(c) < enough && !c->closing && !c->failed)
        if (pthread_cond_timedwait(&c->wake, &c->lock, &until) != 0)
            break;
    c->enough = 0;
}

/* Under the lock: waits for work. False: time to end. */
static bool wait_for_work(struct committer *c)
{
    bool idle_called = false;

    while (!coming(c) && !c->closing) {
        c->asleep = true;
        pthread_cond_broadcast(&c->settled);
        if (idle_called || c->failed) {
            pthread_cond_wait(&c->wake, &c->lock);
        } else {
            struct timespec until = thread_time_in(IDLE_US);

            if (pthread_cond_timedwait(&c->wake, &c->lock, &until) != 0 && !coming(c) &&
                !c->closing && !c->failed) {
                c->asleep = false;
                c->busy = true;
                pthread_mutex_unlock(&c->lock);
                c->ops->idle(c->arg);
                idle_called = true;
                pthread_mutex_lock(&c->lock);
                c->busy = false;
            }
        }
        c->asleep = false;
    }
    return coming(c) > 0;
}

static void *committer_main(void *arg)
{
    struct committer *c = arg;

    pthread_mutex_lock(&c->lock);
    while (wait_for_work(c)) {
        struct queue empty = c->round;
        size_t writes;
        bool failed, durable = false;
        int64_t began_us;

        gather(c);
        began_us = mono_us();
        c->busy = true;
        if (c->ops->append) {
            pthread_mutex_unlock(&c->lock);
            c->ops->append(c->arg);
            pthread_mutex_lock(&c->lock);
        }
        failed = c->failed;
        invariant(!c->round.count &&
                  !c->round.writes); /* all of the last round have their answer */
        c->round = c->waiting;
        c->waiting = empty;
        pthread_mutex_unlock(&c->lock);
        writes = c->round.writes;
        if (c->round.count)
            durable = round_run(c, failed);
        pthread_mutex_lock(&c->lock);
        gather_ended(&c->gather, writes, began_us, mono_us());
        if (durable && c->ops->answered) {
            pthread_mutex_unlock(&c->lock);
            c->ops->answered(c->arg);
            pthread_mutex_lock(&c->lock);
        }
        c->busy = false;
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

static void committer_free(struct committer *c)
{
    pthread_cond_destroy(&c->wake);
    pthread_cond_destroy(&c->settled);
    pthread_mutex_destroy(&c->lock);
    mem_free(c->waiting.entries);
    mem_free(c->round.entries);
    mem_free(c);
}

int committer_new(struct ctx *ctx, const struct committer_ops *ops, void *arg,
                  struct committer **out)
{
    struct committer *c = mem_zalloc(sizeof(*c));

    c->ops = ops;
    c->arg = arg;
    pthread_mutex_init(&c->lock, NULL);
    thread_cond_init(&c->wake);
    pthread_cond_init(&c->settled, NULL);
    if (!thread_start(&c->thread, "wr-committer", committer_main, c)) {
        committer_free(c);
        return fail(ctx, E_UNAVAILABLE, "The system gives no thread to commit writes with.");
    }
    *out = c;
    return E_OK;
}

/* Under the lock, which it gives back: something came. */
static void unlock_and_wake(struct committer *c)
{
    bool wake = coming(c) && (c->asleep || (c->enough && coming(c) >= c->enough));

    if (wake) { /* one signal is enough */
        c->asleep = false;
        c->enough = 0;
    }
    pthread_mutex_unlock(&c->lock);
    if (wake)
        pthread_cond_signal(&c->wake);
}

void committer_add(struct committer *c, apply_done done, void *arg, uint64_t size, size_t count,
                   size_t announced)
{
    int64_t now_us = mono_us();

    invariant(done && count);
    pthread_mutex_lock(&c->lock);
    queue_add(&c->waiting, (struct entry){done, arg});
    c->waiting.writes += count;
    c->waiting.bytes += size;
    invariant(announced <= count && announced <= c->announced);
    c->announced -= announced;
    if (count > announced)
        gather_came(&c->gather, count - announced, now_us);
    atomic_fetch_add(&c->unsynced_bytes, size);
    unlock_and_wake(c);
}

void committer_announce(struct committer *c)
{
    int64_t now_us = mono_us();

    pthread_mutex_lock(&c->lock);
    c->announced++;
    gather_came(&c->gather, 1, now_us);
    unlock_and_wake(c);
}

void committer_withdraw(struct committer *c, size_t count)
{
    pthread_mutex_lock(&c->lock);
    invariant(count <= c->announced);
    c->announced -= count;
    pthread_mutex_unlock(&c->lock);
}

uint64_t committer_unsynced_bytes(struct committer *c)
{
    return atomic_load(&c->unsynced_bytes);
}

void committer_fail(struct committer *c)
{
    pthread_mutex_lock(&c->lock);
    c->failed = true;
    pthread_mutex_unlock(&c->lock);
}

void committer_settle(struct committer *c)
{
    pthread_mutex_lock(&c->lock);
    invariant(c->failed);
    while (coming(c) || c->busy)
        pthread_cond_wait(&c->settled, &c->lock);
    pthread_mutex_unlock(&c->lock);
}

void committer_reset(struct committer *c)
{
    pthread_mutex_lock(&c->lock);
    invariant(!c->waiting.count && !c->busy);
    c->failed = false;
    pthread_mutex_unlock(&c->lock);
}

void committer_stat(struct committer *c, struct committer_stat *out)
{
    pthread_mutex_lock(&c->lock);
    *out = c->stat;
    out->unsynced_bytes = atomic_load(&c->unsynced_bytes);
    pthread_mutex_unlock(&c->lock);
}

void committer_close(struct committer *c)
{
    pthread_mutex_lock(&c->lock);
    c->closing = true;
    pthread_cond_signal(&c->wake);
    pthread_mutex_unlock(&c->lock);
    pthread_join(c->thread, NULL);
    invariant(!c->waiting.count && !c->announced);
    committer_free(c);
}
