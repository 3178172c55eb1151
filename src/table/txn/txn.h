/* txn.h: local transactions: what one request after the other asks of the rows of one
 * partition-key value, and what lands together or not at all (doc/data-model.md, "Transactions").
 *
 * A transaction owns the gate of its value (txn_gate.h), so only what expires changes the rows
 * under it. Its writes are decided at once, by the durable rows and by what it wrote before, and
 * kept as one change a row that depends on nothing any more (txn_row.h): conditions are gone,
 * increments and numbers are values, cells have their timestamps. The commit is one atomic batch of
 * these changes on the rows as they are then (row/write_commit.c), so whatever the table has become
 * meanwhile is right.
 *
 *     WAITING ──▶ OPEN ◀──▶ BUSY ──▶ ENDED        WAITING: writes are inside of the gate
 *        │         │ ▲                 ▲          BUSY: a request works in it
 *        │         ▼ │                 │          COMMITTING: nothing ends it until that is known
 *        │      COMMITTING ────────────┤
 *        └─────────┴───────────────────┘
 *
 * It ends by itself transaction_ms_max after its beginning, by the monotonic clock: whoever meets
 * the gate of one whose time is over ends it, and a task in the background does. It lives in
 * memory: a server that stops forgets it, and nothing of it is seen.
 *
 * On a pool, where other servers write too, the lock and the writes are records of the value's
 * partition (decision 43, txn_lock.h), so that any server does the next step: what is told here of
 * states and gates is of one process that writes alone, the functions are the same.
 *
 * All functions may be called from any thread; of one transaction, only by the request that is in
 * it. */
#ifndef TABLE_TXN_TXN_H
#define TABLE_TXN_TXN_H

#include "table/core/call.h"
#include "table/txn/txn_row.h"
#include "table/txn/txn_stat.h"

struct txn;
struct txn_gate;
struct txns;

/* The key columns whose values a gate is for: the first, whatever the layout takes for its
 * partition key. So a rekeying changes nothing of what an open transaction holds. */
#define TXN_KEY_COLUMNS 1

/* What is done otherwise where others write too. begin and enter as txn_begin() and txn_enter();
 * end: the call's transaction ends, nothing is written, and the call is finished. */
struct txn_apart {
    int (*begin)(struct call *call, const struct table *t, bytes cols);
    int (*enter)(struct call *call, bytes id, void (*go_on)(void *arg));
    void (*end)(struct call *call);
};
extern const struct txn_apart txn_pool; /* txn_pool.c: records in the pool */

/* `apart` NULL: nobody else writes (db_is_shared()). */
struct txns *txns_new(struct wr_db *db, const struct txn_apart *apart);
/* Registers the task that ends what nobody comes back to. False: the system gives no thread. */
bool txns_start(struct txns *all);
void txns_free(struct txns *all); /* no request is under way; NULL is allowed */

void txns_stat(struct txns *all, struct txn_stat *out); /* NULL: zeros */

/* Begins one for the call, on the table's partition-key value `cols` (encoded), and finishes the
 * call with its id, now or when the writes inside have left; or returns why not, in call->c:
 * E_CONFLICT, E_BUSY. */
int txn_begin(struct call *call, const struct table *t, bytes cols);

/* Has it the form of an id? Every request with another text is refused. */
bool txn_is_id(bytes id);

/* The call works in the transaction of that id: call->txn, until it is finished. E_LATER:
 * go_on(call) is called when it does; or the call is finished with a failure. E_SESSION,
 * E_SESSION_BUSY; E_OUT_OF_RANGE: it names another table. */
int txn_enter(struct call *call, bytes id, void (*go_on)(void *arg));

/* Of the call's transaction. */
bytes txn_table(const struct txn *t);
struct txn_row *const *txn_rows(const struct txn *t, size_t *count); /* by key */

/* Is it the transaction's table, not one that was made again under its name? E_SESSION. */
int txn_check_table(struct call *call, const struct table *t);
/* That, and is the row of the transaction's value? `cols` may end behind the value. E_OUT_OF_RANGE.
 */
int txn_check_row(struct call *call, const struct table *t, bytes cols);

/* Keeps what was decided; `stored` as for txn_rows_add(). E_TXN_SIZE, E_BUSY: nothing was kept. */
int txn_add(struct call *call, const struct modify *m, const struct row *stored);
/* What is added from now on is forgotten together, or stays. */
void txn_save(struct txn *t);
void txn_undo(struct txn *t);
void txn_keep(struct txn *t);

/* NULL: it has not changed that row. */
const struct txn_row *txn_find(const struct txn *t, bytes cols);
/* Makes of *row, as it is stored (a wide one with all of its cells; it need not be read if
 * changes->replaces), the row as the transaction sees it. */
int txn_overlay(struct call *call, const struct table *t, const struct txn_row *changes,
                struct row *row);

/* The call's transaction is being committed: from now on time does not end it. E_SESSION: it has,
 * already. */
int txn_commits(struct call *call);
/* The call's transaction ends with nothing (more) written, and the call is finished. A transaction
 * also ends with a commit, unless that came to nothing and may be sent again, and with any call
 * that found its table gone. */
void txn_drop(struct call *call);
/* Where the lock is a record: adds to the batch of a commit what ends it, and guards it; nothing
 * else. */
void txn_commit_batch(struct call *call, struct batch_builder *e);

/* The same where others write too: a write of this row outside of transactions lands only if
 * nobody owns its value. Only of tables whose locks are records (schema.txn_records). */
void txn_guard(const struct table *t, bytes cols, struct batch_builder *e);

/* A write outside of transactions enters. E_CONFLICT: a transaction owns the value. *out goes to
 * txn_gate_leave() when the write is durable or has come to nothing. Only of tables with
 * transactions, where nobody else writes (db_is_shared()). */
int txn_gate_enter(struct call *call, const struct table *t, bytes cols, struct txn_gate **out);
void txn_gate_leave(struct wr_db *db, struct txn_gate *g);

#endif
