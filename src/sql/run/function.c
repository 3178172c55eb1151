#include "sql/run/function.h"

#include "base/floor_div.h"
#include "sql/calendar.h"
#include "sql/run/convert.h"
#include "sql/run/function_own.h"
#include "sql/run/moment.h"
#include "sql/run/order.h"
#include "sql/run/scan.h"

#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>

#define ROUND_PLACES_MAX 30 /* as MySQL has it */

static struct run *run_of(sqlite3_context *c)
{
    return ((struct scan_module *)sqlite3_user_data(c))->run;
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
        function_result(c, convert_shown(&a, &value));
    arena_release(&a);
}

/* ---- numbers ---- */

static void wr_div(sqlite3_context *c, int count, sqlite3_value **v)
{
    double by = sqlite3_value_double(v[1]);

    if (function_any_null(c, count, v))
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

static void whole_of(sqlite3_context *c, double real)
{
    if (real >= -0x1p63 && real < 0x1p63)
        sqlite3_result_int64(c, (sqlite3_int64)real);
    else
        sqlite3_result_error(c, "integer overflow", -1);
}

static void wr_div_whole(sqlite3_context *c, int count, sqlite3_value **v)
{
    double by = sqlite3_value_double(v[1]);

    if (function_any_null(c, count, v))
        return;
    if (by == 0)
        sqlite3_result_null(c);
    else if (both_whole(v) && sqlite3_value_int64(v[1]) != -1)
        sqlite3_result_int64(c, sqlite3_value_int64(v[0]) / sqlite3_value_int64(v[1]));
    else
        whole_of(c, trunc(sqlite3_value_double(v[0]) / by));
}

/* Rounded as MySQL does, from a text what stands in front. */
static void wr_signed(sqlite3_context *c, int count, sqlite3_value **v)
{
    if (function_any_null(c, count, v))
        return;
    if (sqlite3_value_type(v[0]) == SQLITE_FLOAT)
        whole_of(c, round(sqlite3_value_double(v[0])));
    else
        sqlite3_result_int64(c, sqlite3_value_int64(v[0]));
}

static void wr_mod(sqlite3_context *c, int count, sqlite3_value **v)
{
    double by = sqlite3_value_double(v[1]);

    if (function_any_null(c, count, v))
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

/* Away from zero, as printed digits are: 0.15 to one place is 0.2. */
static void wr_round(sqlite3_context *c, int count, sqlite3_value **v)
{
    double x = sqlite3_value_double(v[0]), unit;
    int64_t places = count > 1 ? sqlite3_value_int64(v[1]) : 0;
    char *digits;

    if (function_any_null(c, count, v))
        return;
    if (places < 0) {
        unit = pow(10, places < -400 ? 400 : (double)-places);
        sqlite3_result_double(c, isfinite(unit) ? round(x / unit) * unit : 0);
        return;
    }
    digits =
        sqlite3_mprintf("%.*f", (int)(places < ROUND_PLACES_MAX ? places : ROUND_PLACES_MAX), x);
    if (digits)
        sqlite3_result_double(c, strtod(digits, NULL));
    else
        sqlite3_result_error_nomem(c);
    sqlite3_free(digits);
}

static void wr_xor(sqlite3_context *c, int count, sqlite3_value **v)
{
    if (!function_any_null(c, count, v))
        sqlite3_result_int(c,
                           (sqlite3_value_double(v[0]) != 0) != (sqlite3_value_double(v[1]) != 0));
}

static void wr_bit_xor(sqlite3_context *c, int count, sqlite3_value **v)
{
    if (!function_any_null(c, count, v))
        sqlite3_result_int64(c, sqlite3_value_int64(v[0]) ^ sqlite3_value_int64(v[1]));
}

/* Ordered bytes as a number to compute with, which may lose digits. */
static void wr_decimal(sqlite3_context *c, int count, sqlite3_value **v)
{
    struct arena a;

    if (function_any_null(c, count, v))
        return;
    arena_init(&a, NULL, 0);
    sqlite3_result_double(
        c,
        strtod(arena_printf(&a, "%.*s", RUN_TEXT(order_to_decimal(&a, function_bytes(v[0])))).ptr,
               NULL));
    arena_release(&a);
}

static void wr_unsigned(sqlite3_context *c, int count, sqlite3_value **v)
{
    uint64_t n;

    if (function_any_null(c, count, v))
        return;
    n = order_to_unsigned(function_bytes(v[0]));
    if (n <= INT64_MAX)
        sqlite3_result_int64(c, (sqlite3_int64)n);
    else
        sqlite3_result_double(c, (double)n);
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
    double ms = sqlite3_value_double(v[0]) * 1000;

    if (function_any_null(c, count, v))
        return;
    if (ms >= (double)CALENDAR_MS_MIN && ms <= (double)CALENDAR_MS_MAX)
        sqlite3_result_int64(c, llround(ms));
    else
        sqlite3_result_null(c);
}

/* A moment, or its text. False: it is none, and the result is NULL. */
static bool moment(sqlite3_context *c, sqlite3_value *v, int64_t *ms)
{
    bool is = sqlite3_value_type(v) == SQLITE_INTEGER;

    *ms = is ? sqlite3_value_int64(v) : 0;
    if (!is)
        is =
            sqlite3_value_type(v) == SQLITE_TEXT && calendar_parse_timestamp(function_bytes(v), ms);
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
        function_result(c, database);
    else
        sqlite3_result_null(c);
}

static void wr_user(sqlite3_context *c, int count, sqlite3_value **v)
{
    (void)count, (void)v;
    function_result(c, run_of(c)->session->conf.user);
}

static void wr_version_text(sqlite3_context *c, int count, sqlite3_value **v)
{
    struct arena a;

    (void)count, (void)v;
    arena_init(&a, NULL, 0);
    function_result(c, arena_printf(&a, SESSION_VERSION_PREFIX "%s", wr_version()));
    arena_release(&a);
}

static void wr_connection(sqlite3_context *c, int count, sqlite3_value **v)
{
    (void)count, (void)v;
    sqlite3_result_int64(c, (sqlite3_int64)run_of(c)->session->conf.number);
}

int function_register(struct sqlite3 *sqlite, struct scan_module *m)
{
    static const struct function functions[] = {
        {"wr_div", 2, wr_div, true},
        {"wr_div_whole", 2, wr_div_whole, true},
        {"wr_signed", 1, wr_signed, true},
        {"wr_mod", 2, wr_mod, true},
        {"wr_round", 1, wr_round, true},
        {"wr_round", 2, wr_round, true},
        {"wr_xor", 2, wr_xor, true},
        {"wr_bit_xor", 2, wr_bit_xor, true},
        {"wr_decimal", 1, wr_decimal, true},
        {"wr_unsigned", 1, wr_unsigned, true},
        {"wr_shown", 2, wr_shown, true},
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
    int code = function_create(sqlite, functions, PORT_COUNT(functions), m);

    code = code == SQLITE_OK ? function_texts_register(sqlite) : code;
    return code == SQLITE_OK ? moment_register(sqlite) : code;
}
