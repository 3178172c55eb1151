/* own_rows.h: rows as the transaction that a request is in sees them, and how a walk over stored
 * rows meets those that it has changed. One request uses it, a thread at a time. */
#ifndef TABLE_ROW_OWN_ROWS_H
#define TABLE_ROW_OWN_ROWS_H

#include "table/row/load.h"
#include "table/txn/txn.h"

/* The row that *l loads, once it has all of its cells, as the call's transaction sees it. Before
 * load_run(): own_row_prepare() has it load all. NULL: the transaction has not changed it. */
const struct txn_row *own_row_prepare(struct call *call, struct load *l);

/* Those between two bounds, in the order of a walk. */
struct own_rows {
    struct call *call;
    struct table *table;
    bool backward;
    void (*done)(struct own_rows *o); /* after E_LATER */
    struct snapshot *snapshot;        /* to read at; NULL: none */

    struct txn_row *const *rows; /* what is left: [first, end) */
    size_t first, end;
    struct load load;
    bool loading, ready; /* `row` is the next one's */
    bool replaces;       /* the stored row that comes next is the same one */
    struct row row;
    struct kv record; /* its stored key, without a value */
};

/* `from` and `to`: stored keys of one bucket, the end does not count. */
void own_rows_begin(struct own_rows *o, bytes from, bytes to);

/* *record is the stored row that comes next (NULL: there is none) and becomes the record of the
 * next row of either kind. *row is set if it is one of the transaction's. A row that is gone for
 * the transaction: E_OK with *gone set, and the caller passes over it. E_LATER: done() is called.
 */
int own_rows_peek(struct own_rows *o, const struct kv **record, const struct row **row, bool *gone);

/* The row of own_rows_peek() was taken, or passed over. True: a stored row goes with it. */
bool own_rows_pop(struct own_rows *o);

#endif
