#include "cli/transfer/follow.h"

/* ---- shards ---- */

static struct follow_shard *find_shard(const struct follow *f, bytes id)
{
    for (size_t i = 0; i < f->count; i++)
        if (bytes_equal(f->shards[i].id, id))
            return &f->shards[i];
    return NULL;
}

static void add_shard(struct follow *f, const struct wr_stream_shard *s)
{
    if (find_shard(f, s->id))
        return;
    f->shards = mem_realloc(f->shards, (f->count + 1) * sizeof(*f->shards));
    f->shards[f->count++] =
        (struct follow_shard){.id = arena_copy(&f->arena, s->id),
                              .parent = arena_copy(&f->arena, s->parent),
                              .parent_sibling = arena_copy(&f->arena, s->parent_sibling)};
}

/* Adds the shards that are new. */
static int look_for_shards(struct ctx *c, struct follow *f)
{
    struct wr_request request = {.op = WR_OP_DESCRIBE_STREAM,
                                 .describe_stream = {.table = f->table, .stream = f->stream}};
    struct wr_reply reply;

    do {
        TRY(client_exec(c, f->client, &request, &reply));
        for (size_t i = 0; i < reply.stream.shard_count; i++)
            add_shard(f, &reply.stream.shards[i]);
        request.describe_stream.first_shard = reply.stream.next_shard;
    } while (reply.stream.next_shard.ptr);
    f->changed = false;
    f->active = reply.stream.status == WR_STREAM_ACTIVE;
    return 0;
}

static void keep_iterator(struct follow_shard *s, bytes iterator)
{
    mem_free(s->next);
    s->next = mem_alloc(iterator.len + 1);
    memcpy(s->next, iterator.ptr, iterator.len);
    s->next_len = iterator.len;
}

/* A search by time may take several requests. */
static int begin_shard(struct ctx *c, struct follow *f, struct follow_shard *s, int64_t from_us)
{
    struct wr_request request = {.op = WR_OP_GET_SHARD_ITERATOR,
                                 .get_shard_iterator = {.table = f->table,
                                                        .stream = f->stream,
                                                        .shard = s->id,
                                                        .has_timestamp = from_us != 0,
                                                        .timestamp_us = from_us}};
    struct wr_reply reply;

    do {
        TRY(client_exec(c, f->client, &request, &reply));
        request.get_shard_iterator.token = reply.shard_iterator.next_token;
    } while (reply.shard_iterator.next_token.ptr);
    keep_iterator(s, reply.shard_iterator.iterator);
    return 0;
}

/* ---- open and release ---- */

int follow_open(struct ctx *c, struct client *cl, bytes table, int64_t from_us, struct follow *f)
{
    struct wr_request request = {.op = WR_OP_LIST_STREAM, .list_stream = {table}};
    struct wr_reply reply;

    *f = (struct follow){.client = cl, .from_us = from_us};
    arena_init(&f->arena, NULL, 0);
    TRY(client_exec(c, cl, &request, &reply));
    if (reply.streams.count == 0)
        return fail(c, E_NOT_EXIST,
                    "%.*s has no stream; `widerow stream on %.*s` keeps one from then on",
                    BYTES_FMT(table), BYTES_FMT(table));
    f->table = arena_copy(&f->arena, table);
    f->stream = arena_copy(&f->arena, reply.streams.streams[0].id);
    TRY(look_for_shards(c, f));
    for (size_t i = 0; i < f->count; i++)
        TRY(begin_shard(c, f, &f->shards[i], from_us));
    return 0;
}

void follow_release(struct follow *f)
{
    for (size_t i = 0; i < f->count; i++)
        mem_free(f->shards[i].next);
    mem_free(f->shards);
    arena_release(&f->arena);
}

int follow_settle(struct ctx *c, struct follow *f)
{
    while (!f->active) {
        client_pause(f->client, 3);
        TRY(look_for_shards(c, f));
    }
    return 0;
}

/* ---- reading ---- */

/* Of a shard that is listed no more the records are gone, so nobody waits for it. */
static bool has_ended(const struct follow *f, bytes id)
{
    const struct follow_shard *s = find_shard(f, id);

    return !s || s->ended;
}

static int read_shard(struct ctx *c, struct follow *f, size_t shard, follow_fn *fn, void *arg,
                      bool *more)
{
    struct follow_shard *s = &f->shards[shard];
    struct wr_request request = {.op = WR_OP_GET_STREAM_RECORD,
                                 .get_stream_record.table = f->table};
    struct wr_reply reply;

    if (!s->next)
        TRY(begin_shard(c, f, s, 0));
    request.get_stream_record.iterator = bytes_of(s->next, s->next_len);
    TRY(client_exec(c, f->client, &request, &reply));
    if (reply.stream_records.count)
        TRY(fn(c, arg, shard, &reply.stream_records));
    s->ended = !reply.stream_records.next.ptr;
    f->changed |= s->ended;
    *more |= s->ended || reply.stream_records.more;
    if (!s->ended)
        keep_iterator(s, reply.stream_records.next);
    return 0;
}

int follow_round(struct ctx *c, struct follow *f, follow_fn *fn, void *arg, bool *more)
{
    *more = false;
    if (f->changed)
        TRY(look_for_shards(c, f));
    for (size_t i = 0; i < f->count; i++) {
        const struct follow_shard *s = &f->shards[i];

        if (!s->ended && has_ended(f, s->parent) && has_ended(f, s->parent_sibling))
            TRY(read_shard(c, f, i, fn, arg, more));
    }
    return 0;
}
