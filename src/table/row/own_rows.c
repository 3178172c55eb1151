#include "table/row/own_rows.h"

#include "base/invariant.h"
#include "table/model/key.h"

const struct txn_row *own_row_prepare(struct call *call, struct load *l)
{
    const struct txn_row *changes = call->txn ? txn_find(call->txn, l->cols) : NULL;

    if (!changes)
        return NULL;
    l->columns = NULL; /* the selection drops what is not wanted */
    l->column_count = 0;
    l->start = l->end = l->after = BYTES_NONE;
    l->bytes_max = 0;
    return changes;
}

static bytes cols_of(bytes stored_key)
{
    return bytes_skip(stored_key, KEY_PREFIX_BYTES);
}

void own_rows_begin(struct own_rows *o, bytes from, bytes to)
{
    o->rows = txn_rows(o->call->txn, &o->end);
    o->first = 0;
    while (o->first < o->end && bytes_compare(o->rows[o->first]->cols, cols_of(from)) < 0)
        o->first++;
    while (o->first < o->end && bytes_compare(o->rows[o->end - 1]->cols, cols_of(to)) >= 0)
        o->end--;
    o->loading = o->ready = o->replaces = false;
}

static void own_load_done(struct load *l)
{
    struct own_rows *o = PORT_CONTAINER(l, struct own_rows, load);

    o->done(o);
}

static const struct txn_row *next_row(const struct own_rows *o)
{
    return o->first == o->end ? NULL : o->rows[o->backward ? o->end - 1 : o->first];
}

static int own_row_load(struct own_rows *o, const struct txn_row *changes)
{
    struct ctx *c = &o->call->c;

    if (!o->loading)
        o->load = (struct load){.c = c,
                                .table = o->table,
                                .cols = changes->cols,
                                .view = VIEW_DURABLE,
                                .snapshot = o->snapshot,
                                .done = own_load_done,
                                .whole_versions = SIZE_MAX};
    o->loading = true;
    if (!changes->replaces)
        TRY(load_run(&o->load));
    o->loading = false;
    o->row = o->load.row;
    TRY(txn_overlay(o->call, o->table, changes, &o->row));
    o->record = (struct kv){load_head_key(&c->arena, o->table, changes->cols), BYTES_NONE};
    o->ready = true;
    return E_OK;
}

int own_rows_peek(struct own_rows *o, const struct kv **record, const struct row **row, bool *gone)
{
    const struct txn_row *next = next_row(o);
    int order = 1; /* of the stored row behind ours, in the walk */

    *row = NULL;
    *gone = false;
    if (next && *record) {
        order = bytes_compare(cols_of((*record)->key), next->cols);
        order = o->backward ? -order : order;
    }
    if (!next || order < 0)
        return E_OK;
    if (!o->ready)
        TRY(own_row_load(o, next));
    o->replaces = order == 0;
    *record = &o->record;
    *row = &o->row;
    *gone = !o->row.there;
    return E_OK;
}

bool own_rows_pop(struct own_rows *o)
{
    invariant(o->ready && o->first < o->end);
    o->ready = false;
    if (o->backward)
        o->end--;
    else
        o->first++;
    return o->replaces;
}
