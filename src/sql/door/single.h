/* single.h: statements of one request, served by a loop, which does not wait: a command that is
 * whole when the loop sees it, a statement that session_begin() takes, an answer that the client
 * takes at once. For all else the connection goes back to its thread, which finds the command where
 * it was. */
#ifndef SQL_DOOR_SINGLE_H
#define SQL_DOOR_SINGLE_H

#include "sql/door/door_own.h"

enum single {
    SINGLE_IDLE,    /* it waits for its client */
    SINGLE_REQUEST, /* for the reply to *request */
    SINGLE_AGAIN,   /* for its turn */
    SINGLE_BACK,    /* it is its thread's */
};

/* One step, between statements. `*request` is for wr_submit(), of SINGLE_REQUEST alone. */
enum single single_begin(struct connection *c, const struct wr_request **request);

/* The reply has come. */
enum single single_end(struct connection *c, struct wr_reply *reply);

#endif
