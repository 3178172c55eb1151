#include "sql/mysql/reply.h"

#define CHARSET_BINARY 63
#define CHARSET_UTF8MB4 45
#define CHARACTER_BYTES 4 /* of utf8mb4, at most */
#define TEXT_BYTES_MAX (2 << 20)
#define NO_FRACTION 31 /* of a floating-point number: as many digits as it has */

enum flag {
    FLAG_NOT_NULL = 1,
    FLAG_KEY = 2,
    FLAG_BLOB = 16,
    FLAG_UNSIGNED = 32,
    FLAG_BINARY = 128,
};

/* How MySQL knows our types: its number of the type, and how wide a client should show it. */
static const struct {
    uint8_t code;
    uint32_t width;
    uint16_t flags;
    bool text;
} types[] = {
    [WR_NULL] = {6, 0, FLAG_BINARY, false},
    [WR_BOOLEAN] = {1, 1, FLAG_BINARY, false},
    [WR_TINYINT] = {1, 4, FLAG_BINARY, false},
    [WR_SMALLINT] = {2, 6, FLAG_BINARY, false},
    [WR_INTEGER] = {3, 11, FLAG_BINARY, false},
    [WR_BIGINT] = {8, 20, FLAG_BINARY, false},
    [WR_UBIGINT] = {8, 20, FLAG_BINARY | FLAG_UNSIGNED, false},
    [WR_FLOAT] = {4, 12, FLAG_BINARY, false},
    [WR_DOUBLE] = {5, 22, FLAG_BINARY, false},
    [WR_DECIMAL] = {246, 40, FLAG_BINARY, false},
    [WR_VARCHAR] = {253, TEXT_BYTES_MAX, 0, true},
    [WR_CHAR] = {254, 0, 0, true},
    [WR_BINARY] = {254, 0, FLAG_BINARY, false},
    [WR_VARBINARY] = {253, TEXT_BYTES_MAX, FLAG_BINARY, false},
    [WR_DATE] = {10, 10, FLAG_BINARY, false},
    [WR_TIME] = {11, 12, FLAG_BINARY, false},
    [WR_TIMESTAMP] = {7, 23, FLAG_BINARY, false},
    [WR_JSON] = {245, TEXT_BYTES_MAX, FLAG_BLOB | FLAG_BINARY, true},
};

uint8_t column_code(enum wr_type type)
{
    return types[type].code;
}

void reply_done_put(struct buf *b, const struct reply_done *d)
{
    buf_put_u8(b, 0);
    packet_put_length(b, d->affected);
    packet_put_length(b, 0); /* no number was made for a column */
    packet_put_u16(b, d->status);
    packet_put_u16(b, d->warnings);
    buf_put_bytes(b, d->info);
}

void reply_error_put(struct buf *b, uint16_t number, const char *state, bytes text)
{
    buf_put_u8(b, 0xff);
    packet_put_u16(b, number);
    buf_put_u8(b, '#');
    buf_put(b, state, 5);
    buf_put_bytes(b, text);
}

void reply_end_put(struct buf *b, uint32_t capabilities, uint16_t status, uint16_t warnings)
{
    buf_put_u8(b, 0xfe);
    if (capabilities & CAN_DEPRECATE_EOF) {
        packet_put_length(b, 0);
        packet_put_length(b, 0);
    } else {
        packet_put_u16(b, warnings);
    }
    packet_put_u16(b, status);
    if (capabilities & CAN_DEPRECATE_EOF)
        packet_put_u16(b, warnings);
}

/* In bytes. */
static uint32_t width_of(const struct column *c)
{
    if (c->type == WR_DECIMAL && c->digits)
        return (uint32_t)c->digits + 1 + (c->fraction > 0);
    if (!c->length)
        return types[c->type].width;
    return types[c->type].text ? c->length * CHARACTER_BYTES : c->length;
}

static uint8_t fraction_of(const struct column *c)
{
    switch (c->type) {
    case WR_FLOAT:
    case WR_DOUBLE:
        return NO_FRACTION;
    case WR_TIME:
    case WR_TIMESTAMP:
        return 3;
    default:
        return c->type == WR_DECIMAL ? c->fraction : 0;
    }
}

void column_put(struct buf *b, const struct column *c)
{
    uint16_t flags = types[c->type].flags;

    if (c->not_null)
        flags |= FLAG_NOT_NULL;
    if (c->key)
        flags |= FLAG_KEY;
    packet_put_counted(b, BYTES_LIT("def"));
    packet_put_counted(b, c->database);
    packet_put_counted(b, c->table);
    packet_put_counted(b, c->table);
    packet_put_counted(b, c->name);
    packet_put_counted(b, c->stored_name);
    packet_put_length(b, 12); /* bytes that follow */
    packet_put_u16(b, types[c->type].text ? CHARSET_UTF8MB4 : CHARSET_BINARY);
    buf_put_u32(b, width_of(c));
    buf_put_u8(b, types[c->type].code);
    packet_put_u16(b, flags);
    buf_put_u8(b, fraction_of(c));
    packet_put_u16(b, 0);
}
