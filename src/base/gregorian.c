#include "base/gregorian.h"

#include "base/floor_div.h"

/* Years that begin in March have their odd day at the end, so the days before a month are the same
 * each year; 400 of them are an era. */
#define ERA_DAYS 146097
#define EPOCH_DAYS 719468 /* from 0000-03-01 to 1970-01-01 */

int64_t gregorian_number(int64_t year, int month, int day)
{
    int64_t y = year - (month <= 2), era = floor_div(y, 400), of_era = y - era * 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;

    return era * ERA_DAYS + of_era * 365 + of_era / 4 - of_era / 100 + of_year - EPOCH_DAYS;
}

struct gregorian gregorian_of(int64_t number)
{
    int64_t era = floor_div(number + EPOCH_DAYS, ERA_DAYS);
    int64_t of_era = number + EPOCH_DAYS - era * ERA_DAYS;
    int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
    int64_t month = (5 * of_year + 2) / 153;
    struct gregorian day = {.day = (int)(of_year - (153 * month + 2) / 5 + 1),
                            .month = (int)(month < 10 ? month + 3 : month - 9)};

    day.year = year + era * 400 + (day.month <= 2);
    return day;
}

bool gregorian_has(int64_t year, int month, int day)
{
    if (month < 1 || month > 12 || day < 1 || day > 31)
        return false;
    return gregorian_of(gregorian_number(year, month, day)).day == day;
}
