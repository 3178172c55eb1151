/* undeclared.h: columns that rows have and nobody declared, where a table may have them
 * (declared.h). A SELECT that names one sees it like any other, with each value as it is; one that
 * says * gets, as one hidden column of the virtual table, all of a row's together, and they are
 * dealt out to columns when all rows are there: only then is known which ones there are. */
#ifndef SQL_RUN_UNDECLARED_H
#define SQL_RUN_UNDECLARED_H

#include "base/buf.h"
#include "sql/run/table.h"

/* The table's columns and, behind them, those that the SELECT names and the table does not know.
 * `alias`: what the SELECT calls the table. Columns stay where they are. */
void undeclared_add(struct run *r, struct sql_table *t, bytes alias, const struct select *s);

/* The column of that name, of a statement that writes; a fault if there is none and there may be
 * none. `where` as in table_column_find(). */
int undeclared_find(struct run *r, struct sql_table *t, bytes name, const char *where, size_t *out);

/* The hidden column, behind all others. */
void undeclared_add_rest(struct run *r, struct sql_table *t);

/* Its value, in the arena: the row's cells that are no column of the table, the newest of each. */
bytes undeclared_rest(struct arena *a, const struct sql_table *t, const struct wr_row *row);

/* ---- dealing out ---- */

struct undeclared_rows;

/* For rows of `count` columns, of which those with `rest` are dealt out. All lives in the arena. */
struct undeclared_rows *undeclared_rows_new(struct run *r, const struct column *columns,
                                            size_t count);
/* Copies the values. Not 0: they are too many, and the fault is said. */
int undeclared_rows_add(struct undeclared_rows *u, const struct wr_value *values);
/* Sends all of them. */
int undeclared_rows_send(struct undeclared_rows *u);

#endif
