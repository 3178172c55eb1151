/* row_lock.h: one queue per row, so that read-decide-write of a row happens one at a time.
 *
 * A waiter is a continuation, never a sleeping thread: row_lock_take() either gives the row lock at
 * once or queues the waiter, whose `run` is called later, with the row lock held, by the thread
 * that passed it on. Woken waiters are put on a run list and called from row_lock_run(), never from
 * inside row_lock_pass(): a hot row with a thousand waiters must not become a thousand nested
 * calls. Any thread may call anything. */
#ifndef TABLE_SYNC_ROW_LOCK_H
#define TABLE_SYNC_ROW_LOCK_H

#include "base/bytes.h"

struct row_locks;
struct run_list;

/* Embedded in what waits. `key` must stay until the row lock was passed on. */
struct row_lock {
    bytes key;
    void (*run)(struct row_lock *self, struct run_list *woken);
    /* Owned by the table. */
    uint64_t hash;
    struct row_lock *chain;       /* holders of one hash bucket */
    struct row_lock *head, *tail; /* of a holder: its waiters, in order */
    struct row_lock
        *next; /* of a waiter: the one behind it; of a woken one: the next in the run list */
};

/* Waiters that hold their row lock now and are to be run. */
struct run_list {
    struct row_lock *head, *tail;
};

struct row_locks *row_locks_new(void);
void row_locks_free(struct row_locks *t);

/* Is it l that holds it? For assertions. */
bool row_lock_is_held(struct row_locks *t, const struct row_lock *l);

/* True: the row lock is held now. False: queued; l->run is called later. */
bool row_lock_take(struct row_locks *t, struct row_lock *l);

/* True: held now. False: another one holds the lock; nothing was queued. */
bool row_lock_try(struct row_locks *t, struct row_lock *l);

/* Gives the row lock to the first waiter, if any, and adds that one to `woken`. */
void row_lock_pass(struct row_locks *t, struct row_lock *l, struct run_list *woken);

/* The same by a holder who has changed nothing of the row. */
void row_lock_pass_unchanged(struct row_locks *t, struct row_lock *l, struct run_list *woken);

/* How one can tell that rows are as they were when they were read without their locks: rows fall
 * into groups, and each group has a version that goes up when the row lock of one of its rows is
 * passed on by a holder who may have changed it. Versions are copied, rows are read, a lock is
 * taken: if the version is still the same, the row is as it was read, if all who change it hold its
 * lock from before to after. */
#define ROW_LOCK_GROUPS 16384

/* Copies the versions of all groups. */
void row_locks_versions(struct row_locks *t, uint32_t versions[ROW_LOCK_GROUPS]);

/* Has l, which is held, the version that was copied? */
bool row_lock_has_version(struct row_locks *t, const struct row_lock *l,
                          const uint32_t versions[ROW_LOCK_GROUPS]);

/* Runs what is on the list, and what that wakes in turn, until it is empty. */
void row_lock_run(struct run_list *woken);

#endif
