/* cells.h: cells of a row as bytes, for what the columns of a file cannot hold: names beyond those
 * that have a column, other types in the same column, older versions and timestamps. They stand in
 * the column CELLS_COLUMN (doc/format.md, "Exported cells"). */
#ifndef ARCHIVE_CELLS_H
#define ARCHIVE_CELLS_H

#include "base/buf.h"
#include "widerow.h"

#define CELLS_COLUMN "widerow.cells"
#define CELLS_FORM 1

/* Begins; then each cell, with its timestamp or without. */
void cells_begin(struct buf *b);
void cells_put(struct buf *b, const struct wr_cell *cell, bool timed);

/* How many there are; SIZE_MAX: these bytes are none. Into out[] if that is not NULL, as views of
 * `in`; cells without a timestamp have WR_TIMESTAMP_NONE. */
size_t cells_read(bytes in, struct wr_cell *out);

#endif
