/* tunnel_read.c: ReadRecords: a page of a channel, which is read by a GetStreamRecord or a GetRange
 * of the same call. Whoever asks again from the same token gets the same records again, and those
 * that have come since. */
#include "base/buf.h"
#include "table/model/key.h"
#include "table/stream/stream_name.h"
#include "table/stream/stream_retention.h"
#include "table/tunnel/tunnel_change.h"

#define READ_ROWS_MAX 1000 /* in one answer */
/* A reader who finds nothing has another token so often: clients store it with a write. */
#define SEEN_STEP_US 5000000u

struct tunnel_read {
    struct tunnel_change change;
    struct tunnel_place place;
    struct stream_place changes;
    struct wr_request request; /* the one that reads */
    wr_done_fn *done;          /* of the client's */
    void *arg;
};

static void reply_place(struct tunnel_read *r, struct tunnel_place place, bool more)
{
    struct wr_tunnel_records *out = &r->change.call->reply.tunnel_records;

    out->next = tunnel_token(&r->change.call->c.arena, &place);
    out->more = more && !place.finished;
}

/* ---- changes ---- */

static bool is_behind_end(const struct tunnel_read *r, int64_t time_us)
{
    uint64_t end_ns = r->change.ref.made.config.end_ns;

    return end_ns && (uint64_t)time_us >= tunnel_us(end_ns);
}

/* A change that is appended from now on is not older than those there are, nor than the clock. */
static bool changes_end(const struct tunnel_read *r, const struct wr_stream_records *all,
                        size_t count)
{
    return count < all->count || !all->next.ptr ||
           (!all->more && is_behind_end(r, clock_wall_us(r->change.call->c.clock)));
}

/* When the reader had nothing before him, at the last: where his channel is quiet, he is not as far
 * behind as its last change is old. Told to people alone, who read by the place. */
static uint64_t changes_seen(const struct tunnel_read *r, const struct wr_stream_records *all)
{
    uint64_t now_us = (uint64_t)r->change.call->now_ms * 1000, seen_us = r->place.seen_us;
    uint64_t known_us = r->changes.number > seen_us ? r->changes.number : seen_us;

    if (!all->count && !all->more && now_us >= known_us && now_us - known_us >= SEEN_STEP_US)
        return now_us;
    return all->count ? 0 : seen_us; /* a change tells its own time */
}

static void changes_read(struct tunnel_read *r)
{
    struct call *call = r->change.call;
    struct wr_stream_records all = call->reply.stream_records;
    size_t count = 0;

    while (count < all.count && !is_behind_end(r, all.records[count].timestamp_us))
        count++;
    call->reply.tunnel_records =
        (struct wr_tunnel_records){.stream = true, .records = all.records, .count = count};
    reply_place(r,
                (struct tunnel_place){.finished = changes_end(r, &all, count),
                                      .stream = true,
                                      .count = r->place.count + count,
                                      .seen_us = changes_seen(r, &all),
                                      .at = all.next},
                all.more);
}

/* One who has fallen behind goes on from the oldest change that is left. */
static bytes changes_from(const struct tunnel_read *r)
{
    const struct stream_place *p = &r->changes;

    if (p->number >= r->change.ref.oldest)
        return r->place.at;
    return stream_iterator(&r->change.call->c.arena, p->stream, p->shard, STREAM_FROM_OLDEST);
}

static int read_changes(struct tunnel_read *r)
{
    r->request.op = WR_OP_GET_STREAM_RECORD;
    r->request.get_stream_record = (struct wr_get_stream_record){
        .table = r->change.ref.table,
        .iterator = changes_from(r),
        .has_limit = true,
        .limit = READ_ROWS_MAX,
    };
    return get_stream_record_start(r->change.call);
}

/* ---- rows ---- */

/* The key columns of the next row. */
static int rows_place(struct tunnel_read *r, const struct wr_key *next, struct tunnel_place *out)
{
    const struct tunnel_ref *ref = &r->change.ref;
    struct ctx *c = &r->change.call->c;
    struct buf cols;

    buf_init(&cols, &c->arena, 64);
    TRY(key_put_columns(c, &cols, ref->key, next->columns, next->count));
    out->at = buf_bytes(&cols);
    return E_OK;
}

static int rows_read(struct tunnel_read *r)
{
    struct call *call = r->change.call;
    struct wr_range_result all = call->reply.range;
    struct tunnel_place place = {.finished = !all.next.count,
                                 .count = r->place.count + all.row_count};
    struct wr_stream_record *records;

    records = ARENA_ARRAY(&call->c.arena, struct wr_stream_record, all.row_count);
    for (size_t i = 0; i < all.row_count; i++)
        records[i] = (struct wr_stream_record){.type = WR_PUT, .row = all.rows[i]};
    if (!place.finished)
        TRY(rows_place(r, &all.next, &place));
    call->reply.tunnel_records =
        (struct wr_tunnel_records){.records = records, .count = all.row_count};
    reply_place(r, place, true);
    return E_OK;
}

/* All columns with one and the same bound. */
static struct wr_key bound(struct arena *a, const struct tunnel_ref *ref, enum wr_type type)
{
    struct wr_key_column *columns = ARENA_ARRAY(a, struct wr_key_column, ref->key_count);

    for (size_t i = 0; i < ref->key_count; i++)
        columns[i] = (struct wr_key_column){.name = ref->key[i].name, .value = {.type = type}};
    return (struct wr_key){columns, ref->key_count};
}

static int rows_from(struct tunnel_read *r, struct wr_key *out)
{
    struct ctx *c = &r->change.call->c;

    if (r->place.at.len)
        return tunnel_row_key(c, &r->change.ref, r->place.at, out);
    *out = bound(&c->arena, &r->change.ref, WR_INF_MIN);
    return E_OK;
}

/* Rows are read as they are then. A change that comes later must have its record, or it would be
 * lost where the walk has passed. */
static int read_rows(struct tunnel_read *r)
{
    const struct tunnel_ref *ref = &r->change.ref;
    struct call *call = r->change.call;
    struct wr_get_range *range = &r->request.get_range;

    if (ref->made.type == WR_TUNNEL_BASE_AND_STREAM && !ref->recorded)
        return fail(&call->c, E_TUNNEL_UNAVAILABLE,
                    "The table's stream was switched on a moment ago, and some writes do not know "
                    "of it yet.");
    r->request.op = WR_OP_GET_RANGE;
    *range = (struct wr_get_range){
        .table = ref->table,
        .end = bound(&call->c.arena, ref, WR_INF_MAX),
        .has_limit = true,
        .limit = READ_ROWS_MAX,
        .read = {.has_max_versions = true, .max_versions = INT32_MAX},
    };
    TRY(rows_from(r, &range->start));
    return get_range_start(call);
}

/* ---- both ---- */

static void read_done(void *arg, struct wr_reply *reply)
{
    struct tunnel_read *r = arg;
    struct call *call = r->change.call;

    if (!reply->code && r->place.stream)
        changes_read(r);
    else if (!reply->code && rows_read(r)) {
        reply->code = call->c.code;
        reply->message = call->c.text;
    }
    reply->memory = call->c.arena.used;
    r->done(r->arg, reply);
}

static void read_page(struct tunnel_change *x)
{
    struct tunnel_read *r = PORT_CONTAINER(x, struct tunnel_read, change);
    struct call *call = x->call;

    if (r->place.finished) {
        reply_place(r, r->place, false);
        call_finish(call);
        return;
    }
    r->request = *call->req;
    r->done = call->done;
    r->arg = call->arg;
    call->req = &r->request;
    call->done = read_done;
    call->arg = r;
    if (r->place.stream ? read_changes(r) : read_rows(r))
        call_finish(call);
}

static int decide_read(struct tunnel_change *x, struct tunnel_state *t)
{
    const struct wr_tunnel_channel_of *in = &x->call->req->read_tunnel;
    struct tunnel_read *r = PORT_CONTAINER(x, struct tunnel_read, change);
    struct tunnel_channel *channel;

    TRY(tunnel_check(&x->call->c, tunnel_channel_for(t, tunnel_client_number(in->client),
                                                     in->channel, &channel)));
    return tunnel_place_read(&x->call->c, &x->ref, channel, in->token, &r->place, &r->changes);
}

int read_tunnel_start(struct call *call)
{
    struct tunnel_read *r = ARENA_NEW(&call->c.arena, struct tunnel_read);

    TRY(tunnel_change_init(&r->change, call, call->req->read_tunnel.tunnel, decide_read));
    r->change.reads = true;
    r->change.then = read_page;
    return tunnel_change_begin(&r->change);
}
