/* by_sql.h: a client that says what it can of its plans in SQL, at the MySQL port of the server
 * that the others ask over HTTP.
 *
 * What SQL says differently is changed in the plan, so that the history tells what was asked: reads
 * are of all columns, increments need the row (an UPDATE makes none), and of "v = x if v is y",
 * which is UPDATE ... SET v = IF(v = y, x, v), nobody is told whether it held (`untold`). What it
 * cannot say, batches that are atomic outside of a transaction among it, is left to HTTP. */
#ifndef LINEAR_BY_SQL_H
#define LINEAR_BY_SQL_H

#include "workload.h"

struct by_sql;

/* Connects when it is first needed, and again when the connection was lost. */
struct by_sql *by_sql_open(const struct server *s);
/* NULL is allowed. */
void by_sql_close(struct by_sql *s);

/* True: the plan was said, and how its operations ended is filled in. */
bool by_sql_issue(struct by_sql *s, struct worker *k, struct plan *p);

/* How many operations were said. */
size_t by_sql_count(const struct by_sql *s);

#endif
