/* oracle_txn.c: local transactions (doc/data-model.md, "Transactions"). One is a table of its own,
 * with copies of the rows of its value: requests inside work on these, and a commit puts them in
 * the place of the table's.
 *
 * Requests name a transaction by the number of its start, as text ("7"), since what the database
 * calls it is another in each run; run.c puts the true id into what it sends. */
#include "oracle_part.h"

#include <stdlib.h>

bytes oracle_txn_name(struct arena *a, uint64_t number)
{
    return arena_printf(a, "%llu", (unsigned long long)number);
}

uint64_t oracle_txn_number(bytes name)
{
    char text[24] = "";

    memcpy(text, name.ptr, name.len < sizeof(text) ? name.len : sizeof(text) - 1);
    return strtoull(text, NULL, 10);
}

struct oracle_txn *oracle_txn_find(struct oracle *o, bytes name)
{
    struct oracle_txn *x = o->txns;

    while (x && x->number != oracle_txn_number(name))
        x = x->next;
    return x;
}

struct oracle_txn *oracle_txn_of(struct oracle *o, const struct oracle_table *t,
                                 const struct wr_value *value)
{
    struct oracle_txn *x = o->txns;

    while (x && (x->base != t || oracle_value_compare(&x->value, value) != 0))
        x = x->next;
    return x;
}

bytes oracle_txn_named(const struct wr_request *req)
{
    switch (req->op) {
    case WR_OP_GET_ROW:
        return req->get_row.transaction;
    case WR_OP_GET_RANGE:
        return req->get_range.transaction;
    case WR_OP_PUT_ROW:
    case WR_OP_UPDATE_ROW:
    case WR_OP_DELETE_ROW:
        return req->put_row.transaction;
    case WR_OP_BATCH_WRITE_ROW:
        return req->batch_write_row.transaction;
    case WR_OP_COMMIT_TRANSACTION:
    case WR_OP_ABORT_TRANSACTION:
        return req->commit_transaction.id;
    default:
        return BYTES_NONE;
    }
}

static void txn_end(struct oracle *o, struct oracle_txn *x)
{
    struct oracle_txn **p = &o->txns;

    while (*p != x)
        p = &(*p)->next;
    *p = x->next;
    while (x->view.row_count)
        oracle_row_free(&x->view, x->view.rows[--x->view.row_count]);
    mem_free(x->view.rows);
    oracle_value_drop(&x->value);
    mem_free(x);
}

static void orphan_add(struct oracle *o, uint64_t number)
{
    uint64_t *more = mem_alloc((o->orphan_count + 1) * sizeof(*more));

    if (o->orphan_count)
        memcpy(more, o->orphans, o->orphan_count * sizeof(*more));
    more[o->orphan_count++] = number;
    mem_free(o->orphans);
    o->orphans = more;
}

static bool is_orphan(const struct oracle *o, uint64_t number)
{
    size_t i = 0;

    while (i < o->orphan_count && o->orphans[i] != number)
        i++;
    return i < o->orphan_count;
}

void oracle_txns_end(struct oracle *o, const struct oracle_table *t)
{
    struct oracle_txn *next;

    for (struct oracle_txn *x = o->txns; x; x = next) {
        next = x->next;
        if (t && x->base == t)
            orphan_add(o, x->number);
        if (!t || x->base == t)
            txn_end(o, x);
    }
}

bool oracle_is_locked(struct oracle *o, const struct oracle_table *t, const struct wr_key *key)
{
    return !o->inside && key->count && key->columns[0].value.type == t->key[0].type &&
           oracle_txn_of(o, t, &key->columns[0].value);
}

int oracle_check_gate(struct oracle *o, const struct oracle_table *t,
                      const struct wr_key_column *key)
{
    if (!o->inside)
        return oracle_txn_of(o, t, &key[0].value) ? WR_E_CONFLICT : WR_OK;
    if (t != &o->inside->view || key[0].value.type != o->inside->value.type)
        return WR_E_OUT_OF_RANGE;
    return oracle_value_compare(&key[0].value, &o->inside->value) ? WR_E_OUT_OF_RANGE : WR_OK;
}

/* ---- operations ---- */

static bool is_of(const struct oracle_row *row, const struct wr_value *value)
{
    return oracle_value_compare(&row->key[0].value, value) == 0;
}

static int start_check(struct oracle *o, const struct wr_start_transaction *start,
                       struct oracle_table **t)
{
    int code = oracle_check_table_name(start->table);

    if (!code)
        code = oracle_check_key_alone(o, &start->key, ORACLE_KEY_READ);
    *t = code ? NULL : oracle_find(o, start->table);
    if (code || !*t)
        return code ? code : WR_E_NOT_EXIST;
    if (!(*t)->transactions || start->key.count != 1)
        return WR_E_PARAMETER;
    if ((*t)->spreads)
        return WR_E_UNSUPPORTED;
    if (start->key.columns[0].value.type != (*t)->key[0].type ||
        !bytes_equal(start->key.columns[0].name, (*t)->key[0].name))
        return WR_E_INVALID_PK;
    return oracle_txn_of(o, *t, &start->key.columns[0].value) ? WR_E_CONFLICT : WR_OK;
}

static int start(struct oracle *o, const struct wr_start_transaction *request)
{
    struct oracle_table *t;
    struct oracle_txn *x;
    uint64_t number = ++o->starts;
    int code = start_check(o, request, &t);

    if (code)
        return code;
    x = mem_zalloc(sizeof(*x));
    x->number = number;
    x->base = t;
    x->value = oracle_value_dup(&request->key.columns[0].value);
    x->view = *t;
    x->alterations = t->alterations;
    x->view.rows = NULL;
    x->view.row_count = x->view.row_capacity = 0;
    for (size_t i = 0; i < t->row_count; i++)
        if (is_of(t->rows[i], &x->value))
            oracle_row_store(&x->view, oracle_row_dup(t, t->rows[i]));
    x->next = o->txns;
    o->txns = x;
    return WR_OK;
}

/* The table's rows of the value are those of the transaction. */
static void commit(struct oracle *o, struct oracle_txn *x)
{
    struct oracle_table *t = x->base;

    oracle_txn_refresh(o, x);
    for (size_t i = t->row_count; i-- > 0;)
        if (is_of(t->rows[i], &x->value))
            oracle_row_remove(t, t->rows[i]->key);
    for (size_t i = 0; i < x->view.row_count; i++)
        oracle_row_store(t, oracle_row_dup(t, x->view.rows[i]));
}

void oracle_txn_refresh(struct oracle *o, struct oracle_txn *x)
{
    x->view.options = x->base->options;
    x->view.ghosts = x->base->ghosts;
    x->view.indexes = x->base->indexes;
    x->view.index_count = x->base->index_count;
    for (size_t i = x->view.row_count; i-- > 0;)
        if (!oracle_row_trim(&x->view, x->view.rows[i], o->now_ms))
            oracle_row_remove(&x->view, x->view.rows[i]->key);
}

void oracle_txn_op(struct oracle *o, const struct wr_request *req, const struct wr_reply *actual,
                   struct wr_reply *expected)
{
    struct oracle_txn *x;

    if (req->op == WR_OP_START_LOCAL_TRANSACTION) {
        expected->code = start(o, &req->start_local_transaction);
        return;
    }
    x = oracle_txn_find(o, req->commit_transaction.id);
    /* Who finds out that its table is gone is told that; an abort need not look at the table. */
    if (!x) {
        bool aborted = req->op == WR_OP_ABORT_TRANSACTION && actual->code == WR_OK &&
                       is_orphan(o, oracle_txn_number(req->commit_transaction.id));

        expected->code = aborted                          ? WR_OK
                         : actual->code == WR_E_NOT_EXIST ? WR_E_NOT_EXIST
                                                          : WR_E_SESSION;
        return;
    }
    /* The table may refuse by now what it took inside: updates, types of indexed columns. */
    if (req->op == WR_OP_COMMIT_TRANSACTION && actual->code == WR_E_PARAMETER &&
        x->alterations != x->base->alterations)
        expected->code = actual->code;
    else if (req->op == WR_OP_COMMIT_TRANSACTION)
        commit(o, x);
    txn_end(o, x);
}
