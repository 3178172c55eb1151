/* txn_op.c: StartLocalTransaction and AbortTransaction. CommitTransaction writes rows:
 * row/write_commit.c. */
#include "table/catalog/catalog.h"
#include "table/model/key.h"
#include "table/txn/txn.h"

static int start_check(struct call *call, const struct table *t, const struct wr_key *key)
{
    const struct location *p = &t->schema.location;
    struct ctx *c = &call->c;

    if (!t->schema.d.local_transactions)
        return fail(
            c, E_PARAMETER,
            "Try to call method using explicit transaction on explicit-transaction-disabled "
            "table.");
    if (key->count > TXN_KEY_COLUMNS)
        return fail(c, E_PARAMETER, "StartLocalTransaction support only one primary key.");
    if (db_is_shared(call->db) && !t->schema.txn_records)
        return fail(c, E_UNSUPPORTED,
                    "StartLocalTransaction is not supported on this table: where several servers "
                    "share a pool it has to be made with transactions by this version, and with a "
                    "layout that keeps the rows of one value of the first key column together.");
    return key_check(c, &call->db->limits, p->key, TXN_KEY_COLUMNS, key, KEY_READ);
}

int start_local_transaction_start(struct call *call)
{
    const struct wr_start_transaction *start = &call->req->start_local_transaction;
    struct ctx *c = &call->c;
    struct table *t;
    struct buf cols;
    int code;

    TRY(key_check_alone(c, &call->db->limits, &start->key, KEY_READ));
    TRY(call_open_table(call, start->table, &t));
    code = start_check(call, t, &start->key);
    buf_init(&cols, &c->arena, 64);
    if (!code)
        code =
            key_put_columns(c, &cols, t->schema.location.key, start->key.columns, start->key.count);
    if (!code)
        code = txn_begin(call, t, buf_bytes(&cols));
    table_release(t);
    return code;
}

int abort_transaction_start(struct call *call)
{
    if (!call->txn)
        return fail(&call->c, E_PARAMETER, "TransactionID is invalid.");
    txn_drop(call);
    return E_OK;
}
