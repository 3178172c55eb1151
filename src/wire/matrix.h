/* matrix.h: SimpleRowMatrix, the row format of BulkExport and, if the client asks for it, of
 * GetRange (doc/wire.md, "Matrix"): field names once, then only values, newest versions, no
 * timestamps. */
#ifndef WIRE_MATRIX_H
#define WIRE_MATRIX_H

#include "base/buf.h"
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

/* A block that is written into a buffer as its rows come: what begins it, one row after the other,
 * what ends it. `start` is where in the buffer it begins, `row_count` what was put. Sizes are in
 * bytes. For a row the caller has made room: matrix_row_room() of it, which is what it takes or a
 * little more, unless many of its cells are in no field. Fields have different names. */
size_t matrix_head_size(const struct matrix_fields *fields);
void matrix_begin(struct buf *b, const struct matrix_fields *fields);
size_t matrix_row_room(const struct matrix_fields *fields, const struct wr_row *row);
void matrix_put_row(struct buf *b, const struct matrix_fields *fields, const struct wr_row *row);
void matrix_end(struct buf *b, size_t start, size_t row_count);

/* A block in the arena of `c`. Cells of the rows are sorted by name, newest first. */
bytes matrix_encode(struct ctx *c, const struct matrix_fields *fields, const struct wr_row *rows,
                    size_t row_count);

/* Reads a block; missing values give no cell. Cells have no timestamp and are in field order.
 * Errors: E_PARAMETER, E_MEMORY. */
int matrix_decode(struct ctx *c, bytes in, const struct wr_row **rows, size_t *count);

#endif
