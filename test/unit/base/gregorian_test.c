#include "base/gregorian.h"

#include "base/port.h"
#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <time.h>
#include <cmocka.h>

static void test_days(void **state)
{
    static const struct {
        int64_t number, year;
        int month, day;
    } cases[] = {
        {0, 1970, 1, 1},       {-1, 1969, 12, 31},   {59, 1970, 3, 1},        {11016, 2000, 2, 29},
        {-25509, 1900, 2, 28}, {-25508, 1900, 3, 1}, {2932896, 9999, 12, 31}, {-719162, 1, 1, 1},
        {-719163, 0, 12, 31},  {-719468, 0, 3, 1},   {-719469, 0, 2, 29},     {-865625, -400, 1, 1},
    };

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(cases); i++) {
        struct gregorian g = gregorian_of(cases[i].number);

        assert_int_equal(g.year, cases[i].year);
        assert_int_equal(g.month, cases[i].month);
        assert_int_equal(g.day, cases[i].day);
        assert_int_equal(gregorian_number(g.year, g.month, g.day), cases[i].number);
        assert_true(gregorian_has(g.year, g.month, g.day));
    }
}

static void test_no_days(void **state)
{
    static const struct {
        int64_t year;
        int month, day;
    } cases[] = {{2023, 2, 29}, {2100, 2, 29}, {2024, 4, 31}, {2024, 13, 1}, {2024, 0, 1},
                 {2024, 1, 0},  {2024, 1, 32}, {2024, 2, 30}, {2024, 1, -1}};

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(cases); i++)
        assert_false(gregorian_has(cases[i].year, cases[i].month, cases[i].day));
    assert_true(gregorian_has(2400, 2, 29));
}

/* As the C library has it, over some millions of years. */
static void test_against_library(void **state)
{
    struct rng rng;

    (void)state;
    rng_init(&rng, 1);
    for (int i = 0; i < 100000; i++) {
        int64_t number = (int64_t)rng_below(&rng, 2000000000) - 1000000000;
        struct gregorian g = gregorian_of(number);
        time_t seconds = (time_t)number * 86400;
        struct tm tm;

        assert_non_null(gmtime_r(&seconds, &tm));
        assert_int_equal(g.year, tm.tm_year + INT64_C(1900));
        assert_int_equal(g.month, tm.tm_mon + 1);
        assert_int_equal(g.day, tm.tm_mday);
        assert_int_equal(gregorian_number(g.year, g.month, g.day), number);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_days),
        cmocka_unit_test(test_no_days),
        cmocka_unit_test(test_against_library),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
