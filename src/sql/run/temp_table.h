/* temp_table.h: tables that SQLite itself holds while a statement runs, of rows that lie in no
 * table of the database. On the session's thread, like all that uses its connection. */
#ifndef SQL_RUN_TEMP_TABLE_H
#define SQL_RUN_TEMP_TABLE_H

#include "sql/run/run.h"

struct sqlite3;
struct sqlite3_stmt;

/* Makes temp."name" with `count` columns, whose definitions are SQLite's, with commas between them.
 * The INSERT of a row, with a parameter for each column, which the caller finalizes; NULL:
 * sqlite3_errmsg() says why not. */
struct sqlite3_stmt *temp_table_make(struct run *r, struct sqlite3 *sqlite, bytes name,
                                     bytes definitions, size_t count);

/* A virtual table, too; there need not be one. */
void temp_table_drop(struct sqlite3 *sqlite, bytes name);

#endif
