#include "sql/mysql/handshake.h"

#define PROTOCOL_VERSION 10
#define CHARSET_UTF8MB4 45
#define STATUS_AUTOCOMMIT 2
#define AUTH_MORE_METHODS 0xfe
#define NONCE_FIRST_BYTES 8 /* of the nonce; the rest stands behind the capabilities */

static const uint32_t always = CAN_FOUND_ROWS | CAN_CONNECT_WITH_DB | CAN_PROTOCOL_41 |
                               CAN_TRANSACTIONS | CAN_SECURE | CAN_MULTI_RESULTS |
                               CAN_PREPARED_MULTI_RESULTS | CAN_PLUGIN_AUTH | CAN_ATTRIBUTES |
                               CAN_COUNTED_AUTH | CAN_DEPRECATE_EOF;

void greeting_put(struct buf *b, const struct greeting *g)
{
    uint32_t capabilities = always | (g->tls ? CAN_TLS : 0);

    buf_put_u8(b, PROTOCOL_VERSION);
    packet_put_string(b, g->version);
    buf_put_u32(b, g->connection);
    buf_put(b, g->nonce, NONCE_FIRST_BYTES);
    buf_put_u8(b, 0);
    packet_put_u16(b, (uint16_t)capabilities);
    buf_put_u8(b, CHARSET_UTF8MB4);
    packet_put_u16(b, STATUS_AUTOCOMMIT);
    packet_put_u16(b, (uint16_t)(capabilities >> 16));
    buf_put_u8(b, AUTH_NONCE_BYTES + 1);
    buf_put(b, "\0\0\0\0\0\0\0\0\0\0", 10);
    packet_put_string(b,
                      bytes_of(g->nonce + NONCE_FIRST_BYTES, AUTH_NONCE_BYTES - NONCE_FIRST_BYTES));
    packet_put_string(b, auth_method_name(AUTH_CACHING_SHA2));
}

void auth_switch_put(struct buf *b, enum auth_method m, const uint8_t nonce[AUTH_NONCE_BYTES])
{
    buf_put_u8(b, AUTH_MORE_METHODS);
    packet_put_string(b, auth_method_name(m));
    packet_put_string(b, bytes_of(nonce, AUTH_NONCE_BYTES));
}

/* The client's answer to the nonce, in the form that its capabilities say. */
static bytes answer_read(struct reader *r, uint32_t capabilities)
{
    if (capabilities & CAN_COUNTED_AUTH)
        return packet_read_counted(r);
    return read_bytes(r, read_u8(r));
}

/* The method that the client names, which need not be there; without a name it is the old one. */
static enum auth_method method_read(struct reader *r, uint32_t capabilities)
{
    if (!(capabilities & CAN_PLUGIN_AUTH) || !reader_left(r))
        return AUTH_NATIVE;
    return auth_method_of(packet_read_string(r));
}

enum handshake_kind handshake_parse(bytes payload, struct handshake *out)
{
    struct reader r = reader_of(payload);
    uint32_t said = read_u32(&r);

    *out = (struct handshake){.capabilities = said & (always | CAN_TLS)};
    if (!(said & CAN_PROTOCOL_41) || !(said & CAN_SECURE))
        return HANDSHAKE_BAD;
    read_bytes(&r, 4 + 1 + 23); /* its largest packet, its character set, room */
    if (r.bad)
        return HANDSHAKE_BAD;
    if (said & CAN_TLS && !reader_left(&r))
        return HANDSHAKE_TLS;
    out->user = packet_read_string(&r);
    out->answer = answer_read(&r, said);
    if (said & CAN_CONNECT_WITH_DB)
        out->database = packet_read_string(&r);
    out->method = method_read(&r, said);
    return r.bad ? HANDSHAKE_BAD : HANDSHAKE_WHOLE; /* attributes behind it say nothing to us */
}

bool change_user_parse(bytes payload, uint32_t capabilities, struct handshake *out)
{
    struct reader r = reader_of(payload);

    *out = (struct handshake){.capabilities = capabilities};
    out->user = packet_read_string(&r);
    out->answer = read_bytes(&r, read_u8(&r));
    out->database = packet_read_string(&r);
    if (reader_left(&r))
        packet_read_u16(&r); /* character set */
    out->method = method_read(&r, capabilities);
    return !r.bad;
}
