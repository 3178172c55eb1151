/* blocking_lock.h: a latch for a thread that may sleep: the sweeper's and the like, never one that
 * serves requests. */
#ifndef TABLE_SYNC_BLOCKING_LOCK_H
#define TABLE_SYNC_BLOCKING_LOCK_H

#include "table/sync/row_lock.h"

#include <pthread.h>

struct held {
    struct latch latch;
    pthread_mutex_t lock;
    pthread_cond_t woken;
    bool ours;
};

/* Waits until the latch is held; `key` and *h stay until let_go(). */
void hold(struct latch_table *t, struct held *h, bytes key);

/* Passes it on and runs who waited for it. */
void let_go(struct latch_table *t, struct held *h);

#endif
