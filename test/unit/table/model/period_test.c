/* Months, weeks and days, in UTC, against the C library's calendar. */
#include "table/model/period.h"

#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#undef fail /* the name is ctx.h's in this house */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int64_t day_of(const char *text)
{
    int64_t day;

    assert_true(period_day_of_text(bytes_str(text), &day));
    return day;
}

static void check_name(enum wr_series_by by, const char *date, const char *name)
{
    int64_t number = period_of_day(by, day_of(date)), back;
    char text[PERIOD_TEXT_BYTES];

    period_name(by, number, text);
    assert_string_equal(text, name);
    assert_true(period_parse(by, bytes_str(name), &back));
    assert_int_equal(back, number);
    assert_true(period_first_day(by, number) <= day_of(date));
    assert_true(period_first_day(by, number + 1) > day_of(date));
}

static void test_names(void **state)
{
    (void)state;
    check_name(WR_SERIES_BY_MONTH, "1970-01-01", "1970-01");
    check_name(WR_SERIES_BY_MONTH, "1969-12-31", "1969-12");
    check_name(WR_SERIES_BY_MONTH, "2024-02-29", "2024-02");
    check_name(WR_SERIES_BY_MONTH, "2000-02-29", "2000-02");
    check_name(WR_SERIES_BY_MONTH, "0001-01-01", "0001-01");
    check_name(WR_SERIES_BY_DAY, "9999-12-30", "9999-12-30");
    check_name(WR_SERIES_BY_DAY, "1900-03-01", "1900-03-01");
    check_name(WR_SERIES_BY_WEEK, "1970-01-01", "1970-W01");
    check_name(WR_SERIES_BY_WEEK, "1969-12-28", "1969-W52");
    check_name(WR_SERIES_BY_WEEK, "2020-12-31", "2020-W53");
    check_name(WR_SERIES_BY_WEEK, "2021-01-03", "2020-W53");
    check_name(WR_SERIES_BY_WEEK, "2021-01-04", "2021-W01");
    check_name(WR_SERIES_BY_WEEK, "2024-12-30", "2025-W01");
}

/* Each day from 1890 to 2110, and many others. */
static void check_day(int64_t day)
{
    char text[32], date[PERIOD_TEXT_BYTES], name[PERIOD_TEXT_BYTES];
    time_t t = (time_t)(day * 86400);
    struct tm tm;

    gmtime_r(&t, &tm);
    snprintf(text, sizeof(text), "%04d-%02d-%02d", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday);
    assert_int_equal(day_of(text), day);
    period_name(WR_SERIES_BY_DAY, day, date);
    assert_string_equal(date, text);
    period_name(WR_SERIES_BY_MONTH, period_of_day(WR_SERIES_BY_MONTH, day), name);
    text[7] = 0;
    assert_string_equal(name, text);
    strftime(text, sizeof(text), "%V", &tm);
    period_name(WR_SERIES_BY_WEEK, period_of_day(WR_SERIES_BY_WEEK, day), name);
    assert_string_equal(name + 6, text);
}

static void test_calendar(void **state)
{
    struct rng rng;

    (void)state;
    rng_init(&rng, 23);
    for (int64_t day = -29219; day < 51134; day++)
        check_day(day);
    for (int i = 0; i < 20000; i++)
        check_day(PERIOD_DAY_MIN + (int64_t)rng_below(&rng, PERIOD_DAY_MAX - PERIOD_DAY_MIN + 1));
}

static void test_numbers(void **state)
{
    int64_t day;

    (void)state;
    assert_true(period_day_of_number(WR_SERIES_SECONDS, -1, &day));
    assert_int_equal(day, -1);
    assert_true(period_day_of_number(WR_SERIES_MILLISECONDS, -86400000, &day));
    assert_int_equal(day, -1);
    assert_true(period_day_of_number(WR_SERIES_MICROSECONDS, 86399999999, &day));
    assert_int_equal(day, 0);
    assert_true(period_day_of_number(WR_SERIES_MICROSECONDS, 86400000000, &day));
    assert_int_equal(day, 1);
    assert_false(period_day_of_number(WR_SERIES_SECONDS, INT64_MAX, &day));
    assert_false(period_day_of_number(WR_SERIES_SECONDS, INT64_MIN, &day));
    assert_false(period_day_of_number(WR_SERIES_SECONDS, 253402300800, &day));
    assert_true(period_day_of_number(WR_SERIES_SECONDS, 253402300799, &day));
}

static void test_what_is_none(void **state)
{
    static const char *const none[] = {
        "",           "2025",          "2025-02-29", "1900-02-29", "2025-00-01",
        "2025-13-01", "2025-04-31",    "2025-01-00", "0000-01-01", "2025-01-01x",
        "x025-01-01", "2025-01-01T+0", "-025-01-01", "2025/01/01", "2025-01-01T00:00:00-05:00"};
    int64_t n;

    (void)state;
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
        assert_false(period_day_of_text(bytes_str(none[i]), &n));
    assert_true(period_day_of_text(BYTES_LIT("2025-01-01T00:00:00.5Z"), &n));
    assert_true(period_day_of_text(BYTES_LIT("2025-01-01 00:00"), &n));
    assert_false(period_parse(WR_SERIES_BY_WEEK, BYTES_LIT("2025-W53"), &n));
    assert_false(period_parse(WR_SERIES_BY_WEEK, BYTES_LIT("2025-W00"), &n));
    assert_false(period_parse(WR_SERIES_BY_MONTH, BYTES_LIT("2025-1"), &n));
    assert_false(period_parse(WR_SERIES_BY_DAY, BYTES_LIT("2025-01"), &n));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_calendar),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_what_is_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
