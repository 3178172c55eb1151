/* matrix.h: SimpleRowMatrix, the row format of BulkExport (wire reference, section 4.9): field
 * names once, then only values, newest versions, no timestamps. */
#ifndef WIRE_MATRIX_H
#define WIRE_MATRIX_H

#include "base/ctx.h"
#include "widerow.h"

/* What the block holds of each row: `keys` by name, then `columns` by name. */
struct matrix_fields {
    const bytes *keys;
    size_t key_count;
    bool entire; /* `keys` is the whole key of the table */
    const bytes *columns;
    size_t column_count;
};

/* A block in the arena of `c`. Cells of the rows are sorted by name, newest first. */
bytes matrix_encode(struct ctx *c, const struct matrix_fields *fields, const struct wr_row *rows,
                    size_t row_count);

/* Reads a block; missing values give no cell. Cells have no timestamp and are in field order.
 * Errors: E_PARAMETER, E_MEMORY. */
int matrix_decode(struct ctx *c, bytes in, const struct wr_row **rows, size_t *count);

#endif
