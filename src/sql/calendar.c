#include "sql/calendar.h"

#include <stdio.h>

/* Years that begin in March have their odd day at the end, so the days before a month are the same
 * each year; 400 of them are an era. */
#define ERA_DAYS 146097
#define EPOCH_DAYS 719468 /* from 0000-03-01 to 1970-01-01 */

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

static int64_t days_of(int year, int month, int day)
{
    int64_t y = year - (month <= 2), era = floor_div(y, 400), of_era = y - era * 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;

    return era * ERA_DAYS + of_era * 365 + of_era / 4 - of_era / 100 + of_year - EPOCH_DAYS;
}

static void days_split(int64_t days, struct calendar *out)
{
    int64_t era = floor_div(days + EPOCH_DAYS, ERA_DAYS);
    int64_t of_era = days + EPOCH_DAYS - era * ERA_DAYS;
    int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
    int64_t month = (5 * of_year + 2) / 153;

    out->day = (int)(of_year - (153 * month + 2) / 5 + 1);
    out->month = (int)(month < 10 ? month + 3 : month - 9);
    out->year = (int)(year + era * 400 + (out->month <= 2));
}

struct calendar calendar_of_ms(int64_t ms)
{
    int64_t days = floor_div(ms, DAY_MS), rest = ms - days * DAY_MS;
    struct calendar c = {.hour = (int)(rest / 3600000),
                         .minute = (int)(rest / 60000 % 60),
                         .second = (int)(rest / 1000 % 60),
                         .ms = (int)(rest % 1000)};

    days_split(days, &c);
    return c;
}

static bool time_is(const struct calendar *c)
{
    return c->hour >= 0 && c->hour < 24 && c->minute >= 0 && c->minute < 60 && c->second >= 0 &&
           c->second < 60 && c->ms >= 0 && c->ms < 1000;
}

static int64_t time_ms(const struct calendar *c)
{
    return ((c->hour * INT64_C(60) + c->minute) * 60 + c->second) * 1000 + c->ms;
}

bool calendar_to_ms(const struct calendar *c, int64_t *out)
{
    struct calendar again;

    if (!time_is(c) || c->year < 1 || c->year > 9999 || c->month < 1 || c->month > 12 ||
        c->day < 1 || c->day > 31)
        return false;
    *out = days_of(c->year, c->month, c->day) * DAY_MS + time_ms(c);
    again = calendar_of_ms(*out);
    return again.day == c->day; /* the 31st of a short month is another day */
}

/* ---- text ---- */

static size_t date_put(const struct calendar *c, char *out, size_t size)
{
    return (size_t)snprintf(out, size, "%04d-%02d-%02d", c->year, c->month, c->day);
}

static size_t time_put(const struct calendar *c, char *out, size_t size)
{
    if (c->ms)
        return (size_t)snprintf(out, size, "%02d:%02d:%02d.%03d", c->hour, c->minute, c->second,
                                c->ms);
    return (size_t)snprintf(out, size, "%02d:%02d:%02d", c->hour, c->minute, c->second);
}

size_t calendar_format_date(int64_t days, char out[CALENDAR_TEXT])
{
    struct calendar c = calendar_of_ms(days * DAY_MS);

    return date_put(&c, out, CALENDAR_TEXT);
}

size_t calendar_format_time(int64_t ms_of_day, char out[CALENDAR_TEXT])
{
    struct calendar c = calendar_of_ms(ms_of_day);

    return time_put(&c, out, CALENDAR_TEXT);
}

size_t calendar_format_timestamp(int64_t ms, char out[CALENDAR_TEXT])
{
    struct calendar c = calendar_of_ms(ms);
    size_t n = date_put(&c, out, CALENDAR_TEXT);

    out[n++] = ' ';
    return n + time_put(&c, out + n, CALENDAR_TEXT - n);
}

size_t calendar_format(const struct wr_value *v, char out[CALENDAR_TEXT])
{
    switch (v->type) {
    case WR_DATE:
        return calendar_format_date(v->integer, out);
    case WR_TIME:
        return calendar_format_time(v->integer, out);
    case WR_TIMESTAMP:
        return calendar_format_timestamp(v->integer, out);
    default:
        return 0;
    }
}

/* Takes a number of `least` to `most` digits. */
static bool digits_take(bytes *text, size_t least, size_t most, int *out)
{
    size_t n = 0;

    *out = 0;
    for (; n < text->len && n < most; n++) {
        uint8_t digit = (uint8_t)(bytes_u8(*text)[n] - '0');

        if (digit > 9)
            break;
        *out = *out * 10 + digit;
    }
    *text = bytes_skip(*text, n);
    return n >= least;
}

static bool sign_take(bytes *text, char sign)
{
    if (!text->len || bytes_u8(*text)[0] != sign)
        return false;
    *text = bytes_skip(*text, 1);
    return true;
}

static bool date_take(bytes *text, struct calendar *c)
{
    return digits_take(text, 4, 4, &c->year) && sign_take(text, '-') &&
           digits_take(text, 1, 2, &c->month) && sign_take(text, '-') &&
           digits_take(text, 1, 2, &c->day);
}

/* A fraction's first three digits. */
static bool fraction_take(bytes *text, int *ms)
{
    size_t before = text->len;
    int rest;

    if (!digits_take(text, 1, 3, ms))
        return false;
    for (size_t n = before - text->len; n < 3; n++)
        *ms *= 10;
    return digits_take(text, 0, 6, &rest);
}

static bool time_take(bytes *text, struct calendar *c)
{
    return digits_take(text, 1, 2, &c->hour) && sign_take(text, ':') &&
           digits_take(text, 2, 2, &c->minute) &&
           (!sign_take(text, ':') || digits_take(text, 2, 2, &c->second)) &&
           (!sign_take(text, '.') || fraction_take(text, &c->ms));
}

bool calendar_parse_date(bytes text, int64_t *days)
{
    struct calendar c = {0};
    int64_t ms;

    if (!date_take(&text, &c) || text.len || !calendar_to_ms(&c, &ms))
        return false;
    *days = floor_div(ms, DAY_MS);
    return true;
}

bool calendar_parse_time(bytes text, int64_t *ms_of_day)
{
    struct calendar c = {0};

    if (!time_take(&text, &c) || text.len || !time_is(&c))
        return false;
    *ms_of_day = time_ms(&c);
    return true;
}

bool calendar_parse_timestamp(bytes text, int64_t *ms)
{
    struct calendar c = {0};

    if (!date_take(&text, &c))
        return false;
    if ((sign_take(&text, ' ') || sign_take(&text, 'T')) && !time_take(&text, &c))
        return false;
    sign_take(&text, 'Z');
    return !text.len && calendar_to_ms(&c, ms);
}
