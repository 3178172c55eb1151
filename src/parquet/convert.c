#include "parquet/convert.h"

#include "base/buf.h"
#include "base/floor_div.h"
#include "base/gregorian.h"

#include <math.h>
#include <stdio.h>

#define DAY_S 86400
#define JULIAN_1970 2440588
#define DIGITS_MAX 38

size_t convert_width(const struct parquet_leaf *leaf)
{
    switch (leaf->physical) {
    case PHYSICAL_INT32:
    case PHYSICAL_FLOAT:
        return 4;
    case PHYSICAL_INT96:
        return 12;
    case PHYSICAL_FIXED:
        return leaf->length;
    default:
        return 8;
    }
}

bool convert_makes_text(const struct parquet_leaf *leaf, bool as_text)
{
    enum parquet_meaning m = leaf->meaning;

    return m == MEANS_DECIMAL || m == MEANS_UUID ||
           (as_text && (m == MEANS_DATE || m == MEANS_TIME || m == MEANS_TIMESTAMP));
}

static void give_text(const char *text, struct wr_value *out)
{
    *out = (struct wr_value){.type = WR_VARCHAR, .bytes = bytes_str(text)};
}

/* ---- decimals */

/* Big-endian, in two's complement. False: more than 128 bits. */
static bool take_big(bytes raw, __int128 *out)
{
    const uint8_t *p = raw.ptr;
    unsigned __int128 v = raw.len && p[0] & 0x80 ? ~(unsigned __int128)0 : 0;
    uint8_t sign = (uint8_t)v;

    for (; raw.len > 16; raw = bytes_skip(raw, 1), p++)
        if (*p != sign)
            return false;
    if (raw.len == 16 && (p[0] ^ sign) & 0x80)
        return false;
    for (size_t i = 0; i < raw.len; i++)
        v = v << 8 | p[i];
    *out = (__int128)v;
    return true;
}

/* [-]digits[.digits], with as many behind the point as the scale has. */
static bool put_decimal(__int128 v, uint32_t scale, char text[CONVERT_TEXT_BYTES])
{
    unsigned __int128 left = v < 0 ? -(unsigned __int128)v : (unsigned __int128)v;
    char digits[CONVERT_TEXT_BYTES], *to = text;
    uint32_t n = 0;

    for (; left || n <= scale; left /= 10)
        digits[n++] = (char)('0' + (int)(left % 10));
    if (n > DIGITS_MAX + 1)
        return false;
    if (v < 0)
        *to++ = '-';
    while (n) {
        if (n == scale)
            *to++ = '.';
        *to++ = digits[--n];
    }
    *to = 0;
    return true;
}

/* ---- dates and times */

static int put_date(int64_t days, char *to, size_t size)
{
    struct gregorian day = gregorian_of(days);

    return snprintf(to, size, "%04lld-%02d-%02d", (long long)day.year, day.month, day.day);
}

/* 12:30:00, and behind a point what is not zero of the rest. */
static void put_time(int64_t seconds, uint64_t part, uint64_t units_s, char *to, size_t size)
{
    int n = snprintf(to, size, "%02lld:%02lld:%02lld", (long long)(seconds / 3600),
                     (long long)(seconds / 60 % 60), (long long)(seconds % 60));
    int digits = units_s == 1000 ? 3 : units_s == 1000000 ? 6 : 9;

    if (!part || n < 0)
        return;
    for (; part % 10 == 0; digits--)
        part /= 10;
    snprintf(to + n, size - (size_t)n, ".%0*llu", digits, (unsigned long long)part);
}

static bool put_moment(const struct parquet_leaf *leaf, int64_t v, char text[CONVERT_TEXT_BYTES])
{
    int64_t units_s = (int64_t)leaf->units_s, seconds, days;
    int n = 0;

    if (leaf->meaning == MEANS_DATE) {
        put_date(v, text, CONVERT_TEXT_BYTES);
        return true;
    }
    seconds = floor_div(v, units_s);
    days = floor_div(seconds, DAY_S);
    if (leaf->meaning == MEANS_TIME && days != 0)
        return false;
    if (leaf->meaning == MEANS_TIMESTAMP) {
        n = put_date(days, text, CONVERT_TEXT_BYTES);
        text[n++] = ' ';
    }
    put_time(seconds - days * DAY_S, (uint64_t)v - (uint64_t)seconds * leaf->units_s, leaf->units_s,
             text + n, (size_t)(CONVERT_TEXT_BYTES - n));
    return true;
}

/* Nanoseconds of the day, and the day by Julius Scaliger's count. */
static bool take_int96(const uint8_t *p, int64_t *out)
{
    int64_t days = (int64_t)load_u32(p + 8) - JULIAN_1970, ns;
    uint64_t of_day = load_u64(p);

    return of_day <= INT64_MAX && !__builtin_mul_overflow(days, INT64_C(86400000000000), &ns) &&
           !__builtin_add_overflow(ns, (int64_t)of_day, out);
}

/* ---- all */

static double half_float(uint32_t v)
{
    int exponent = (int)(v >> 10 & 31);
    double fraction = (double)(v & 1023), r;

    if (exponent == 31)
        r = fraction != 0 ? (double)NAN : (double)INFINITY;
    else
        r = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
    return v & 0x8000 ? -r : r;
}

bool convert_number(const struct parquet_leaf *leaf, bool as_text, int64_t v,
                    char text[CONVERT_TEXT_BYTES], struct wr_value *out)
{
    if (leaf->meaning == MEANS_DECIMAL) {
        if (!put_decimal(v, leaf->scale, text))
            return false;
        give_text(text, out);
        return true;
    }
    if (leaf->meaning == MEANS_UNSIGNED && leaf->physical == PHYSICAL_INT32)
        v = (uint32_t)v;
    if (leaf->meaning == MEANS_UNSIGNED && v < 0)
        return false;
    *out = (struct wr_value){.type = WR_BIGINT, .integer = v};
    if (!as_text || !convert_makes_text(leaf, true))
        return true;
    if (!put_moment(leaf, v, text))
        return false;
    give_text(text, out);
    return true;
}

static void put_uuid(const uint8_t *p, char text[CONVERT_TEXT_BYTES])
{
    size_t n = 0;

    for (size_t i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            text[n++] = '-';
        n += (size_t)snprintf(text + n, CONVERT_TEXT_BYTES - n, "%02x", p[i]);
    }
}

static bool convert_bytes(const struct parquet_leaf *leaf, bytes raw, char text[CONVERT_TEXT_BYTES],
                          struct wr_value *out)
{
    __int128 big;

    switch (leaf->meaning) {
    case MEANS_DECIMAL:
        if (!take_big(raw, &big) || !put_decimal(big, leaf->scale, text))
            return false;
        give_text(text, out);
        return true;
    case MEANS_UUID:
        put_uuid(raw.ptr, text);
        give_text(text, out);
        return true;
    case MEANS_HALF_FLOAT:
        *out = (struct wr_value){
            .type = WR_DOUBLE,
            .real = half_float((uint32_t)bytes_u8(raw)[0] | (uint32_t)bytes_u8(raw)[1] << 8)};
        return true;
    default:
        *out = (struct wr_value){.type = leaf->type, .bytes = raw};
        return true;
    }
}

bool convert_raw(const struct parquet_leaf *leaf, bool as_text, bytes raw,
                 char text[CONVERT_TEXT_BYTES], struct wr_value *out)
{
    union {
        uint32_t bits;
        float value;
    } single;
    union {
        uint64_t bits;
        double value;
    } wide;
    int64_t number;

    switch (leaf->physical) {
    case PHYSICAL_INT32:
        return convert_number(leaf, as_text, (int32_t)load_u32(raw.ptr), text, out);
    case PHYSICAL_INT64:
        return convert_number(leaf, as_text, (int64_t)load_u64(raw.ptr), text, out);
    case PHYSICAL_INT96:
        return take_int96(raw.ptr, &number) && convert_number(leaf, as_text, number, text, out);
    case PHYSICAL_FLOAT:
        single.bits = load_u32(raw.ptr);
        *out = (struct wr_value){.type = WR_DOUBLE, .real = (double)single.value};
        return true;
    case PHYSICAL_DOUBLE:
        wide.bits = load_u64(raw.ptr);
        *out = (struct wr_value){.type = WR_DOUBLE, .real = wide.value};
        return true;
    default:
        return convert_bytes(leaf, raw, text, out);
    }
}
