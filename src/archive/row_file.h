/* row_file.h: rows of a table as a Parquet file: its key columns, then those of row_columns.h, then
 * CELLS_COLUMN, if something goes beside them. Columns that are met while it is written are added.
 */
#ifndef ARCHIVE_ROW_FILE_H
#define ARCHIVE_ROW_FILE_H

#include "archive/row_columns.h"

/* "id:integer,at:integer", in the arena of c. */
bytes row_file_key(struct ctx *c, const struct wr_table_description *table);

/* Begins one at the start of `out`, k->parquet from then on, which is to be ended with
 * parquet_close(). E_PARAMETER: a column is of a type that such a file does not take. */
int row_file_open(struct ctx *c, FILE *out, const struct wr_table_description *table,
                  struct row_columns *k);

/* Puts a row into a row group, which is one thread's as the view is: parquet_add() takes it when it
 * is full and packed. */
int row_file_put(struct ctx *c, struct row_view *v, struct group *g, const struct wr_row *row);

#endif
