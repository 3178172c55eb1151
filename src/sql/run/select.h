/* select.h: what a session keeps between its SELECTs: a connection of SQLite. One thread at a time.
 */
#ifndef SQL_RUN_SELECT_H
#define SQL_RUN_SELECT_H

struct run;
struct select_engine;
struct sqlite3;

/* NULL is allowed. */
void select_engine_free(struct select_engine *e);

/* The session's connection, made if there is none yet; what runs on it ends when the statement is
 * to. Not 0: the fault is said. */
int select_sqlite(struct run *r, struct sqlite3 **out);

/* Not 0, always: says as the statement's fault what the connection's last error means. */
int select_fail(struct run *r, struct sqlite3 *sqlite);

#endif
