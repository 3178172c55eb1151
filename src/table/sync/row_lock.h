/* row_lock.h: one queue per row, so that read-decide-write of a row happens one at a time.
 *
 * Who waits is a continuation, never a sleeping thread: latch_take() either gives the latch at once
 * or queues the waiter, whose `run` is called later, with the latch held, by the thread that passed
 * it on. Woken waiters are put on a run list and called from latch_run(), never from inside
 * latch_pass(): a hot row with a thousand waiters must not become a thousand nested calls. Any
 * thread may call anything. */
#ifndef TABLE_SYNC_ROW_LOCK_H
#define TABLE_SYNC_ROW_LOCK_H

#include "base/bytes.h"

struct latch_table;
struct run_list;

/* Embedded in what waits. `key` must stay until the latch was passed on. */
struct latch {
    bytes key;
    void (*run)(struct latch *self, struct run_list *woken);
    /* Owned by the table. */
    uint64_t hash;
    struct latch *chain;       /* holders of one hash bucket */
    struct latch *head, *tail; /* of a holder: who waits, in order */
    struct latch
        *next; /* of a waiter: the one behind it; of a woken one: the next in the run list */
};

/* Waiters that hold their latch now and are to be run. */
struct run_list {
    struct latch *head, *tail;
};

struct latch_table *latch_table_new(void);
void latch_table_free(struct latch_table *t);

/* Is it l that holds it? For assertions. */
bool latch_is_held(struct latch_table *t, const struct latch *l);

/* True: the latch is held now. False: queued; l->run is called later. */
bool latch_take(struct latch_table *t, struct latch *l);

/* True: held now. False: somebody has it; nothing was queued. */
bool latch_try(struct latch_table *t, struct latch *l);

/* Gives the latch to the first waiter, if any, and adds that one to `woken`. */
void latch_pass(struct latch_table *t, struct latch *l, struct run_list *woken);

/* Runs what is on the list, and what that wakes in turn, until it is empty. */
void latch_run(struct run_list *woken);

#endif
