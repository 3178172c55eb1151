/* function.h: the scalar functions that MySQL has and SQLite has not, or has otherwise, under the
 * names that render.h writes. */
#ifndef SQL_RUN_FUNCTION_H
#define SQL_RUN_FUNCTION_H

struct sqlite3;
struct scan_module;

/* Makes them known to a new SQLite connection; 0, or SQLite's code. */
int function_register(struct sqlite3 *sqlite, struct scan_module *m);

#endif
