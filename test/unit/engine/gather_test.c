/* How many writes a round of the group commit waits for, by a pretended clock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "engine/gather.h"

#define ROUNDS 50

struct side {
    struct gather g;
    int64_t now_us;
};

/* Rounds that answer `count` writes each and take run_us, while as many come, apart_us from one to
 * the next after the answers. */
static void run(struct side *s, size_t count, int64_t run_us, int64_t apart_us)
{
    for (int i = 0; i < ROUNDS; i++) {
        for (size_t n = 1; n <= count; n++)
            gather_came(&s->g, 1, s->now_us + (int64_t)n * apart_us);
        s->now_us += run_us;
        gather_ended(&s->g, count, s->now_us - run_us, s->now_us);
    }
}

/* Who is alone, or nearly, waits for nobody. */
static void test_few(void **state)
{
    struct side s = {.now_us = 1000000};

    (void)state;
    assert_int_equal(gather_enough(&s.g, 1), 0);
    run(&s, 3, 300, 50);
    assert_int_equal(gather_enough(&s.g, 1), 0);
}

/* 64 writers come round in 1.6 ms, a round takes 0.4: less than half are enough. */
static void test_quick(void **state)
{
    struct side s = {.now_us = 1000000};

    (void)state;
    run(&s, 32, 400, 25);
    assert_int_equal(gather_enough(&s.g, 32), 26);
    assert_int_equal(gather_enough(&s.g, 1), 14);
}

/* A round takes 5 ms: half of them. */
static void test_slow(void **state)
{
    struct side s = {.now_us = 1000000};

    (void)state;
    run(&s, 32, 5000, 25);
    assert_int_equal(gather_enough(&s.g, 32), 32);
    assert_int_equal(gather_enough(&s.g, 1), 17);
    run(&s, 32, 400, 25); /* the disk got quick */
    assert_int_equal(gather_enough(&s.g, 32), 26);
    run(&s, 32, 5000, 25); /* and slow again */
    assert_int_equal(gather_enough(&s.g, 32), 32);
}

/* The same disk, but 16 writers, who come round in 0.4 ms. */
static void test_few_writers_wait_for_half(void **state)
{
    struct side s = {.now_us = 1000000};

    (void)state;
    run(&s, 8, 400, 25);
    assert_int_equal(gather_enough(&s.g, 8), 8);
}

/* Nobody wrote for a while: that says nothing about how long writers take. */
static void test_pause(void **state)
{
    struct side s = {.now_us = 1000000};
    int64_t apart_ns;

    (void)state;
    run(&s, 32, 5000, 25);
    apart_ns = s.g.apart_ns;
    s.now_us += 3600 * (int64_t)1000000;
    gather_came(&s.g, 32, s.now_us);
    gather_ended(&s.g, 32, s.now_us, s.now_us + 5000);
    assert_int_equal(s.g.apart_ns, apart_ns);
    assert_int_equal(gather_enough(&s.g, 32), 32);
}

/* A time that was read before the round ended, and told after it. */
static void test_late_word(void **state)
{
    struct side s = {.now_us = 1000000};
    int64_t apart_ns;

    (void)state;
    run(&s, 32, 5000, 25);
    apart_ns = s.g.apart_ns;
    gather_came(&s.g, 8, s.now_us - 40);
    gather_ended(&s.g, 32, s.now_us, s.now_us + 5000);
    assert_int_equal(s.g.apart_ns, apart_ns);
}

/* Never longer than the round before took, nor than a millisecond. */
static void test_until(void **state)
{
    struct side s = {.now_us = 1000000};

    (void)state;
    run(&s, 32, 400, 25);
    assert_int_equal(gather_until_us(&s.g), s.now_us + 400);
    run(&s, 32, 5000, 25);
    assert_int_equal(gather_until_us(&s.g), s.now_us + 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_few),   cmocka_unit_test(test_quick),
        cmocka_unit_test(test_slow),  cmocka_unit_test(test_few_writers_wait_for_half),
        cmocka_unit_test(test_pause), cmocka_unit_test(test_late_word),
        cmocka_unit_test(test_until),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
