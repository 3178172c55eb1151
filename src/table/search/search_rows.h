/* search_rows.h: rows of a table, as an index reads them and as a search gives them. */
#ifndef TABLE_SEARCH_SEARCH_ROWS_H
#define TABLE_SEARCH_SEARCH_ROWS_H

#include "search/field/document.h"
#include "table/model/table.h"

/* The columns that an index reads: what its fields come from, and the first key column, without
 * which rows that have none of the others would be left out. None: all columns, as there are too
 * many to name. */
const struct wr_bytes *search_columns(struct arena *a, const struct table *t,
                                      const struct search_schema *s, size_t *count);

/* The rows of the first keys, *done of them, at least one: by one BatchGetRow, of fewer keys where
 * so many rows are too large together. Else as search_get_rows(). */
int search_get_page(struct ctx *c, const struct table *t, const bytes *keys, size_t count,
                    const struct wr_bytes *columns, size_t column_count, const struct wr_row **rows,
                    size_t *done);

/* The keys' rows, by BatchGetRow; replies stay until the arena goes. rows[i] is NULL where there is
 * none (any more). `keys` are encoded key columns. Blocks. */
int search_get_rows(struct ctx *c, const struct table *t, const bytes *keys, size_t count,
                    const struct wr_bytes *columns, size_t column_count,
                    const struct wr_row **rows);

/* wr_exec(). */
struct wr_reply *search_exec(struct wr_db *db, const struct wr_request *request);

/* An encoded key as columns, in the arena. */
int search_key_columns(struct ctx *c, const struct table *t, bytes key, struct wr_key *out);
/* And a row's key encoded. */
int search_key_of(struct ctx *c, const struct table *t, const struct wr_key *key, bytes *out);

#endif
