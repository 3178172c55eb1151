/* Tunnels, both ways. */
#include "wire/ots_part.h"

#include <openssl/evp.h>

#define TOKEN_VERSION 2
#define FINISHED BYTES_LIT("finished")

static const struct {
    bytes type, stage;
} words[] = {
    [WR_TUNNEL_BASE_DATA] = {BYTES_LIT("BaseData"), BYTES_LIT("ProcessBaseData")},
    [WR_TUNNEL_STREAM] = {BYTES_LIT("Stream"), BYTES_LIT("ProcessStream")},
    [WR_TUNNEL_BASE_AND_STREAM] = {BYTES_LIT("BaseAndStream"), BYTES_NONE},
};

static const bytes statuses[] = {
    [WR_TUNNEL_WAIT] = BYTES_LIT("WAIT"),
    [WR_TUNNEL_OPEN] = BYTES_LIT("OPEN"),
    [WR_TUNNEL_CLOSING] = BYTES_LIT("CLOSING"),
    [WR_TUNNEL_CLOSE] = BYTES_LIT("CLOSE"),
    [WR_TUNNEL_TERMINATED] = BYTES_LIT("TERMINATED"),
};

/* ---- tokens */

static bytes base64_encode(struct arena *a, bytes in)
{
    uint8_t *out = arena_alloc(a, (in.len + 2) / 3 * 4 + 1);

    return bytes_of(out, (size_t)EVP_EncodeBlock(out, in.ptr, (int)in.len));
}

/* False: it is not what base64_encode() makes. */
static bool base64_decode(struct arena *a, bytes in, bytes *out)
{
    uint8_t *p;
    int n;

    if (!in.len || in.len % 4 || in.len > INT32_MAX)
        return false;
    p = arena_alloc(a, in.len);
    n = EVP_DecodeBlock(p, in.ptr, (int)in.len);
    for (size_t i = 1; i <= 2 && n > 0 && bytes_u8(in)[in.len - i] == '='; i++)
        n--;
    if (n <= 0)
        return false;
    *out = bytes_of(p, (size_t)n);
    return bytes_equal(base64_encode(a, *out), in);
}

/* Clients take a token with an iterator for one of a channel of changes. */
static bytes wire_token(struct arena *a, bytes token)
{
    bool stream = token.len && *bytes_u8(token) == 's';
    size_t start;
    struct buf b;

    if (bytes_equal(token, FINISHED))
        return token;
    buf_init(&b, a, 32 + token.len);
    pb_put_int(&b, 1, TOKEN_VERSION);
    start = pb_open(&b, 2, 0);
    pb_put_bytes(&b, stream ? 2 : 1, token);
    pb_close(&b, start, 0);
    return base64_encode(a, buf_bytes(&b));
}

static const char text_token[] = "Invalid token: it was altered, or never given out.";

static int read_token(struct ctx *c, bytes wire, bytes *out)
{
    const Ots__TunnelTokenContent *content;
    const Ots__TunnelToken *token;
    const void *message;
    bytes decoded;

    *out = wire;
    if (bytes_equal(wire, FINISHED))
        return 0;
    if (!base64_decode(&c->arena, wire, &decoded))
        return fail(c, E_PARAMETER, "%s", text_token);
    TRY(pb_unpack(c, &ots__tunnel_token__descriptor, decoded, text_token, &message));
    token = message;
    if (token->version != TOKEN_VERSION)
        return fail(c, E_PARAMETER, "%s", text_token);
    TRY(pb_unpack(c, &ots__tunnel_token_content__descriptor, pb_view(token->content), text_token,
                  &message));
    content = message;
    *out = pb_view(content->iterator.len ? content->iterator : content->primary_key);
    return 0;
}

/* ---- CreateTunnel */

static void read_config(const Ots__StreamTunnelConfig *m, struct wr_tunnel_config *out)
{
    if (m)
        *out = (struct wr_tunnel_config){m->has_flag && m->flag == 1,
                                         m->has_start_offset ? m->start_offset : 0,
                                         m->has_end_offset ? m->end_offset : 0};
}

static void put_config(struct buf *b, unsigned field, const struct wr_tunnel_config *config)
{
    size_t start = pb_open(b, field, 0);

    pb_put_int(b, 1, config->earliest);
    if (config->start_ns)
        pb_put_int(b, 2, (int64_t)config->start_ns);
    if (config->end_ns)
        pb_put_int(b, 3, (int64_t)config->end_ns);
    pb_close(b, start, 0);
}

int ots_decode_create_tunnel_request(struct ctx *c, const void *message, struct wr_request *out)
{
    const Ots__Tunnel *m = ((const Ots__CreateTunnelRequest *)message)->tunnel;
    struct wr_create_tunnel *create = &out->create_tunnel;

    create->table = pb_view(m->table_name);
    create->name = pb_view(m->tunnel_name);
    create->type = (enum wr_tunnel_type)m->tunnel_type;
    read_config(m->stream_tunnel_config, &create->config);
    if (m->tunnel_type < WR_TUNNEL_BASE_DATA || m->tunnel_type > WR_TUNNEL_BASE_AND_STREAM)
        return ots_fail_parse(c);
    return 0;
}

void ots_encode_create_tunnel_request(struct buf *b, const struct wr_request *req)
{
    const struct wr_create_tunnel *create = &req->create_tunnel;
    size_t start = pb_open(b, 1, 0);

    pb_put_bytes(b, 1, create->table);
    pb_put_bytes(b, 3, create->name);
    pb_put_int(b, 4, create->type);
    put_config(b, 5, &create->config);
    pb_close(b, start, 0);
}

bytes ots_encode_create_tunnel_response(struct ctx *c, const struct wr_request *req,
                                        const struct wr_reply *reply)
{
    struct buf b;

    (void)req;
    buf_init(&b, &c->arena, 8 + reply->tunnel.id.len);
    pb_put_bytes(&b, 1, reply->tunnel.id);
    return buf_bytes(&b);
}

int ots_decode_create_tunnel_response(struct ctx *c, const void *message, struct wr_reply *out)
{
    const Ots__CreateTunnelResponse *m = message;

    (void)c;
    out->tunnel.id = pb_view(m->tunnel_id);
    return 0;
}

/* ---- what tunnels there are */

static void put_info(struct buf *b, bytes instance, const struct wr_tunnel_info *t)
{
    size_t start = pb_open(b, 1, 0);

    pb_put_bytes(b, 1, t->id);
    pb_put_bytes(b, 2, words[t->type].type);
    pb_put_bytes(b, 3, t->table);
    pb_put_bytes(b, 4, instance);
    pb_put_bytes(b, 5, t->stream);
    pb_put_bytes(b, 6, words[t->base_done ? WR_TUNNEL_STREAM : WR_TUNNEL_BASE_DATA].stage);
    pb_put_int(b, 7, t->expired);
    pb_put_bytes(b, 8, t->name);
    put_config(b, 10, &t->config);
    pb_put_int(b, 11, t->creation_us * 1000);
    pb_close(b, start, 0);
}

static int read_info(struct ctx *c, const Ots__TunnelInfo *m, struct wr_tunnel_info *out)
{
    *out = (struct wr_tunnel_info){
        .id = pb_view(m->tunnel_id),
        .table = pb_view(m->table_name),
        .name = m->has_tunnel_name ? pb_view(m->tunnel_name) : BYTES_NONE,
        .stream = pb_view(m->stream_id),
        .base_done = bytes_equal(pb_view(m->stage), words[WR_TUNNEL_STREAM].stage),
        .expired = m->has_expired && m->expired,
        .creation_us = m->has_create_time ? m->create_time / 1000 : 0,
    };
    read_config(m->stream_tunnel_config, &out->config);
    for (size_t i = WR_TUNNEL_BASE_DATA; i < PORT_COUNT(words); i++)
        if (bytes_equal(words[i].type, pb_view(m->tunnel_type)))
            out->type = (enum wr_tunnel_type)i;
    return out->type ? 0 : ots_fail_reply(c);
}

bytes ots_encode_list_tunnel_response(struct ctx *c, const struct wr_request *req,
                                      const struct wr_reply *reply)
{
    struct buf b;

    buf_init(&b, &c->arena, 256);
    for (size_t i = 0; i < reply->tunnels.count; i++)
        put_info(&b, req->instance, &reply->tunnels.tunnels[i]);
    return buf_bytes(&b);
}

int ots_decode_list_tunnel_response(struct ctx *c, const void *message, struct wr_reply *out)
{
    const Ots__ListTunnelResponse *m = message;
    struct wr_tunnel_info *list;

    TRY(ots_array(c, m->n_tunnels, sizeof(*list), &list));
    for (size_t i = 0; i < m->n_tunnels; i++)
        TRY(read_info(c, m->tunnels[i], &list[i]));
    out->tunnels = (struct wr_tunnel_list){list, m->n_tunnels};
    return 0;
}

/* DescribeTunnel and DeleteTunnel share their message and their struct. */
int ots_decode_tunnel_name_request(struct ctx *c, const void *message, struct wr_request *out)
{
    const Ots__TunnelNameRequest *m = message;

    (void)c;
    out->describe_tunnel = (struct wr_tunnel_name){pb_view(m->table_name), pb_view(m->tunnel_name)};
    return 0;
}

void ots_encode_tunnel_name_request(struct buf *b, const struct wr_request *req)
{
    pb_put_bytes(b, 1, req->describe_tunnel.table);
    pb_put_bytes(b, 2, req->describe_tunnel.name);
}

static void put_channel_info(struct buf *b, const struct wr_tunnel_channel *channel)
{
    size_t start = pb_open(b, 2, 0);

    pb_put_bytes(b, 1, channel->id);
    pb_put_bytes(b, 2, words[channel->stream ? WR_TUNNEL_STREAM : WR_TUNNEL_BASE_DATA].type);
    pb_put_bytes(b, 3, statuses[channel->status]);
    if (channel->client.ptr)
        pb_put_bytes(b, 4, channel->client);
    pb_put_int(b, 5, channel->consumed_us * 1000);
    pb_put_int(b, 6, channel->count);
    pb_close(b, start, 0);
}

/* That of the slowest channel of changes; 0: there is none, or one has not begun. */
static int64_t consumed_us(const struct wr_tunnel_description *d)
{
    int64_t least = INT64_MAX;

    for (size_t i = 0; i < d->channel_count; i++)
        if (d->channels[i].stream && d->channels[i].consumed_us < least)
            least = d->channels[i].consumed_us;
    return least == INT64_MAX ? 0 : least;
}

bytes ots_encode_describe_tunnel_response(struct ctx *c, const struct wr_request *req,
                                          const struct wr_reply *reply)
{
    const struct wr_tunnel_description *d = &reply->tunnel_description;
    struct buf b;

    buf_init(&b, &c->arena, 256 + 128 * d->channel_count);
    put_info(&b, req->instance, &d->info);
    for (size_t i = 0; i < d->channel_count; i++)
        put_channel_info(&b, &d->channels[i]);
    pb_put_int(&b, 3, consumed_us(d) * 1000);
    return buf_bytes(&b);
}

static int read_channel_info(struct ctx *c, const Ots__TunnelChannelInfo *m,
                             struct wr_tunnel_channel *out)
{
    size_t status = 0;

    *out = (struct wr_tunnel_channel){
        .id = pb_view(m->channel_id),
        .stream = m->has_channel_type &&
                  bytes_equal(pb_view(m->channel_type), words[WR_TUNNEL_STREAM].type),
        .client = m->has_client_id ? pb_view(m->client_id) : BYTES_NONE,
        .consumed_us = m->has_channel_rpo ? m->channel_rpo / 1000 : 0,
        .count = m->has_channel_count ? m->channel_count : 0,
    };
    while (status < PORT_COUNT(statuses) &&
           !bytes_equal(statuses[status], pb_view(m->channel_status)))
        status++;
    out->status = (enum wr_tunnel_status)status;
    return status < PORT_COUNT(statuses) ? 0 : ots_fail_reply(c);
}

int ots_decode_describe_tunnel_response(struct ctx *c, const void *message, struct wr_reply *out)
{
    const Ots__DescribeTunnelResponse *m = message;
    struct wr_tunnel_channel *channels;

    TRY(ots_array(c, m->n_channels, sizeof(*channels), &channels));
    for (size_t i = 0; i < m->n_channels; i++)
        TRY(read_channel_info(c, m->channels[i], &channels[i]));
    out->tunnel_description =
        (struct wr_tunnel_description){.channels = channels, .channel_count = m->n_channels};
    return read_info(c, m->tunnel, &out->tunnel_description.info);
}

/* ---- clients */

int ots_decode_connect_tunnel_request(struct ctx *c, const void *message, struct wr_request *out)
{
    const Ots__ConnectTunnelRequest *m = message;
    const Ots__TunnelClientConfig *config = m->client_config;

    (void)c;
    out->connect_tunnel = (struct wr_connect_tunnel){
        .table = ots_named_table(pb_view(m->tunnel_id)), .tunnel = pb_view(m->tunnel_id)};
    if (config && config->has_timeout)
        out->connect_tunnel.timeout_s = config->timeout;
    if (config && config->has_client_tag)
        out->connect_tunnel.tag = pb_view(config->client_tag);
    return 0;
}

void ots_encode_connect_tunnel_request(struct buf *b, const struct wr_request *req)
{
    size_t start;

    pb_put_bytes(b, 1, req->connect_tunnel.tunnel);
    start = pb_open(b, 2, 0);
    pb_put_int(b, 1, req->connect_tunnel.timeout_s);
    pb_put_bytes(b, 2, req->connect_tunnel.tag);
    pb_close(b, start, 0);
}

bytes ots_encode_connect_tunnel_response(struct ctx *c, const struct wr_request *req,
                                         const struct wr_reply *reply)
{
    struct buf b;

    (void)req;
    buf_init(&b, &c->arena, 8 + reply->tunnel_client.id.len);
    pb_put_bytes(&b, 1, reply->tunnel_client.id);
    return buf_bytes(&b);
}

int ots_decode_connect_tunnel_response(struct ctx *c, const void *message, struct wr_reply *out)
{
    const Ots__ConnectTunnelResponse *m = message;

    (void)c;
    out->tunnel_client.id = pb_view(m->client_id);
    return 0;
}

static int read_reports(struct ctx *c, size_t n, Ots__TunnelChannel **from,
                        const struct wr_tunnel_report **out)
{
    struct wr_tunnel_report *list;

    TRY(ots_array(c, n, sizeof(*list), &list));
    for (size_t i = 0; i < n; i++) {
        if (from[i]->status < WR_TUNNEL_OPEN || from[i]->status > WR_TUNNEL_TERMINATED)
            return ots_fail_parse(c);
        list[i] = (struct wr_tunnel_report){pb_view(from[i]->channel_id), from[i]->version,
                                            (enum wr_tunnel_status)from[i]->status};
    }
    *out = list;
    return 0;
}

static void put_reports(struct buf *b, unsigned field, const struct wr_tunnel_report *list,
                        size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t start = pb_open(b, field, 0);

        pb_put_bytes(b, 1, list[i].channel);
        pb_put_int(b, 2, list[i].version);
        pb_put_int(b, 3, list[i].status);
        pb_close(b, start, 0);
    }
}

int ots_decode_heartbeat_tunnel_request(struct ctx *c, const void *message, struct wr_request *out)
{
    const Ots__HeartbeatTunnelRequest *m = message;

    out->heartbeat_tunnel = (struct wr_heartbeat_tunnel){
        .table = ots_named_table(pb_view(m->tunnel_id)),
        .tunnel = pb_view(m->tunnel_id),
        .client = pb_view(m->client_id),
        .channel_count = m->n_channels,
    };
    return read_reports(c, m->n_channels, m->channels, &out->heartbeat_tunnel.channels);
}

void ots_encode_heartbeat_tunnel_request(struct buf *b, const struct wr_request *req)
{
    const struct wr_heartbeat_tunnel *h = &req->heartbeat_tunnel;

    pb_put_bytes(b, 1, h->tunnel);
    pb_put_bytes(b, 2, h->client);
    put_reports(b, 3, h->channels, h->channel_count);
}

bytes ots_encode_heartbeat_tunnel_response(struct ctx *c, const struct wr_request *req,
                                           const struct wr_reply *reply)
{
    struct buf b;

    (void)req;
    buf_init(&b, &c->arena, 64 * reply->tunnel_channels.count + 8);
    put_reports(&b, 1, reply->tunnel_channels.channels, reply->tunnel_channels.count);
    return buf_bytes(&b);
}

int ots_decode_heartbeat_tunnel_response(struct ctx *c, const void *message, struct wr_reply *out)
{
    const Ots__HeartbeatTunnelResponse *m = message;

    out->tunnel_channels.count = m->n_channels;
    return read_reports(c, m->n_channels, m->channels, &out->tunnel_channels.channels);
}

int ots_decode_shutdown_tunnel_request(struct ctx *c, const void *message, struct wr_request *out)
{
    const Ots__ShutdownTunnelRequest *m = message;

    (void)c;
    out->shutdown_tunnel = (struct wr_shutdown_tunnel){
        .table = ots_named_table(pb_view(m->tunnel_id)),
        .tunnel = pb_view(m->tunnel_id),
        .client = pb_view(m->client_id),
    };
    return 0;
}

void ots_encode_shutdown_tunnel_request(struct buf *b, const struct wr_request *req)
{
    pb_put_bytes(b, 1, req->shutdown_tunnel.tunnel);
    pb_put_bytes(b, 2, req->shutdown_tunnel.client);
}

/* ---- channels */

static struct wr_tunnel_channel_of
channel_of(ProtobufCBinaryData tunnel, ProtobufCBinaryData client, ProtobufCBinaryData channel)
{
    return (struct wr_tunnel_channel_of){.table = ots_named_table(pb_view(tunnel)),
                                         .tunnel = pb_view(tunnel),
                                         .client = pb_view(client),
                                         .channel = pb_view(channel)};
}

static void put_channel_of(struct buf *b, const struct wr_tunnel_channel_of *of)
{
    pb_put_bytes(b, 1, of->tunnel);
    pb_put_bytes(b, 2, of->client);
    pb_put_bytes(b, 3, of->channel);
}

int ots_decode_get_tunnel_checkpoint_request(struct ctx *c, const void *message,
                                             struct wr_request *out)
{
    const Ots__GetTunnelCheckpointRequest *m = message;

    (void)c;
    out->get_tunnel_checkpoint = channel_of(m->tunnel_id, m->client_id, m->channel_id);
    return 0;
}

void ots_encode_get_tunnel_checkpoint_request(struct buf *b, const struct wr_request *req)
{
    put_channel_of(b, &req->get_tunnel_checkpoint);
}

bytes ots_encode_get_tunnel_checkpoint_response(struct ctx *c, const struct wr_request *req,
                                                const struct wr_reply *reply)
{
    struct buf b;

    (void)req;
    buf_init(&b, &c->arena, 128);
    pb_put_bytes(&b, 1, wire_token(&c->arena, reply->tunnel_checkpoint.token));
    pb_put_int(&b, 2, reply->tunnel_checkpoint.number);
    return buf_bytes(&b);
}

int ots_decode_get_tunnel_checkpoint_response(struct ctx *c, const void *message,
                                              struct wr_reply *out)
{
    const Ots__GetTunnelCheckpointResponse *m = message;

    out->tunnel_checkpoint.number = m->sequence_number;
    return read_token(c, pb_view(m->checkpoint), &out->tunnel_checkpoint.token);
}

int ots_decode_tunnel_checkpoint_request(struct ctx *c, const void *message, struct wr_request *out)
{
    const Ots__TunnelCheckpointRequest *m = message;

    out->tunnel_checkpoint = channel_of(m->tunnel_id, m->client_id, m->channel_id);
    out->tunnel_checkpoint.number = m->sequence_number;
    return read_token(c, pb_view(m->checkpoint), &out->tunnel_checkpoint.token);
}

void ots_encode_tunnel_checkpoint_request(struct buf *b, const struct wr_request *req)
{
    put_channel_of(b, &req->tunnel_checkpoint);
    pb_put_bytes(b, 4, wire_token(b->arena, req->tunnel_checkpoint.token));
    pb_put_int(b, 5, req->tunnel_checkpoint.number);
}

/* ---- ReadRecords */

int ots_decode_read_tunnel_request(struct ctx *c, const void *message, struct wr_request *out)
{
    const Ots__ReadTunnelRequest *m = message;

    out->read_tunnel = channel_of(m->tunnel_id, m->client_id, m->channel_id);
    return read_token(c, pb_view(m->token), &out->read_tunnel.token);
}

void ots_encode_read_tunnel_request(struct buf *b, const struct wr_request *req)
{
    put_channel_of(b, &req->read_tunnel);
    pb_put_bytes(b, 4, wire_token(b->arena, req->read_tunnel.token));
}

/* A row, as if it were put now. */
static void put_base_row(struct buf *b, const struct wr_row *row)
{
    size_t n = ots_row_bytes(row), start = pb_open(b, 1, n);

    pb_put_int(b, 1, WR_PUT);
    ots_put_row(b, 2, row, n);
    pb_close(b, start, n);
}

bytes ots_encode_read_tunnel_response(struct ctx *c, const struct wr_request *req,
                                      const struct wr_reply *reply)
{
    const struct wr_tunnel_records *r = &reply->tunnel_records;
    struct buf b;

    (void)req;
    buf_init(&b, &c->arena, 256 + 256 * r->count);
    for (size_t i = 0; i < r->count; i++) {
        if (r->stream)
            ots_put_change(&b, &r->records[i], true);
        else
            put_base_row(&b, &r->records[i].row);
    }
    pb_put_bytes(&b, 2, wire_token(&c->arena, r->next));
    pb_put_int(&b, 3, r->more);
    return buf_bytes(&b);
}

int ots_decode_read_tunnel_response(struct ctx *c, const void *message, struct wr_reply *out)
{
    const Ots__ReadTunnelResponse *m = message;
    struct wr_tunnel_records *r = &out->tunnel_records;
    struct wr_stream_record *records;

    TRY(ots_array(c, m->n_records, sizeof(*records), &records));
    for (size_t i = 0; i < m->n_records; i++)
        TRY(ots_read_change(c, m->records[i], &records[i]));
    r->records = records;
    r->count = m->n_records;
    r->stream = m->n_records && records[0].timestamp_us;
    r->more = m->has_may_more_record && m->may_more_record;
    return read_token(c, pb_view(m->next_token), &r->next);
}
