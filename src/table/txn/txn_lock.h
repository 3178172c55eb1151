/* txn_lock.h: the lock of a partition-key value where others write too (decision 43).
 *
 * It is a head in the value's partition (txn_record.h). Whoever writes a row of the value guards in
 * the row's own batch that there is none; each step of its transaction guards the head as it was
 * read, and replaces it. So nothing is held by a process: who was paused or killed has a head that
 * has changed since, or has gone, and his batch comes to nothing, however late it arrives.
 *
 * A lock ends by its transaction, or by time: whoever meets one whose time is over removes it with
 * all of its records, guarded by the head. Its time is over when this process has known it for
 * transaction_ms_max by the monotonic clock; or when it began so long ago, and ENGINE_LEASE_MS
 * more, by the clocks of two servers, and more by what servers' clocks are apart. The clocks decide
 * only how long a lock stands, never whether two hold it.
 *
 * All calls end by `done`, possibly before they return, on any thread; it does not block. What they
 * are given stays where it is until then. */
#ifndef TABLE_TXN_TXN_LOCK_H
#define TABLE_TXN_TXN_LOCK_H

#include "table/catalog/route.h"
#include "table/txn/txn_record.h"

#include <pthread.h>
#include <stdatomic.h>

struct wr_db;

/* When this process has seen a lock first. A place for each remainder of an id's hash: a newcomer
 * takes it, and who was there is then seen for the first time again. */
#define TXN_SEEN 4096
struct txn_seen {
    char id[TXN_ID_BYTES];
    int64_t first_ms; /* monotonic */
};

struct txn_locks {
    struct wr_db *db;
    pthread_mutex_t lock; /* of seen */
    struct txn_seen seen[TXN_SEEN];
    _Atomic uint64_t expired; /* that were removed here */
    _Atomic uint64_t refused; /* writes and starts that met one here */
    _Atomic uint64_t open;    /* whoever has them, as the last round of txn_sweep.h found them */
};
struct txn_locks *txn_locks_new(struct wr_db *db);
void txn_locks_free(struct txn_locks *locks); /* NULL is allowed */

/* E_CONFLICT, with the text that clients know. */
int txn_fail_conflict(struct ctx *c);

/* A batch to the value's partition, wherever that is by now. */
struct txn_lock_write {
    struct ctx *c;
    const struct table *table;
    struct write_batch batch; /* the partition need not be set */
    bytes key;                /* one of its keys */
    void (*done)(struct txn_lock_write *w, int code);
    struct route_wait wait;
};
void txn_lock_write(struct txn_lock_write *w);

/* A look at the value's records as they are durable. */
struct txn_lock {
    struct ctx *c; /* of the look; the arena has what it finds */
    const struct table *table;
    bytes value;
    bool whole; /* the rows' records, too */
    void (*done)(struct txn_lock *l, int code);

    bool held;
    struct txn_head head;
    bytes stored; /* the head */
    struct kv *rows;
    size_t row_count;

    size_t capacity; /* the look's own */
    struct key_range range;
    struct scan scan;
    struct page page;
};
void txn_lock_look(struct txn_lock *l);

/* Is its time over? It is seen now, if it was not before. */
bool txn_lock_is_over(struct txn_locks *all, const struct txn_head *head);

/* Guards the lock as it was looked at, and removes all that was found. In the arena of l->c. */
void txn_lock_remove(const struct txn_lock *l, struct write_batch *b, struct guard *guard);

/* Somebody has met the lock, perhaps: his guard has failed. E_OK: the value is free (now); else
 * E_CONFLICT, in c. `own`: the head that should be there still, else E_SESSION; ptr NULL: none. */
struct txn_meet {
    struct txn_locks *all;
    bytes own;
    void (*done)(struct txn_meet *m, int code);
    struct txn_lock lock; /* c, table and value are the owner's to set */
    struct txn_lock_write write;
    struct guard guard;
    int tries;
};
void txn_meet(struct txn_meet *m);

/* The same for a write whose guard may have been that of the row's value: only `done` of m is set.
 * In a transaction it is its own lock that should be there. */
struct call;
void txn_lock_met(struct call *call, const struct table *t, bytes cols, struct txn_meet *m);

#endif
