/* blocking_lock.h: a latch for a thread that may sleep: the sweeper's and the like, never one that
 * serves requests. */
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

/* Waits until the latch is held; `key` and *h stay until let_go(). */
void blocking_lock(struct row_locks *t, struct blocking_lock *h, bytes key);

/* Passes it on and runs who waited for it. */
void blocking_unlock(struct row_locks *t, struct blocking_lock *h);

#endif
