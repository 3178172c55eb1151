/* visible.h: which of a row's stored cells a reader may see (doc/data-model.md, "Versions").
 *
 * MaxVersions and TTL hide cells from the moment they apply, whether or not their bytes are still
 * stored. */
#ifndef TABLE_MODEL_VISIBLE_H
#define TABLE_MODEL_VISIBLE_H

#include "table/model/row.h"

/* True if a cell of this age is past the table's TTL at now_ms. */
bool visible_expired(const struct wr_table_options *o, int64_t timestamp_ms, int64_t now_ms);

/* Copies the cells that are not hidden by TTL or MaxVersions; both arrays sorted, `out` has room
 * for all. Returns how many. */
size_t visible_cells(const struct wr_table_options *o, int64_t now_ms, const struct wr_cell *cells,
                     size_t count, struct wr_cell *out);

/* True if a row with these stored cells is there for a reader: without a TTL every stored row is;
 * with one, a row that has an unexpired cell, and a row without any cell whose marker has not
 * expired. */
bool visible_row(const struct wr_table_options *o, int64_t now_ms, const struct row *row);

/* True if a stored row of an index's own table is there for a reader: it goes with its marker,
 * which is as old as the oldest cell that its key was made of (index/entry.h), whatever other cells
 * it has. */
bool visible_entry(const struct wr_table_options *o, int64_t now_ms, const struct row *entry);

/* A read's choice of columns and versions, checked and ready to use. */
struct selection {
    const struct wr_read_options *read;
    const struct wr_table_options *table;
    int64_t now_ms;
    bytes *columns; /* sorted, without duplicates and key columns; NULL: all */
    size_t column_count;
    bool entries;   /* the rows are those of an index; set by the caller, after selection_init() */
    bool key_named; /* read.columns names a key column */
    struct filter *filter;
    bool plain; /* the usual read: all columns and no rule that could hide a cell but MaxVersions */
    bool picks; /* the same of `columns`: of a small row these are decoded alone */
};

struct limits;
struct wr_key_schema;

/* The checks of read options that need no table, as in doc/data-model.md, "Limits", "Versions".
 * `missing` is the text for "no version condition". */
int selection_check_alone(struct ctx *c, const struct limits *limits,
                          const struct wr_read_options *read, const char *missing);

/* Makes a selection; everything lives in the arena of c. Compiles the filter (its errors are
 * E_PARAMETER). */
int selection_init(struct ctx *c, const struct limits *limits, const struct wr_read_options *read,
                   const struct wr_table_options *table, const struct wr_key_schema *key,
                   size_t key_count, int64_t now_ms, struct selection *out);

/* True if the read wants cells of this column at all. */
bool selection_wants(const struct selection *s, bytes name);

/* How many of the newest stored versions of a column the read may show or look at. */
size_t selection_versions(const struct selection *s);

/* Makes the row that a client gets from a stored row whose wanted columns are loaded. *size is what
 * capacity counts: key and the cells that were read, filtered out or not. An absent or hidden row
 * gives out->key.count 0. out->cells may be those of `row`. */
void selection_apply(struct ctx *c, const struct selection *s, const struct wr_key *key,
                     const struct row *row, struct wr_row *out, size_t *size);

#endif
