#include "sql/calendar.h"

#include "base/port.h"
#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <time.h>
#include <cmocka.h>

static void test_text(void **state)
{
    static const struct {
        const char *text;
        bool is;
        int64_t ms;
        const char *again; /* NULL: the same */
    } cases[] = {
        {"1970-01-01 00:00:00", true, 0, NULL},
        {"2024-02-29 03:04:05.678", true, 1709175845678, NULL},
        {"0001-01-01 00:00:00", true, CALENDAR_MS_MIN, NULL},
        {"9999-12-31 23:59:59.999", true, CALENDAR_MS_MAX, NULL},
        {"1969-12-31 23:59:59.999", true, -1, NULL},
        {"2024-1-2 3:04", true, 1704164640000, "2024-01-02 03:04:00"},
        {"2024-01-02", true, 1704153600000, "2024-01-02 00:00:00"},
        {"2024-01-02T00:00:00.5Z", true, 1704153600500, "2024-01-02 00:00:00.500"},
        {"2024-01-02 00:00:00.123456789", true, 1704153600123, "2024-01-02 00:00:00.123"},
        {"2023-02-29", false, 0, NULL},
        {"2100-02-29", false, 0, NULL},
        {"2024-04-31", false, 0, NULL},
        {"2024-13-01", false, 0, NULL},
        {"2024-00-01", false, 0, NULL},
        {"2024-01-00", false, 0, NULL},
        {"0000-01-01", false, 0, NULL},
        {"2024-01-02 24:00:00", false, 0, NULL},
        {"2024-01-02 00:60:00", false, 0, NULL},
        {"2024-01-02 00:00:60", false, 0, NULL},
        {"2024-01-02 00:00:00.", false, 0, NULL},
        {"2024-01-02 ", false, 0, NULL},
        {"2024-01-02x", false, 0, NULL},
        {"24-01-02", false, 0, NULL},
        {"", false, 0, NULL},
    };

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(cases); i++) {
        char again[CALENDAR_TEXT];
        int64_t ms;
        size_t n;

        assert_int_equal(calendar_parse_timestamp(bytes_str(cases[i].text), &ms), cases[i].is);
        if (!cases[i].is)
            continue;
        assert_int_equal(ms, cases[i].ms);
        n = calendar_format_timestamp(ms, again);
        assert_int_equal(n, strlen(again));
        assert_string_equal(again, cases[i].again ? cases[i].again : cases[i].text);
    }
}

static void test_date_and_time(void **state)
{
    char text[CALENDAR_TEXT];
    int64_t v;

    (void)state;
    assert_true(calendar_parse_date(BYTES_LIT("1969-12-31"), &v));
    assert_int_equal(v, -1);
    assert_int_equal(calendar_format_date(-1, text), 10);
    assert_string_equal(text, "1969-12-31");
    assert_false(calendar_parse_date(BYTES_LIT("1969-12-31 00:00:00"), &v));
    assert_true(calendar_parse_time(BYTES_LIT("23:59:59.9"), &v));
    assert_int_equal(v, DAY_MS - 100);
    assert_int_equal(calendar_format_time(v, text), 12);
    assert_string_equal(text, "23:59:59.900");
    assert_false(calendar_parse_time(BYTES_LIT("24:00:00"), &v));
    assert_int_equal(calendar_format(&(struct wr_value){.type = WR_DATE, .integer = 1}, text), 10);
    assert_string_equal(text, "1970-01-02");
    assert_int_equal(calendar_format(&(struct wr_value){.type = WR_TIME, .integer = 1000}, text),
                     8);
    assert_string_equal(text, "00:00:01");
    assert_int_equal(
        calendar_format(&(struct wr_value){.type = WR_TIMESTAMP, .integer = 1000}, text), 19);
    assert_string_equal(text, "1970-01-01 00:00:01");
    assert_int_equal(calendar_format(&(struct wr_value){.type = WR_BIGINT, .integer = 1}, text), 0);
}

/* As the C library sees it. */
static void test_against_library(void **state)
{
    struct rng rng;

    (void)state;
    rng_init(&rng, 20261123);
    for (int i = 0; i < 100000; i++) {
        int64_t ms = CALENDAR_MS_MIN +
                     (int64_t)(rng_next(&rng) % (uint64_t)(CALENDAR_MS_MAX - CALENDAR_MS_MIN)),
                back;
        struct calendar c = calendar_of_ms(ms);
        time_t s = (time_t)(ms / 1000 - (ms % 1000 < 0));
        struct tm tm;

        assert_non_null(gmtime_r(&s, &tm));
        assert_int_equal(c.year, tm.tm_year + 1900);
        assert_int_equal(c.month, tm.tm_mon + 1);
        assert_int_equal(c.day, tm.tm_mday);
        assert_int_equal(c.hour, tm.tm_hour);
        assert_int_equal(c.minute, tm.tm_min);
        assert_int_equal(c.second, tm.tm_sec);
        assert_true(calendar_to_ms(&c, &back));
        assert_int_equal(back, ms);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_date_and_time),
        cmocka_unit_test(test_against_library),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
