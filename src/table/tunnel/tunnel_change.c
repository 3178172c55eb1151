#include "table/tunnel/tunnel_change.h"

#include "table/catalog/catalog.h"
#include "table/model/key.h"
#include "table/stream/stream_name.h"
#include "table/stream/stream_retention.h"
#include "table/stream/stream_settle.h"
#include "table/tunnel/tunnel_record.h"

#define TRIES_MAX 64 /* of what another server was faster with */

/* ---- which tunnel ---- */

int tunnel_open_table(struct call *call, bytes name, struct table **out)
{
    struct ctx *c = &call->c;
    int code;

    if (!call->db->keeps_streams)
        return fail(c, E_UNSUPPORTED, "This storage engine keeps no records of changes.");
    code = call_open_table(call, name, out);
    if (code != E_NOT_EXIST)
        return code;
    ctx_clear(c);
    return fail(c, E_PARAMETER, "Requested table does not exist.");
}

int tunnel_fail_missing(struct ctx *c)
{
    return fail(c, E_PARAMETER, "The tunnel does not exist.");
}

void tunnel_ref_of(struct call *call, const struct table *t, const struct schema_tunnel *made,
                   struct tunnel_ref *out)
{
    const struct schema *s = &t->schema;
    struct arena *a = &call->c.arena;

    *out = (struct tunnel_ref){
        .made = *made,
        .table = arena_copy(a, s->d.table),
        .stream = s->d.stream_id.len ? arena_copy(a, s->d.stream_id) : BYTES_NONE,
        .limits = &call->db->limits,
        .key = schema_keys_copy(a, s),
        .key_count = s->d.key_count,
        .location = s->stream.location,
        .enable_us = s->d.stream_enable_us,
        .oldest = stream_oldest(call->db, s),
        .recorded = s->stream.location && stream_is_whole(call->db, t),
        .state_key = catalog_tunnel_key(a, s->id, made->number),
    };
    out->made.name = arena_copy(a, made->name);
}

int tunnel_ref_open(struct call *call, bytes id, struct tunnel_ref *out)
{
    const struct schema_tunnel *made = NULL;
    struct table *t;
    uint64_t number;
    bytes table;

    if (!tunnel_id_read(id, &table, &number))
        return tunnel_fail_missing(&call->c);
    TRY(tunnel_open_table(call, table, &t));
    for (size_t i = 0; i < t->schema.tunnel_count; i++)
        if (t->schema.tunnels[i].number == number)
            made = &t->schema.tunnels[i];
    if (made)
        tunnel_ref_of(call, t, made, out);
    table_release(t);
    return made ? E_OK : tunnel_fail_missing(&call->c);
}

bool tunnel_is_expired(const struct tunnel_ref *ref, const struct tunnel_state *t)
{
    return ref->made.type == WR_TUNNEL_BASE_AND_STREAM && !tunnel_base_done(t) &&
           (uint64_t)ref->made.creation_us < ref->oldest;
}

static bool is_shard_of(struct arena *a, const struct tunnel_ref *ref,
                        const struct tunnel_channel *channel, const struct stream_place *changes)
{
    return bytes_equal(changes->stream, ref->stream) &&
           bytes_equal(stream_shard_name(a, ref->location, changes->shard, ref->enable_us),
                       channel->id);
}

int tunnel_row_key(struct ctx *c, const struct tunnel_ref *ref, bytes at, struct wr_key *out)
{
    struct wr_key_column *columns = ARENA_ARRAY(&c->arena, struct wr_key_column, ref->key_count);
    size_t used;

    *out = (struct wr_key){columns, ref->key_count};
    if (!key_view_columns(c, at, ref->key, ref->key_count, columns, &used) && used == at.len &&
        !key_check(c, ref->limits, ref->key, ref->key_count, out, KEY_READ))
        return E_OK;
    ctx_clear(c);
    return fail(c, E_PARAMETER, "Invalid token: it is of another table.");
}

int tunnel_place_read(struct ctx *c, const struct tunnel_ref *ref,
                      const struct tunnel_channel *channel, bytes token, struct tunnel_place *out,
                      struct stream_place *changes)
{
    struct wr_key row;

    *changes = (struct stream_place){0};
    TRY(tunnel_token_read(c, token, out));
    if (out->finished)
        return E_OK;
    if (out->stream)
        TRY(stream_place_read(c, out->at, changes));
    else if (out->at.len) /* what is kept of it must be no larger than a key */
        TRY(tunnel_row_key(c, ref, out->at, &row));
    if (out->stream != channel->stream ||
        (out->stream && !is_shard_of(&c->arena, ref, channel, changes)))
        return fail(c, E_PARAMETER, "Invalid token: it is another channel's.");
    return E_OK;
}

int tunnel_check(struct ctx *c, enum tunnel_outcome outcome)
{
    switch (outcome) {
    case TUNNEL_OK:
        return E_OK;
    case TUNNEL_GONE:
        return fail(c, E_TUNNEL_GONE,
                    "The client is unknown or has timed out, or the channel is another client's. "
                    "Connect anew.");
    case TUNNEL_NOT_NEXT:
        return fail(c, E_TUNNEL_SEQUENCE,
                    "The sequence number is not the one after the last checkpoint's. "
                    "GetCheckpoint tells that one.");
    case TUNNEL_NO_CHANNEL:
        break;
    }
    return fail(c, E_PARAMETER, "The channel does not exist.");
}

/* ---- the state ---- */

/* No client is held to be silent for the time in which no server ran, nor one to have been heard in
 * the future, should the clock have been set back. If that was to before the server's start, this
 * start tells nothing: by it all would count as heard just now, whenever one looks. */
int tunnel_state_read(struct call *call, bytes stored, struct tunnel_state *out)
{
    int64_t opened_ms = call->db->opened_ms;

    TRY(tunnel_record_decode(&call->c, stored, out));
    for (size_t i = 0; i < out->client_count; i++) {
        struct tunnel_client *client = &out->clients[i];

        if (client->heard_ms < opened_ms && opened_ms <= call->now_ms)
            client->heard_ms = opened_ms;
        if (client->heard_ms > call->now_ms)
            client->heard_ms = call->now_ms;
    }
    return E_OK;
}

/* Whoever waits for the lock goes on last: with the call, x is gone. */
static void change_end(struct tunnel_change *x)
{
    struct row_locks *locks = x->call->db->row_locks;
    struct run_list woken = {0};

    if (x->lock.key.ptr)
        row_lock_pass(locks, &x->lock, &woken);
    if (!x->call->c.code && x->then)
        x->then(x);
    else
        call_finish(x->call);
    row_lock_run(&woken);
}

static void change_load(struct tunnel_change *x);

static void change_stored(void *arg, int code)
{
    struct tunnel_change *x = arg;

    if (code == E_GUARD && ++x->tries < TRIES_MAX) {
        change_load(x);
        return;
    }
    if (code == E_GUARD)
        fail_code(&x->call->c, E_TUNNEL_UNAVAILABLE);
    else if (code)
        fail_code(&x->call->c, code);
    change_end(x);
}

static void change_store(struct tunnel_change *x, bytes state)
{
    struct write_batch batch = {.partition = PARTITION_SYSTEM,
                                .guards = &x->guard,
                                .guard_count = 1,
                                .edits = &x->edit,
                                .edit_count = 1,
                                .depends_on = x->get.depends_on,
                                .grows = !x->leaves}; /* it comes again and again */

    x->guard = (struct guard){.key = x->ref.state_key, .value = x->get.value};
    x->edit = (struct edit){EDIT_PUT, x->ref.state_key, state};
    engine_apply(&x->call->c, x->call->db->engine, &batch, change_stored, x);
}

static int change_decide(struct tunnel_change *x, bytes *state)
{
    struct call *call = x->call;
    struct tunnel_state t;

    if (!x->get.found) /* it was deleted meanwhile */
        return tunnel_fail_missing(&call->c);
    TRY(tunnel_state_read(call, x->get.value, &t));
    TRY(x->decide(x, &t));
    *state = x->reads ? x->get.value : tunnel_record_encode(&call->c.arena, &t);
    return E_OK;
}

static void change_read(void *arg)
{
    struct tunnel_change *x = arg;
    bytes state = BYTES_NONE;

    if (!x->call->c.code && !change_decide(x, &state) && !bytes_equal(state, x->get.value))
        change_store(x, state);
    else
        change_end(x);
}

static void change_read_done(struct get *g)
{
    struct tunnel_change *x = PORT_CONTAINER(g, struct tunnel_change, get);

    if (g->code && !x->call->c.code)
        fail_code(&x->call->c, g->code);
    if (!call_enter(x->call, false))
        change_read(x);
}

static void change_load(struct tunnel_change *x)
{
    struct call *call = x->call;

    x->get = (struct get){.partition = PARTITION_SYSTEM,
                          .key = x->ref.state_key,
                          .view = x->reads ? VIEW_DURABLE : VIEW_LATEST,
                          .read_pending = !x->reads,
                          .done = change_read_done};
    call->go_on = change_read;
    call->go_on_arg = x;
    if (engine_get(&call->c, call->db->engine, &x->get) != E_LATER)
        change_read(x); /* a failure stands in the call */
}

static void change_go_on(void *arg)
{
    change_load(arg);
}

static void change_lock_woken(struct row_lock *l, struct run_list *woken)
{
    struct tunnel_change *x = PORT_CONTAINER(l, struct tunnel_change, lock);

    (void)woken;
    x->call->go_on = change_go_on;
    x->call->go_on_arg = x;
    if (!call_enter(x->call, true))
        change_load(x);
}

int tunnel_change_begin(struct tunnel_change *x)
{
    if (!x->reads)
        x->lock = (struct row_lock){.key = x->ref.state_key, .run = change_lock_woken};
    if (x->reads || row_lock_take(x->call->db->row_locks, &x->lock))
        change_load(x);
    return E_OK;
}

int tunnel_change_init(struct tunnel_change *x, struct call *call, bytes id,
                       int (*decide)(struct tunnel_change *x, struct tunnel_state *t))
{
    x->call = call;
    x->decide = decide;
    return tunnel_ref_open(call, id, &x->ref);
}
