#include "sql/calendar.h"

#include "base/floor_div.h"
#include "base/gregorian.h"

#include <stdio.h>

struct calendar calendar_of_ms(int64_t ms)
{
    int64_t days = floor_div(ms, DAY_MS), rest = ms - days * DAY_MS;
    struct gregorian day = gregorian_of(days);

    return (struct calendar){.year = (int)day.year,
                             .month = day.month,
                             .day = day.day,
                             .hour = (int)(rest / 3600000),
                             .minute = (int)(rest / 60000 % 60),
                             .second = (int)(rest / 1000 % 60),
                             .ms = (int)(rest % 1000)};
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
    if (!time_is(c) || c->year < 1 || c->year > 9999 || !gregorian_has(c->year, c->month, c->day))
        return false;
    *out = gregorian_number(c->year, c->month, c->day) * DAY_MS + time_ms(c);
    return true;
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
