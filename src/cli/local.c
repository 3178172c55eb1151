/* local.c: requests to a database that is open in this process. */
#include "cli/client.h"

static void free_reply(void *reply)
{
    wr_reply_free(reply);
}

static int local_exec(struct ctx *c, struct client *cl, const struct wr_request *request,
                      struct wr_reply *out)
{
    struct wr_reply *reply = wr_exec(cl->target->db, request);

    arena_on_release(&c->arena, free_reply, reply);
    if (reply->code)
        return fail(c, reply->code, "%s", reply->message);
    *out = *reply;
    return 0;
}

static void local_close(struct client *cl)
{
    mem_free(cl);
}

static const struct client_ops local_ops = {.exec = local_exec, .close = local_close};

int client_open_local(struct ctx *c, struct target *t, struct client **out)
{
    (void)c;
    (void)t;
    *out = mem_zalloc(sizeof(**out));
    (*out)->ops = &local_ops;
    return 0;
}
