#include "sql/mysql/parameters.h"

#include "sql/calendar.h"

#define TYPE_UNSIGNED 0x80

/* The protocol's types that clients send. */
enum code {
    CODE_DECIMAL = 0, /* of MySQL Connector/Python; others send NEWDECIMAL */
    CODE_TINY = 1,
    CODE_SHORT = 2,
    CODE_LONG = 3,
    CODE_FLOAT = 4,
    CODE_DOUBLE = 5,
    CODE_NULL = 6,
    CODE_TIMESTAMP = 7,
    CODE_LONGLONG = 8,
    CODE_INT24 = 9,
    CODE_DATE = 10,
    CODE_TIME = 11,
    CODE_DATETIME = 12,
    CODE_YEAR = 13,
    CODE_VARCHAR = 15,
    CODE_JSON = 245,
    CODE_NEWDECIMAL = 246,
    CODE_TINY_BLOB = 249,
    CODE_BLOB = 252,
    CODE_VAR_STRING = 253,
    CODE_STRING = 254,
};

/* Bytes of a whole number; 0: the type is none. */
static size_t integer_size(uint8_t code)
{
    switch (code) {
    case CODE_TINY:
        return 1;
    case CODE_SHORT:
    case CODE_YEAR:
        return 2;
    case CODE_LONG:
    case CODE_INT24:
        return 4;
    case CODE_LONGLONG:
        return 8;
    default:
        return 0;
    }
}

static void integer_read(struct reader *r, size_t size, bool is_unsigned, struct wr_value *out)
{
    bytes b = read_bytes(r, size);
    uint64_t v = 0;

    for (size_t i = 0; b.ptr && i < size; i++)
        v |= (uint64_t)bytes_u8(b)[i] << 8 * i;
    if (is_unsigned && size == 8) {
        out->type = WR_UBIGINT;
        out->uinteger = v;
        return;
    }
    if (!is_unsigned && size < 8 && v >> (8 * size - 1))
        v |= UINT64_MAX << 8 * size;
    out->type = WR_BIGINT;
    out->integer = (int64_t)v;
}

static void real_read(struct reader *r, uint8_t code, struct wr_value *out)
{
    uint64_t bits;
    uint32_t single_bits;
    float single;

    out->type = WR_DOUBLE;
    if (code == CODE_FLOAT) {
        single_bits = read_u32(r);
        memcpy(&single, &single_bits, sizeof(single));
        out->real = single;
    } else {
        bits = read_u64(r);
        memcpy(&out->real, &bits, sizeof(bits));
    }
}

static void day_read(struct reader *r, struct calendar *c)
{
    c->year = packet_read_u16(r);
    c->month = read_u8(r);
    c->day = read_u8(r);
}

static void clock_read(struct reader *r, size_t left, struct calendar *c)
{
    c->hour = read_u8(r);
    c->minute = read_u8(r);
    c->second = read_u8(r);
    if (left > 3)
        c->ms = (int)(read_u32(r) / 1000);
}

/* A date, perhaps with a time: of 4, 7 or 11 bytes. */
static bool moment_read(struct reader *r, struct wr_value *out)
{
    struct calendar c = {0};
    uint8_t size = read_u8(r);

    if (size != 4 && size != 7 && size != 11)
        return false;
    day_read(r, &c);
    if (size > 4)
        clock_read(r, size - 4u, &c);
    out->type = WR_TIMESTAMP;
    return calendar_to_ms(&c, &out->integer);
}

/* A time of day, of 0, 8 or 12 bytes; MySQL's go below zero and past a day, ours do not. */
static bool time_read(struct reader *r, struct wr_value *out)
{
    struct calendar c = {.year = 1970, .month = 1, .day = 1};
    uint8_t size = read_u8(r), negative;
    uint32_t days;

    if (size != 0 && size != 8 && size != 12)
        return false;
    if (size) {
        negative = read_u8(r);
        days = read_u32(r);
        clock_read(r, size - 5u, &c);
        if (negative || days)
            return false;
    }
    out->type = WR_TIME;
    return calendar_to_ms(&c, &out->integer);
}

static bool value_read(struct reader *r, struct parameter_type type, struct wr_value *out)
{
    size_t size = integer_size(type.code);

    if (size) {
        integer_read(r, size, type.is_unsigned, out);
        return true;
    }
    switch (type.code) {
    case CODE_FLOAT:
    case CODE_DOUBLE:
        real_read(r, type.code, out);
        return true;
    case CODE_DATE:
    case CODE_DATETIME:
    case CODE_TIMESTAMP:
        return moment_read(r, out);
    case CODE_TIME:
        return time_read(r, out);
    case CODE_NULL:
        out->type = WR_NULL;
        return true;
    case CODE_DECIMAL:
    case CODE_VARCHAR:
    case CODE_JSON:
    case CODE_NEWDECIMAL:
    case CODE_VAR_STRING:
    case CODE_STRING:
        out->type = WR_VARCHAR;
        break;
    default:
        if (type.code < CODE_TINY_BLOB || type.code > CODE_BLOB)
            return false;
        out->type = WR_VARBINARY;
    }
    out->bytes = packet_read_counted(r);
    return true;
}

/* The value that came beforehand, in pieces; its type tells only whether it is a text. */
static void long_take(struct parameter_type type, bytes v, struct wr_value *out)
{
    out->type = type.code >= CODE_TINY_BLOB && type.code <= CODE_BLOB ? WR_VARBINARY : WR_VARCHAR;
    out->bytes = v;
}

bool parameters_parse(struct reader *r, struct parameter_type *types, bool *known,
                      const bytes *longs, size_t count, struct wr_value *out)
{
    bytes nulls = read_bytes(r, (count + 7) / 8);

    if (!count)
        return !r->bad;
    if (read_u8(r)) {
        for (size_t i = 0; i < count; i++) {
            types[i].code = read_u8(r);
            types[i].is_unsigned = read_u8(r) & TYPE_UNSIGNED;
        }
        *known = !r->bad;
    }
    if (r->bad || !*known)
        return false;
    for (size_t i = 0; i < count; i++) {
        out[i] = (struct wr_value){.type = WR_NULL};
        if (longs[i].ptr)
            long_take(types[i], longs[i], &out[i]);
        else if (!(bytes_u8(nulls)[i / 8] & 1 << i % 8) && !value_read(r, types[i], &out[i]))
            return false;
    }
    return !r->bad;
}
