/* blocking_lock.h: a row lock for a thread that may sleep: the sweeper's and the like, never one
 * that serves requests. */
#ifndef TABLE_SYNC_BLOCKING_LOCK_H
#define TABLE_SYNC_BLOCKING_LOCK_H

#include "table/sync/row_lock.h"

#include <pthread.h>

struct blocking_lock {
    struct row_lock row_lock;
    pthread_mutex_t lock;
    pthread_cond_t woken;
    bool ours;
};

/* Waits until the row lock is held; `key` and *h stay until blocking_unlock(). */
void blocking_lock(struct row_locks *t, struct blocking_lock *h, bytes key);

/* Passes the lock on and runs its waiters. */
void blocking_unlock(struct row_locks *t, struct blocking_lock *h);

#endif
