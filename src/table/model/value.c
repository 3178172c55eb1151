#include "table/model/value.h"

#include "base/buf.h"
#include "base/crc8.h"
#include "table/model/decimal.h"

#include <math.h>

const struct value_kind value_kinds[VALUE_KINDS] = {
    [WR_NULL] = {.name = "VT_NULL"},
    [WR_BOOLEAN] = {"VT_BOOLEAN", 1, true, true, false, false, 0x02},
    [WR_TINYINT] = {"VT_TINYINT", 1, true, true, false, false, WR_TINYINT},
    [WR_SMALLINT] = {"VT_SMALLINT", 2, true, true, false, false, WR_SMALLINT},
    [WR_INTEGER] = {"VT_INT", 4, true, true, false, false, WR_INTEGER},
    [WR_BIGINT] = {"VT_INTEGER", 8, true, true, false, false, 0x00},
    [WR_UBIGINT] = {"VT_UBIGINT", 8, true, true, false, false, WR_UBIGINT},
    [WR_FLOAT] = {"VT_FLOAT", 4, true, true, false, false, WR_FLOAT},
    [WR_DOUBLE] = {"VT_DOUBLE", 8, true, true, false, false, 0x01},
    [WR_DECIMAL] = {"VT_DECIMAL", 0, true, true, true, false, WR_DECIMAL},
    [WR_VARCHAR] = {"VT_STRING", 0, true, true, true, true, 0x03},
    [WR_CHAR] = {"VT_CHAR", 0, true, true, true, true, WR_CHAR},
    [WR_BINARY] = {"VT_BINARY", 0, true, true, true, false, WR_BINARY},
    [WR_VARBINARY] = {"VT_BLOB", 0, true, true, true, false, 0x07},
    [WR_DATE] = {"VT_DATE", 4, true, true, false, false, WR_DATE},
    [WR_TIME] = {"VT_TIME", 4, true, true, false, false, WR_TIME},
    [WR_TIMESTAMP] = {"VT_TIMESTAMP", 8, true, true, false, false, WR_TIMESTAMP},
    [WR_JSON] = {"VT_JSON", 0, true, false, true, true, WR_JSON},
    [WR_INF_MIN] = {.name = "VT_INF_MIN"},
    [WR_INF_MAX] = {.name = "VT_INF_MAX"},
    [WR_AUTO_INCREMENT] = {.name = "VT_AUTO_INCREMENT"},
};

const char *value_type_name(enum wr_type type)
{
    const char *name = value_kind(type)->name;

    return name ? name : "VT_UNKNOWN";
}

static uint64_t float_bits(float f)
{
    uint32_t bits;

    memcpy(&bits, &f, sizeof(bits));
    return bits;
}

static uint64_t double_bits(double d)
{
    uint64_t bits;

    memcpy(&bits, &d, sizeof(bits));
    return bits;
}

uint64_t value_bits(const struct wr_value *v)
{
    switch (v->type) {
    case WR_BOOLEAN:
        return v->boolean;
    case WR_TINYINT:
        return (uint8_t)v->integer;
    case WR_SMALLINT:
        return (uint16_t)v->integer;
    case WR_INTEGER:
    case WR_DATE:
    case WR_TIME:
        return (uint32_t)v->integer;
    case WR_BIGINT:
    case WR_TIMESTAMP:
        return (uint64_t)v->integer;
    case WR_UBIGINT:
        return v->uinteger;
    case WR_FLOAT:
        return float_bits((float)v->real);
    case WR_DOUBLE:
        return double_bits(v->real);
    default:
        return 0;
    }
}

bool value_from_bits(enum wr_type type, uint64_t bits, struct wr_value *out)
{
    uint32_t low = (uint32_t)bits;
    float f;

    out->type = type;
    switch (type) {
    case WR_BOOLEAN:
        out->boolean = bits != 0;
        return bits <= 1;
    case WR_TINYINT:
        out->integer = (int8_t)bits;
        return true;
    case WR_SMALLINT:
        out->integer = (int16_t)bits;
        return true;
    case WR_INTEGER:
    case WR_DATE:
    case WR_TIME:
        out->integer = (int32_t)bits;
        return true;
    case WR_BIGINT:
    case WR_TIMESTAMP:
        out->integer = (int64_t)bits;
        return true;
    case WR_UBIGINT:
        out->uinteger = bits;
        return true;
    case WR_FLOAT:
        memcpy(&f, &low, sizeof(f));
        out->real = (double)f;
        return true;
    case WR_DOUBLE:
        memcpy(&out->real, &bits, sizeof(bits));
        return true;
    default:
        return false;
    }
}

bool value_in_range(const struct wr_value *v)
{
    struct decimal d;

    switch (v->type) {
    case WR_TINYINT:
        return v->integer == (int8_t)v->integer;
    case WR_SMALLINT:
        return v->integer == (int16_t)v->integer;
    case WR_INTEGER:
    case WR_DATE:
    case WR_TIME:
        return v->integer == (int32_t)v->integer;
    case WR_FLOAT:
        return isfinite((float)v->real);
    case WR_DOUBLE:
        return isfinite(v->real);
    case WR_DECIMAL:
        return decimal_parse(v->bytes, &d);
    default:
        return true;
    }
}

static int compare_real(double a, double b)
{
    if (isnan(a) || isnan(b))
        return (isnan(a) != 0) - (isnan(b) != 0);
    return (a > b) - (a < b);
}

/* As if the shorter one went on with `pad`. */
static int compare_padded(bytes a, bytes b, uint8_t pad)
{
    size_t n = a.len < b.len ? a.len : b.len;
    int r = n ? memcmp(a.ptr, b.ptr, n) : 0;

    if (r)
        return r;
    for (size_t i = n; i < a.len; i++)
        if (bytes_u8(a)[i] != pad)
            return bytes_u8(a)[i] < pad ? -1 : 1;
    for (size_t i = n; i < b.len; i++)
        if (bytes_u8(b)[i] != pad)
            return pad < bytes_u8(b)[i] ? -1 : 1;
    return 0;
}

/* A text that is no number sorts below all that are, among its like as bytes. */
static int compare_decimal(bytes a, bytes b)
{
    struct decimal x, y;
    bool x_ok = decimal_parse(a, &x), y_ok = decimal_parse(b, &y);

    if (!x_ok || !y_ok)
        return x_ok != y_ok ? x_ok - y_ok : bytes_compare(a, b);
    return decimal_compare(&x, &y);
}

int value_compare(const struct wr_value *a, const struct wr_value *b)
{
    switch (a->type) {
    case WR_BOOLEAN:
        return a->boolean - b->boolean;
    case WR_TINYINT:
    case WR_SMALLINT:
    case WR_INTEGER:
    case WR_BIGINT:
    case WR_DATE:
    case WR_TIME:
    case WR_TIMESTAMP:
        return (a->integer > b->integer) - (a->integer < b->integer);
    case WR_UBIGINT:
        return (a->uinteger > b->uinteger) - (a->uinteger < b->uinteger);
    case WR_FLOAT:
        return compare_real((double)(float)a->real, (double)(float)b->real);
    case WR_DOUBLE:
        return compare_real(a->real, b->real);
    case WR_DECIMAL:
        return compare_decimal(a->bytes, b->bytes);
    case WR_CHAR:
        return compare_padded(a->bytes, b->bytes, ' ');
    case WR_BINARY:
        return compare_padded(a->bytes, b->bytes, 0);
    case WR_VARCHAR:
    case WR_VARBINARY:
    case WR_JSON:
        return bytes_compare(a->bytes, b->bytes);
    default:
        return 0; /* NULL and placeholders have no value to compare */
    }
}

uint8_t value_crc8_type(enum wr_type type)
{
    return value_kind(type)->crc;
}

uint8_t value_crc8(bytes name, const struct wr_value *v, int64_t timestamp_ms)
{
    const struct value_kind *kind = value_kind(v->type);
    uint8_t crc = crc8_byte(crc8(0, name.ptr, name.len), kind->crc);

    if (kind->bytes) {
        crc = crc8_u32(crc, (uint32_t)v->bytes.len);
        crc = crc8(crc, v->bytes.ptr, v->bytes.len);
    } else {
        uint8_t payload[8];

        store_u64(payload, value_bits(v));
        crc = crc8(crc, payload, kind->width);
    }
    return timestamp_ms == WR_TIMESTAMP_NONE ? crc : value_crc8_stamp(crc, timestamp_ms);
}

uint8_t value_crc8_stamp(uint8_t crc, int64_t timestamp_ms)
{
    return crc8_u64(crc, (uint64_t)timestamp_ms);
}

struct wr_value value_copy(struct arena *a, const struct wr_value *v)
{
    struct wr_value copy = *v;

    if (value_is_bytes(v->type))
        copy.bytes = arena_copy(a, v->bytes);
    return copy;
}
