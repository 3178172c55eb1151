/* row_file.h: rows of a table as a Parquet file: its key columns, then those of row_columns.h, then
 * CELLS_COLUMN, if something goes beside them. */
#ifndef ARCHIVE_ROW_FILE_H
#define ARCHIVE_ROW_FILE_H

#include "archive/row_columns.h"
#include "parquet/writer.h"

/* "id:integer,at:integer", in the arena of c. */
bytes row_file_key(struct ctx *c, const struct wr_table_description *table);

/* Begins one at the start of `out`; end it with parquet_close(). E_PARAMETER: a column is of a type
 * that such a file does not take. */
int row_file_open(struct ctx *c, FILE *out, const struct wr_table_description *table,
                  const struct row_columns *columns, struct parquet **file);

int row_file_put(struct ctx *c, struct parquet *file, const struct row_columns *columns,
                 const struct wr_row *row);

#endif
