#include "sql/run/moment.h"

#include "base/floor_div.h"
#include "base/port.h"
#include "sql/calendar.h"

#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define FORMATTED_BYTES_MAX 1024
#define MONTHS_MAX (12 * 10000)

static bytes text_of(sqlite3_value *v)
{
    const unsigned char *p = sqlite3_value_text(v);

    return bytes_of(p ? p : (const unsigned char *)"", p ? (size_t)sqlite3_value_bytes(v) : 0);
}

static bool is_within(int64_t ms)
{
    return ms >= CALENDAR_MS_MIN && ms <= CALENDAR_MS_MAX;
}

/* False: it is none, and the result is NULL. */
static bool take(sqlite3_context *c, sqlite3_value *v, int64_t *ms)
{
    int type = sqlite3_value_type(v);
    bool is = type == SQLITE_INTEGER;

    *ms = is ? sqlite3_value_int64(v) : 0;
    if (type == SQLITE_TEXT)
        is = calendar_parse_timestamp(text_of(v), ms);
    if (is && is_within(*ms))
        return true;
    sqlite3_result_null(c);
    return false;
}

static void give(sqlite3_context *c, int64_t ms)
{
    if (is_within(ms))
        sqlite3_result_int64(c, ms);
    else
        sqlite3_result_null(c);
}

static void wr_moment(sqlite3_context *c, int count, sqlite3_value **v)
{
    int64_t ms;

    (void)count;
    if (take(c, v[0], &ms))
        give(c, ms);
}

/* ---- intervals ---- */

static const struct {
    const char *name;
    int64_t ms; /* 0: */
    int months;
} units[] = {
    {"MICROSECOND", -1000, 0}, {"SECOND", 1000, 0}, {"MINUTE", 60000, 0},
    {"HOUR", 3600000, 0},      {"DAY", DAY_MS, 0},  {"WEEK", 7LL * DAY_MS, 0},
    {"MONTH", 0, 1},           {"QUARTER", 0, 3},   {"YEAR", 0, 12},
};

static size_t unit_find(bytes name)
{
    size_t i = 0;

    while (i < PORT_COUNT(units) && (strlen(units[i].name) != name.len ||
                                     strncasecmp(units[i].name, name.ptr, name.len) != 0))
        i++;
    return i;
}

bool moment_is_unit(bytes name)
{
    return unit_find(name) < PORT_COUNT(units);
}

static int days_of(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

    return month == 2 && leap ? 29 : days[month - 1];
}

/* The day stays, unless the month has none such: then it is its last one. */
static bool months_add(int64_t ms, int64_t months, int64_t *out)
{
    struct calendar at = calendar_of_ms(ms);
    int64_t n = (int64_t)at.year * 12 + at.month - 1 + months;

    if (n < 12 || n >= MONTHS_MAX)
        return false;
    at.year = (int)(n / 12);
    at.month = (int)(n % 12) + 1;
    if (at.day > days_of(at.year, at.month))
        at.day = days_of(at.year, at.month);
    return calendar_to_ms(&at, out);
}

/* (moment, how many, unit) */
static void wr_interval(sqlite3_context *c, int count, sqlite3_value **v)
{
    double n = sqlite3_value_double(v[1]), step;
    size_t unit = unit_find(text_of(v[2]));
    int64_t ms;

    (void)count;
    if (sqlite3_value_type(v[1]) == SQLITE_NULL || unit == PORT_COUNT(units)) {
        sqlite3_result_null(c);
        return;
    }
    if (!take(c, v[0], &ms))
        return;
    if (units[unit].months) {
        if (fabs(n) < MONTHS_MAX && months_add(ms, llround(n) * units[unit].months, &ms))
            give(c, ms);
        else
            sqlite3_result_null(c);
        return;
    }
    step = units[unit].ms > 0 ? n * (double)units[unit].ms : n / 1000;
    if (fabs(step) < 2.0 * (double)CALENDAR_MS_MAX)
        give(c, ms + llround(step));
    else
        sqlite3_result_null(c);
}

static int64_t days(int64_t ms)
{
    return floor_div(ms, DAY_MS);
}

static void wr_datediff(sqlite3_context *c, int count, sqlite3_value **v)
{
    int64_t a, b;

    (void)count;
    if (take(c, v[0], &a) && take(c, v[1], &b))
        sqlite3_result_int64(c, days(a) - days(b));
}

static void wr_unix_timestamp(sqlite3_context *c, int count, sqlite3_value **v)
{
    int64_t ms;

    (void)count;
    if (take(c, v[0], &ms))
        sqlite3_result_int64(c, floor_div(ms, 1000));
}

/* ---- zones ---- */

/* An offset, +hh:mm or -hh:mm, or UTC, which SYSTEM is here. Zones of other names are not known. */
static bool zone_read(bytes zone, int64_t *ms)
{
    const uint8_t *p = bytes_u8(zone);
    int hours, minutes;

    *ms = 0;
    if (bytes_equal(zone, BYTES_LIT("UTC")) || bytes_equal(zone, BYTES_LIT("SYSTEM")))
        return true;
    if (zone.len != 6 || (p[0] != '+' && p[0] != '-') || p[3] != ':')
        return false;
    for (int i = 1; i < 6; i++)
        if (i != 3 && (p[i] < '0' || p[i] > '9'))
            return false;
    hours = (p[1] - '0') * 10 + p[2] - '0';
    minutes = (p[4] - '0') * 10 + p[5] - '0';
    if (hours > 14 || minutes > 59)
        return false;
    *ms = (hours * 60 + minutes) * INT64_C(60000) * (p[0] == '-' ? -1 : 1);
    return true;
}

static void wr_convert_tz(sqlite3_context *c, int count, sqlite3_value **v)
{
    int64_t ms, from, to;

    (void)count;
    if (!zone_read(text_of(v[1]), &from) || !zone_read(text_of(v[2]), &to))
        sqlite3_result_null(c);
    else if (take(c, v[0], &ms))
        give(c, ms - from + to);
}

/* ---- formats ---- */

static const char *const month_names[] = {"January",   "February", "March",    "April",
                                          "May",       "June",     "July",     "August",
                                          "September", "October",  "November", "December"};
static const char *const day_names[] = {"Thursday", "Friday",  "Saturday", "Sunday",
                                        "Monday",   "Tuesday", "Wednesday"}; /* as of 1970 */

static const char *day_name(int64_t ms)
{
    return day_names[((days(ms) % 7) + 7) % 7];
}

static int day_of_year(const struct calendar *at)
{
    int n = at->day;

    for (int m = 1; m < at->month; m++)
        n += days_of(at->year, m);
    return n;
}

/* What stands for a letter behind %. */
static int part_put(char *out, size_t room, char letter, int64_t ms, const struct calendar *at)
{
    int hour12 = at->hour % 12 ? at->hour % 12 : 12;

    switch (letter) {
    case 'Y':
        return snprintf(out, room, "%04d", at->year);
    case 'y':
        return snprintf(out, room, "%02d", at->year % 100);
    case 'm':
        return snprintf(out, room, "%02d", at->month);
    case 'c':
        return snprintf(out, room, "%d", at->month);
    case 'M':
        return snprintf(out, room, "%s", month_names[at->month - 1]);
    case 'b':
        return snprintf(out, room, "%.3s", month_names[at->month - 1]);
    case 'd':
        return snprintf(out, room, "%02d", at->day);
    case 'e':
        return snprintf(out, room, "%d", at->day);
    case 'j':
        return snprintf(out, room, "%03d", day_of_year(at));
    case 'H':
        return snprintf(out, room, "%02d", at->hour);
    case 'k':
        return snprintf(out, room, "%d", at->hour);
    case 'h':
    case 'I':
        return snprintf(out, room, "%02d", hour12);
    case 'l':
        return snprintf(out, room, "%d", hour12);
    case 'i':
        return snprintf(out, room, "%02d", at->minute);
    case 's':
    case 'S':
        return snprintf(out, room, "%02d", at->second);
    case 'f':
        return snprintf(out, room, "%06d", at->ms * 1000);
    case 'p':
        return snprintf(out, room, "%s", at->hour < 12 ? "AM" : "PM");
    case 'W':
        return snprintf(out, room, "%s", day_name(ms));
    case 'a':
        return snprintf(out, room, "%.3s", day_name(ms));
    case 'T':
        return snprintf(out, room, "%02d:%02d:%02d", at->hour, at->minute, at->second);
    case 'r':
        return snprintf(out, room, "%02d:%02d:%02d %s", hour12, at->minute, at->second,
                        at->hour < 12 ? "AM" : "PM");
    default:
        return snprintf(out, room, "%c", letter);
    }
}

static void wr_date_format(sqlite3_context *c, int count, sqlite3_value **v)
{
    bytes format = text_of(v[1]);
    char out[FORMATTED_BYTES_MAX + 64];
    struct calendar at;
    size_t n = 0;
    int64_t ms;

    (void)count;
    if (sqlite3_value_type(v[1]) == SQLITE_NULL) {
        sqlite3_result_null(c);
        return;
    }
    if (!take(c, v[0], &ms))
        return;
    at = calendar_of_ms(ms);
    for (size_t i = 0; i < format.len && n < FORMATTED_BYTES_MAX; i++) {
        char letter = ((const char *)format.ptr)[i];

        if (letter == '%' && i + 1 < format.len)
            n += (size_t)part_put(out + n, sizeof(out) - n, ((const char *)format.ptr)[++i], ms,
                                  &at);
        else
            out[n++] = letter;
    }
    sqlite3_result_text64(c, out, n, SQLITE_TRANSIENT, SQLITE_UTF8);
}

int moment_register(struct sqlite3 *sqlite)
{
    static const struct {
        const char *name;
        int count;
        void (*fn)(sqlite3_context *c, int count, sqlite3_value **v);
    } functions[] = {
        {"wr_moment", 1, wr_moment},           {"wr_interval", 3, wr_interval},
        {"wr_date_format", 2, wr_date_format}, {"wr_datediff", 2, wr_datediff},
        {"wr_convert_tz", 3, wr_convert_tz},   {"wr_unix_timestamp", 1, wr_unix_timestamp}};
    int code = SQLITE_OK;

    for (size_t i = 0; i < PORT_COUNT(functions) && code == SQLITE_OK; i++)
        code = sqlite3_create_function_v2(sqlite, functions[i].name, functions[i].count,
                                          SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL, functions[i].fn,
                                          NULL, NULL, NULL);
    return code;
}
