/* Dates as text: which sort by time and which do not. */
#include "advisor/text_date.h"

#include "base/port.h"

#include <setjmp.h>
#include <stdarg.h>

#undef fail /* cmocka has its own */
#include <cmocka.h>

static const char *form(const char *first, const char *second)
{
    bytes values[2] = {bytes_str(first), bytes_str(second)}, example;

    return text_date_unsorted(values, 2, &example);
}

static void test_unsorted(void **state)
{
    (void)state;
    assert_string_equal(form("31/12/2024", "01/01/2025"), "DD/MM/YYYY or MM/DD/YYYY");
    assert_string_equal(form("1.2.2024", "31.12.2024 10:00"), "DD/MM/YYYY or MM/DD/YYYY");
    assert_string_equal(form("12-31-2024", "01-01-2025"), "DD/MM/YYYY or MM/DD/YYYY");
    assert_string_equal(form("Jan 5, 2024", "Mar 15, 2024"), "month names");
    assert_string_equal(form("Mon, 05-Feb-2024 10:00", "5 January 2024"), "month names");
    assert_string_equal(form("2024-1-5", "2024-10-12"), "year first, without leading zeros");
    assert_string_equal(form("2024-01-05 9:30", "2024-01-05 10:30"),
                        "year first, without leading zeros");
    assert_string_equal(form("2024-01-05 09:30 AM", "2024-01-05 10:30 PM"), "hours of AM and PM");
}

static void test_sorted(void **state)
{
    static const char *const texts[][2] = {
        {"2024-01-05", "2024-10-12"},
        {"2024-01-05T09:30:00.5Z", "2024/10/12 10:00"},
        {"Marta", "Mario 12 2024 5"},
        {"10.0.0.2024x", "1/2"},
        {"", "x"},
        {"20240105", "1704412800000"},
        {"31/12/2024", "no date at all"},
    };

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(texts); i++)
        assert_null(form(texts[i][0], texts[i][1]));
    assert_null(text_date_unsorted(NULL, 0, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_unsorted),
                                       cmocka_unit_test(test_sorted)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
