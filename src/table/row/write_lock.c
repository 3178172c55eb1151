/* write_lock.c: rows of tables whose locks of transactions are records (table/txn/txn_lock.h).
 *
 * Nobody asks for the lock before a write: its absence is one guard more in the row's batch. Only
 * when a guard has failed, which may have been any, is it looked at, before the next round. */
#include "table/row/write_own.h"
#include "table/txn/txn.h"
#include "table/txn/txn_lock.h"

void write_lock_batch(struct write_call *w, const struct write_row *r)
{
    if (w->commits)
        txn_commit_batch(w->call, &w->builder);
    else
        txn_guard(r->m.table, r->m.cols, &w->builder);
}

struct look {
    struct write_call *write;
    const struct write_lock_calls *calls;
    size_t at;
    bytes seen; /* the value that was looked at last, and is free */
    const struct table *table;
    struct txn_meet meet;
};

static bytes row_value(const struct write_row *r)
{
    const struct location *p = &r->m.table->schema.location;

    return (bytes){r->m.cols.ptr, key_columns_length(p->key, r->m.cols, TXN_KEY_COLUMNS)};
}

static void look_go_on(struct look *l);

static void look_met(struct txn_meet *m, int code)
{
    struct look *l = PORT_CONTAINER(m, struct look, meet);

    if (code)
        l->calls->met(l->write, l->at);
    else
        l->seen = row_value(&l->write->rows[l->at]);
    l->at++;
    look_go_on(l);
}

/* The next row that is still to do, and whose value was not looked at. */
static bool look_next(struct look *l)
{
    struct write_call *w = l->write;

    for (; l->at < w->row_count; l->at++) {
        const struct write_row *r = &w->rows[l->at];

        if (r->state == WRITE_ROW_DONE || r->state == WRITE_ROW_NEW ||
            !r->m.table->schema.txn_records)
            continue;
        if (l->table != r->m.table || !l->seen.ptr || !bytes_equal(l->seen, row_value(r)))
            return true;
    }
    return false;
}

static void look_go_on(struct look *l)
{
    struct write_call *w = l->write;
    const struct write_row *r;

    if (!look_next(l)) {
        l->calls->looked(w);
        return;
    }
    r = &w->rows[l->at];
    l->table = r->m.table;
    l->meet.done = look_met;
    txn_lock_met(w->call, r->m.table, r->m.cols, &l->meet);
}

void write_lock_look(struct write_call *w, const struct write_lock_calls *calls)
{
    bool records = false;
    struct look *l;

    for (size_t i = 0; i < w->table_count; i++)
        records |= w->tables[i].table->schema.txn_records;
    if (PORT_LIKELY(!records)) {
        calls->looked(w);
        return;
    }
    l = ARENA_NEW(&w->call->c.arena, struct look);
    l->write = w;
    l->calls = calls;
    look_go_on(l);
}
