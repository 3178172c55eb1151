/* loop.h: a few threads that watch many connections, and serve their statements of one request.
 *
 * A connection's own thread hands it over when its client seems to say nothing else, and sleeps. So
 * such a statement wakes no thread of its own, and the commit of many of them none for each. What
 * the loop does not serve (single.h) wakes the connection's thread. */
#ifndef SQL_DOOR_LOOP_H
#define SQL_DOOR_LOOP_H

#include "sql/door/door_own.h"

/* False: the system gives no thread or file. */
bool loops_open(struct door *d);

/* After all connections have gone. */
void loops_close(struct door *d);

/* Hands the connection, of which nothing was read ahead, to a loop; returns when it is back.
 * Called on its thread. Whoever is idle too long is shut out meanwhile, as elsewhere. */
void loop_serve(struct connection *c);

#endif
