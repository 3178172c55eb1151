#include "table/sync/reply_wait.h"

#include "base/err.h"

void reply_wait_init(struct reply_wait *r)
{
    waiter_init(&r->w);
}

void reply_wait_done(void *arg, struct wr_reply *reply)
{
    struct reply_wait *r = arg;

    r->reply = reply;
    waiter_wake(&r->w, E_OK);
}

struct wr_reply *reply_wait_end(struct reply_wait *r)
{
    waiter_wait(&r->w);
    return r->reply;
}
