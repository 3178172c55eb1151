#include "table/model/period.h"

#include "base/floor_div.h"
#include "base/gregorian.h"
#include "base/invariant.h"

#include <stdio.h>

#define DATE_BYTES 10 /* YYYY-MM-DD */
#define THURSDAY 3    /* behind Monday, with which a week begins */

int64_t period_of_day(enum wr_series_by by, int64_t day)
{
    struct gregorian g;

    invariant(day >= PERIOD_DAY_MIN && day <= PERIOD_DAY_MAX);
    if (by == WR_SERIES_BY_DAY)
        return day;
    if (by == WR_SERIES_BY_WEEK) /* 1970-01-01 is a Thursday */
        return floor_div(day + THURSDAY, 7);
    g = gregorian_of(day);
    return (g.year - 1970) * 12 + g.month - 1;
}

int64_t period_first_day(enum wr_series_by by, int64_t number)
{
    int64_t year;

    if (by == WR_SERIES_BY_DAY)
        return number;
    if (by == WR_SERIES_BY_WEEK)
        return number * 7 - THURSDAY;
    year = 1970 + floor_div(number, 12);
    return gregorian_number(year, (int)(number - (year - 1970) * 12) + 1, 1);
}

/* ISO 8601: a week belongs to the year that its Thursday lies in. */
static void week_of(int64_t number, int64_t *year, int64_t *week)
{
    int64_t thursday = period_first_day(WR_SERIES_BY_WEEK, number) + THURSDAY;

    *year = gregorian_of(thursday).year;
    *week = (thursday - gregorian_number(*year, 1, 1)) / 7 + 1;
}

void period_name(enum wr_series_by by, int64_t number, char out[PERIOD_TEXT_BYTES])
{
    struct gregorian first = gregorian_of(period_first_day(by, number));
    int64_t year, week;

    if (by == WR_SERIES_BY_WEEK) {
        week_of(number, &year, &week);
        snprintf(out, PERIOD_TEXT_BYTES, "%04d-W%02d", (int)(year % 10000), (int)(week % 100));
    } else if (by == WR_SERIES_BY_MONTH) {
        snprintf(out, PERIOD_TEXT_BYTES, "%04d-%02d", (int)(first.year % 10000), first.month % 100);
    } else {
        snprintf(out, PERIOD_TEXT_BYTES, "%04d-%02d-%02d", (int)(first.year % 10000),
                 first.month % 100, first.day % 100);
    }
}

/* `count` digits from `at` on. */
static bool digits(bytes text, size_t at, size_t count, int64_t *out)
{
    *out = 0;
    if (text.len < at + count)
        return false;
    for (size_t i = at; i < at + count; i++) {
        uint8_t digit = (uint8_t)(bytes_u8(text)[i] - '0');

        if (digit > 9)
            return false;
        *out = *out * 10 + digit;
    }
    return true;
}

static bool has(bytes text, size_t at, char c)
{
    return text.len > at && bytes_u8(text)[at] == (uint8_t)c;
}

/* The date that a text begins with. */
static bool read_date(bytes text, int64_t *day)
{
    int64_t year, month, of_month;

    if (!digits(text, 0, 4, &year) || !has(text, 4, '-') || !digits(text, 5, 2, &month) ||
        !has(text, 7, '-') || !digits(text, 8, 2, &of_month))
        return false;
    if (year < 1 || !gregorian_has(year, (int)month, (int)of_month))
        return false;
    *day = gregorian_number(year, (int)month, (int)of_month);
    return true;
}

static bool read_week(bytes name, int64_t *number)
{
    int64_t year, week, year_back, week_back;

    if (name.len != 8 || !digits(name, 0, 4, &year) || !has(name, 4, '-') || !has(name, 5, 'W') ||
        !digits(name, 6, 2, &week) || year < 1 || week < 1)
        return false;
    /* January 4 lies in the first one. */
    *number = period_of_day(WR_SERIES_BY_WEEK, gregorian_number(year, 1, 4)) + week - 1;
    if (period_first_day(WR_SERIES_BY_WEEK, *number) + THURSDAY > PERIOD_DAY_MAX)
        return false;
    week_of(*number, &year_back, &week_back);
    return year == year_back && week == week_back;
}

bool period_parse(enum wr_series_by by, bytes name, int64_t *number)
{
    int64_t year, month;

    if (by == WR_SERIES_BY_DAY)
        return name.len == DATE_BYTES && read_date(name, number);
    if (by == WR_SERIES_BY_WEEK)
        return read_week(name, number);
    if (name.len != 7 || !digits(name, 0, 4, &year) || !has(name, 4, '-') ||
        !digits(name, 5, 2, &month) || year < 1 || month < 1 || month > 12)
        return false;
    *number = (year - 1970) * 12 + month - 1;
    return true;
}

bool period_day_of_number(enum wr_series_unit unit, int64_t time, int64_t *day)
{
    int64_t second = unit == WR_SERIES_SECONDS        ? 1
                     : unit == WR_SERIES_MILLISECONDS ? 1000
                                                      : 1000000;

    *day = floor_div(time, second * 86400);
    return *day >= PERIOD_DAY_MIN && *day <= PERIOD_DAY_MAX;
}

/* A time of day names UTC with a Z or nothing; +08:00 or -05 would be another one. */
static bool is_utc(bytes time)
{
    for (size_t i = 0; i < time.len; i++)
        if (bytes_u8(time)[i] == '+' || bytes_u8(time)[i] == '-')
            return false;
    return true;
}

bool period_day_of_text(bytes text, int64_t *day)
{
    if (!read_date(text, day))
        return false;
    if (text.len == DATE_BYTES)
        return true;
    return (has(text, DATE_BYTES, 'T') || has(text, DATE_BYTES, ' ')) &&
           is_utc(bytes_skip(text, DATE_BYTES + 1));
}
