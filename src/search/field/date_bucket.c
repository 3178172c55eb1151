#include "search/field/date.h"

#include "base/floor_div.h"
#include "base/gregorian.h"

#define DAY_NS INT64_C(86400000000000)
#define MONTHS_YEAR 12

/* Bounds are reckoned in 128 bits: a date of 64 bits moved by a zone and an offset, and then
 * rounded, may need one more. */
typedef __int128 wide;

enum {
    UNIT_YEAR = 1,
    UNIT_QUARTER = 2,
    UNIT_MONTH = 3,
    UNIT_COUNT = 10,
};

static const struct {
    int32_t months; /* of the calendar; 0: a fixed length */
    int64_t ns;     /* of the calendar's: about */
} units[UNIT_COUNT] = {
    [UNIT_YEAR] = {12, 365 * DAY_NS},
    [UNIT_QUARTER] = {3, 90 * DAY_NS},
    [UNIT_MONTH] = {1, 30 * DAY_NS},
    [4] = {0, 7 * DAY_NS},
    [5] = {0, DAY_NS},
    [6] = {0, DAY_NS / 24},
    [7] = {0, DAY_NS / 1440},
    [8] = {0, DAY_NS / 86400},
    [9] = {0, DAY_NS / 86400000},
};

static int64_t nearest(wide ns)
{
    return ns > INT64_MAX ? INT64_MAX : ns < INT64_MIN ? INT64_MIN : (int64_t)ns;
}

static wide floor_to(wide a, wide step)
{
    wide rest = a % step;

    return a - (rest < 0 ? rest + step : rest);
}

bool date_interval_ns(const struct wr_date_interval *interval, int64_t *ns)
{
    if (interval->unit < UNIT_YEAR || interval->unit >= UNIT_COUNT)
        return false;
    return !__builtin_mul_overflow(units[interval->unit].ns, (int64_t)interval->value, ns);
}

/* The month that a day is in; months count from 1970-01, which is 0. */
static int64_t month_of(int64_t day)
{
    struct gregorian g = gregorian_of(day);

    return (g.year - 1970) * MONTHS_YEAR + g.month - 1;
}

static int64_t first_day(int64_t month)
{
    int64_t years = floor_div(month, MONTHS_YEAR);

    return gregorian_number(1970 + years, (int)(month - years * MONTHS_YEAR) + 1, 1);
}

/* The start of the bucket `ahead` buckets after the one of `local`, in the zone's own time. */
static wide bucket(wide local, int32_t unit, int32_t value, int ahead)
{
    wide step = value < 1 ? 1 : value;
    wide month;

    if (unit < UNIT_YEAR || unit >= UNIT_COUNT)
        unit = UNIT_COUNT - 1;
    if (!units[unit].months) {
        step *= units[unit].ns;
        return floor_to(local, step) + step * ahead;
    }
    step *= units[unit].months;
    month = month_of((int64_t)(floor_to(local, DAY_NS) / DAY_NS));
    return (wide)first_day((int64_t)(floor_to(month, step) + step * ahead)) * DAY_NS;
}

int64_t date_bucket(int64_t ns, int32_t unit, int32_t value, int64_t zone_ns, int64_t offset_ns)
{
    wide moved = (wide)zone_ns - offset_ns;

    return nearest(bucket(ns + moved, unit, value, 0) - moved);
}

int64_t date_bucket_next(int64_t ns, int32_t unit, int32_t value, int64_t zone_ns,
                         int64_t offset_ns)
{
    wide moved = (wide)zone_ns - offset_ns;

    return nearest(bucket(ns + moved, unit, value, 1) - moved);
}
