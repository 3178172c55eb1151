/* sql_query.h: SQLQuery: statements of Tablestore's SQL over HTTP, by the engine of the MySQL port
 * (sql/run/session.h), in Tablestore's dialect.
 *
 * A statement sleeps while storage reads and computes in between, so it runs on a thread of this
 * front's and never on a loop; access keys take turns. Its rows are gathered in the request's
 * memory, within the bound of that, and sent when it has ended: nothing of a statement that fails
 * is seen. Each request is a session of its own. */
#ifndef SERVER_SQL_QUERY_H
#define SERVER_SQL_QUERY_H

#include "server/op_part.h"

struct sql_queries;

/* NULL: the system gives no thread. `db` and `clock` must live as long as it. */
struct sql_queries *sql_queries_open(struct wr_db *db, struct clock *clock);

/* Statements under way end soon, with an error. Before the HTTP server is closed, which waits for
 * their answers. NULL is allowed in both. */
void sql_queries_quit(struct sql_queries *q);
/* After it is closed. */
void sql_queries_close(struct sql_queries *q);

/* Takes an op of SQLQuery that was admitted and is under way, and answers it later. Not E_OK: what
 * it asks for cannot be read, and the caller refuses it. */
int sql_query_begin(struct op_exchange *op);

#endif
