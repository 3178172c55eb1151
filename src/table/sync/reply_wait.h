/* reply_wait.h: a request's reply, waited for. Never on a thread that serves requests. */
#ifndef TABLE_SYNC_REPLY_WAIT_H
#define TABLE_SYNC_REPLY_WAIT_H

#include "base/waiter.h"
#include "widerow.h"

/* On the stack of who waits. */
struct reply_wait {
    struct waiter w;
    struct wr_reply *reply;
};

void reply_wait_init(struct reply_wait *r);
void reply_wait_done(void *arg, struct wr_reply *reply); /* a wr_done_fn; arg: the reply_wait */
struct wr_reply *reply_wait_end(struct reply_wait *r);   /* sleeps until it is called; releases r */

#endif
