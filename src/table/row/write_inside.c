/* write_inside.c: the walk over a request that writes in a transaction.
 *
 * A row is decided by what is durable and by what the transaction wrote before (nobody else may
 * change it), and the outcome is kept for the commit (txn/txn.h). Nothing is locked, and nothing
 * goes to the engine. */
#include "table/model/change_point.h"
#include "table/row/write_own.h"
#include "table/txn/txn.h"

/* Of a row that the transaction has replaced the stored one says nothing. */
static int inside_replaced(struct write_call *w, struct write_row *r, const struct txn_row *own)
{
    r->m.old = (struct row){0};
    r->m.old_known = true;
    return txn_overlay(w->call, r->m.table, own, &r->m.old);
}

/* E_LATER: parked; the walk goes on by itself. */
static int inside_load(struct write_call *w, struct write_row *r)
{
    const struct txn_row *own = txn_find(w->call->txn, r->m.cols);

    if (!r->loading) {
        change_point_prepare(&w->call->c, &r->m);
        r->m.whole |= own != NULL;
    }
    if (own && own->replaces)
        return inside_replaced(w, r, own);
    TRY(write_row_load(w, r, VIEW_DURABLE));
    if (!r->loading) /* a blind put or delete */
        return E_OK;
    r->load.row.read_locked = false;
    r->m.old = r->load.row;
    r->m.old_known = true;
    return own ? txn_overlay(w->call, r->m.table, own, &r->m.old) : E_OK;
}

static int inside_row(struct write_call *w, struct write_row *r)
{
    struct call *call = w->call;
    struct ctx *c = &call->c;

    TRY(call_check_deadline(call));
    TRY(txn_check_row(call, r->m.table, r->m.cols));
    TRY(inside_load(w, r));
    if (db_is_shared(call->db) && r->m.old.there)
        db_clock_meet(call->db, r->m.old.stamp);
    r->m.time = db_clock_read(call->db);
    TRY(modify_run(c, &r->m));
    TRY(change_point_check(c, &r->m));
    TRY(modify_result(c, &r->m, r->result));
    return r->m.changed ? txn_add(call, &r->m, r->loading ? &r->load.row : NULL) : E_OK;
}

/* All or none: those before the one that failed are taken back. */
static void fail_all(struct write_call *w, const struct write_row *failed)
{
    txn_undo(w->call->txn);
    for (size_t i = 0; i < w->row_count; i++) {
        if (&w->rows[i] != failed)
            write_row_set(&w->rows[i], failed->result->code, failed->result->message);
        if (w->rows[i].state != WRITE_ROW_DONE)
            write_row_enter(&w->rows[i], WRITE_ROW_DONE);
    }
    w->at = w->row_count;
}

void write_walk_inside(struct write_call *w)
{
    struct ctx *c = &w->call->c;

    if (w->atomic && !w->saved_inside) {
        txn_save(w->call->txn);
        w->saved_inside = true;
    }
    for (; w->at < w->row_count; w->at++) {
        struct write_row *r = &w->rows[w->at];
        int code = E_OK;

        if (r->state != WRITE_ROW_DONE && write_row_begin(w, r)) {
            code = inside_row(w, r);
            if (code == E_LATER)
                return;
            if (code)
                write_row_fail(c, r);
            else
                write_row_accept(w, r);
            write_row_enter(r, WRITE_ROW_DONE);
        }
        if (w->atomic && r->result->code) {
            fail_all(w, r);
            break;
        }
    }
    if (w->atomic)
        txn_keep(w->call->txn);
    call_charge(w->call);
    write_release(w);
}
