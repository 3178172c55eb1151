/* tunnel_client.c: what a tunnel's clients ask: Connect, Heartbeat, Shutdown, GetCheckpoint and
 * Checkpoint. tunnel_read.c has ReadRecords. */
#include "table/stream/stream_name.h"
#include "table/tunnel/tunnel_change.h"

#define TAG_BYTES_MAX 255
#define TIMEOUT_S_MAX 86400 /* what a client had that is dead is another's after so long */

static int begin(struct call *call, bytes id,
                 int (*decide)(struct tunnel_change *x, struct tunnel_state *t), bool reads)
{
    struct tunnel_change *x = ARENA_NEW(&call->c.arena, struct tunnel_change);

    TRY(tunnel_change_init(x, call, id, decide));
    x->reads = reads;
    return tunnel_change_begin(x);
}

static int check_expired(struct tunnel_change *x, const struct tunnel_state *t)
{
    return tunnel_is_expired(&x->ref, t)
               ? fail(&x->call->c, E_TUNNEL_EXPIRED,
                      "The tunnel has expired: changes have gone before its rows were read. Delete "
                      "it and create another one.")
               : E_OK;
}

/* ---- Connect ---- */

static int decide_connect(struct tunnel_change *x, struct tunnel_state *t)
{
    const struct wr_connect_tunnel *in = &x->call->req->connect_tunnel;
    bytes tag = in->tag;
    uint64_t number;

    TRY(check_expired(x, t));
    if (tag.len > TAG_BYTES_MAX || !bytes_is_utf8(tag))
        return fail(&x->call->c, E_PARAMETER, "A client's tag has at most %d bytes of UTF-8.",
                    TAG_BYTES_MAX);
    if (in->timeout_s > TIMEOUT_S_MAX)
        return fail(&x->call->c, E_PARAMETER,
                    "The timeout of a client is at most %d seconds: so long nobody else reads what "
                    "it had when it died.",
                    TIMEOUT_S_MAX);
    number = tunnel_connect(t, tag, in->timeout_s, x->call->now_ms);
    if (number == TUNNEL_NOBODY)
        return fail(&x->call->c, E_TUNNEL_UNAVAILABLE, "The tunnel has %d clients, the most.",
                    TUNNEL_CLIENTS_MAX);
    x->call->reply.tunnel_client.id = tunnel_client_id(&x->call->c.arena, tag, number);
    return E_OK;
}

int connect_tunnel_start(struct call *call)
{
    return begin(call, call->req->connect_tunnel.tunnel, decide_connect, false);
}

/* ---- Heartbeat ---- */

/* What the client shall have. */
static void reply_channels(struct call *call, const struct tunnel_state *t, uint64_t client)
{
    struct arena *a = &call->c.arena;
    struct wr_tunnel_report *list = ARENA_ARRAY(a, struct wr_tunnel_report, t->channel_count);
    struct wr_tunnel_reports *out = &call->reply.tunnel_channels;

    *out = (struct wr_tunnel_reports){.channels = list};
    for (size_t i = 0; i < t->channel_count; i++) {
        const struct tunnel_channel *c = &t->channels[i];

        if (c->owner == client)
            list[out->count++] = (struct wr_tunnel_report){arena_copy(a, c->id), c->version,
                                                           (enum wr_tunnel_status)c->status};
    }
}

static int decide_heartbeat(struct tunnel_change *x, struct tunnel_state *t)
{
    struct call *call = x->call;
    const struct wr_heartbeat_tunnel *in = &call->req->heartbeat_tunnel;
    struct tunnel_report *reports =
        ARENA_ARRAY(&call->c.arena, struct tunnel_report, in->channel_count);
    uint64_t client = tunnel_client_number(in->client);

    TRY(check_expired(x, t));
    for (size_t i = 0; i < in->channel_count; i++) {
        if (in->channels[i].status < WR_TUNNEL_OPEN ||
            in->channels[i].status > WR_TUNNEL_TERMINATED)
            return fail(&call->c, E_PARAMETER, "A channel has no such status: %d.",
                        (int)in->channels[i].status);
        reports[i] = (struct tunnel_report){in->channels[i].channel, in->channels[i].version,
                                            (enum tunnel_channel_status)in->channels[i].status};
    }
    TRY(tunnel_check(&call->c,
                     tunnel_heartbeat(t, client, reports, in->channel_count, call->now_ms)));
    reply_channels(call, t, client);
    return E_OK;
}

int heartbeat_tunnel_start(struct call *call)
{
    return begin(call, call->req->heartbeat_tunnel.tunnel, decide_heartbeat, false);
}

/* ---- Shutdown ---- */

static int decide_shutdown(struct tunnel_change *x, struct tunnel_state *t)
{
    tunnel_shutdown(t, tunnel_client_number(x->call->req->shutdown_tunnel.client));
    return E_OK;
}

int shutdown_tunnel_start(struct call *call)
{
    struct tunnel_change *x = ARENA_NEW(&call->c.arena, struct tunnel_change);

    TRY(tunnel_change_init(x, call, call->req->shutdown_tunnel.tunnel, decide_shutdown));
    x->leaves = true;
    return tunnel_change_begin(x);
}

/* ---- checkpoints ---- */

static int decide_get_checkpoint(struct tunnel_change *x, struct tunnel_state *t)
{
    const struct wr_tunnel_channel_of *in = &x->call->req->get_tunnel_checkpoint;
    struct tunnel_channel *channel;

    TRY(tunnel_check(&x->call->c, tunnel_channel_for(t, tunnel_client_number(in->client),
                                                     in->channel, &channel)));
    x->call->reply.tunnel_checkpoint = (struct wr_tunnel_checkpoint){
        arena_copy(&x->call->c.arena, channel->token), channel->number};
    return E_OK;
}

int get_tunnel_checkpoint_start(struct call *call)
{
    return begin(call, call->req->get_tunnel_checkpoint.tunnel, decide_get_checkpoint, true);
}

static int decide_checkpoint(struct tunnel_change *x, struct tunnel_state *t)
{
    const struct wr_tunnel_channel_of *in = &x->call->req->tunnel_checkpoint;
    struct ctx *c = &x->call->c;
    struct tunnel_channel *channel;
    struct stream_place changes;
    struct tunnel_place place;

    TRY(tunnel_check(
        c, tunnel_channel_for(t, tunnel_client_number(in->client), in->channel, &channel)));
    TRY(tunnel_place_read(c, &x->ref, channel, in->token, &place, &changes));
    return tunnel_check(c, tunnel_checkpoint(channel, in->token, in->number));
}

int tunnel_checkpoint_start(struct call *call)
{
    return begin(call, call->req->tunnel_checkpoint.tunnel, decide_checkpoint, false);
}
