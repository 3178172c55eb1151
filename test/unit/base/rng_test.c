#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#undef fail /* ctx.h has one of another meaning */

#include "base/rng.h"

static void test_a_seed_repeats(void **state)
{
    struct rng a, b, other;
    int same = 0;

    (void)state;
    rng_init(&a, 7);
    rng_init(&b, 7);
    rng_init(&other, 8);
    for (int i = 0; i < 1000; i++) {
        uint64_t v = rng_next(&a);

        assert_true(v == rng_next(&b));
        same += v == rng_next(&other);
    }
    assert_int_equal(same, 0);
}

static void test_below_is_even(void **state)
{
    static int seen[7];
    struct rng r;

    (void)state;
    rng_init(&r, 1);
    for (int i = 0; i < 70000; i++) {
        uint64_t v = rng_below(&r, 7);

        assert_true(v < 7);
        seen[v]++;
    }
    for (int i = 0; i < 7; i++)
        assert_in_range(seen[i], 9500, 10500);
    assert_true(rng_below(&r, 1) == 0);
    for (int i = 0; i < 1000; i++)
        assert_true(rng_below(&r, (1ull << 63) + 1) <= 1ull << 63);
}

static void test_unit(void **state)
{
    struct rng r;
    double sum = 0;

    (void)state;
    rng_init(&r, 1);
    for (int i = 0; i < 10000; i++) {
        double v = rng_unit(&r);

        assert_true(v >= 0 && v < 1);
        sum += v;
    }
    assert_true(sum > 4800 && sum < 5200);
}

static void test_secret(void **state)
{
    uint8_t a[32] = {0}, b[32] = {0};

    (void)state;
    rng_secret(a, sizeof(a));
    rng_secret(b, sizeof(b));
    assert_memory_not_equal(a, b, sizeof(a));
    rng_secret(a, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_seed_repeats),
        cmocka_unit_test(test_below_is_even),
        cmocka_unit_test(test_unit),
        cmocka_unit_test(test_secret),
    };

    return cmocka_run_group_tests_name("rng", tests, NULL, NULL);
}
