#include "table/stream/stream_op.h"

#include "base/invariant.h"
#include "table/catalog/catalog.h"
#include "table/model/meter.h"
#include "table/model/name.h"
#include "table/stream/stream_carrier.h"
#include "table/stream/stream_log.h"
#include "table/stream/stream_name.h"
#include "table/stream/stream_record.h"
#include "table/stream/stream_retention.h"
#include "table/stream/stream_settle.h"

#define ANSWER_BYTES_MAX ((size_t)4 << 20) /* of stored records; there is one at least */

/* ---- which stream ---- */

/* The table of a stream, referenced. `gone`: the failure, if the stream is not there. */
static int open_stream(struct call *call, bytes named, bytes stream, enum err gone,
                       const char *text, struct table **out)
{
    bytes name;

    TRY(call_check_streams(call));
    if (!wr_stream_table(stream, &name) || !bytes_equal(name, named))
        return fail(&call->c, gone, "%s", text);
    TRY(name_check_table(&call->c, name));
    TRY(call_open_table(call, name, out));
    if (bytes_equal((*out)->schema.d.stream_id, stream) && (*out)->schema.stream.location)
        return E_OK;
    table_release(*out);
    return fail(&call->c, gone, "%s", text);
}

static int open_named(struct call *call, bytes named, bytes stream, struct table **out)
{
    return open_stream(call, named, stream, E_NOT_EXIST, "Requested stream does not exist.", out);
}

static bytes shard_name(struct arena *a, const struct schema *s, size_t shard)
{
    return stream_shard_name(a, s->stream.location, (uint16_t)shard, s->d.stream_enable_us);
}

/* The shard of that name; the number of shards: there is none. */
static size_t shard_find(struct arena *a, const struct schema *s, bytes name)
{
    size_t i = 0;

    while (i < s->stream.shards && !bytes_equal(shard_name(a, s, i), name))
        i++;
    return i;
}

/* ---- ListStream ---- */

static void list_add(struct call *call, bytes name, struct wr_stream_list *out,
                     struct wr_stream *streams)
{
    struct table *t = catalog_get(call->db->catalog, call->req->instance, name);
    struct arena *a = &call->c.arena;

    if (t && t->schema.stream.location)
        streams[out->count++] =
            (struct wr_stream){arena_copy(a, t->schema.d.stream_id),
                               arena_copy(a, t->schema.d.table), t->schema.d.stream_enable_us};
    table_release(t);
}

int stream_list(struct call *call, const struct wr_list_stream *in, struct wr_stream_list *out)
{
    struct wr_stream *streams;
    struct table *t;
    bytes *names;
    size_t n = 1;

    TRY(call_check_streams(call));
    if (in->table.ptr) {
        TRY(name_check_table(&call->c, in->table));
        TRY(call_open_table(call, in->table, &t));
        table_release(t);
        names = ARENA_ARRAY(&call->c.arena, bytes, 1);
        names[0] = in->table;
    } else {
        n = catalog_list(call->db->catalog, &call->c.arena, call->req->instance, &names);
    }
    streams = ARENA_ARRAY(&call->c.arena, struct wr_stream, n);
    for (size_t i = 0; i < n; i++)
        list_add(call, names[i], out, streams);
    out->streams = streams;
    call_finish(call);
    return E_OK;
}

/* ---- DescribeStream ---- */

static int describe_shards(struct call *call, const struct wr_describe_stream *in,
                           const struct schema *s, struct wr_stream_description *out)
{
    struct arena *a = &call->c.arena;
    struct wr_stream_shard *shards = ARENA_ARRAY(a, struct wr_stream_shard, s->stream.shards);
    size_t first = in->first_shard.ptr ? shard_find(a, s, in->first_shard) : 0;
    size_t end = s->stream.shards;

    if (first == end)
        return fail(&call->c, E_NOT_EXIST, "Requested shard does not exist.");
    if (in->has_limit && in->limit <= 0)
        return fail(&call->c, E_PARAMETER, "The limit of shards must be greater than 0.");
    if (in->has_limit && (size_t)in->limit < end - first)
        end = first + (size_t)in->limit;
    for (size_t i = first; i < end; i++)
        shards[i - first].id = shard_name(a, s, i);
    out->shards = shards;
    out->shard_count = end - first;
    if (end < s->stream.shards)
        out->next_shard = shard_name(a, s, end);
    return E_OK;
}

/* While a request still goes by a description of before, its change may come without a record. */
static enum wr_stream_status stream_status(const struct call *call, const struct table *t)
{
    return stream_is_whole(call->db, t) ? WR_STREAM_ACTIVE : WR_STREAM_ENABLING;
}

int stream_describe(struct call *call, const struct wr_describe_stream *in,
                    struct wr_stream_description *out)
{
    struct arena *a = &call->c.arena;
    const struct wr_table_description *d;
    struct table *t;
    int code;

    TRY(open_named(call, in->table, in->stream, &t));
    d = &t->schema.d;
    *out = (struct wr_stream_description){.id = arena_copy(a, d->stream_id),
                                          .table = arena_copy(a, d->table),
                                          .expiration_h = d->stream.expiration_h,
                                          .creation_us = d->stream_enable_us,
                                          .status = stream_status(call, t)};
    code = describe_shards(call, in, &t->schema, out);
    table_release(t);
    if (!code)
        call_finish(call);
    return code;
}

/* ---- GetShardIterator ---- */

static int make_iterator(struct call *call, const struct wr_get_shard_iterator *in,
                         const struct schema *s, struct wr_shard_iterator *out)
{
    struct arena *a = &call->c.arena;
    size_t shard = shard_find(a, s, in->shard);

    if (shard == s->stream.shards)
        return fail(&call->c, E_NOT_EXIST, "Requested shard does not exist.");
    if (in->has_timestamp && in->timestamp_us < 0)
        return fail(&call->c, E_PARAMETER, "The timestamp of an iterator must not be negative.");
    out->iterator =
        stream_iterator(a, s->d.stream_id, (uint16_t)shard,
                        in->has_timestamp && (uint64_t)in->timestamp_us > stream_oldest(call->db, s)
                            ? (uint64_t)in->timestamp_us
                            : STREAM_FROM_OLDEST);
    return E_OK;
}

int stream_get_iterator(struct call *call, const struct wr_get_shard_iterator *in,
                        struct wr_shard_iterator *out)
{
    struct table *t;
    int code;

    TRY(open_named(call, in->table, in->stream, &t));
    code = make_iterator(call, in, &t->schema, out);
    table_release(t);
    if (!code)
        call_finish(call);
    return code;
}

/* ---- GetStreamRecord ---- */

struct record_op {
    struct call *call;
    const struct wr_get_stream_record *in;
    struct wr_stream_records *out;
    struct table *table;
    struct stream_place place;
    struct scan scan;
    struct key_range range;
    struct page page;
    struct job job;            /* where logs are partitions of their own */
    struct stream_round round; /* `then`: it was asked for */
    size_t limit;
    uint64_t from;
};

/* Where the next read goes on. One who finds nothing gets his own iterator back; but before that
 * expires for its age he gets a later one, so that it tells only of records that are gone. */
static bytes next_iterator(const struct record_op *op)
{
    const struct page *page = &op->page;
    struct arena *a = &op->call->c.arena;
    uint64_t fresh;

    if (page->count)
        return stream_iterator(a, op->place.stream, op->place.shard,
                               stream_record_number(page->items[page->count - 1].key) + 1);
    fresh = stream_refreshed(op->call->db, &op->table->schema, op->place.number);
    if (fresh != op->place.number)
        return stream_iterator(a, op->place.stream, op->place.shard, fresh);
    return arena_copy(a, op->in->iterator);
}

static int answer_records(struct record_op *op)
{
    struct ctx *c = &op->call->c;
    const struct wr_table_description *d = &op->table->schema.d;
    const struct wr_key_schema *keys = schema_keys_copy(&c->arena, &op->table->schema);
    const struct page *page = &op->page;
    struct wr_stream_record *records = ARENA_ARRAY(&c->arena, struct wr_stream_record, page->count);

    for (size_t i = 0; i < page->count; i++)
        TRY(stream_record_decode(c, page->items[i].key, page->items[i].value, keys, d->key_count,
                                 &records[i]));
    *op->out = (struct wr_stream_records){
        .records = records,
        .count = page->count,
        .consumed = {.read = meter_units(page->bytes)},
        .next = next_iterator(op),
        .more = page->more,
    };
    return E_OK;
}

static void records_scanned(void *arg)
{
    struct record_op *op = arg;
    struct call *call = op->call;

    if (!call->c.code)
        answer_records(op); /* a failure stands in the call */
    table_release(op->table);
    call_finish(call);
}

static void records_scan_done(struct scan *s)
{
    struct record_op *op = PORT_CONTAINER(s, struct record_op, scan);

    if (!call_enter(op->call, false))
        records_scanned(op);
}

static int check_place(struct record_op *op)
{
    struct ctx *c = &op->call->c;

    if (op->place.shard >= op->table->schema.stream.shards)
        return fail(c, E_PARAMETER, "Invalid shard iterator: its stream has no such shard.");
    if (op->place.number != STREAM_FROM_OLDEST &&
        op->place.number < stream_oldest(op->call->db, &op->table->schema))
        return fail(c, E_PARAMETER,
                    "Requested stream data is already trimmed or does not exist: the shard "
                    "iterator has expired. Get another one with GetShardIterator.");
    return E_OK;
}

/* How many records an answer holds at most. */
static int check_limit(struct record_op *op, size_t *limit)
{
    const struct wr_get_stream_record *in = op->in;

    *limit = (size_t)op->call->db->limits.stream_records_max;
    if (in->has_limit && in->limit <= 0)
        return fail(&op->call->c, E_PARAMETER, "The limit of records must be greater than 0.");
    if (in->has_limit && (size_t)in->limit < *limit)
        *limit = (size_t)in->limit;
    return E_OK;
}

/* ---- where logs are partitions of their own ---- */

static int log_page(struct record_op *op)
{
    struct call *call = op->call;
    struct stream_log log = {.engine = call->db->engine,
                             .location = op->table->schema.stream.location,
                             .shard = op->place.shard};

    return stream_log_read(&call->c, &log, op->from, op->limit, ANSWER_BYTES_MAX, &op->page);
}

/* Records may stand beside their rows still, but only behind all that the log has: then it is read
 * once more, when they were carried. */
static bool is_at_end(const struct record_op *op)
{
    return !op->page.more && op->page.count < op->limit;
}

static void log_run(struct job *job)
{
    struct record_op *op = PORT_CONTAINER(job, struct record_op, job);
    int code = op->round.code ? op->round.code : log_page(op);

    if (!code && is_at_end(op) && !op->round.then) {
        op->round = (struct stream_round){.table = op->table, .then = &op->job};
        stream_carrier_round(op->call->db->carrier, &op->round);
        return; /* it may be run by now */
    }
    if (code == E_PARTITION || code == E_GUARD) { /* the stream goes */
        ctx_clear(&op->call->c);
        code = E_BUSY;
    }
    if (code && !op->call->c.code)
        fail_code(&op->call->c, code);
    if (!call_enter(op->call, false))
        records_scanned(op);
}

static int log_begin(struct record_op *op)
{
    op->job.run = log_run;
    return stream_carrier_run(op->call->db->carrier, &op->job)
               ? E_OK
               : fail(&op->call->c, E_BUSY, "Server is busy: too many readers of streams wait.");
}

/* Oldest first: what has expired is passed over, whether or not it was removed yet. */
static int records_scan(struct record_op *op)
{
    struct call *call = op->call;
    const struct schema *s = &op->table->schema;
    uint64_t oldest = stream_oldest(call->db, s);
    uint64_t from = op->place.number > oldest ? op->place.number : oldest;
    size_t limit;
    int code;

    TRY(check_place(op));
    TRY(check_limit(op, &limit));
    call->go_on = records_scanned;
    call->go_on_arg = op;
    op->from = from;
    op->limit = limit;
    if (s->stream_beside)
        return log_begin(op);
    op->range = (struct key_range){
        stream_record_key(&call->c.arena, s->stream.location, op->place.shard, from),
        stream_record_key(&call->c.arena, s->stream.location, op->place.shard, UINT64_MAX)};
    op->scan = (struct scan){.partition = PARTITION_SYSTEM, /* one key space: it is not asked for */
                             .view = VIEW_DURABLE,
                             .ranges = &op->range,
                             .range_count = 1,
                             .items_max = limit,
                             .bytes_max = ANSWER_BYTES_MAX,
                             .pages = &op->page,
                             .done = records_scan_done};
    code = engine_scan(&call->c, call->db->engine, &op->scan);
    if (code == E_OK)
        records_scanned(op);
    return code == E_LATER ? E_OK : code;
}

int stream_get_records(struct call *call, const struct wr_get_stream_record *in,
                       struct wr_stream_records *out)
{
    struct record_op *op = ARENA_NEW(&call->c.arena, struct record_op);
    int code;

    op->call = call;
    op->in = in;
    op->out = out;
    TRY(call_check_streams(call));
    TRY(stream_place_read(&call->c, in->iterator, &op->place));
    TRY(open_stream(call, in->table, op->place.stream, E_PARAMETER,
                    "Invalid stream id: the stream was switched off, or never was its table's.",
                    &op->table));
    code = records_scan(op);
    if (code)
        table_release(op->table);
    return code;
}

/* ---- as op.def has them ---- */

int list_stream_start(struct call *call)
{
    return stream_list(call, &call->req->list_stream, &call->reply.streams);
}

int describe_stream_start(struct call *call)
{
    return stream_describe(call, &call->req->describe_stream, &call->reply.stream);
}

int get_shard_iterator_start(struct call *call)
{
    return stream_get_iterator(call, &call->req->get_shard_iterator, &call->reply.shard_iterator);
}

int get_stream_record_start(struct call *call)
{
    return stream_get_records(call, &call->req->get_stream_record, &call->reply.stream_records);
}
