/* function_text.c: functions of texts.
 *
 * Places and lengths are counted in characters, of binaries in bytes. Letters change their case by
 * Unicode's simple mapping, one for one, as in MySQL: SQLite's own know those of ASCII alone. */
#include "sql/run/function_own.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/port.h"

#include <math.h>
#include <openssl/evp.h>
#include <string.h>
#include <unicode/uchar.h>
#include <unicode/utf8.h>

static void wr_length(sqlite3_context *c, int count, sqlite3_value **v)
{
    if (!function_any_null(c, count, v))
        sqlite3_result_int64(c, (sqlite3_int64)function_bytes(v[0]).len);
}

static void wr_concat(sqlite3_context *c, int count, sqlite3_value **v)
{
    struct arena a;
    struct buf b;

    if (function_any_null(c, count, v))
        return;
    arena_init(&a, NULL, 0);
    buf_init(&b, &a, 0);
    for (int i = 0; i < count; i++)
        buf_put_bytes(&b, function_bytes(v[i]));
    function_result(c, b.len ? buf_bytes(&b) : BYTES_LIT(""));
    arena_release(&a);
}

static bool is_inside(uint8_t c) /* of a character */
{
    return (c & 0xc0) == 0x80;
}

/* Where the n-th character from the front begins. */
static size_t character_at(bytes text, int64_t n)
{
    size_t at = 0;

    for (; n > 0 && at < text.len; n--)
        for (at++; at < text.len && is_inside(bytes_u8(text)[at]); at++)
            ;
    return at;
}

static int64_t characters(bytes text)
{
    int64_t n = 0;

    for (size_t i = 0; i < text.len; i++)
        n += !is_inside(bytes_u8(text)[i]);
    return n;
}

static void wr_left(sqlite3_context *c, int count, sqlite3_value **v)
{
    bytes text;

    if (function_any_null(c, count, v))
        return;
    text = function_bytes(v[0]);
    function_result(c, bytes_of(text.ptr, character_at(text, sqlite3_value_int64(v[1]))));
}

static void wr_right(sqlite3_context *c, int count, sqlite3_value **v)
{
    int64_t n;
    bytes text;

    if (function_any_null(c, count, v))
        return;
    text = function_bytes(v[0]);
    n = sqlite3_value_int64(v[1]) > 0 ? characters(text) - sqlite3_value_int64(v[1]) : INT64_MAX;
    function_result(c, bytes_skip(text, character_at(text, n)));
}

static void wr_reverse(sqlite3_context *c, int count, sqlite3_value **v)
{
    uint8_t *to;
    bytes text;
    size_t at = 0;

    if (function_any_null(c, count, v))
        return;
    text = function_bytes(v[0]);
    to = mem_alloc(text.len);
    while (at < text.len) {
        size_t next = at + character_at(bytes_skip(text, at), 1);

        memcpy(to + text.len - next, bytes_u8(text) + at, next - at);
        at = next;
    }
    function_result(c, bytes_of(to, text.len));
    mem_free(to);
}

/* The place of the first text in the second, from 1, from the third on; 0: it is not in it. */
static void wr_locate(sqlite3_context *c, int count, sqlite3_value **v)
{
    int64_t place = count > 2 ? sqlite3_value_int64(v[2]) : 1, from = place > 0 ? place - 1 : -1;
    const char *found = NULL;
    bytes part, text, rest;

    if (function_any_null(c, count, v))
        return;
    part = function_bytes(v[0]);
    text = function_bytes(v[1]);
    if (from >= 0 && from <= characters(text)) {
        rest = bytes_skip(text, character_at(text, from));
        found = part.len ? memmem(rest.ptr, rest.len, part.ptr, part.len) : rest.ptr;
    }
    sqlite3_result_int64(
        c,
        found ? characters(bytes_of(text.ptr, (size_t)(found - (const char *)text.ptr))) + 1 : 0);
}

static void wr_start_with(sqlite3_context *c, int count, sqlite3_value **v)
{
    if (!function_any_null(c, count, v))
        sqlite3_result_int(c, bytes_starts(function_bytes(v[0]), function_bytes(v[1])));
}

static void digest(sqlite3_context *c, const EVP_MD *md, bytes text)
{
    static const char digits[] = "0123456789abcdef";
    uint8_t raw[EVP_MAX_MD_SIZE];
    char hex[2 * EVP_MAX_MD_SIZE];
    unsigned n;

    EVP_Digest(text.ptr, text.len, raw, &n, md, NULL);
    for (unsigned i = 0; i < n; i++) {
        hex[2 * i] = digits[raw[i] >> 4];
        hex[2 * i + 1] = digits[raw[i] & 15];
    }
    function_result(c, bytes_of(hex, 2 * (size_t)n));
}

static void wr_md5(sqlite3_context *c, int count, sqlite3_value **v)
{
    if (!function_any_null(c, count, v))
        digest(c, EVP_md5(), function_bytes(v[0]));
}

static void wr_sha256(sqlite3_context *c, int count, sqlite3_value **v)
{
    if (!function_any_null(c, count, v))
        digest(c, EVP_sha256(), function_bytes(v[0]));
}

/* How many characters, or bytes of a binary. */
static int64_t length_of(sqlite3_value *v)
{
    bytes text = function_bytes(v);

    return sqlite3_value_type(v) == SQLITE_BLOB ? (int64_t)text.len : characters(text);
}

static void wr_char_length(sqlite3_context *c, int count, sqlite3_value **v)
{
    if (!function_any_null(c, count, v))
        sqlite3_result_int64(c, length_of(v[0]));
}

static bytes part(bytes text, bool binary, int64_t from, int64_t n)
{
    text = bytes_skip(text, binary ? (size_t)from : character_at(text, from));
    if (!binary)
        text.len = character_at(text, n);
    else if ((uint64_t)n < text.len)
        text.len = (size_t)n;
    return text;
}

/* (text, from[, how many]): from 1, or from the end if that is below 0; there is no place 0. */
static void wr_substr(sqlite3_context *c, int count, sqlite3_value **v)
{
    bool binary = sqlite3_value_type(v[0]) == SQLITE_BLOB;
    int64_t from, n, total;
    bytes out = BYTES_LIT("");

    if (function_any_null(c, count, v))
        return;
    from = sqlite3_value_int64(v[1]);
    n = count > 2 ? sqlite3_value_int64(v[2]) : INT64_MAX;
    total = length_of(v[0]);
    if (from < 0)
        from = from < -total ? 0 : total + from + 1;
    if (from > 0 && from <= total && n > 0)
        out = part(function_bytes(v[0]), binary, from - 1, n);
    if (binary)
        sqlite3_result_blob64(c, out.ptr, out.len, SQLITE_TRANSIENT);
    else
        function_result(c, out);
}

/* What is no UTF-8 stays as it is. */
static void map_case(sqlite3_context *c, int count, sqlite3_value **v, UChar32 (*map)(UChar32))
{
    struct arena a;
    struct buf b;
    bytes text;

    if (function_any_null(c, count, v))
        return;
    text = function_bytes(v[0]);
    arena_init(&a, NULL, 0);
    buf_init(&b, &a, text.len + 1);
    for (size_t i = 0; i < text.len;) {
        uint8_t out[U8_MAX_LENGTH];
        size_t begin = i, n = 0;
        UChar32 one;

        U8_NEXT(bytes_u8(text), i, text.len, one);
        if (one >= 0) {
            U8_APPEND_UNSAFE(out, n, map(one));
            buf_put_bytes(&b, bytes_of(out, n));
        } else {
            buf_put_bytes(&b, bytes_of(bytes_u8(text) + begin, i - begin));
        }
    }
    function_result(c, b.len ? buf_bytes(&b) : BYTES_LIT(""));
    arena_release(&a);
}

static void wr_lower(sqlite3_context *c, int count, sqlite3_value **v)
{
    map_case(c, count, v, u_tolower);
}

static void wr_upper(sqlite3_context *c, int count, sqlite3_value **v)
{
    map_case(c, count, v, u_toupper);
}

/* The digits of a number, the bytes of all else. */
static void wr_hex(sqlite3_context *c, int count, sqlite3_value **v)
{
    static const char digits[] = "0123456789ABCDEF";
    int type = sqlite3_value_type(v[0]);
    struct arena a;
    bytes text;
    char *hex;

    if (function_any_null(c, count, v))
        return;
    arena_init(&a, NULL, 0);
    if (type == SQLITE_INTEGER || type == SQLITE_FLOAT) {
        double real = round(sqlite3_value_double(v[0]));
        int64_t n = type == SQLITE_INTEGER             ? sqlite3_value_int64(v[0])
                    : real >= -0x1p63 && real < 0x1p63 ? (int64_t)real
                                                       : INT64_MAX;

        function_result(c, arena_printf(&a, "%llX", (unsigned long long)n));
    } else {
        text = function_bytes(v[0]);
        hex = arena_alloc(&a, 2 * text.len + 1);
        for (size_t i = 0; i < text.len; i++) {
            hex[2 * i] = digits[bytes_u8(text)[i] >> 4];
            hex[2 * i + 1] = digits[bytes_u8(text)[i] & 15];
        }
        function_result(c, bytes_of(hex, 2 * text.len));
    }
    arena_release(&a);
}

int function_texts_register(struct sqlite3 *sqlite)
{
    static const struct function functions[] = {
        {"wr_length", 1, wr_length, true},  {"wr_char_length", 1, wr_char_length, true},
        {"wr_concat", -1, wr_concat, true}, {"wr_left", 2, wr_left, true},
        {"wr_right", 2, wr_right, true},    {"wr_substr", 2, wr_substr, true},
        {"wr_substr", 3, wr_substr, true},  {"wr_reverse", 1, wr_reverse, true},
        {"wr_lower", 1, wr_lower, true},    {"wr_upper", 1, wr_upper, true},
        {"wr_hex", 1, wr_hex, true},        {"wr_locate", 2, wr_locate, true},
        {"wr_locate", 3, wr_locate, true},  {"wr_start_with", 2, wr_start_with, true},
        {"wr_md5", 1, wr_md5, true},        {"wr_sha256", 1, wr_sha256, true},
    };

    return function_create(sqlite, functions, PORT_COUNT(functions), NULL);
}
