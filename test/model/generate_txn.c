/* generate_txn.c: local transactions, and requests inside of them. */
#include "generate_part.h"

static bytes name_of(struct generator *g, const struct oracle_txn *x)
{
    /* Now and then one that has ended, or never was. */
    return oracle_txn_name(g->a, gen_chance(g, 97) ? x->number : gen_below(g, g->o->starts + 2));
}

void gen_start(struct generator *g, const struct oracle_table *t, struct wr_request *out)
{
    bool placeholder;
    struct wr_key key = gen_key(g, t, false, &placeholder);

    key.count = gen_chance(g, 95) ? 1 : key.count;
    out->op = WR_OP_START_LOCAL_TRANSACTION;
    out->start_local_transaction = (struct wr_start_transaction){arena_copy(g->a, t->name), key};
}

struct oracle_txn *gen_open_txn(struct generator *g)
{
    struct oracle_txn *x = g->o->txns;

    while (x && x->next && gen_chance(g, 50))
        x = x->next;
    return x;
}

void gen_end(struct generator *g, const struct oracle_txn *x, struct wr_request *out)
{
    out->op = gen_chance(g, 70) ? WR_OP_COMMIT_TRANSACTION : WR_OP_ABORT_TRANSACTION;
    out->commit_transaction.id = name_of(g, x);
}

/* The key becomes one of the transaction's value, usually. */
static void move(struct generator *g, const struct oracle_txn *x, struct wr_key key)
{
    struct wr_value *v = &((struct wr_key_column *)(uintptr_t)key.columns)[0].value;

    if (!key.count || gen_chance(g, 3))
        return;
    *v = x->value;
    if (v->type != WR_BIGINT)
        v->bytes = arena_copy(g->a, v->bytes);
}

static void move_range(struct generator *g, const struct oracle_txn *x, struct wr_get_range *r)
{
    int d;

    move(g, x, r->start);
    move(g, x, r->end);
    if (r->start.count != x->view.key_count || r->end.count != x->view.key_count)
        return;
    d = oracle_key_compare(x->view.key, r->start.columns, r->end.columns, x->view.key_count);
    if (r->backward ? d < 0 : d > 0) {
        struct wr_key swap = r->start;

        r->start = r->end;
        r->end = swap;
    }
}

void gen_inside(struct generator *g, const struct oracle_txn *x, struct wr_request *out)
{
    bytes name = name_of(g, x);

    switch (out->op) {
    case WR_OP_GET_ROW:
        move(g, x, out->get_row.key);
        out->get_row.transaction = name;
        return;
    case WR_OP_GET_RANGE:
        move_range(g, x, &out->get_range);
        out->get_range.transaction = name;
        return;
    case WR_OP_BATCH_WRITE_ROW:
        for (size_t i = 0; i < out->batch_write_row.tables[0].change_count; i++)
            move(g, x, out->batch_write_row.tables[0].changes[i].row.key);
        out->batch_write_row.transaction = name;
        return;
    default:
        move(g, x, out->put_row.row.key);
        out->put_row.transaction = name;
        return;
    }
}
