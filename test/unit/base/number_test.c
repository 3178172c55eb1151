/* Whole numbers: what is one, and that nothing is bent until it is one. */
#include "base/number.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define UNTOUCHED 12345

static int64_t parse(const char *text)
{
    int64_t v = UNTOUCHED;

    assert_true(number_integer(bytes_str(text), &v));
    return v;
}

static void test_numbers(void **state)
{
    (void)state;
    assert_int_equal(parse("0"), 0);
    assert_int_equal(parse("-0"), 0);
    assert_int_equal(parse("007"), 7);
    assert_int_equal(parse("-15"), -15);
    assert_int_equal(parse("9223372036854775807"), INT64_MAX);
    assert_int_equal(parse("-9223372036854775808"), INT64_MIN);
}

static void test_no_numbers(void **state)
{
    static const char *const texts[] = {
        "",
        "-",
        "+8",
        " 7",
        "7 ",
        "7\n",
        "--7",
        "-+7",
        "0x7",
        "7.0",
        "7e1",
        "1,000",
        "abc",
        "7abc",
        "9223372036854775808",
        "-9223372036854775809",
        "99999999999999999999",
        "18446744073709551623",
    };
    int64_t v = UNTOUCHED;

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        if (number_integer(bytes_str(texts[i]), &v))
            fail_msg("'%s' was taken for %lld", texts[i], (long long)v);
    assert_false(number_integer(bytes_of("7\0", 2), &v));
    assert_false(number_integer(BYTES_NONE, &v));
    assert_int_equal(v, UNTOUCHED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_no_numbers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
