/* txn_row.h: the rows that a transaction has changed, and what its changes of each come to.
 *
 * However many changes a transaction makes of a row, it keeps one: the row as it is then, if
 * nothing of the stored one stays, or else one update of the stored row. So a read applies one
 * change, a commit writes one, and neither takes more memory than what stays.
 *
 * That is exact because nobody else changes the row meanwhile. Each change was decided on the row
 * as it is stored with the changes before it (modify.h), so what it has left of the columns that it
 * touches is known: versions of the transaction, which are kept here, and stored ones, of which is
 * kept what was deleted. Versions that MaxVersions drops are gone as they are outside of
 * transactions: deleting a newer one does not bring them back.
 *
 * Pure: no locks, no storage. One thread at a time uses the rows of a transaction. */
#ifndef TABLE_TXN_TXN_ROW_H
#define TABLE_TXN_TXN_ROW_H

#include "table/model/modify.h"

struct txn_row {
    bytes cols; /* the key columns, encoded */
    struct wr_key key;
    bool replaces; /* nothing of the stored row stays */
    bool there;    /* if so: there is a row in its place */
    bool creates;  /* there was no row */
    /* By column; of one first what goes (WR_CELL_DELETE_ALL, or WR_CELL_DELETE_ONE for each
     * version), then what was put. */
    struct wr_cell *cells;
    size_t cell_count;
    size_t stored_bytes; /* of the stored row that is written again with it */
    size_t commit_bytes; /* what committing it takes of memory, about */
    bool is_saved;       /* for txn_rows_undo() */
    bool dirty;          /* changed since txn_rows_load() */
};

struct txn_rows {
    struct arena *arena;   /* of keys, names and values */
    struct txn_row **list; /* by key */
    size_t count, capacity;
    size_t bytes;        /* of memory, besides the arena's */
    size_t commit_bytes; /* of all rows */
    bool saves;
    struct txn_saved *saved;
};

/* NULL: it was not changed. */
const struct txn_row *txn_rows_find(const struct txn_rows *rows, bytes cols);

/* Adds a change that was decided and changes something. `stored`: the row without the transaction,
 * with at least the columns that the change touches, or all that are stored if update_full_row
 * writes them again; NULL if the change did not need it. `scratch` is for the time of the call. */
void txn_rows_add(struct txn_rows *rows, struct arena *scratch, const struct modify *m,
                  const struct row *stored);

/* What that adds to commit_bytes, at most. */
size_t txn_rows_cost(const struct txn_rows *rows, const struct modify *m, const struct row *stored);

/* One more, behind all that are there, as it was kept elsewhere; commit_bytes need not be set. It
 * and its key stay where they are, its cells are copied. */
void txn_rows_load(struct txn_rows *rows, struct txn_row *row);

/* From now on rows are kept as they are before they change, ... */
void txn_rows_save(struct txn_rows *rows);
/* ... until they are all as they were, ... */
void txn_rows_undo(struct txn_rows *rows);
/* ... or stay as they have become. */
void txn_rows_keep(struct txn_rows *rows);

void txn_rows_release(struct txn_rows *rows);

/* What is to be done with the stored row. It points into *row. */
void txn_row_change(const struct txn_row *row, struct wr_row_change *out);

/* Does it to a stored row with all of its cells, for a reader: `now` shares cells with both. Not
 * where updates write all columns again (update_full_row). */
void txn_row_apply(const struct txn_row *row, struct arena *a, const struct wr_table_options *o,
                   int64_t now_ms, const struct row *stored, struct row *now);

#endif
