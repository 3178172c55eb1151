#include "cli/transfer/rate.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "../../context.h"

static void expect_parse(const char *text, bool good, double per_s, bool units)
{
    struct rate r = {0};

    ctx_clear(&c);
    assert_int_equal(rate_parse(&c, text, &r) == 0, good);
    if (!good)
        return;
    assert_true(r.per_s >= per_s && r.per_s <= per_s);
    assert_int_equal(r.units, units);
}

static void test_words(void **state)
{
    (void)state;
    expect_parse(NULL, true, 0, false);
    expect_parse("500", true, 500, false);
    expect_parse("500cu", true, 500, true);
    expect_parse("0", false, 0, false);
    expect_parse("", false, 0, false);
    expect_parse("cu", false, 0, false);
    expect_parse("-5", false, 0, false);
    expect_parse("5 cu", false, 0, false);
    expect_parse("5cux", false, 0, false);
    expect_parse("99999999999999999999", false, 0, false);
}

/* Each begins where those before it have ended, and idle time is not made up for. */
static void test_moments(void **state)
{
    struct clock clock;
    struct rate r = {.per_s = 100};
    int64_t start;

    (void)state;
    clock_set_init(&clock, 5000000);
    rate_init(&r, &clock);
    start = clock_mono_us(&clock);
    assert_int_equal(rate_begin_us(&r, 50) - start, 0);
    assert_int_equal(rate_begin_us(&r, 10) - start, 500000);
    rate_take(&r, 40);
    assert_int_equal(rate_begin_us(&r, 1) - start, 1000000);
    clock.set_us += 9000000;
    assert_int_equal(rate_begin_us(&r, 1) - start, 9000000);
    assert_int_equal(rate_begin_us(&r, 1) - start, 9010000);
    rate_release(&r);
}

static void test_no_limit(void **state)
{
    struct clock clock;
    struct rate r = {0};
    atomic_bool stop = false;

    (void)state;
    clock_set_init(&clock, 1);
    rate_init(&r, &clock);
    for (int i = 0; i < 3; i++)
        assert_true(rate_wait(&r, 1000000, &stop));
    rate_release(&r);
}

/* Whoever waits ends with the load. */
static void test_stop(void **state)
{
    struct clock clock;
    struct rate r = {.per_s = 1};
    atomic_bool stop = true;

    (void)state;
    clock_set_init(&clock, 1);
    rate_init(&r, &clock);
    assert_false(rate_wait(&r, 1000000, &stop));
    assert_false(rate_wait(&r, 1, &stop));
    rate_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_moments),
        cmocka_unit_test(test_no_limit),
        cmocka_unit_test(test_stop),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
