/* write_lock.c: rows of tables whose locks of transactions are records (table/txn/txn_lock.h).
 *
 * Nobody asks for the lock before a write: its absence is one guard more in the row's batch. Only
 * when a guard has failed, which may have been any, is it looked at, before the next round. */
#include "base/invariant.h"
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

/* The failure in the call's context becomes the row's; of an atomic batch all rows fail with it. */
static void look_fail(struct look *l)
{
    struct write_call *w = l->write;
    const struct write_table *t = &w->tables[w->rows[l->at].table_at];
    size_t first = w->atomic ? t->first : l->at, end = w->atomic ? t->end : l->at + 1;
    int code = w->call->c.code;
    const char *text = w->call->c.text;

    for (size_t i = first; i < end; i++) {
        struct write_row *r = &w->rows[i];

        if (r->state == WRITE_ROW_DONE)
            continue;
        write_row_set(r, code, text);
        r->result->consumed.read = r->result->consumed.write = 0;
        if (r->state == WRITE_ROW_LATER)
            write_row_enter(r, WRITE_ROW_BEGUN);
        write_row_enter(r, WRITE_ROW_DONE);
    }
    ctx_clear(&w->call->c);
}

static void look_go_on(struct look *l);

static void look_met(struct txn_meet *m, int code)
{
    struct look *l = PORT_CONTAINER(m, struct look, meet);

    if (code)
        look_fail(l);
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

/* All have been looked at. Where nothing is left to do the request ends, with the texts of its
 * failures, which another round would not keep. */
static void look_end(struct write_call *w)
{
    for (size_t i = 0; i < w->row_count; i++)
        if (w->rows[i].state != WRITE_ROW_DONE) {
            write_again(w);
            return;
        }
    atomic_store(&w->again, false);
    atomic_store(&w->open, 1);
    write_release(w);
}

static void look_go_on(struct look *l)
{
    struct write_call *w = l->write;
    const struct write_row *r;

    if (!look_next(l)) {
        look_end(w);
        return;
    }
    r = &w->rows[l->at];
    l->table = r->m.table;
    l->meet.done = look_met;
    txn_lock_met(w->call, r->m.table, r->m.cols, &l->meet);
}

void write_lock_look(struct write_call *w)
{
    bool records = false;
    struct look *l;

    for (size_t i = 0; i < w->table_count; i++)
        records |= w->tables[i].table->schema.txn_records;
    if (PORT_LIKELY(!records)) {
        write_again(w);
        return;
    }
    l = ARENA_NEW(&w->call->c.arena, struct look);
    l->write = w;
    look_go_on(l);
}
