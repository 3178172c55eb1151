/* key.c: the order-preserving key codec, and the checks of keys that clients send.
 *
 * A column is a tag and a payload. Tags of values lie between those of the two bounds, ascending
 * (0x40 + type) as well as inverted for a descending column (0xBF - type), so that a bound is one
 * byte that sorts below or above every value of its column whichever way the column runs:
 *
 *     0x01                 INF_MIN
 *     0x40                 kept for NULL, below every value, should a key ever hold one
 *     0x41 … 0x51          a value, by type
 *     0xAE … 0xBE          a value of a descending column
 *     0xFF                 INF_MAX
 *
 * No payload is a prefix of another one of its type. Hence inverting every byte of tag and payload
 * turns the order round exactly, and what follows a column (the next column, a cell's id) counts
 * only between equal values. Equal values have one encoding: -0.0 is written as 0.0, a DECIMAL
 * without needless zeros, CHAR and BINARY padded. */
#include "table/model/key.h"

#include "base/limit.h"
#include "table/model/decimal.h"
#include "table/model/name.h"
#include "table/model/value.h"

#include <math.h>

enum tag {
    TAG_INF_MIN = 0x01,
    TAG_VALUE = 0x40, /* plus the type */
    TAG_INF_MAX = 0xFF,
};

/* In texts, a zero byte is followed by ESCAPED, and the end is a zero byte and END. */
enum { TEXT_END = 0x01, TEXT_ESCAPED = 0xFF };

/* A DECIMAL is one of these, then (but for zero) the exponent and the digits, two a byte plus 1,
 * and a 0 byte. All that follows the first byte of a negative number is inverted. */
enum { DECIMAL_NEGATIVE = 0x40, DECIMAL_ZERO = 0x80, DECIMAL_POSITIVE = 0xC0, DECIMAL_BIAS = 0x80 };

#define DECIMAL_ENCODED_MAX (3 + (DECIMAL_DIGITS_MAX + 1) / 2)

/* ---- writing */

void key_put_prefix(struct buf *b, uint32_t table, uint8_t bucket, enum key_kind kind)
{
    uint8_t *p = buf_reserve(b, KEY_PREFIX_BYTES);

    store_u32_be(p, table);
    p[4] = bucket;
    p[5] = (uint8_t)kind;
    buf_commit(b, KEY_PREFIX_BYTES);
}

bytes key_prefix(struct arena *a, uint32_t table, uint8_t bucket, enum key_kind kind)
{
    struct buf b;

    buf_init(&b, a, KEY_PREFIX_BYTES);
    key_put_prefix(&b, table, bucket, kind);
    return buf_bytes(&b);
}

/* No id and no encoded name begins with so many bytes 0xFF. */
void key_put_past(struct buf *b)
{
    memset(buf_reserve(b, KEY_PAST_BYTES), 0xFF, KEY_PAST_BYTES);
    buf_commit(b, KEY_PAST_BYTES);
}

/* A text without its end. */
static void key_put_escaped(struct buf *b, bytes text)
{
    static const uint8_t zero[2] = {0, TEXT_ESCAPED};
    const uint8_t *p = text.ptr, *end = p + text.len, *stop;

    while (p < end && (stop = memchr(p, 0, (size_t)(end - p)))) {
        buf_put(b, p, (size_t)(stop - p));
        buf_put(b, zero, sizeof(zero));
        p = stop + 1;
    }
    if (p < end)
        buf_put(b, p, (size_t)(end - p));
}

static void put_text_end(struct buf *b)
{
    static const uint8_t mark[2] = {0, TEXT_END};

    buf_put(b, mark, sizeof(mark));
}

void key_put_text(struct buf *b, bytes text)
{
    key_put_escaped(b, text);
    put_text_end(b);
}

/* CHAR goes on with spaces and BINARY with zeros up to the column's length. */
static bool put_padded(struct buf *b, const struct wr_key_schema *schema, bytes text)
{
    if (schema->length && text.len > schema->length)
        return false;
    key_put_escaped(b, text);
    for (size_t i = text.len; i < schema->length; i++) {
        if (schema->type == WR_CHAR)
            buf_put_u8(b, ' ');
        else
            key_put_escaped(b, bytes_of("", 1));
    }
    put_text_end(b);
    return true;
}

static bool put_decimal(struct buf *b, bytes text)
{
    uint8_t *start = buf_reserve(b, DECIMAL_ENCODED_MAX), *p = start;
    struct decimal d;

    if (!decimal_parse(text, &d))
        return false;
    if (d.count == 0) {
        buf_put_u8(b, DECIMAL_ZERO);
        return true;
    }
    *p++ = d.negative ? DECIMAL_NEGATIVE : DECIMAL_POSITIVE;
    *p++ = (uint8_t)(DECIMAL_BIAS + d.exponent);
    for (int i = 0; i < d.count; i += 2)
        *p++ = (uint8_t)(10 * d.digits[i] + (i + 1 < d.count ? d.digits[i + 1] : 0) + 1);
    *p++ = 0;
    if (d.negative)
        for (uint8_t *q = start + 1; q < p; q++)
            *q = (uint8_t) ~*q;
    buf_commit(b, (size_t)(p - start));
    return true;
}

static uint64_t top_bit(size_t width)
{
    return 1ull << (8 * width - 1);
}

/* The bits of a number so that they sort unsigned as the numbers do. Negative IEEE numbers sort the
 * wrong way round, so all their bits are inverted; of positive ones only the sign. */
static uint64_t ordered_bits(const struct wr_value *v, size_t width)
{
    struct wr_value real = {.type = v->type};
    uint64_t bits;

    switch (v->type) {
    case WR_BOOLEAN:
    case WR_UBIGINT:
        return value_bits(v);
    case WR_FLOAT:
    case WR_DOUBLE:
        real.real = isnan(v->real) ? (double)NAN : v->real == 0 ? 0.0 : v->real;
        bits = value_bits(&real);
        if (v->type == WR_FLOAT && bits == top_bit(4))
            bits = 0; /* a DOUBLE just below 0 that a FLOAT rounds to -0.0 */
        return bits & top_bit(width) ? ~bits : bits ^ top_bit(width);
    default:
        return value_bits(v) ^ top_bit(width);
    }
}

static uint64_t unordered_bits(enum wr_type type, uint64_t bits, size_t width)
{
    switch (type) {
    case WR_BOOLEAN:
    case WR_UBIGINT:
        return bits;
    case WR_FLOAT:
    case WR_DOUBLE:
        return bits & top_bit(width) ? bits ^ top_bit(width) : ~bits;
    default:
        return bits ^ top_bit(width);
    }
}

static void key_put_number(struct buf *b, const struct wr_value *v)
{
    size_t width = value_width(v->type);

    store_u64_be(buf_reserve(b, 8), ordered_bits(v, width) << 8 * (8 - width));
    buf_commit(b, width);
}

/* Tag and payload as an ascending column has them; false if the value cannot be one of the column.
 */
static bool key_put_value(struct buf *b, const struct wr_key_schema *schema,
                          const struct wr_value *v)
{
    if (v->type != schema->type || !value_is_key_type(v->type))
        return false;
    buf_put_u8(b, (uint8_t)(TAG_VALUE + v->type));
    switch (v->type) {
    case WR_VARCHAR:
    case WR_VARBINARY:
        key_put_text(b, v->bytes);
        return true;
    case WR_CHAR:
    case WR_BINARY:
        return put_padded(b, schema, v->bytes);
    case WR_DECIMAL:
        return put_decimal(b, v->bytes);
    default:
        key_put_number(b, v);
        return true;
    }
}

bool key_put_column(struct buf *b, const struct wr_key_schema *schema, const struct wr_value *v)
{
    size_t start = b->len;

    if (PORT_UNLIKELY(!key_put_value(b, schema, v)))
        return false;
    if (schema->descending)
        for (size_t k = start; k < b->len; k++)
            b->data[k] = (uint8_t)~b->data[k];
    return true;
}

int key_put_columns(struct ctx *c, struct buf *b, const struct wr_key_schema *schema,
                    const struct wr_key_column *columns, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct wr_value *v = &columns[i].value;

        if (v->type == WR_INF_MIN || v->type == WR_INF_MAX) {
            buf_put_u8(b, v->type == WR_INF_MIN ? TAG_INF_MIN : TAG_INF_MAX);
            continue;
        }
        if (PORT_UNLIKELY(!key_put_column(b, &schema[i], v)))
            return fail(c, E_INTERNAL, "key column %zu: %s is no value of a %s column", i,
                        value_type_name(v->type), value_type_name(schema[i].type));
    }
    return 0;
}

/* ---- reading
 *
 * `flip` is 0xFF in a descending column and 0 else; a byte is what was written xor flip. */

/* Reads a text up to its end; one that stands there as it is points there. Everything that is not a
 * text sets r->bad. */
static bytes read_text(struct ctx *c, struct reader *r, uint8_t flip)
{
    const uint8_t *p = r->at, *stop;
    uint8_t *out, *to;
    bool escaped = false;

    for (;;) {
        stop = p < r->end ? memchr(p, flip, (size_t)(r->end - p)) : NULL;
        if (!stop || r->end - stop < 2)
            goto bad;
        p = stop + 2;
        if ((stop[1] ^ flip) == TEXT_END)
            break;
        if ((stop[1] ^ flip) != TEXT_ESCAPED)
            goto bad;
        escaped = true;
    }
    p = r->at;
    r->at = stop + 2;
    if (PORT_LIKELY(!flip && !escaped))
        return bytes_of(p, (size_t)(stop - p));
    out = to = arena_try_alloc(&c->arena, (size_t)(stop - p) + 1);
    if (!out)
        goto bad;
    for (; p < stop; p++) {
        *to++ = *p ^ flip;
        p += *p == flip; /* over the byte that says "escaped" */
    }
    return bytes_of(out, (size_t)(to - out));
bad:
    r->bad = true;
    return BYTES_NONE;
}

int key_read_text(struct ctx *c, struct reader *r, bytes *out)
{
    bytes text = read_text(c, r, 0);

    if (r->bad)
        return fail(c, E_CORRUPT, "damaged key: a text has no end");
    *out = arena_copy(&c->arena, text);
    return 0;
}

/* The digits of a DECIMAL behind sign and exponent, each byte xor flip; false if they are not what
 * put_decimal() writes. */
static bool read_digits(struct reader *r, uint8_t flip, struct decimal *d)
{
    for (;;) {
        int pair = (read_u8(r) ^ flip) - 1;

        if (r->bad)
            return false;
        if (pair < 0)
            break;
        if (pair > 99 || d->count >= DECIMAL_DIGITS_MAX)
            return false;
        d->digits[d->count++] = (uint8_t)(pair / 10);
        d->digits[d->count++] = (uint8_t)(pair % 10);
    }
    if (d->count == 0 || d->digits[0] == 0)
        return false;
    if (d->digits[d->count - 1] == 0)
        d->count--;
    return d->digits[d->count - 1] != 0 && decimal_whole_digits(d) <= DECIMAL_DIGITS_MAX &&
           decimal_scale(d) <= DECIMAL_DIGITS_MAX;
}

static bytes read_decimal(struct ctx *c, struct reader *r, uint8_t flip, int scale)
{
    uint8_t sign = read_u8(r) ^ flip;
    struct decimal d = {0};

    if (sign == DECIMAL_NEGATIVE || sign == DECIMAL_POSITIVE) {
        d.negative = sign == DECIMAL_NEGATIVE;
        if (d.negative)
            flip = (uint8_t)~flip;
        d.exponent = (read_u8(r) ^ flip) - DECIMAL_BIAS;
        r->bad |= !read_digits(r, flip, &d);
    } else if (sign != DECIMAL_ZERO) {
        r->bad = true;
    }
    return r->bad ? BYTES_NONE : decimal_format(&c->arena, &d, scale);
}

/* The lowest `width` bytes. */
static uint64_t narrow(uint64_t bits, size_t width)
{
    return width < 8 ? bits & ((1ull << 8 * width) - 1) : bits;
}

static void key_read_number(struct reader *r, enum wr_type type, uint8_t flip, struct wr_value *out)
{
    size_t width = value_width(type);
    bytes payload = read_bytes(r, width);
    uint64_t bits = 0, stored;

    if (r->bad)
        return;
    for (size_t i = 0; i < width; i++)
        bits = bits << 8 | (bytes_u8(payload)[i] ^ flip);
    stored = bits;
    bits = unordered_bits(type, bits, width);
    bits = narrow(bits, width);
    /* Some bits are no value, and of some values only one form is ever written. */
    r->bad |=
        !value_from_bits(type, bits, out) || narrow(ordered_bits(out, width), width) != stored;
}

static void key_read_value(struct ctx *c, struct reader *r, const struct wr_key_schema *schema,
                           struct wr_value *out)
{
    uint8_t flip = schema->descending ? 0xFF : 0;

    *out = (struct wr_value){.type = schema->type};
    if (!value_is_key_type(schema->type) || (read_u8(r) ^ flip) != TAG_VALUE + schema->type)
        r->bad = true;
    else if (schema->type == WR_DECIMAL)
        out->bytes = read_decimal(c, r, flip, (int)(schema->length & 0xFF));
    else if (value_is_bytes(schema->type))
        out->bytes = read_text(c, r, flip);
    else
        key_read_number(r, schema->type, flip, out);
    if ((schema->type == WR_CHAR || schema->type == WR_BINARY) && schema->length)
        r->bad |= out->bytes.len != schema->length; /* they are padded */
}

int key_view_columns(struct ctx *c, bytes encoded, const struct wr_key_schema *schema, size_t count,
                     struct wr_key_column *out, size_t *used)
{
    struct reader r = reader_of(encoded);

    for (size_t i = 0; i < count; i++) {
        out[i].name = schema[i].name;
        key_read_value(c, &r, &schema[i], &out[i].value);
        if (PORT_UNLIKELY(r.bad))
            return fail(c, E_CORRUPT, "damaged key: column %zu of %zu is not a %s", i + 1, count,
                        value_type_name(schema[i].type));
    }
    *used = encoded.len - reader_left(&r);
    return 0;
}

int key_read_columns(struct ctx *c, bytes encoded, const struct wr_key_schema *schema, size_t count,
                     struct wr_key_column *out, size_t *used)
{
    TRY(key_view_columns(c, encoded, schema, count, out, used));
    for (size_t i = 0; i < count; i++)
        out[i].value = value_copy(&c->arena, &out[i].value);
    return 0;
}

/* ---- parts of an encoded key
 *
 * These are called with what key_put_columns() wrote; damaged bytes give lengths within `encoded`.
 */

/* A DECIMAL behind its tag. */
static size_t decimal_length(const uint8_t *p, size_t len, uint8_t flip)
{
    uint8_t sign = len ? p[0] ^ flip : DECIMAL_ZERO, end;
    size_t n = 2;

    if (sign == DECIMAL_ZERO)
        return 1;
    end = sign == DECIMAL_NEGATIVE ? (uint8_t)~flip : flip;
    while (n < len && p[n] != end)
        n++;
    return n + 1;
}

/* A text behind its tag. */
static size_t text_length(const uint8_t *p, size_t len, uint8_t flip)
{
    const uint8_t *end = p + len, *stop = p;

    while (stop < end && (stop = memchr(stop, flip, (size_t)(end - stop)))) {
        if (stop + 1 < end && (stop[1] ^ flip) == TEXT_END)
            return (size_t)(stop - p) + 2;
        stop += 2;
    }
    return len;
}

static size_t column_length(const struct wr_key_schema *schema, const uint8_t *p, size_t len)
{
    uint8_t flip = schema->descending ? 0xFF : 0;
    size_t n = value_width(schema->type);

    if (len == 0)
        return 0;
    if (schema->type == WR_DECIMAL)
        n = decimal_length(p + 1, len - 1, flip);
    else if (value_is_bytes(schema->type))
        n = text_length(p + 1, len - 1, flip);
    return n + 1 < len ? n + 1 : len;
}

size_t key_columns_length(const struct wr_key_schema *schema, bytes encoded, size_t count)
{
    size_t n = 0;

    for (size_t i = 0; i < count; i++)
        n += column_length(&schema[i], bytes_u8(encoded) + n, encoded.len - n);
    return n;
}

bytes key_column_bytes(const struct wr_key_schema *schema, bytes encoded, size_t at)
{
    bytes rest = bytes_skip(encoded, key_columns_length(schema, encoded, at));

    rest.len = column_length(&schema[at], rest.ptr, rest.len);
    return rest;
}

int64_t key_column_integer(const struct wr_key_schema *schema, bytes column)
{
    size_t width = value_width(schema->type);
    uint8_t flip = schema->descending ? 0xFF : 0;
    uint64_t bits = 0;

    if (column.len != width + 1)
        return 0;
    for (size_t i = 1; i <= width; i++)
        bits = bits << 8 | (bytes_u8(column)[i] ^ flip);
    if (schema->type == WR_UBIGINT)
        return (int64_t)bits;
    bits = (bits ^ top_bit(width)) << (64 - 8 * width);
    return (int64_t)bits >> (64 - 8 * width);
}

/* ---- checks */

bool key_starts_with_value(bytes encoded)
{
    uint8_t tag = encoded.len ? *bytes_u8(encoded) : TAG_INF_MIN;

    return tag != TAG_INF_MIN && tag != TAG_INF_MAX;
}

static int check_placeholder(struct ctx *c, enum wr_type type, enum key_use use)
{
    if (type == WR_AUTO_INCREMENT && use != KEY_WRITE)
        return fail(c, E_PARAMETER, "PKAutoIncr can't be used for read operations.");
    if (type != WR_AUTO_INCREMENT && use != KEY_BOUND)
        return fail(c, E_PARAMETER, "%s is an invalid type for the primary key.",
                    value_type_name(type));
    return 0;
}

static int key_check_length(struct ctx *c, bytes name, size_t length, size_t length_max)
{
    if (PORT_UNLIKELY(length > length_max))
        return fail(c, E_PARAMETER,
                    "The length of primary key column: '%.*s' exceeds the MaxLength:%zu with "
                    "CurrentLength:%zu.",
                    BYTES_FMT(name_text(c, name)), length_max, length);
    return 0;
}

static bool is_placeholder(enum wr_type type)
{
    return type == WR_INF_MIN || type == WR_INF_MAX || type == WR_AUTO_INCREMENT;
}

/* What can be said of one column's value without its table. */
static int key_check_value(struct ctx *c, const struct limits *limits,
                           const struct wr_key_column *column, enum key_use use)
{
    const struct wr_value *v = &column->value;

    if (is_placeholder(v->type))
        return check_placeholder(c, v->type, use);
    if (PORT_UNLIKELY(!value_is_key_type(v->type)))
        return fail(c, E_PARAMETER, "%s is an invalid type for the primary key.",
                    value_type_name(v->type));
    if (value_is_bytes(v->type))
        TRY(key_check_length(c, column->name, v->bytes.len, (size_t)limits->key_value_bytes_max));
    if (value_is_text(v->type) && PORT_UNLIKELY(!bytes_is_utf8(v->bytes)))
        return fail(c, E_PARAMETER, "Value of column '%.*s' must be UTF8 encoding.",
                    BYTES_FMT(name_text(c, column->name)));
    if (PORT_UNLIKELY(!value_in_range(v)))
        return fail(c, E_PARAMETER, "Value of column '%.*s' is out of range for %s.",
                    BYTES_FMT(name_text(c, column->name)), value_type_name(v->type));
    return 0;
}

/* What the column's own length says of a value that is right in itself. */
static int check_fits(struct ctx *c, const struct wr_key_schema *schema, const struct wr_value *v)
{
    int precision = (int)(schema->length >> 8), scale = (int)(schema->length & 0xFF);
    struct decimal d;

    if (schema->length == 0)
        return 0;
    if (v->type == WR_CHAR || v->type == WR_BINARY)
        return key_check_length(c, schema->name, v->bytes.len, schema->length);
    if (v->type == WR_DECIMAL && decimal_parse(v->bytes, &d) &&
        (decimal_scale(&d) > scale || decimal_whole_digits(&d) > precision - scale))
        return fail(c, E_PARAMETER, "Value of column '%.*s' is out of range for DECIMAL(%d,%d).",
                    BYTES_FMT(schema->name), precision, scale);
    return 0;
}

static int fail_count(struct ctx *c, const struct limits *limits)
{
    return fail(c, E_PARAMETER, "The number of primary key columns must be in range: [1, %lld].",
                (long long)limits->key_columns_max);
}

int key_check(struct ctx *c, const struct limits *limits, const struct wr_key_schema *schema,
              size_t count, const struct wr_key *key, enum key_use use)
{
    size_t most = (size_t)limits->key_columns_max;

    if (PORT_UNLIKELY(key->count > most && count <= most)) /* another table's key may be so long */
        return fail_count(c, limits);
    if (PORT_UNLIKELY(key->count != count))
        return fail(c, E_INVALID_PK, "Validate PK size fail. Input: %zu, Meta: %zu.", key->count,
                    count);
    for (size_t i = 0; i < count; i++) {
        const struct wr_key_column *column = &key->columns[i];
        enum wr_type type = column->value.type;

        if (PORT_UNLIKELY(!bytes_equal(column->name, schema[i].name)))
            return fail(c, E_INVALID_PK, "Validate PK name fail. Input: %.*s, Meta: %.*s.",
                        BYTES_FMT(name_text(c, column->name)), BYTES_FMT(schema[i].name));
        TRY(key_check_value(c, limits, column, use));
        if (type == WR_INF_MIN || type == WR_INF_MAX ||
            (type == WR_AUTO_INCREMENT && schema[i].auto_increment))
            continue;
        if (PORT_UNLIKELY(type != schema[i].type))
            return fail(c, E_INVALID_PK, "Validate PK type fail. Input: %s, Meta: %s.",
                        value_type_name(type), value_type_name(schema[i].type));
        TRY(check_fits(c, &schema[i], &column->value));
    }
    return 0;
}

int key_check_alone(struct ctx *c, const struct limits *limits, const struct wr_key *key,
                    enum key_use use)
{
    if (PORT_UNLIKELY(key->count == 0 || (key->count > (size_t)limits->key_columns_max &&
                                          key->count > (size_t)limits->table_key_columns)))
        return fail_count(c, limits);
    for (size_t i = 0; i < key->count; i++)
        TRY(key_check_value(c, limits, &key->columns[i], use));
    return 0;
}

/* ---- order and size */

/* -1 for INF_MIN, 1 for INF_MAX, 0 for values; a column that is not there is INF_MIN. */
static int bound_rank(const struct wr_key *key, size_t i)
{
    if (i >= key->count || key->columns[i].value.type == WR_INF_MIN)
        return -1;
    return key->columns[i].value.type == WR_INF_MAX;
}

int key_compare(const struct wr_key_schema *schema, const struct wr_key *a, const struct wr_key *b)
{
    size_t count = a->count > b->count ? a->count : b->count;

    for (size_t i = 0; i < count; i++) {
        int rank_a = bound_rank(a, i), rank_b = bound_rank(b, i), r;

        if (rank_a != rank_b)
            return rank_a - rank_b;
        if (rank_a != 0)
            continue;
        r = value_compare(&a->columns[i].value, &b->columns[i].value);
        if (r)
            return schema[i].descending ? -r : r;
    }
    return 0;
}

struct wr_key key_copy(struct arena *a, const struct wr_key *key)
{
    struct wr_key_column *columns = arena_alloc(a, sizeof(*columns) * (key->count + 1));

    for (size_t i = 0; i < key->count; i++) {
        columns[i].name = arena_copy(a, key->columns[i].name);
        columns[i].value = value_copy(a, &key->columns[i].value);
    }
    return (struct wr_key){columns, key->count};
}

bytes key_after(struct arena *a, bytes key)
{
    uint8_t *p = arena_alloc(a, key.len + 1);

    memcpy(p, key.ptr, key.len);
    p[key.len] = 0;
    return bytes_of(p, key.len + 1);
}
