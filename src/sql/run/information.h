/* information.h: information_schema: what drivers and tools ask of the tables that there are. Its
 * tables are filled for each statement that names them, with what the access key may read, and are
 * SQLite's own meanwhile: nothing of them is refused as a scan. Their names mind no case. */
#ifndef SQL_RUN_INFORMATION_H
#define SQL_RUN_INFORMATION_H

#include "sql/run/table.h"

struct sqlite3;

/* Is the name one of information_schema? */
bool information_is(const struct table_name *name);

/* The table of that name, with `information` set and without a description. */
int information_find(struct run *r, const struct table_name *name, struct sql_table **out);

/* Makes it as temp."name", and fills it. */
int information_fill(struct run *r, struct sqlite3 *sqlite, const struct sql_table *t, bytes name);

/* SHOW DATABASES, COLUMNS, KEYS, FULL TABLES, PROCESSLIST and others as MySQL answers them: SELECTs
 * of these tables. */
int information_show(struct run *r, const struct statement *s);

/* The databases that the access key may enter. */
size_t information_databases(struct run *r, bytes **out);

#endif
