#include "cli/console/value.h"

#include "base/number.h"
#include "record/type_name.h"
#include "record/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define NUMBER_TEXT_MAX 64
#define SHOWN_BYTES_MAX 40 /* of a bad value in a message */

/* ---- written ---- */

static void put_text(struct buf *b, const char *text)
{
    buf_put(b, text, strlen(text));
}

void value_put_string(struct buf *b, bytes text)
{
    const uint8_t *p = text.ptr;

    buf_put_u8(b, '"');
    for (size_t i = 0; i < text.len; i++) {
        char escape[8];

        if (p[i] == '"' || p[i] == '\\') {
            buf_put_u8(b, '\\');
            buf_put_u8(b, p[i]);
        } else if (p[i] < 0x20 || p[i] == 0x7f) {
            snprintf(escape, sizeof(escape), "\\u%04x", p[i]);
            put_text(b, escape);
        } else {
            buf_put_u8(b, p[i]);
        }
    }
    buf_put_u8(b, '"');
}

static void put_base64(struct buf *b, bytes data)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const uint8_t *p = data.ptr;

    put_text(b, "{\"base64\":\"");
    for (size_t i = 0; i < data.len; i += 3) {
        size_t n = data.len - i < 3 ? data.len - i : 3;
        uint32_t v =
            (uint32_t)p[i] << 16 | (n > 1 ? (uint32_t)p[i + 1] << 8 : 0) | (n > 2 ? p[i + 2] : 0);

        for (size_t k = 0; k < 4; k++)
            buf_put_u8(b, k > n ? '=' : (uint8_t)digits[v >> (18 - 6 * k) & 63]);
    }
    put_text(b, "\"}");
}

/* The shortest text that reads back as the same number, and that nobody takes for an integer. */
static void put_double(struct buf *b, double v)
{
    char text[40];

    if (!isfinite(v)) {
        put_text(b, isnan(v) ? "{\"double\":\"nan\"}"
                    : v > 0  ? "{\"double\":\"inf\"}"
                             : "{\"double\":\"-inf\"}");
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, v);
        if (strtod(text, NULL) == v)
            break;
    }
    put_text(b, text);
    if (!strpbrk(text, ".e"))
        put_text(b, ".0");
}

void value_put(struct buf *b, const struct wr_value *v)
{
    char number[32];

    switch (v->type) {
    case WR_BOOLEAN:
        put_text(b, v->boolean ? "true" : "false");
        break;
    case WR_TINYINT:
    case WR_SMALLINT:
    case WR_INTEGER:
    case WR_BIGINT:
    case WR_DATE:
    case WR_TIME:
    case WR_TIMESTAMP:
        snprintf(number, sizeof(number), "%lld", (long long)v->integer);
        put_text(b, number);
        break;
    case WR_UBIGINT:
        snprintf(number, sizeof(number), "%llu", (unsigned long long)v->uinteger);
        put_text(b, number);
        break;
    case WR_FLOAT:
    case WR_DOUBLE:
        put_double(b, v->real);
        break;
    case WR_VARCHAR:
    case WR_CHAR:
    case WR_JSON:
    case WR_DECIMAL:
        value_put_string(b, v->bytes);
        break;
    case WR_BINARY:
    case WR_VARBINARY:
        put_base64(b, v->bytes);
        break;
    default:
        put_text(b, "null");
        break;
    }
}

/* ---- written as CSV ---- */

void value_put_csv_text(struct buf *b, bytes text)
{
    const uint8_t *p = text.ptr, *end = p + text.len, *quote;
    bool quotes = text.len == 0;

    for (size_t i = 0; i < text.len && !quotes; i++)
        quotes = p[i] == ',' || p[i] == '"' || p[i] < ' ';
    if (!quotes) {
        buf_put_bytes(b, text);
        return;
    }
    buf_put_u8(b, '"');
    while (p != end && (quote = memchr(p, '"', (size_t)(end - p)))) {
        buf_put(b, p, (size_t)(quote + 1 - p));
        buf_put_u8(b, '"');
        p = quote + 1;
    }
    buf_put(b, p, (size_t)(end - p));
    buf_put_u8(b, '"');
}

void value_put_csv(struct buf *b, const struct wr_value *v)
{
    if (v->type == WR_VARCHAR || v->type == WR_VARBINARY)
        value_put_csv_text(b, v->bytes);
    else
        value_put(b, v);
}

/* ---- read ---- */

/* Whole numbers of so many digits are doubles, as are the powers of ten below. */
#define EXACT_DIGITS ((size_t)15)

/* A few digits with a point among them or none, as nearly all are: both the digits and the power of
 * ten are doubles, so their quotient is the one that strtod() would round to. */
static bool short_to_double(bytes text, double *out)
{
    static const double powers[EXACT_DIGITS + 1] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                    1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    const char *p = text.ptr, *end = p + text.len, *point = NULL;
    bool negative = text.len && *p == '-';
    uint64_t n = 0;

    if (text.len > EXACT_DIGITS + 1 + negative)
        return false;
    for (p += negative; p < end; p++) {
        if (*p == '.' && !point)
            point = p;
        else if (*p >= '0' && *p <= '9')
            n = n * 10 + (uint64_t)(*p - '0');
        else
            return false;
    }
    if (text.len - negative - (point != NULL) - 1 >= EXACT_DIGITS)
        return false; /* none is too few */
    *out = (double)n / powers[point ? end - point - 1 : 0];
    *out = negative ? -*out : *out;
    return true;
}

static bool text_to_double(bytes text, double *out)
{
    char buf[NUMBER_TEXT_MAX + 1], *end;

    if (short_to_double(text, out))
        return true;
    if (text.len == 0 || text.len > NUMBER_TEXT_MAX)
        return false;
    for (size_t i = 0; i < text.len; i++)
        if (!strchr("0123456789+-.eE", buf[i] = ((const char *)text.ptr)[i]) || !buf[i])
            return false; /* strtod() would also take hexadecimals, infinity and blanks */
    buf[text.len] = 0;
    *out = strtod(buf, &end);
    return !*end && isfinite(*out);
}

bool value_of_text(bytes text, enum wr_type type, struct wr_value *out)
{
    out->type = type;
    switch (type) {
    case WR_BIGINT:
        return number_integer(text, &out->integer);
    case WR_DOUBLE:
        return text_to_double(text, &out->real);
    case WR_BOOLEAN:
        out->boolean = bytes_equal(text, BYTES_LIT("true"));
        return out->boolean || bytes_equal(text, BYTES_LIT("false"));
    case WR_VARCHAR:
        out->bytes = text;
        return bytes_is_utf8(text);
    case WR_VARBINARY:
        out->bytes = text;
        return true;
    default:
        return false;
    }
}

static int hex_digit(uint8_t ch)
{
    if (ch >= '0' && ch <= '9')
        return ch - '0';
    ch |= 0x20;
    return ch >= 'a' && ch <= 'f' ? ch - 'a' + 10 : -1;
}

/* `to` may be NULL. */
static bool of_hex(bytes hex, uint8_t *to, struct wr_value *out)
{
    const uint8_t *h = hex.ptr;

    *out = (struct wr_value){.type = WR_VARBINARY, .bytes = bytes_of(to, hex.len / 2)};
    for (size_t i = 0; i < hex.len; i++)
        if (hex_digit(h[i]) < 0)
            return false;
    for (size_t i = 0; to && i + 1 < hex.len; i += 2)
        *to++ = (uint8_t)(hex_digit(h[i]) << 4 | hex_digit(h[i + 1]));
    return hex.len % 2 == 0;
}

static int base64_digit(uint8_t ch)
{
    if (ch >= 'A' && ch <= 'Z')
        return ch - 'A';
    if (ch >= 'a' && ch <= 'z')
        return ch - 'a' + 26;
    if (ch >= '0' && ch <= '9')
        return ch - '0' + 52;
    return ch == '+' ? 62 : ch == '/' ? 63 : -1;
}

/* `to` may be NULL. */
static bool of_base64(bytes text, uint8_t *to, struct wr_value *out)
{
    const uint8_t *p = text.ptr;
    size_t n = text.len, size;
    uint32_t bits = 0;

    if (n % 4)
        return false;
    for (size_t pad = 0; n && pad < 2 && p[n - 1] == '='; pad++)
        n--;
    size = n / 4 * 3 + (n % 4 ? n % 4 - 1 : 0);
    *out = (struct wr_value){.type = WR_VARBINARY, .bytes = bytes_of(to, size)};
    for (size_t i = 0; i < n; i++) {
        int digit = base64_digit(p[i]);

        if (digit < 0)
            return false;
        bits = bits << 6 | (uint32_t)digit;
        if (to && i % 4)
            *to++ = (uint8_t)(bits >> (6 - 2 * (i % 4)));
    }
    return n % 4 == 0 || !(bits & (n % 4 == 2 ? 15u : 3u)); /* bits that no byte holds are zero */
}

static bool of_infinity(bytes text, struct wr_value *out)
{
    out->type = WR_DOUBLE;
    if (bytes_equal(text, BYTES_LIT("nan")))
        out->real = NAN;
    else if (bytes_equal(text, BYTES_LIT("inf")))
        out->real = INFINITY;
    else if (bytes_equal(text, BYTES_LIT("-inf")))
        out->real = -INFINITY;
    else
        return false;
    return true;
}

static bytes skip_space(bytes b)
{
    while (b.len && strchr(" \t", *(const char *)b.ptr))
        b = bytes_skip(b, 1);
    return b;
}

/* Takes one character, and the space in front of it. */
static bool take(bytes *text, char ch)
{
    *text = skip_space(*text);
    if (!text->len || *(const char *)text->ptr != ch)
        return false;
    *text = bytes_skip(*text, 1);
    return true;
}

/* A string without escapes. */
static bool take_string(bytes *text, bytes *out)
{
    const char *close;

    if (!take(text, '"'))
        return false;
    close = text->len ? memchr(text->ptr, '"', text->len) : NULL;
    if (!close)
        return false;
    *out = bytes_of(text->ptr, (size_t)(close - (const char *)text->ptr));
    *text = bytes_skip(*text, out->len + 1);
    return true;
}

bool value_of_object(bytes text, uint8_t *to, struct wr_value *out)
{
    bytes name, value;

    if (!take(&text, '{') || !take_string(&text, &name) || !take(&text, ':') ||
        !take_string(&text, &value) || !take(&text, '}') || skip_space(text).len)
        return false;
    if (bytes_equal(name, BYTES_LIT("base64")))
        return of_base64(value, to, out);
    if (bytes_equal(name, BYTES_LIT("binary")))
        return of_hex(value, to, out);
    return bytes_equal(name, BYTES_LIT("double")) && of_infinity(value, out);
}

/* ---- typed by a person ---- */

static bool is_digits(bytes text)
{
    const char *p = text.ptr;

    if (text.len && *p == '-')
        p++;
    return text.len > (size_t)(p - (const char *)text.ptr) &&
           strspn(p, "0123456789") >= text.len - (size_t)(p - (const char *)text.ptr);
}

/* 007 is a label: as a number it would lose its zeros. */
static bool is_label(bytes text)
{
    const uint8_t *p = text.ptr;
    size_t sign = text.len && p[0] == '-';

    return text.len > sign + 1 && p[sign] == '0' && p[sign + 1] >= '0' && p[sign + 1] <= '9';
}

/* "a text" with JSON's escapes. */
static int of_quoted(struct ctx *c, const char *of, bytes word, struct wr_value *out)
{
    bytes copy = arena_copy(&c->arena, word);
    struct json_reader j = json_reader_of((char *)(uintptr_t)copy.ptr + 1, copy.len - 1);

    out->type = WR_VARCHAR;
    if (!json_take_string(&j, &out->bytes))
        return fail(c, E_PARAMETER, "%s%.*s: %s", of, BYTES_FMT(word), j.fault);
    if (j.at != j.end)
        return fail(c, E_PARAMETER, "%s%.*s: text behind the closing quote", of, BYTES_FMT(word));
    if (!bytes_is_utf8(out->bytes))
        return fail(c, E_PARAMETER, "%s%.*s is not UTF-8 text", of, BYTES_FMT(word));
    return 0;
}

static int of_open(struct ctx *c, const char *of, bytes word, struct wr_value *out)
{
    static const enum wr_type tried[] = {WR_BIGINT, WR_DOUBLE, WR_BOOLEAN};

    if (word.len > 1 && *(const char *)word.ptr == '"')
        return of_quoted(c, of, word, out);
    if (bytes_equal(word, BYTES_LIT("null")))
        return fail(c, E_PARAMETER,
                    "%snull is no value: leave the column out, or write :string= for the text", of);
    if (is_digits(word) && !is_label(word) && !value_of_text(word, WR_BIGINT, out))
        return fail(c, E_PARAMETER,
                    "%s%.*s does not fit into 64 bits: say :double= or :string= in front of it", of,
                    BYTES_FMT(word));
    for (size_t i = 0; i < PORT_COUNT(tried) && !is_label(word); i++)
        if (value_of_text(word, tried[i], out))
            return 0;
    if (!value_of_text(word, WR_VARCHAR, out))
        return fail(c, E_PARAMETER,
                    "%s'%.*s' is not UTF-8 text; bytes are written {\"base64\":\"...\"}", of,
                    BYTES_FMT(word));
    return 0;
}

int value_of_word(struct ctx *c, const char *of, bytes word, enum wr_type type,
                  struct wr_value *out)
{
    int shown = (int)(word.len < SHOWN_BYTES_MAX ? word.len : SHOWN_BYTES_MAX);

    if (type != WR_VARCHAR && value_of_object(word, NULL, out) &&
        (type == VALUE_TYPE_OPEN || type == out->type)) {
        value_of_object(word, arena_alloc(&c->arena, word.len + 1), out);
        return 0;
    }
    if (type == VALUE_TYPE_OPEN)
        return of_open(c, of, word, out);
    if (value_of_text(word, type, out))
        return 0;
    return fail(c, E_PARAMETER, "%s'%.*s'%s is no %s", of, shown,
                word.len ? (const char *)word.ptr : "", word.len > SHOWN_BYTES_MAX ? "..." : "",
                type_name(type));
}
