/* sql_link.h: a connection to a server's SQL port, by MariaDB's client library, which is loaded
 * with the first one. */
#ifndef CLI_SQL_LINK_H
#define CLI_SQL_LINK_H

#include "client/client.h"

struct sql_link;

/* `address`: HOST:PORT, HOST, or NULL: the host of the target's endpoint, and the usual port. User,
 * password and database are the target's key and instance; with TLS where the endpoint has it. */
int sql_link_open(struct ctx *c, const struct target *t, const char *address,
                  struct sql_link **out);
void sql_link_close(struct sql_link *l); /* NULL is allowed */

/* Runs a statement. `*rows`: it has rows, which are taken to their end by sql_link_next() before
 * the next statement; else *affected is how many it changed. */
int sql_link_run(struct ctx *c, struct sql_link *l, bytes sql, bool *rows, uint64_t *affected);

/* The next row, as cells, a NULL among them; until the next call. cell_count 0: there is none. */
int sql_link_next(struct ctx *c, struct sql_link *l, struct wr_row *out);

/* What the last statement cost, in capacity units; false: the server does not tell. */
bool sql_link_units(struct sql_link *l, uint64_t *read, uint64_t *written);

/* The first columns of what a statement answers, as texts in the arena, not more than `most`; those
 * of all rows behind each other. A statement that fails answers nothing. */
size_t sql_link_texts(struct sql_link *l, struct arena *a, const char *sql, const char **texts,
                      size_t most);

/* Ends the statement that runs on the connection, by another connection. Of any thread. */
void sql_link_kill(struct sql_link *l);

#endif
