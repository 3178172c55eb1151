/* write_commit.c: CommitTransaction: the changes of a transaction as one atomic batch, on the rows
 * as they are now. */
#include "table/catalog/catalog.h"
#include "table/row/write_own.h"
#include "table/txn/txn.h"

static void commit_rows(struct write_call *w, struct txn_row *const *rows, size_t count)
{
    struct arena *a = &w->call->c.arena;

    for (size_t i = 0; i < count; i++) {
        struct wr_row_change *change = ARENA_NEW(a, struct wr_row_change);

        txn_row_change(rows[i], change);
        write_add_row(w, change, ARENA_NEW(a, struct wr_row_result));
    }
}

int commit_transaction_start(struct call *call)
{
    struct txn_row *const *rows;
    struct write_call *w;
    struct table *t;
    size_t count;

    if (!call->txn)
        return fail(&call->c, E_PARAMETER, "TransactionID is invalid.");
    TRY(txn_commits(call));
    rows = txn_rows(call->txn, &count);
    TRY(call_open_table(call, txn_table(call->txn), &t));
    if (txn_check_table(call, t)) {
        table_release(t);
        return call->c.code;
    }
    if (!count) {
        table_release(t);
        txn_drop(call);
        return E_OK;
    }
    w = write_new(call, 1, count);
    w->commits = w->atomic = true;
    w->tables[w->table_count++] = (struct write_table){t, 0, count};
    commit_rows(w, rows, count);
    write_start(w);
    return E_OK;
}
