/* committer.h: one thread that makes appended writes durable, many at a time, and answers them.
 *
 * The engine appends a write to its log without syncing and hands its completion over. The
 * committer knows nothing of the log; it asks through committer_ops, in an order that makes
 * "answered" mean "on stable storage" (committer.c has the argument). */
#ifndef ENGINE_COMMITTER_H
#define ENGINE_COMMITTER_H

#include "engine/engine.h"

struct committer;

/* All but `failed` are called from the committer's thread only, one at a time; `arg` is
 * committer_new()'s. */
struct committer_ops {
    /* Appends what has been announced and adds it. NULL: nothing ever is. */
    void (*append)(void *arg);
    /* A view of everything that has been appended so far, or NULL if that is exactly what the
     * published view shows, so that there is nothing to sync. */
    void *(*view_take)(void *arg);
    /* Everything appended before the call reaches stable storage (or, without sync, the system). */
    int (*sync)(void *arg);
    /* Remembers that everything in `view` is about to be acknowledged. */
    int (*mark)(void *arg, void *view);
    /* Readers use `view` from now on; the one before goes when its last reader does. */
    void (*publish)(void *arg, void *view);
    /* The view of a round that failed. */
    void (*view_drop)(void *arg, void *view);
    /* The round has been answered: what comes behind the answers, and keeps only the next round
     * waiting. NULL: nothing does. */
    void (*answered)(void *arg);
    /* A round failed with `code`: called once, before anybody gets E_UNSURE. */
    void (*failed)(void *arg, int code);
    /* Called when nothing has happened for about 100 ms after a round. */
    void (*idle)(void *arg);
};

struct committer_stat {
    uint64_t rounds; /* syncs */
    uint64_t acked;  /* completions called with E_OK */
    uint64_t unsynced_bytes;
};

/* Starts the thread. E_UNAVAILABLE if the system has none to give. */
int committer_new(struct ctx *c, const struct committer_ops *ops, void *arg,
                  struct committer **out);

/* Queues the completion of a write of `size` bytes that has been appended (0 for a barrier), and
 * which stands for `count` writes, `announced` of which have been announced. done(arg, E_OK)
 * follows when it is durable, done(arg, E_UNSURE) when that cannot be known. Any thread; never
 * blocks on storage. */
void committer_add(struct committer *c, apply_done done, void *arg, uint64_t size, size_t count,
                   size_t announced);

/* A write has been taken in that ops->append() will append, unless somebody does before. Called
 * before anybody can. */
void committer_announce(struct committer *c);

/* So many of the announced writes will not be added. */
void committer_withdraw(struct committer *c, size_t count);

/* Bytes handed over whose completion has not been called. */
uint64_t committer_unsynced_bytes(struct committer *c);

/* From now on nothing is acknowledged: what is queued and what comes gets E_UNSURE, until
 * committer_reset(). Any thread, a completion included. */
void committer_fail(struct committer *c);

/* After a failure: waits until the thread has answered all that was queued and uses no view. Not
 * from a completion. The caller sees to it that nothing is added meanwhile. */
void committer_settle(struct committer *c);

/* Acknowledges again. Only after committer_settle(). */
void committer_reset(struct committer *c);

void committer_stat(struct committer *c, struct committer_stat *out);

/* Answers all that is queued, ends the thread, frees. Nothing may be added meanwhile. */
void committer_close(struct committer *c);

#endif
