#include "table/tunnel/tunnel_record.h"

#include "base/buf.h"

#define RECORD_VERSION 1
#define FLAG_ACTIVE 1 /* of a client */
#define FLAG_STREAM 1 /* of a channel */
#define FLAG_DONE 2
#define NUMBER_MAX                                                                                 \
    (INT64_MAX / 4 * 3) /* so that arithmetic with what is damaged is no overflow                  \
                         */

/* ---- writing ---- */

static void put_client(struct buf *b, const struct tunnel_client *client)
{
    buf_put_varint(b, client->number);
    buf_put_counted(b, client->tag);
    buf_put_varint(b, zigzag(client->timeout_s));
    buf_put_varint(b, zigzag(client->heard_ms));
    buf_put_u8(b, client->active ? FLAG_ACTIVE : 0);
}

static void put_channel(struct buf *b, const struct tunnel_channel *channel)
{
    buf_put_counted(b, channel->id);
    buf_put_counted(b, channel->token);
    buf_put_varint(b, zigzag(channel->number));
    buf_put_varint(b, zigzag(channel->version));
    buf_put_varint(b, channel->owner);
    for (size_t i = 0; i < 2; i++)
        buf_put_varint(b, (uint64_t)(channel->parents[i] + 1));
    buf_put_u8(b, (uint8_t)channel->status);
    buf_put_u8(b, (uint8_t)((channel->stream ? FLAG_STREAM : 0) | (channel->done ? FLAG_DONE : 0)));
}

bytes tunnel_record_encode(struct arena *a, const struct tunnel_state *t)
{
    struct buf b;

    buf_init(&b, a, 64 + 128 * t->channel_count);
    buf_put_u8(&b, RECORD_VERSION);
    buf_put_varint(&b, t->last_client);
    buf_put_varint(&b, t->client_count);
    for (size_t i = 0; i < t->client_count; i++)
        put_client(&b, &t->clients[i]);
    buf_put_varint(&b, t->channel_count);
    for (size_t i = 0; i < t->channel_count; i++)
        put_channel(&b, &t->channels[i]);
    return buf_bytes(&b);
}

/* ---- reading ---- */

/* A number of things that take a byte each at least. */
static size_t read_count(struct reader *r)
{
    uint64_t n = read_varint(r);

    r->bad |= n > reader_left(r);
    return r->bad ? 0 : (size_t)n;
}

static uint8_t read_flags(struct reader *r, uint8_t known)
{
    uint8_t flags = read_u8(r);

    r->bad |= (flags & ~known) != 0;
    return flags;
}

static void read_client(struct reader *r, struct tunnel_client *out)
{
    out->number = read_varint(r);
    out->tag = read_counted(r);
    out->timeout_s = unzigzag(read_varint(r));
    out->heard_ms = unzigzag(read_varint(r));
    out->active = read_flags(r, FLAG_ACTIVE) & FLAG_ACTIVE;
    r->bad |= out->number == TUNNEL_NOBODY || out->timeout_s <= 0 || out->heard_ms > NUMBER_MAX ||
              out->heard_ms < -NUMBER_MAX;
}

static void read_channel(struct reader *r, size_t channels, struct tunnel_channel *out)
{
    uint8_t flags;

    out->id = read_counted(r);
    out->token = read_counted(r);
    out->number = unzigzag(read_varint(r));
    out->version = unzigzag(read_varint(r));
    out->owner = read_varint(r);
    for (size_t i = 0; i < 2; i++) {
        uint64_t parent = read_varint(r);

        r->bad |= parent > channels;
        out->parents[i] = r->bad ? TUNNEL_NO_PARENT : (int)parent - 1;
    }
    out->status = (enum tunnel_channel_status)read_u8(r);
    flags = read_flags(r, FLAG_STREAM | FLAG_DONE);
    out->stream = flags & FLAG_STREAM;
    out->done = flags & FLAG_DONE;
    r->bad |= out->status > TUNNEL_TERMINATED || out->number < 0 || out->version < 0 ||
              out->version > NUMBER_MAX;
}

static void read_state(struct ctx *c, struct reader *r, struct tunnel_state *out)
{
    out->last_client = read_varint(r);
    out->client_count = read_count(r);
    out->clients = ARENA_ARRAY(&c->arena, struct tunnel_client, out->client_count + 1);
    for (size_t i = 0; i < out->client_count && !r->bad; i++)
        read_client(r, &out->clients[i]);
    out->channel_count = read_count(r);
    out->channels = ARENA_ARRAY(&c->arena, struct tunnel_channel, out->channel_count);
    for (size_t i = 0; i < out->channel_count && !r->bad; i++)
        read_channel(r, out->channel_count, &out->channels[i]);
}

int tunnel_record_decode(struct ctx *c, bytes value, struct tunnel_state *out)
{
    struct reader r = reader_of(value);
    uint8_t version = read_u8(&r);

    *out = (struct tunnel_state){0};
    if (version != RECORD_VERSION && !r.bad)
        return fail(c, E_FORMAT,
                    "The state of a tunnel has version %d; this server knows version %d.", version,
                    RECORD_VERSION);
    read_state(c, &r, out);
    if (r.bad || reader_left(&r))
        return fail(c, E_CORRUPT, "The state of a tunnel is damaged.");
    return E_OK;
}
