#include "search/field/calendar.h"

#define DAYS_400_YEARS 146097
#define MONTHS_YEAR 12
/* Years are counted from March, so that the leap day is a year's last one: from 0000-03-01. */
#define DAYS_TO_1970 719468

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

int64_t calendar_month_start(int64_t month)
{
    int64_t since_march = month + (int64_t)1970 * MONTHS_YEAR - 2;
    int64_t year = floor_div(since_march, MONTHS_YEAR);
    int64_t of_year = since_march - year * MONTHS_YEAR;

    return year * 365 + floor_div(year, 4) - floor_div(year, 100) + floor_div(year, 400) +
           (153 * of_year + 2) / 5 - DAYS_TO_1970;
}

int64_t calendar_month_of(int64_t day)
{
    /* Within a month of it, and then exactly. */
    int64_t month =
        floor_div((day + DAYS_TO_1970) * 4800, DAYS_400_YEARS) - (int64_t)1970 * MONTHS_YEAR + 2;

    while (calendar_month_start(month) > day)
        month--;
    while (calendar_month_start(month + 1) <= day)
        month++;
    return month;
}

bool calendar_day(int year, int month, int day_of_month, int64_t *day)
{
    int64_t of_1970 = ((int64_t)year - 1970) * MONTHS_YEAR + month - 1;

    if (year < 0 || year > 9999 || month < 1 || month > MONTHS_YEAR || day_of_month < 1)
        return false;
    *day = calendar_month_start(of_1970) + day_of_month - 1;
    return *day < calendar_month_start(of_1970 + 1);
}
