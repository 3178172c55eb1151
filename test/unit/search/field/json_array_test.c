/* JSON arrays: which texts are one, and what type and value each element has. */
#include "search/field/json_array.h"

#include "base/ctx.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "../../context.h"

#define ELEMENTS 4

static size_t elements_of(const char *text, struct wr_value *out)
{
    size_t count = 0;

    if (!json_array_read(&c.arena, bytes_str(text), out, ELEMENTS, &count))
        fail_msg("'%s' is no array", text);
    return count;
}

/* Every 64-bit number is itself, those next to the limits too. */
static void test_whole_numbers(void **state)
{
    static const int64_t numbers[] = {0,
                                      -1,
                                      999999999999999999,
                                      INT64_MAX,
                                      INT64_MIN,
                                      INT64_MAX - 1,
                                      -9200000000000000001,
                                      INT64_MIN + 1};
    struct wr_value out[ELEMENTS];
    char text[64];

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(numbers); i++) {
        snprintf(text, sizeof(text), "[%lld]", (long long)numbers[i]);
        assert_int_equal(elements_of(text, out), 1);
        if (out[0].type != WR_BIGINT || out[0].integer != numbers[i])
            fail_msg("%s was read as type %d, %lld", text, out[0].type, (long long)out[0].integer);
    }
}

static void test_other_numbers(void **state)
{
    struct wr_value out[ELEMENTS];

    (void)state;
    assert_int_equal(elements_of("[9223372036854775808, -1e19, 1.5, 1e2]", out), 4);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(out[i].type, WR_DOUBLE);
    assert_true(out[0].real == 0x1p63);
    assert_true(out[1].real == -1e19);
    assert_true(out[2].real == 1.5);
    assert_true(out[3].real == 100);
}

static void test_no_arrays(void **state)
{
    static const char *const none[] = {"",     "1",     "[",       "[1",    "[1,]",        "[1-2]",
                                       "[1e]", "[--1]", "[1e999]", "[1] 2", "[1,2,3,4,5]", "[x]"};
    struct wr_value out[ELEMENTS];
    size_t count;

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(none); i++)
        if (json_array_read(&c.arena, bytes_str(none[i]), out, ELEMENTS, &count))
            fail_msg("'%s' was taken for an array", none[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_whole_numbers),
        TEST(test_other_numbers),
        TEST(test_no_arrays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
