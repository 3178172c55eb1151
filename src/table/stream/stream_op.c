#include "table/stream/stream_op.h"

/* Nothing keeps records yet. */
static int refuse(struct call *call)
{
    return fail_code(&call->c, E_UNSUPPORTED);
}

int stream_list(struct call *call, const struct wr_list_stream *in, struct wr_stream_list *out)
{
    (void)in;
    (void)out;
    return refuse(call);
}

int stream_describe(struct call *call, const struct wr_describe_stream *in,
                    struct wr_stream_description *out)
{
    (void)in;
    (void)out;
    return refuse(call);
}

int stream_get_iterator(struct call *call, const struct wr_get_shard_iterator *in,
                        struct wr_shard_iterator *out)
{
    (void)in;
    (void)out;
    return refuse(call);
}

int stream_get_records(struct call *call, const struct wr_get_stream_record *in,
                       struct wr_stream_records *out)
{
    (void)in;
    (void)out;
    return refuse(call);
}
