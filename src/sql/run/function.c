#include "sql/run/function.h"

#include "base/floor_div.h"
#include "sql/calendar.h"
#include "sql/run/convert.h"
#include "sql/run/moment.h"
#include "sql/run/order.h"
#include "sql/run/scan.h"

#include <math.h>
#include <openssl/evp.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

typedef void function_fn(sqlite3_context *c, int count, sqlite3_value **v);

static bytes value_bytes(sqlite3_value *v)
{
    const void *p = sqlite3_value_type(v) == SQLITE_BLOB ? sqlite3_value_blob(v)
                                                         : (const void *)sqlite3_value_text(v);

    return bytes_of(p ? p : "", p ? (size_t)sqlite3_value_bytes(v) : 0);
}

static bool any_null(sqlite3_context *c, int count, sqlite3_value **v)
{
    for (int i = 0; i < count; i++)
        if (sqlite3_value_type(v[i]) == SQLITE_NULL) {
            sqlite3_result_null(c);
            return true;
        }
    return false;
}

static struct run *run_of(sqlite3_context *c)
{
    return ((struct scan_module *)sqlite3_user_data(c))->run;
}

static void result_text(sqlite3_context *c, bytes text)
{
    sqlite3_result_text64(c, text.ptr, text.len, SQLITE_TRANSIENT, SQLITE_UTF8);
}

/* A value of the type that the second one is, as people read it. */
static void wr_shown(sqlite3_context *c, int count, sqlite3_value **v)
{
    struct wr_value value;
    struct arena a;

    (void)count;
    arena_init(&a, NULL, 0);
    scan_value(&a, v[0], (enum wr_type)sqlite3_value_int(v[1]), &value);
    if (value.type == WR_NULL)
        sqlite3_result_null(c);
    else
        result_text(c, convert_shown(&a, &value));
    arena_release(&a);
}

/* ---- numbers ---- */

static void wr_div(sqlite3_context *c, int count, sqlite3_value **v)
{
    double by = sqlite3_value_double(v[1]);

    if (any_null(c, count, v))
        return;
    if (by == 0)
        sqlite3_result_null(c);
    else
        sqlite3_result_double(c, sqlite3_value_double(v[0]) / by);
}

static bool both_whole(sqlite3_value **v)
{
    return sqlite3_value_numeric_type(v[0]) == SQLITE_INTEGER &&
           sqlite3_value_numeric_type(v[1]) == SQLITE_INTEGER;
}

static void wr_div_whole(sqlite3_context *c, int count, sqlite3_value **v)
{
    double by = sqlite3_value_double(v[1]);

    if (any_null(c, count, v))
        return;
    if (by == 0)
        sqlite3_result_null(c);
    else if (both_whole(v) && sqlite3_value_int64(v[1]) != -1)
        sqlite3_result_int64(c, sqlite3_value_int64(v[0]) / sqlite3_value_int64(v[1]));
    else
        sqlite3_result_int64(c, (sqlite3_int64)trunc(sqlite3_value_double(v[0]) / by));
}

static void wr_mod(sqlite3_context *c, int count, sqlite3_value **v)
{
    double by = sqlite3_value_double(v[1]);

    if (any_null(c, count, v))
        return;
    if (by == 0)
        sqlite3_result_null(c);
    else if (both_whole(v))
        sqlite3_result_int64(c, sqlite3_value_int64(v[1]) == -1
                                    ? 0
                                    : sqlite3_value_int64(v[0]) % sqlite3_value_int64(v[1]));
    else
        sqlite3_result_double(c, fmod(sqlite3_value_double(v[0]), by));
}

static void wr_xor(sqlite3_context *c, int count, sqlite3_value **v)
{
    if (!any_null(c, count, v))
        sqlite3_result_int(c,
                           (sqlite3_value_double(v[0]) != 0) != (sqlite3_value_double(v[1]) != 0));
}

static void wr_bit_xor(sqlite3_context *c, int count, sqlite3_value **v)
{
    if (!any_null(c, count, v))
        sqlite3_result_int64(c, sqlite3_value_int64(v[0]) ^ sqlite3_value_int64(v[1]));
}

/* Ordered bytes as a number to compute with, which may lose digits. */
static void wr_decimal(sqlite3_context *c, int count, sqlite3_value **v)
{
    struct arena a;

    if (any_null(c, count, v))
        return;
    arena_init(&a, NULL, 0);
    sqlite3_result_double(
        c, strtod(arena_printf(&a, "%.*s", RUN_TEXT(order_to_decimal(&a, value_bytes(v[0])))).ptr,
                  NULL));
    arena_release(&a);
}

static void wr_unsigned(sqlite3_context *c, int count, sqlite3_value **v)
{
    uint64_t n;

    if (any_null(c, count, v))
        return;
    n = order_to_unsigned(value_bytes(v[0]));
    if (n <= INT64_MAX)
        sqlite3_result_int64(c, (sqlite3_int64)n);
    else
        sqlite3_result_double(c, (double)n);
}

/* ---- texts ---- */

static void wr_length(sqlite3_context *c, int count, sqlite3_value **v)
{
    if (!any_null(c, count, v))
        sqlite3_result_int64(c, (sqlite3_int64)value_bytes(v[0]).len);
}

static void wr_concat(sqlite3_context *c, int count, sqlite3_value **v)
{
    struct arena a;
    struct buf b;

    if (any_null(c, count, v))
        return;
    arena_init(&a, NULL, 0);
    buf_init(&b, &a, 0);
    for (int i = 0; i < count; i++)
        buf_put_bytes(&b, value_bytes(v[i]));
    result_text(c, b.len ? buf_bytes(&b) : BYTES_LIT(""));
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

    if (any_null(c, count, v))
        return;
    text = value_bytes(v[0]);
    result_text(c, bytes_of(text.ptr, character_at(text, sqlite3_value_int64(v[1]))));
}

static void wr_right(sqlite3_context *c, int count, sqlite3_value **v)
{
    int64_t n;
    bytes text;

    if (any_null(c, count, v))
        return;
    text = value_bytes(v[0]);
    n = characters(text) - sqlite3_value_int64(v[1]);
    result_text(c, bytes_skip(text, character_at(text, n)));
}

static void wr_reverse(sqlite3_context *c, int count, sqlite3_value **v)
{
    uint8_t *to;
    bytes text;
    size_t at = 0;

    if (any_null(c, count, v))
        return;
    text = value_bytes(v[0]);
    to = mem_alloc(text.len);
    while (at < text.len) {
        size_t next = at + character_at(bytes_skip(text, at), 1);

        memcpy(to + text.len - next, bytes_u8(text) + at, next - at);
        at = next;
    }
    result_text(c, bytes_of(to, text.len));
    mem_free(to);
}

/* The place of the first text in the second, from 1, from the third on; 0: it is not in it. */
static void wr_locate(sqlite3_context *c, int count, sqlite3_value **v)
{
    int64_t from = count > 2 ? sqlite3_value_int64(v[2]) - 1 : 0;
    const char *found = NULL;
    bytes part, text, rest;

    if (any_null(c, count, v))
        return;
    part = value_bytes(v[0]);
    text = value_bytes(v[1]);
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
    if (!any_null(c, count, v))
        sqlite3_result_int(c, bytes_starts(value_bytes(v[0]), value_bytes(v[1])));
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
    result_text(c, bytes_of(hex, 2 * (size_t)n));
}

static void wr_md5(sqlite3_context *c, int count, sqlite3_value **v)
{
    if (!any_null(c, count, v))
        digest(c, EVP_md5(), value_bytes(v[0]));
}

static void wr_sha256(sqlite3_context *c, int count, sqlite3_value **v)
{
    if (!any_null(c, count, v))
        digest(c, EVP_sha256(), value_bytes(v[0]));
}

/* ---- moments: milliseconds since 1970 ---- */

static void wr_now(sqlite3_context *c, int count, sqlite3_value **v)
{
    (void)count, (void)v;
    sqlite3_result_int64(c, clock_wall_ms(run_of(c)->session->conf.clock));
}

static void wr_unix_timestamp(sqlite3_context *c, int count, sqlite3_value **v)
{
    (void)count, (void)v;
    sqlite3_result_int64(c, clock_wall_ms(run_of(c)->session->conf.clock) / 1000);
}

static void wr_from_unixtime(sqlite3_context *c, int count, sqlite3_value **v)
{
    if (!any_null(c, count, v))
        sqlite3_result_int64(c, llround(sqlite3_value_double(v[0]) * 1000));
}

/* A moment, or its text. False: it is none, and the result is NULL. */
static bool moment(sqlite3_context *c, sqlite3_value *v, int64_t *ms)
{
    bool is = sqlite3_value_type(v) == SQLITE_INTEGER;

    *ms = is ? sqlite3_value_int64(v) : 0;
    if (!is)
        is = sqlite3_value_type(v) == SQLITE_TEXT && calendar_parse_timestamp(value_bytes(v), ms);
    if (is && *ms >= CALENDAR_MS_MIN && *ms <= CALENDAR_MS_MAX)
        return true;
    sqlite3_result_null(c);
    return false;
}

static void wr_date(sqlite3_context *c, int count, sqlite3_value **v)
{
    int64_t ms;

    (void)count;
    if (moment(c, v[0], &ms))
        sqlite3_result_int64(c, floor_div(ms, DAY_MS));
}

static void wr_timediff(sqlite3_context *c, int count, sqlite3_value **v)
{
    int64_t a, b;

    (void)count;
    if (moment(c, v[0], &a) && moment(c, v[1], &b))
        sqlite3_result_int64(c, a - b);
}

/* ---- the session ---- */

static void wr_database(sqlite3_context *c, int count, sqlite3_value **v)
{
    bytes database = run_of(c)->session->database;

    (void)count, (void)v;
    if (database.len)
        result_text(c, database);
    else
        sqlite3_result_null(c);
}

static void wr_user(sqlite3_context *c, int count, sqlite3_value **v)
{
    (void)count, (void)v;
    result_text(c, run_of(c)->session->conf.user);
}

static void wr_version_text(sqlite3_context *c, int count, sqlite3_value **v)
{
    struct arena a;

    (void)count, (void)v;
    arena_init(&a, NULL, 0);
    result_text(c, arena_printf(&a, SESSION_VERSION_PREFIX "%s", wr_version()));
    arena_release(&a);
}

static void wr_connection(sqlite3_context *c, int count, sqlite3_value **v)
{
    (void)count, (void)v;
    sqlite3_result_int64(c, (sqlite3_int64)run_of(c)->session->conf.number);
}

int function_register(struct sqlite3 *sqlite, struct scan_module *m)
{
    static const struct {
        const char *name;
        int count;
        function_fn *fn;
        bool same; /* the same values give the same, whenever */
    } functions[] = {
        {"wr_div", 2, wr_div, true},
        {"wr_div_whole", 2, wr_div_whole, true},
        {"wr_mod", 2, wr_mod, true},
        {"wr_xor", 2, wr_xor, true},
        {"wr_bit_xor", 2, wr_bit_xor, true},
        {"wr_decimal", 1, wr_decimal, true},
        {"wr_unsigned", 1, wr_unsigned, true},
        {"wr_shown", 2, wr_shown, true},
        {"wr_length", 1, wr_length, true},
        {"wr_concat", -1, wr_concat, true},
        {"wr_left", 2, wr_left, true},
        {"wr_right", 2, wr_right, true},
        {"wr_reverse", 1, wr_reverse, true},
        {"wr_locate", 2, wr_locate, true},
        {"wr_locate", 3, wr_locate, true},
        {"wr_start_with", 2, wr_start_with, true},
        {"wr_md5", 1, wr_md5, true},
        {"wr_sha256", 1, wr_sha256, true},
        {"wr_now", 0, wr_now, false},
        {"wr_unix_timestamp", 0, wr_unix_timestamp, false},
        {"wr_from_unixtime", 1, wr_from_unixtime, true},
        {"wr_date", 1, wr_date, true},
        {"wr_timediff", 2, wr_timediff, true},
        {"wr_database", 0, wr_database, false},
        {"wr_user", 0, wr_user, false},
        {"wr_version", 0, wr_version_text, false},
        {"wr_connection", 0, wr_connection, false},
    };
    int code = SQLITE_OK;

    for (size_t i = 0; i < PORT_COUNT(functions) && code == SQLITE_OK; i++)
        code =
            sqlite3_create_function_v2(sqlite, functions[i].name, functions[i].count,
                                       SQLITE_UTF8 | (functions[i].same ? SQLITE_DETERMINISTIC : 0),
                                       m, functions[i].fn, NULL, NULL, NULL);
    return code == SQLITE_OK ? moment_register(sqlite) : code;
}
