/* tunnel_op.c: CreateTunnel, DeleteTunnel, ListTunnel and DescribeTunnel. A tunnel is made and
 * deleted by a transaction on the catalog (catalog_txn.h), for its table's description names it:
 * so it goes with its table. */
#include "base/invariant.h"
#include "table/catalog/catalog.h"
#include "table/catalog/catalog_txn.h"
#include "table/stream/stream_carrier.h"
#include "table/stream/stream_log.h"
#include "table/stream/stream_name.h"
#include "table/stream/stream_record.h"
#include "table/stream/stream_retention.h"
#include "table/tunnel/tunnel_change.h"
#include "table/tunnel/tunnel_record.h"

#include <inttypes.h>

#define NAME_BYTES 255
#define STREAM_HOURS 168 /* of a stream that is switched on for a tunnel */

static bool is_name_byte(uint8_t ch)
{
    return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') ||
           ch == '_' || ch == '-';
}

static int check_name(struct ctx *c, bytes name)
{
    bool ok = name.len > 0 && name.len <= NAME_BYTES;

    for (size_t i = 0; i < name.len && ok; i++)
        ok = is_name_byte(bytes_u8(name)[i]);
    return ok ? E_OK
              : fail(c, E_PARAMETER,
                     "Invalid tunnel name: it has 1 to %d letters, digits, '_' and '-'.",
                     NAME_BYTES);
}

static const struct schema_tunnel *tunnel_find(const struct schema *s, bytes name)
{
    for (size_t i = 0; i < s->tunnel_count; i++)
        if (bytes_equal(s->tunnels[i].name, name))
            return &s->tunnels[i];
    return NULL;
}

static bool has_rows(enum wr_tunnel_type type)
{
    return type != WR_TUNNEL_STREAM;
}

static bool has_changes(enum wr_tunnel_type type)
{
    return type != WR_TUNNEL_BASE_DATA;
}

/* ---- both transactions ---- */

struct tunnel_txn {
    struct catalog_txn txn;
    struct call *call;
    int (*decide)(struct tunnel_txn *x);

    /* CreateTunnel: the end of each shard of the stream with these records, before it began. */
    struct scan scan;
    uint32_t location; /* 0: none was looked at */
    size_t shards;
    uint64_t ends[SCHEMA_SHARDS_MAX];
    struct table *table; /* where logs are partitions of their own; referenced */
    struct job job;
    struct stream_round round;
};

static int txn_decide(struct catalog_txn *x)
{
    struct tunnel_txn *op = PORT_CONTAINER(x, struct tunnel_txn, txn);

    TRY(catalog_refusal(x->c, x->db->catalog, x->instance, x->name));
    if (!x->now)
        return fail(x->c, E_PARAMETER, "Requested table does not exist.");
    TRY(catalog_check_one(x->c, x->now));
    x->notify_ms = ENGINE_PUBLISH_MS;
    return op->decide(op);
}

static void txn_done(struct catalog_txn *x, int code)
{
    struct call *call = PORT_CONTAINER(x, struct tunnel_txn, txn)->call;

    if (code)
        fail_code(&call->c, code);
    catalog_txn_release(x);
    call_finish(call);
}

static void txn_begin(struct tunnel_txn *op, bytes table)
{
    op->txn = (struct catalog_txn){.db = op->call->db,
                                   .c = &op->call->c,
                                   .instance = op->call->req->instance,
                                   .name = table,
                                   .decide = txn_decide,
                                   .done = txn_done};
    catalog_txn_begin(&op->txn);
}

/* ---- CreateTunnel ---- */

/* A stream for the tunnel, if there is none yet. */
static int keep_stream(struct catalog_txn *x, struct schema *s)
{
    struct wr_update_table on = {
        .table = x->name,
        .stream = {.given = true,
                   .enable = true,
                   .has_expiration = true,
                   .expiration_h = STREAM_HOURS},
    };
    struct schema *with;

    if (s->stream.location)
        return E_OK;
    if (on.stream.expiration_h > x->db->limits.stream_hours_max)
        on.stream.expiration_h = (int32_t)x->db->limits.stream_hours_max;
    TRY(schema_update(x->c, &x->db->limits, &x->now->schema, &on, &with));
    *s = *with;
    schema_stream_keep(s, catalog_txn_ids(x, 1), !engine_one_key_space(x->db->engine));
    return E_OK;
}

/* The number of the first change of a shard that the tunnel tells of. */
static uint64_t first_change(const struct tunnel_txn *op, const struct schema *s, size_t shard)
{
    const struct wr_tunnel_config *config = &op->call->req->create_tunnel.config;

    if (config->start_ns)
        return tunnel_us(config->start_ns) > stream_oldest(op->call->db, s)
                   ? tunnel_us(config->start_ns)
                   : STREAM_FROM_OLDEST;
    /* Of a stream that was switched on meanwhile all are later than the request. */
    return s->stream.location == op->location ? op->ends[shard] : STREAM_FROM_OLDEST;
}

static struct tunnel_channel new_channel(bytes id, bytes token, bool stream)
{
    return (struct tunnel_channel){.id = id,
                                   .token = token,
                                   .parents = {TUNNEL_NO_PARENT, TUNNEL_NO_PARENT},
                                   .stream = stream};
}

static struct tunnel_channel shard_channel(const struct tunnel_txn *op, const struct schema *s,
                                           uint16_t shard)
{
    struct arena *a = &op->call->c.arena;
    struct tunnel_place place = {
        .stream = true,
        .at = stream_iterator(a, s->d.stream_id, shard, first_change(op, s, shard)),
    };

    return new_channel(stream_shard_name(a, s->stream.location, shard, s->d.stream_enable_us),
                       tunnel_token(a, &place), true);
}

/* What its clients find at first. */
static bytes first_state(const struct tunnel_txn *op, const struct schema *s,
                         const struct schema_tunnel *made)
{
    struct arena *a = &op->call->c.arena;
    struct tunnel_channel channels[1 + SCHEMA_SHARDS_MAX];
    struct tunnel_state t = {.channels = channels};
    struct tunnel_place start = {0};

    if (has_rows(made->type))
        channels[t.channel_count++] = new_channel(
            arena_printf(a, "BaseData_%016" PRIx64, made->number), tunnel_token(a, &start), false);
    for (uint16_t i = 0; has_changes(made->type) && i < s->stream.shards; i++)
        channels[t.channel_count++] = shard_channel(op, s, i);
    return tunnel_record_encode(a, &t);
}

static int check_room(struct catalog_txn *x, bytes name)
{
    const struct schema *s = &x->now->schema;
    int max = (int)x->db->limits.tunnels_max;

    if (tunnel_find(s, name))
        return fail_code(x->c, E_TUNNEL_EXIST);
    if (s->base.table.len)
        return fail(x->c, E_PARAMETER,
                    "Table '%.*s' is an index of table '%.*s': it has no tunnels.",
                    BYTES_FMT(s->d.table), BYTES_FMT(s->base.table));
    return s->tunnel_count < (size_t)max
               ? E_OK
               : fail(x->c, E_QUOTA, "Number of tunnels of the table exceeds the quota:%d.", max);
}

static int decide_create(struct tunnel_txn *op)
{
    const struct wr_create_tunnel *in = &op->call->req->create_tunnel;
    struct catalog_txn *x = &op->txn;
    struct arena *a = &x->c->arena;
    struct schema s = catalog_txn_draft(x);
    struct schema_tunnel *list = ARENA_ARRAY(a, struct schema_tunnel, s.tunnel_count + 1);

    TRY(check_room(x, in->name));
    if (has_changes(in->type))
        TRY(keep_stream(x, &s));
    for (size_t i = 0; i < s.tunnel_count; i++)
        list[i] = s.tunnels[i];
    list[s.tunnel_count] = (struct schema_tunnel){.number = catalog_next_number(x->db->catalog),
                                                  .name = in->name,
                                                  .type = in->type,
                                                  .config = in->config,
                                                  .creation_us = clock_wall_us(x->c->clock)};
    s.tunnels = list;
    batch_add(&x->builder, EDIT_PUT, catalog_tunnel_key(a, s.id, list[s.tunnel_count].number),
              first_state(op, &s, &list[s.tunnel_count]));
    op->call->reply.tunnel.id = tunnel_id(a, s.d.table, list[s.tunnel_count].number);
    s.tunnel_count++;
    return catalog_txn_put(x, &s);
}

/* ---- where a stream ends that is there already ---- */

/* By the last record that is there, not by the clock: numbers only rise, clocks do not. */
static void ends_scanned(void *arg)
{
    struct tunnel_txn *op = arg;
    struct call *call = op->call;

    for (size_t i = 0; i < op->shards && !call->c.code; i++) {
        const struct page *page = &op->scan.pages[i];

        op->ends[i] =
            page->count ? stream_record_number(page->items[0].key) + 1 : STREAM_FROM_OLDEST;
    }
    if (call->c.code)
        call_finish(call);
    else
        txn_begin(op, call->req->create_tunnel.table);
}

static void ends_scan_done(struct scan *s)
{
    struct tunnel_txn *op = PORT_CONTAINER(s, struct tunnel_txn, scan);

    if (s->code && !op->call->c.code)
        fail_code(&op->call->c, s->code);
    if (!call_enter(op->call, false))
        ends_scanned(op);
}

static void ends_scan(struct tunnel_txn *op)
{
    struct call *call = op->call;
    struct arena *a = &call->c.arena;
    struct key_range *ranges = ARENA_ARRAY(a, struct key_range, op->shards);

    for (uint16_t i = 0; i < op->shards; i++)
        ranges[i] = (struct key_range){stream_record_key(a, op->location, i, 0),
                                       stream_record_key(a, op->location, i, UINT64_MAX)};
    op->scan = (struct scan){.partition = PARTITION_SYSTEM, /* one key space */
                             .view = VIEW_DURABLE,
                             .ranges = ranges,
                             .range_count = op->shards,
                             .backward = true,
                             .items_max = 1,
                             .bytes_max = 1,
                             .pages = ARENA_ARRAY(a, struct page, op->shards),
                             .done = ends_scan_done};
    call->go_on = ends_scanned;
    call->go_on_arg = op;
    if (engine_scan(&call->c, call->db->engine, &op->scan) != E_LATER)
        ends_scanned(op);
}

/* What stands beside rows was carried first: it is from before. */
static int log_ends(struct tunnel_txn *op)
{
    struct call *call = op->call;

    if (op->round.code)
        return fail_code(&call->c, op->round.code);
    for (uint16_t i = 0; i < op->shards; i++) {
        struct stream_log log = {.engine = call->db->engine, .location = op->location, .shard = i};

        TRY(stream_log_open(&call->c, &log));
        op->ends[i] = log.tail.last ? log.tail.last + 1 : STREAM_FROM_OLDEST;
    }
    return E_OK;
}

static void log_ends_run(struct job *job)
{
    struct tunnel_txn *op = PORT_CONTAINER(job, struct tunnel_txn, job);
    struct call *call = op->call;
    int code = log_ends(op);

    table_release(op->table);
    if (code == E_PARTITION || code == E_GUARD) { /* the stream goes */
        ctx_clear(&call->c);
        code = fail_code(&call->c, E_BUSY);
    }
    if (code)
        call_finish(call);
    else
        txn_begin(op, call->req->create_tunnel.table);
}

static int check_create(struct ctx *c, const struct wr_create_tunnel *in)
{
    TRY(check_name(c, in->name));
    if (in->type < WR_TUNNEL_BASE_DATA || in->type > WR_TUNNEL_BASE_AND_STREAM)
        return fail(c, E_PARAMETER, "There is no such type of tunnel: %d.", (int)in->type);
    if (in->config.end_ns && in->config.end_ns < in->config.start_ns)
        return fail(c, E_PARAMETER, "The end offset of the tunnel is before its start offset.");
    return E_OK;
}

int create_tunnel_start(struct call *call)
{
    const struct wr_create_tunnel *in = &call->req->create_tunnel;
    struct tunnel_txn *op;
    struct table *t;
    int code;

    TRY(tunnel_open_table(call, in->table, &t));
    op = ARENA_NEW(&call->c.arena, struct tunnel_txn);
    op->call = call;
    op->decide = decide_create;
    if (has_changes(in->type) && !in->config.earliest && !in->config.start_ns) {
        op->location = t->schema.stream.location;
        op->shards = t->schema.stream.shards;
    }
    op->table = op->location && t->schema.stream_beside ? table_ref(t) : NULL;
    table_release(t);
    code = check_create(&call->c, in);
    op->job.run = log_ends_run;
    op->round = (struct stream_round){.table = op->table, .then = &op->job};
    if (code)
        table_release(op->table);
    else if (op->table)
        stream_carrier_round(call->db->carrier, &op->round);
    else if (op->location)
        ends_scan(op);
    else
        txn_begin(op, in->table);
    return code;
}

/* ---- DeleteTunnel ---- */

static int decide_delete(struct tunnel_txn *op)
{
    struct catalog_txn *x = &op->txn;
    struct schema s = catalog_txn_draft(x);
    struct schema_tunnel *list = ARENA_ARRAY(&x->c->arena, struct schema_tunnel, s.tunnel_count);
    const struct schema_tunnel *gone = tunnel_find(&s, op->call->req->delete_tunnel.name);
    size_t n = 0;

    if (!gone)
        return tunnel_fail_missing(x->c);
    for (size_t i = 0; i < s.tunnel_count; i++)
        if (&s.tunnels[i] != gone)
            list[n++] = s.tunnels[i];
    batch_add(&x->builder, EDIT_DELETE, catalog_tunnel_key(&x->c->arena, s.id, gone->number),
              BYTES_NONE);
    s.tunnels = list;
    s.tunnel_count = n;
    return catalog_txn_put(x, &s);
}

int delete_tunnel_start(struct call *call)
{
    struct tunnel_txn *op;
    struct table *t;

    TRY(tunnel_open_table(call, call->req->delete_tunnel.table, &t));
    table_release(t);
    op = ARENA_NEW(&call->c.arena, struct tunnel_txn);
    op->call = call;
    op->decide = decide_delete;
    txn_begin(op, call->req->delete_tunnel.table);
    return E_OK;
}

/* ---- ListTunnel and DescribeTunnel ---- */

struct tunnel_look {
    struct call *call;
    struct tunnel_ref *refs;
    size_t count;
    struct get *gets;
    struct get_many many;
    int (*answer)(struct tunnel_look *l);
};

/* Have changes gone that are still to be read? */
static bool has_lost(const struct tunnel_ref *ref, const struct tunnel_state *t)
{
    struct stream_place changes;
    struct tunnel_place place;
    struct ctx c;
    bool lost = tunnel_is_expired(ref, t);

    ctx_init(&c, NULL, NULL, NULL, 0);
    for (size_t i = 0; i < t->channel_count; i++)
        if (t->channels[i].stream && !t->channels[i].done &&
            !tunnel_place_read(&c, ref, &t->channels[i], t->channels[i].token, &place, &changes))
            lost |= changes.number != STREAM_FROM_OLDEST && changes.number < ref->oldest;
    ctx_release(&c);
    return lost;
}

static struct wr_tunnel_info info_of(const struct tunnel_look *l, const struct tunnel_ref *ref,
                                     const struct tunnel_state *t)
{
    return (struct wr_tunnel_info){
        .id = tunnel_id(&l->call->c.arena, ref->table, ref->made.number),
        .table = ref->table,
        .name = ref->made.name,
        .stream = ref->stream,
        .type = ref->made.type,
        .base_done = tunnel_base_done(t),
        .expired = has_lost(ref, t),
        .config = ref->made.config,
        .creation_us = ref->made.creation_us,
    };
}

/* One that was deleted meanwhile is left out. */
static int answer_list(struct tunnel_look *l)
{
    struct wr_tunnel_list *out = &l->call->reply.tunnels;
    struct wr_tunnel_info *list = ARENA_ARRAY(&l->call->c.arena, struct wr_tunnel_info, l->count);

    *out = (struct wr_tunnel_list){.tunnels = list};
    for (size_t i = 0; i < l->count; i++) {
        struct tunnel_state t;

        if (!l->gets[i].found)
            continue;
        TRY(tunnel_state_read(l->call, l->gets[i].value, &t));
        list[out->count++] = info_of(l, &l->refs[i], &t);
    }
    return E_OK;
}

static bytes client_of(struct arena *a, const struct tunnel_state *t, uint64_t number)
{
    for (size_t i = 0; i < t->client_count; i++)
        if (t->clients[i].number == number)
            return tunnel_client_id(a, t->clients[i].tag, number);
    return BYTES_NONE;
}

/* The later of its last change and of when it had nothing before it. A client may have sent any
 * number in its token. */
static int64_t consumed_us(const struct tunnel_place *place, const struct stream_place *changes)
{
    uint64_t us = place->seen_us > changes->number ? place->seen_us : changes->number;

    return (int64_t)(us < TUNNEL_TIME_MAX_US ? us : TUNNEL_TIME_MAX_US);
}

static struct wr_tunnel_channel describe_channel(struct tunnel_look *l,
                                                 const struct tunnel_state *t,
                                                 const struct tunnel_channel *channel)
{
    struct arena *a = &l->call->c.arena;
    struct wr_tunnel_channel out = {
        .id = arena_copy(a, channel->id),
        .stream = channel->stream,
        .status = (enum wr_tunnel_status)channel->status,
        .client = client_of(a, t, channel->owner),
    };
    struct stream_place changes;
    struct tunnel_place place;

    if (tunnel_place_read(&l->call->c, l->refs, channel, channel->token, &place, &changes))
        return out; /* only of a damaged state, which has no token: its channel is described without
                     */
    out.count = (int64_t)place.count;
    out.consumed_us = consumed_us(&place, &changes);
    return out;
}

static int answer_description(struct tunnel_look *l)
{
    struct wr_tunnel_description *out = &l->call->reply.tunnel_description;
    struct wr_tunnel_channel *channels;
    struct tunnel_state t;

    if (!l->gets->found)
        return tunnel_fail_missing(&l->call->c);
    TRY(tunnel_state_read(l->call, l->gets->value, &t));
    channels = ARENA_ARRAY(&l->call->c.arena, struct wr_tunnel_channel, t.channel_count);
    for (size_t i = 0; i < t.channel_count; i++)
        channels[i] = describe_channel(l, &t, &t.channels[i]);
    *out = (struct wr_tunnel_description){info_of(l, l->refs, &t), channels, t.channel_count};
    return l->call->c.code;
}

static void look_read(void *arg)
{
    struct tunnel_look *l = arg;
    struct call *call = l->call;

    for (size_t i = 0; i < l->count && !call->c.code; i++)
        if (l->gets[i].code)
            fail_code(&call->c, l->gets[i].code);
    if (!call->c.code)
        l->answer(l); /* a failure stands in the call */
    call_finish(call);
}

static void look_done(struct get_many *m)
{
    struct tunnel_look *l = PORT_CONTAINER(m, struct tunnel_look, many);

    if (!call_enter(l->call, false))
        look_read(l);
}

static int look_begin(struct tunnel_look *l)
{
    struct call *call = l->call;

    l->gets = ARENA_ARRAY(&call->c.arena, struct get, l->count);
    for (size_t i = 0; i < l->count; i++)
        l->gets[i] = (struct get){
            .partition = PARTITION_SYSTEM, .key = l->refs[i].state_key, .view = VIEW_DURABLE};
    l->many = (struct get_many){.gets = l->gets, .count = l->count, .done = look_done};
    call->go_on = look_read;
    call->go_on_arg = l;
    if (!l->count || engine_get_many(&call->c, call->db->engine, &l->many) != E_LATER)
        look_read(l);
    return E_OK;
}

static struct tunnel_look *look_new(struct call *call, size_t room,
                                    int (*answer)(struct tunnel_look *l))
{
    struct tunnel_look *l = ARENA_NEW(&call->c.arena, struct tunnel_look);

    l->call = call;
    l->answer = answer;
    l->refs = ARENA_ARRAY(&call->c.arena, struct tunnel_ref, room);
    return l;
}

int list_tunnel_start(struct call *call)
{
    struct tunnel_look *l;
    struct table *t;

    TRY(tunnel_open_table(call, call->req->list_tunnel.table, &t));
    l = look_new(call, t->schema.tunnel_count, answer_list);
    for (size_t i = 0; i < t->schema.tunnel_count; i++)
        tunnel_ref_of(call, t, &t->schema.tunnels[i], &l->refs[l->count++]);
    table_release(t);
    return look_begin(l);
}

int describe_tunnel_start(struct call *call)
{
    const struct wr_tunnel_name *in = &call->req->describe_tunnel;
    struct tunnel_look *l = look_new(call, 1, answer_description);
    const struct schema_tunnel *made;
    struct table *t;

    TRY(tunnel_open_table(call, in->table, &t));
    made = tunnel_find(&t->schema, in->name);
    if (made)
        tunnel_ref_of(call, t, made, &l->refs[l->count++]);
    table_release(t);
    return made ? look_begin(l) : tunnel_fail_missing(&call->c);
}
