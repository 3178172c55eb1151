/* row_columns.h: which of the attributes of rows get a column of their own in a file of one type a
 * column (CSV, Parquet), and what of a row no column takes: that goes beside them, into
 * CELLS_COLUMN (cells.h). A walk over the rows notes their cells; another one takes them. */
#ifndef ARCHIVE_ROW_COLUMNS_H
#define ARCHIVE_ROW_COLUMNS_H

#include "archive/cells.h"
#include "base/ctx.h"

#define ROW_COLUMNS_MAX 1024     /* of a file without CELLS_COLUMN */
#define ROW_COLUMNS_FREQUENT 500 /* of one with it */
#define ROW_NAMES_MAX 16384      /* that are counted for it */

struct row_column {
    bytes name;
    enum wr_type type;
    uint64_t count; /* of cells that were noted */
};

struct row_columns {
    struct arena *arena;
    struct row_column *list; /* in the order of their names */
    size_t count, max;
    bool beside; /* what no column takes goes beside them; else it is an error */
    bool timed;  /* beside them is each cell, with its timestamp: all versions of it */
};

/* All is in that arena. */
void row_columns_init(struct row_columns *r, struct arena *a, bool beside, bool timed);

/* Notes a cell: E_PARAMETER if no column can have it and nothing goes beside them. */
int row_columns_note(struct ctx *c, struct row_columns *r, const struct wr_cell *cell);

/* All are noted: only the most frequent ones stay, where something goes beside them. */
void row_columns_keep(struct row_columns *r);

/* The value of column i in a row, NULL: there is none. Ask for all columns in order, *cell being 0
 * at first. */
int row_columns_take(struct ctx *c, const struct row_columns *r, const struct wr_row *row,
                     size_t *cell, size_t i, const struct wr_value **out);

/* What goes beside the columns, in the arena of c. ptr NULL: nothing. */
bytes row_columns_beside(struct ctx *c, const struct row_columns *r, const struct wr_row *row);

#endif
