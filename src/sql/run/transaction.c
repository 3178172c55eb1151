#include "sql/run/transaction.h"

#include "sql/run/convert.h"
#include "sql/run/order.h"
#include "sql/run/where.h"

static struct transaction *of(struct run *r)
{
    return &r->session->transaction;
}

/* ---- its end ---- */

void transaction_forget(struct transaction *t)
{
    if (t->id.ptr)
        arena_release(&t->arena);
    *t = (struct transaction){.manual = t->manual};
}

void transaction_abort(struct session *s)
{
    struct wr_request request = {WR_REQUEST(ABORT_TRANSACTION),
                                 .instance = s->transaction.database};

    if (s->transaction.id.ptr && !s->transaction.lost) {
        request.client = s->conf.client;
        request.abort_transaction.id = s->transaction.id;
        wr_reply_free(wr_exec(s->conf.db, &request));
    }
    transaction_forget(&s->transaction);
}

void transaction_drop(struct session *s)
{
    transaction_abort(s);
    s->transaction.manual = false;
}

/* ---- rows ---- */

static bool is_of_table(const struct transaction *x, const struct sql_table *t)
{
    return bytes_equal(x->database, t->database) && bytes_equal(x->table, t->name);
}

static bool is_value(struct run *r, const struct wr_value *a, const struct wr_value *b)
{
    return a->type == b->type && !value_order(r->arena, a, b);
}

static int begin(struct run *r, const struct sql_table *t, const struct wr_value *value)
{
    struct wr_request request = {WR_REQUEST(START_LOCAL_TRANSACTION), .instance = t->database};
    struct wr_key_column column = {t->columns[0].name, *value};
    struct transaction *x = of(r);
    const struct wr_reply *reply;

    request.start_local_transaction = (struct wr_start_transaction){t->name, {&column, 1}};
    RUN_TRY(run_request(r, &request, &reply));
    arena_init(&x->arena, NULL, 0);
    x->id = arena_copy(&x->arena, reply->transaction.id);
    x->database = arena_copy(&x->arena, t->database);
    x->table = arena_copy(&x->arena, t->name);
    x->value = convert_copy(&x->arena, value);
    return 0;
}

int transaction_enter(struct run *r, const struct sql_table *t, const struct wr_value *value,
                      bytes *id)
{
    struct transaction *x = of(r);

    *id = BYTES_NONE;
    if (!x->said && !x->manual)
        return 0;
    if (x->read_only)
        return run_fail(r, FAULT_READ_ONLY);
    if (!t->description->local_transactions) {
        x->beside |= !x->said;
        return x->said ? run_fail(r, FAULT_NO_TRANSACTIONS, RUN_TEXT(t->name)) : 0;
    }
    if (!x->id.ptr)
        RUN_TRY(begin(r, t, value));
    else if (!is_of_table(x, t) || !is_value(r, &x->value, value))
        return run_fail(r, FAULT_TRANSACTION_ONE, RUN_TEXT(x->table), RUN_TEXT(t->columns[0].name));
    *id = x->id;
    return 0;
}

int transaction_lock(struct run *r, const struct select *s)
{
    const struct from_item *f = s->from ? s->from->first : NULL;
    struct sql_table *t;
    struct wr_value v;
    bytes id;

    if (!of(r)->said && !of(r)->manual)
        return 0;
    if (!f || f->next || f->select)
        return run_fail(r, FAULT_UNSUPPORTED, "FOR UPDATE locks the rows of one table");
    RUN_TRY(table_find(r, &f->name, &t));
    if (!where_first_value(r, t, s->where, &v))
        return run_fail(r, FAULT_LOCK, RUN_TEXT(t->columns[0].name));
    return transaction_enter(r, t, &v, &id);
}

int transaction_read(struct run *r, const struct sql_table *t, bool by_index,
                     const struct wr_key *start, const struct wr_key *end, bytes *id)
{
    const struct transaction *x = of(r);
    const struct wr_value *value = start->count ? &start->columns[0].value : NULL;

    *id = BYTES_NONE;
    if (!x->id.ptr || !is_of_table(x, t))
        return 0;
    if (by_index || !value || value->type >= WR_INF_MIN || !end->count ||
        !is_value(r, value, &end->columns[0].value))
        return run_fail(r, FAULT_TRANSACTION_READ, RUN_TEXT(t->name), RUN_TEXT(t->columns[0].name));
    if (is_value(r, value, &x->value))
        *id = x->id;
    return 0;
}
