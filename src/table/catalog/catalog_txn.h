/* catalog_txn.h: a transaction on the catalog: the one way in which a table's description changes.
 *
 *   QUEUED ──▶ DECIDING ──▶ MAKING ──▶ STORING ──▶ TELLING ──▶ ENDED
 *                ▲  │                     │
 *                └──┴──── REREADING ◀─────┘ a guard failed: another process was faster
 *
 *   QUEUED     waits for the catalog's row lock: one transaction of this process at a time
 *   DECIDING   decide() looks at the table as it is published, checks, and adds edits. It runs once
 *              a try, on any thread, under the lock; it does not block.
 *   MAKING     make(), where there is one: what must exist before the batch does, and may block. A
 *              kill, or a failure of the batch, leaves it behind, so nobody may take it for more
 *              than garbage.
 *   STORING    one batch, guarded by what decide() saw. Durable when it is answered.
 *   REREADING  the table is read again, and decide() is called anew. E_CONFLICT after
 *              CATALOG_TRIES_MAX tries, or when the context's deadline has passed. A change is
 *              guarded, but a refusal is not: what a client is refused by is read again first
 *              (confirms), for what is cached may be seconds old.
 *   TELLING    it is published in this process and the lock is passed on; the other servers are
 *              told. A server that does not answer keeps no other transaction waiting.
 *
 * An error before TELLING ends it; then nothing has changed, but for E_UNSURE: the
 * batch may land later, so the others are told as if it had, and all read what is true. A kill
 * before STORING is answered changes nothing or all; one behind it is made good by the journal
 * (catalog_journal.h), which the batch carries. On one machine there are no others: a guard is only
 * needed where an earlier batch may still land (catalog_guards()), and nobody is told.
 *
 * How to use it. Put it into a struct of yours, set the owner's fields, and call
 * catalog_txn_begin(), or catalog_txn_wait() where the thread may sleep. In decide(): check x->now;
 * change a catalog_txn_draft(); catalog_txn_put() it. Other tables that change with it (indexes)
 * are named by catalog_txn_other(). Records of other kinds that must change in the same moment (of
 * an index that is built, of a stream, of a view) go into x->builder, and what they were decided by
 * into catalog_txn_guard(); ids of new places come from catalog_txn_ids(). All lie in the system
 * partition, so that one batch can hold them. What lasts longer than one batch (the building of an
 * index, a repartition, RekeyTable) is a chain of transactions: each stores the phase in the
 * description, and whoever finds a phase there goes on with it (catalog_repartition.c, rekey.c).
 * Before the next phase may rest on a phase, all must know of it: tell_ms = ENGINE_PUBLISH_MS, and
 * catalog_keeps_index() or catalog_reconciled() for the requests of this process that began
 * earlier. */
#ifndef TABLE_CATALOG_CATALOG_TXN_H
#define TABLE_CATALOG_CATALOG_TXN_H

#include "base/workers.h"
#include "table/catalog/catalog.h"
#include "table/core/db.h"
#include "table/model/batch_builder.h"

enum catalog_txn_state {
    CATALOG_TXN_QUEUED,
    CATALOG_TXN_DECIDING,
    CATALOG_TXN_MAKING,
    CATALOG_TXN_STORING,
    CATALOG_TXN_REREADING,
    CATALOG_TXN_TELLING,
    CATALOG_TXN_ENDED
};

/* Another table of the instance that changes in the same batch: an index of x's. */
struct catalog_txn_other {
    struct catalog_txn_other *before; /* the one named before it */
    bytes name;
    struct table *now, *next;
    bool drops;
};

struct catalog_txn {
    /* The owner's; all others begin as zeros. What is pointed to stays until the end, and nobody
     * else uses `c` meanwhile. */
    struct wr_db *db;
    struct ctx *c;
    bytes instance, name;
    uint32_t id; /* the table must still be this one, else E_NOT_EXIST; 0: whichever has the name */
    int (*decide)(struct catalog_txn *x); /* not 0: the transaction ends with it */
    int (*make)(struct catalog_txn *x);   /* on the thread for jobs, or the one that waits */
    /* The end; it releases the transaction. Not with catalog_txn_wait(). Any thread. */
    void (*done)(struct catalog_txn *x, int code);
    /* How long the others' answers are waited for before silent servers are passed over; 0: nobody
     * waits for them. Decide() may change it: if it adds no edit, nothing is stored, and the others
     * are told only if this is not 0. */
    int64_t notify_ms;
    bool confirms; /* decide() refuses by what is stored, not by what is cached */

    /* What decide() sees and makes. */
    int tries;                        /* before this one */
    struct table *now;                /* as it is published; NULL: there is none */
    struct table *next;               /* what is published in its place; NULL: the table goes */
    bool drops;                       /* it does (catalog_txn_drop) */
    struct catalog_txn_other *others; /* the last one named */
    struct batch_builder builder;
    struct guard *guards;
    size_t guard_count, guard_room;

    bool silent; /* at the end: some server did not answer within tell_ms */

    /* Its own. */
    enum catalog_txn_state state;
    bool is_current; /* what decide() sees was read in this transaction */
    bool reads_all;  /* it counts tables */
    struct row_lock row_lock;
    struct job job;
    struct waiter *waiter; /* of catalog_txn_wait() */
};

/* Does not block; done() may run before it returns. */
void catalog_txn_begin(struct catalog_txn *x);
/* Begins it and sleeps until its end; gives its code. Never on a thread that serves requests. Then,
 * too, it is to be released. */
int catalog_txn_wait(struct catalog_txn *x);
/* Lets go of all tables: at the end, before x->c is released. */
void catalog_txn_release(struct catalog_txn *x);

/* ---- for decide() ---- */

/* The description of x->now under its next version, to be changed. */
struct schema catalog_txn_draft(const struct catalog_txn *x);
/* Stores `s` under x's name, and publishes it when it is durable. */
int catalog_txn_put(struct catalog_txn *x, const struct schema *s);
/* The record of x->now goes, and with its publishing the table. */
void catalog_txn_drop(struct catalog_txn *x);
/* The table of that name in the same instance, to be put or dropped as well; other->now NULL: there
 * is none. Once a name. */
struct catalog_txn_other *catalog_txn_other(struct catalog_txn *x, bytes name);
int catalog_txn_put_other(struct catalog_txn *x, struct catalog_txn_other *other,
                          const struct schema *s);
void catalog_txn_drop_other(struct catalog_txn *x, struct catalog_txn_other *other);
/* The batch lands only if that still holds; its texts stay until the end. Where guards are needed
 * at all. */
void catalog_txn_guard(struct catalog_txn *x, struct guard guard);
/* The first of `count` ids for tables and places that nobody ever had. Once a try. */
uint32_t catalog_txn_ids(struct catalog_txn *x, uint32_t count);
/* A client asks for it, at that time: E_TOO_FREQUENT above table_ops_per_s_max. Once. */
int catalog_txn_check_rate(struct catalog_txn *x, int64_t now_ms);

#endif
