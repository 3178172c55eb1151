/* Dates: what each letter of a format takes, and where buckets begin. */
#include "search/field/date.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "../../context.h"

#define MS INT64_C(1000000)
#define SECOND (1000 * MS)
#define DAY (86400 * SECOND)
#define UNTOUCHED INT64_C(-77)

static struct date_formats *formats(const char *const *names, size_t count)
{
    static bytes views[8];
    struct wr_field_schema field = {
        .name = BYTES_LIT("d"), .date_formats = views, .date_format_count = count};
    struct date_formats *f;

    for (size_t i = 0; i < count; i++)
        views[i] = bytes_str(names[i]);
    assert_int_equal(date_formats_make(&c, &field, &f), 0);
    return f;
}

/* In one format; UNTOUCHED: it is none. */
static int64_t parsed(const char *format, const char *text)
{
    int64_t ns = UNTOUCHED;
    bool is_date = date_of_text(formats(&format, 1), bytes_str(text), &ns);

    assert_true(is_date == (ns != UNTOUCHED));
    return ns;
}

static void test_patterns(void **state)
{
    static const struct {
        const char *format, *text;
        int64_t ns;
    } cases[] = {
        {"yyyy-MM-dd", "1970-01-01", 0},
        {"yyyy-MM-dd", "2022-05-29", INT64_C(1653782400) * SECOND},
        {"yyyy-MM-dd HH:mm:ss", "2017-05-01 00:00:01", INT64_C(1493596801) * SECOND},
        {"yyyy-MM-dd'T'HH:mm:ss.SSS", "1970-01-01T00:00:00.123", 123 * MS},
        {"yyyy-MM-dd'T'HH:mm:ss.SSSSSS", "1970-01-01T00:00:00.123456", 123456000},
        {"yyyy-MM-dd'T'HH:mm:ss.SSSSSSSSS", "1970-01-01T00:00:00.123456789", 123456789},
        {"yyyy-MM-dd'T'HH:mm:ssX", "1970-01-01T00:00:00Z", 0},
        {"yyyy-MM-dd'T'HH:mm:ssX", "1970-01-01T08:00:00+08", 0},
        {"yyyy-MM-dd'T'HH:mm:ssX", "1970-01-01T05:30:00+0530", 0},
        {"yyyy-MM-dd'T'HH:mm:ssXX", "1970-01-01T08:00:00+0800", 0},
        {"yyyy-MM-dd'T'HH:mm:ssXXX", "1970-01-01T00:00:00-01:30", 5400 * SECOND},
        {"yyyyMMddHHmmss", "19700102000001", DAY + SECOND},
        {"yy/M/d", "08/7/4", INT64_C(1215129600) * SECOND},
        {"y-M-d", "2008-12-31", INT64_C(1230681600) * SECOND},
        {"yyyy-MM-dd hh:mm a", "1970-01-01 12:00 AM", 0},
        {"yyyy-MM-dd hh:mm a", "1970-01-01 12:00 PM", 43200 * SECOND},
        {"yyyy-MM-dd K:mm a", "1970-01-01 0:30 pm", 45000 * SECOND},
        {"yyyy-MM-dd h a", "1970-01-01 1 PM", 46800 * SECOND},
        {"yyyy年MM月dd日", "1970年01月02日", DAY},
        {"'it''s' yyyy", "it's 1970", 0},
        {"yyyy''", "1970'", 0},
        {"yyyy-MM-dd", "2000-02-29", INT64_C(951782400) * SECOND},
        {"yyyy-MM-dd'T'HH:mm:ss.SSSSSSSSS", "2262-04-11T23:47:16.854775807", INT64_MAX},
        {"yyyy-MM-ddX", "1969-12-31-05", UNTOUCHED},
    };

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(cases); i++)
        if (parsed(cases[i].format, cases[i].text) != cases[i].ns)
            fail_msg("'%s' under %s is %lld", cases[i].text, cases[i].format,
                     (long long)parsed(cases[i].format, cases[i].text));
}

static void test_strict(void **state)
{
    static const struct {
        const char *format, *text;
    } cases[] = {
        {"yyyy-MM-dd", "2022-05-1"},
        {"yyyy-MM-dd", "2022-5-01"},
        {"yyyy-MM-dd", "22-05-01"},
        {"yyyy-MM-dd", "02022-05-01"},
        {"yyyy-MM-dd", "2022-05-01 "},
        {"yyyy-MM-dd", " 2022-05-01"},
        {"yyyy-MM-dd", "2022-02-29"},
        {"yyyy-MM-dd", "1900-02-29"},
        {"yyyy-MM-dd", "2022-04-31"},
        {"yyyy-MM-dd", "2022-13-01"},
        {"yyyy-MM-dd", "2022-00-01"},
        {"yyyy-MM-dd", "2022-01-00"},
        {"yyyy-MM-dd", "+022-01-01"},
        {"yyyy-MM-dd", "2022/01/01"},
        {"yyyy-MM-dd", ""},
        {"yyyy-MM-dd", "1969-12-31"},
        {"yyyy-MM-dd", "2262-04-12"},
        {"yyyy-MM-dd", "9999-12-31"},
        {"yyyy-MM-dd", "0000-01-01"},
        {"HH:mm:ss", "24:00:00"},
        {"HH:mm:ss", "23:60:00"},
        {"HH:mm:ss", "23:59:60"},
        {"hh a", "13 AM"},
        {"hh a", "00 AM"},
        {"KK a", "12 AM"},
        {"hh a", "11 XM"},
        {"hh a", "11 A"},
        {"ss.SSS", "00.12"},
        {"ss.SSS", "00.1234"},
        {"yyyyX", "1970+0"},
        {"yyyyX", "1970+19"},
        {"yyyyX", "1970+18:01"},
        {"yyyyXXX", "1970+0800"},
        {"yyyyXX", "1970+08"},
        {"yyyyX", "1970+0860"},
        {"yyyyX", "1970"},
        {"yyyyX", "1970z"},
        {"yy", "1970"},
        {"yyyy-MM-dd'T'HH:mm:ss.SSSSSSSSS", "2262-04-11T23:47:16.854775808"},
    };

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(cases); i++)
        if (parsed(cases[i].format, cases[i].text) != UNTOUCHED)
            fail_msg("'%s' was taken for a date under %s", cases[i].text, cases[i].format);
}

static void test_epochs(void **state)
{
    static const char *const names[] = {"yyyy-MM-dd", "epoch_millis", "epoch_second"};
    struct date_formats *f = formats(names, 3);
    int64_t ns;

    (void)state;
    assert_int_equal(parsed("epoch_second", "2"), 2 * SECOND);
    assert_int_equal(parsed("epoch_millis", "2"), 2 * MS);
    assert_int_equal(parsed("epoch_micros", "2"), 2000);
    assert_int_equal(parsed("epoch_nanos", "9223372036854775807"), INT64_MAX);
    assert_int_equal(parsed("epoch_nanos", "-1"), UNTOUCHED);
    assert_int_equal(parsed("epoch_second", "9223372037"), UNTOUCHED);
    assert_int_equal(parsed("epoch_second", "9223372036854775807"), UNTOUCHED);
    assert_int_equal(parsed("epoch_second", "1.0"), UNTOUCHED);
    assert_true(date_of_integer(f, 5, &ns));
    assert_int_equal(ns, 5 * MS);
    assert_true(date_of_text(f, BYTES_LIT("1970-01-02"), &ns));
    assert_int_equal(ns, DAY);
    assert_true(date_of_text(f, BYTES_LIT("7"), &ns));
    assert_int_equal(ns, 7 * MS);
    assert_false(date_of_integer(f, -1, &ns));
    assert_false(date_of_integer(f, INT64_MAX, &ns));
    assert_false(date_of_integer(f, INT64_MIN, &ns));
    assert_false(date_of_integer(formats(names, 1), 5, &ns));
}

static void test_refused_formats(void **state)
{
    static const char *const names[] = {
        "",     "-",  "yyyyy", "MMM",   "ddd", "EEE", "SSSSSSSSSS",
        "XXXX", "aa", "'yyyy", "yyyy'", "'",   "'T'", "epoch_hour",
    };
    struct wr_field_schema field = {.name = BYTES_LIT("the_field"), .date_format_count = 1};
    struct date_formats *f;

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(names); i++) {
        bytes name = bytes_str(names[i]);

        field.date_formats = &name;
        if (date_formats_make(&c, &field, &f) != E_PARAMETER)
            fail_msg("'%s' was taken for a format", names[i]);
        assert_non_null(strstr(c.text, "the_field"));
        ctx_clear(&c);
    }
    field.date_format_count = 0;
    assert_int_equal(date_formats_make(&c, &field, &f), E_PARAMETER);
}

static void test_zones(void **state)
{
    static const struct {
        const char *text;
        int64_t ns;
    } cases[] = {
        {"Z", 0},
        {"+00:00", 0},
        {"+08:00", 28800 * SECOND},
        {"+05:30", 19800 * SECOND},
        {"-03:30", -12600 * SECOND},
        {"+0800", 28800 * SECOND},
        {"-18", -64800 * SECOND},
        {"", UNTOUCHED},
        {"8", UNTOUCHED},
        {"+8", UNTOUCHED},
        {"+8:00", UNTOUCHED},
        {"+08:0", UNTOUCHED},
        {"+08:60", UNTOUCHED},
        {"+19:00", UNTOUCHED},
        {"+08:00 ", UNTOUCHED},
        {"Asia/Shanghai", UNTOUCHED},
    };

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(cases); i++) {
        int64_t ns = UNTOUCHED;

        assert_true(date_zone_of_text(bytes_str(cases[i].text), &ns) == (cases[i].ns != UNTOUCHED));
        assert_int_equal(ns, cases[i].ns);
    }
}

enum { YEAR = 1, QUARTER, MONTH, WEEK, DAYS, HOUR, MINUTE, SECONDS, MILLIS };

static int64_t at(const char *text)
{
    return parsed("yyyy-MM-dd HH:mm:ss.SSS", text);
}

static void test_buckets(void **state)
{
    int64_t t = at("2017-05-18 13:14:15.167");

    (void)state;
    assert_int_equal(date_bucket(t, YEAR, 1, 0, 0), at("2017-01-01 00:00:00.000"));
    assert_int_equal(date_bucket_next(t, YEAR, 1, 0, 0), at("2018-01-01 00:00:00.000"));
    assert_int_equal(date_bucket(t, QUARTER, 1, 0, 0), at("2017-04-01 00:00:00.000"));
    assert_int_equal(date_bucket_next(t, QUARTER, 1, 0, 0), at("2017-07-01 00:00:00.000"));
    assert_int_equal(date_bucket(t, MONTH, 1, 0, 0), at("2017-05-01 00:00:00.000"));
    assert_int_equal(date_bucket_next(t, MONTH, 1, 0, 0), at("2017-06-01 00:00:00.000"));
    /* 1970-01-01 was a Thursday, and so was this day. */
    assert_int_equal(date_bucket(t, WEEK, 1, 0, 0), at("2017-05-18 00:00:00.000"));
    assert_int_equal(date_bucket(t, DAYS, 1, 0, 0), at("2017-05-18 00:00:00.000"));
    assert_int_equal(date_bucket(t, HOUR, 3, 0, 0), at("2017-05-18 12:00:00.000"));
    assert_int_equal(date_bucket(t, MINUTE, 5, 0, 0), at("2017-05-18 13:10:00.000"));
    assert_int_equal(date_bucket(t, SECONDS, 10, 0, 0), at("2017-05-18 13:14:10.000"));
    assert_int_equal(date_bucket(t, MILLIS, 50, 0, 0), at("2017-05-18 13:14:15.150"));
    assert_int_equal(date_bucket_next(t, MILLIS, 50, 0, 0), at("2017-05-18 13:14:15.200"));
}

static void test_buckets_in_a_zone(void **state)
{
    int64_t zone = 28800 * SECOND;
    int64_t first = INT64_C(1493568000000) * MS; /* 2017-05-01 00:00 +08:00 */
    int64_t next = INT64_C(1493740800000) * MS;

    (void)state;
    assert_int_equal(date_bucket(first, DAYS, 2, zone, DAY), first);
    assert_int_equal(date_bucket(next - 1, DAYS, 2, zone, DAY), first);
    assert_int_equal(date_bucket_next(first, DAYS, 2, zone, DAY), next);
    assert_int_equal(date_bucket(next, DAYS, 2, zone, DAY), next);
    /* The last hours of April in UTC are May there. */
    assert_int_equal(date_bucket(at("2017-04-30 16:00:00.000"), MONTH, 1, zone, 0),
                     at("2017-04-30 16:00:00.000"));
    assert_int_equal(date_bucket(at("2017-04-30 15:59:59.999"), MONTH, 1, zone, 0),
                     at("2017-03-31 16:00:00.000"));
    assert_int_equal(date_bucket(at("2017-05-01 00:30:00.000"), MONTH, 1, 0, 3600 * SECOND),
                     at("2017-04-01 01:00:00.000"));
}

/* Each month of four hundred years and more follows the one before, days counted one by one. */
static void test_calendar(void **state)
{
    static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int64_t start = 0;

    (void)state;
    for (int year = 1970; year < 2262; year++)
        for (int month = 0; month < 12; month++) {
            bool is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            int64_t days = lengths[month] + (month == 1 && is_leap);

            assert_int_equal(date_bucket(start + days * DAY - 1, MONTH, 1, 0, 0), start);
            assert_int_equal(date_bucket_next(start, MONTH, 1, 0, 0), start + days * DAY);
            start += days * DAY;
        }
}

static void test_extremes(void **state)
{
    static const int64_t times[] = {INT64_MIN, INT64_MIN + 1, -1, 0, 1, INT64_MAX - 1, INT64_MAX};
    static const int32_t values[] = {INT32_MIN, -1, 0, 1, 2, INT32_MAX};
    int64_t ns;

    (void)state;
    for (size_t t = 0; t < PORT_COUNT(times); t++)
        for (size_t v = 0; v < PORT_COUNT(values); v++)
            for (int32_t unit = -1; unit <= 10; unit++)
                for (size_t z = 0; z < PORT_COUNT(times); z++) {
                    int64_t from = date_bucket(times[t], unit, values[v], times[z], times[z]);
                    int64_t to = date_bucket_next(times[t], unit, values[v], times[z], times[z]);

                    assert_true(from <= times[t] && to >= times[t] && from <= to);
                    date_bucket(times[t], unit, values[v], times[z], INT64_MIN);
                    date_bucket_next(times[t], unit, values[v], INT64_MIN, times[z]);
                }
    assert_false(date_interval_ns(
        &(struct wr_date_interval){.given = true, .value = INT32_MAX, .unit = YEAR}, &ns));
    assert_false(date_interval_ns(&(struct wr_date_interval){.value = 1, .unit = 10}, &ns));
    assert_true(date_interval_ns(&(struct wr_date_interval){.value = -2, .unit = WEEK}, &ns));
    assert_int_equal(ns, -14 * DAY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_patterns),          TEST(test_strict),   TEST(test_epochs),
        TEST(test_refused_formats),   TEST(test_zones),    TEST(test_buckets),
        TEST(test_buckets_in_a_zone), TEST(test_calendar), TEST(test_extremes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
