#include "bench/bench_shard.h"

/* The iterator of the oldest record of the first shard. */
static int first_iterator(struct ctx *c, struct client *cl, bytes table, bytes *out)
{
    struct wr_request request = {.op = WR_OP_LIST_STREAM, .list_stream = {table}};
    struct wr_reply reply;
    bytes stream;

    TRY(client_exec(c, cl, &request, &reply));
    if (!reply.streams.count)
        return fail(c, WR_E_CONDITION, "the table '%.*s' has no stream; `widerow drop` it",
                    BYTES_FMT(table));
    stream = reply.streams.streams[0].id;
    request = (struct wr_request){.op = WR_OP_DESCRIBE_STREAM,
                                  .describe_stream = {.table = table, .stream = stream}};
    TRY(client_exec(c, cl, &request, &reply));
    if (!reply.stream.shard_count)
        return fail(c, WR_E_CONDITION, "the stream of '%.*s' has no shard", BYTES_FMT(table));
    request = (struct wr_request){.op = WR_OP_GET_SHARD_ITERATOR,
                                  .get_shard_iterator = {.table = table,
                                                         .stream = stream,
                                                         .shard = reply.stream.shards[0].id}};
    TRY(client_exec(c, cl, &request, &reply));
    *out = reply.shard_iterator.iterator;
    return 0;
}

int bench_shard_read(struct ctx *c, struct client *cl, bytes table, const bytes **iterators,
                     size_t *count)
{
    bytes *out = ARENA_ARRAY(&c->arena, bytes, BENCH_SHARD_PAGES), next;
    struct wr_reply reply;

    TRY(first_iterator(c, cl, table, &next));
    for (*count = 0; *count < BENCH_SHARD_PAGES && next.len; next = reply.stream_records.next) {
        struct wr_request request = {.op = WR_OP_GET_STREAM_RECORD,
                                     .get_stream_record = {.table = table, .iterator = next}};

        TRY(client_exec(c, cl, &request, &reply));
        if (!reply.stream_records.count)
            break;
        out[(*count)++] = next;
    }
    *iterators = out;
    return *count
               ? 0
               : fail(c, WR_E_CONDITION, "the stream of '%.*s' has no records", BYTES_FMT(table));
}
