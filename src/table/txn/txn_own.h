/* txn_own.h: what the files of transactions share; for nobody else.
 *
 *   txn.c         one transaction, wherever its lock is; and those of a process that writes alone,
 *                 whose locks are gates in memory (txn_gate.h)
 *   txn_pool.c    those where others write too: the lock and the changes are records in the pool
 *   txn_lock.c    such a lock: looked at, taken, ended when its time is over
 *   txn_sweep.c   those that nobody meets
 *   txn_record.c  as bytes */
#ifndef TABLE_TXN_TXN_OWN_H
#define TABLE_TXN_TXN_OWN_H

#include "base/scheduler.h"
#include "table/core/call.h"
#include "table/txn/txn_gate.h"
#include "table/txn/txn_lock.h"
#include "table/txn/txn_stat.h"
#include "table/txn/txn_sweep.h"

#include <pthread.h>

#define TXN_ID_BUCKETS 4096

enum txn_state { TXN_WAITING, TXN_OPEN, TXN_BUSY, TXN_COMMITTING, TXN_ENDED };

/* What the transactions of one client hold: who takes turns takes memory by turns, too. */
struct txn_client {
    uint64_t client;
    size_t bytes;
    size_t refs;
    struct txn_client *next;
};

/* What the limits count. */
struct txn_written {
    size_t bytes, changes;
};

struct txn {
    struct txns *all;
    char id[TXN_ID_BYTES + 1];
    enum txn_state state;
    bool ends; /* with the request that is in it */
    uint32_t table_id;
    uint64_t client_id;
    bytes instance, table;
    bytes value; /* the partition-key columns, encoded */
    struct txn_gate *gate;
    struct call *starter; /* WAITING */
    int64_t begun_ms;     /* monotonic */

    struct arena arena;
    atomic_size_t blocks; /* the arena's, bytes */
    size_t counted;       /* of memory, in all sums */
    struct txn_client *client;

    struct txn_rows rows;
    struct txn_written written, saved; /* now, and when the rows were saved */

    wr_done_fn *done; /* of the call that is in it */
    void *arg;

    /* On a pool, where it is made anew for each request. */
    struct call *call;
    struct table *open; /* referenced */
    struct txn_lock lock;
    struct txn_lock_write write;
    bytes was; /* the head that its batch guards */
    int tries;
    void (*stepped)(struct txn *t, int code);
    void (*go_on)(void *arg);

    struct txn *chain;      /* by id */
    struct txn *next, **at; /* among all, the oldest first */
    uint8_t first[512];
};

struct txns {
    struct wr_db *db;
    const struct txn_apart *apart; /* locks are records (txn.h); NULL: gates */
    pthread_mutex_t lock;
    struct txn_gates gates;
    struct txn *by_id[TXN_ID_BUCKETS];
    struct txn *oldest, **newest;
    struct txn_client *clients;
    size_t bytes;
    struct txn_stat stat;
    struct task *task;
    struct txn_locks *locks; /* apart */
    struct txn_sweep sweep;  /* and then the task's */
};

/* ---- txn.c ---- */

/* A new one of the call's client, with an id of its own, counted; under the lock. NULL: E_BUSY, in
 * call->c. */
struct txn *txn_make(struct txns *all, struct call *call, const struct table *table, bytes cols);
/* A commit that came to nothing by what may be over in a moment, with a code that SDKs send again:
 * the transaction stays. */
bool txn_may_try_again(int code);
/* Under the lock; it is in no list. */
void txn_free(struct txn *t);
int txn_check_tables(struct call *call, const struct txn *t);
/* The call is the one that runs in it, until it ends: then left(t, reply) is told first, whose part
 * it is to tell the call's own end, t->done(t->arg, reply). */
void txn_run_in(struct txn *t, struct call *call, wr_done_fn *left);
#endif
