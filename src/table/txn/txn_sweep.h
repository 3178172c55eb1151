/* txn_sweep.h: locks of transactions that nobody meets, where locks are records (txn_lock.h).
 *
 * Whoever wants a value removes a lock whose time is over. One that nobody wants would stay, with
 * up to transaction_bytes_max of changes: its client is gone, and so may be the server where it
 * began. So every server looks through the tables with transactions, a part of a partition at a
 * time, with a pause after each, and again when a lock's life has passed: what it finds it has met,
 * and at one of the next rounds its time is over. What a round leaves is what is told to be open.
 */
#ifndef TABLE_TXN_TXN_SWEEP_H
#define TABLE_TXN_TXN_SWEEP_H

#include "base/scheduler.h"
#include "table/txn/txn_lock.h"

/* How far a round has come. Only the task's; begins as zeros but for `locks`. */
struct txn_sweep {
    struct txn_locks *locks; /* lives longer */
    uint32_t table;          /* an id: the one it is at, or was at last; 0: the round begins */
    bytes at;                /* from where on, in the heap; ptr NULL: that table is over */
    uint64_t open;           /* locks that it has left in this round */
};

/* A step of the task: arg is a struct txn_sweep. Waits for the pool: TASK_LONG. */
int txn_sweep_step(void *arg, struct task_step *step);

void txn_sweep_release(struct txn_sweep *s);

#endif
