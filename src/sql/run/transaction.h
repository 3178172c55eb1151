/* transaction.h: START TRANSACTION, COMMIT, ROLLBACK and autocommit, over local transactions of
 * storage (doc/data-model.md, "Transactions"): rows of one value of the first key column of one
 * table, which was made WITH (TRANSACTIONS = 'true').
 *
 *     none ──START TRANSACTION──▶ said ──first write, FOR UPDATE──▶ begun ──COMMIT, ROLLBACK──▶
 * none └──────a write, with autocommit off──────────────────────────▲ │ its time is over ▼ lost
 * ──COMMIT, ROLLBACK──▶ none
 *
 * Storage's begins with the first statement that needs it, since only then its value is known; what
 * is read until then is what is committed. Used by the session's thread. */
#ifndef SQL_RUN_TRANSACTION_H
#define SQL_RUN_TRANSACTION_H

#include "sql/run/table.h"

/* ---- transaction_end.c ---- */

/* COMMIT, ROLLBACK, START TRANSACTION, BEGIN. */
int run_transaction(struct run *r, const struct statement *s);

/* SET: of what it names only autocommit and variables of the session's own change anything. */
int run_set(struct run *r, const struct statement *s);

/* What a statement does to the transaction before it runs: one that makes or changes tables or
 * users commits it, as in MySQL, and in one that is lost there are no rows. Not 0: the statement is
 * not to run. */
int transaction_statement(struct run *r, const struct statement *s);

/* ---- transaction.c ---- */

/* A row with that value of the first key column is to be written, or locked by `FOR UPDATE`; *id is
 * what requests for it carry, ptr NULL: nothing. Begins storage's transaction if need be. Not 0:
 * the row cannot be in the transaction, and the fault says why. */
int transaction_enter(struct run *r, const struct sql_table *t, const struct wr_value *value,
                      bytes *id);

/* Locks what a SELECT … FOR UPDATE names, if a transaction is open. */
int transaction_lock(struct run *r, const struct select *s);

/* *id is what a read of these rows carries, so that it sees what the transaction wrote; ptr NULL:
 * nothing. `start` and `end` bound the first key column; `by_index`: it finds rows of the table
 * through an index. Not 0: it would have to see what it cannot. */
int transaction_read(struct run *r, const struct sql_table *t, bool by_index,
                     const struct wr_key *start, const struct wr_key *end, bytes *id);

/* As if nothing had been said; autocommit stays. */
void transaction_forget(struct transaction *t);

/* The same, and storage forgets it, too; if that fails it does so by itself, a minute after its
 * beginning. */
void transaction_abort(struct session *s);

/* Ends what is open without a word, and turns autocommit on. */
void transaction_drop(struct session *s);

#endif
