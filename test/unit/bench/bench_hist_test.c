#include "bench/bench_hist.h"

#include "base/port.h"
#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static int new_hist(void **state)
{
    *state = mem_zalloc(sizeof(struct bench_hist));
    return 0;
}

static int free_hist(void **state)
{
    mem_free(*state);
    return 0;
}

static void test_empty(void **state)
{
    assert_int_equal(bench_hist_at(*state, 0.5), 0);
    assert_int_equal(bench_hist_at(*state, 1), 0);
}

static void test_one(void **state)
{
    struct bench_hist *h = *state;

    bench_hist_add(h, 123456);
    assert_int_equal(bench_hist_at(h, 0), 123456);
    assert_int_equal(bench_hist_at(h, 0.99), 123456);
    assert_int_equal(h->count, 1);
    assert_int_equal(h->sum_us, 123456);
    assert_int_equal(h->max_us, 123456);
}

static void test_negative_and_huge_times(void **state)
{
    struct bench_hist *h = *state;

    bench_hist_add(h, -5);
    assert_int_equal(bench_hist_at(h, 1), 0);
    bench_hist_add(h, INT64_MAX);
    assert_int_equal(h->max_us, INT64_MAX);
    assert_true(bench_hist_at(h, 1) > 1000000000000);
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

/* Percentiles of times of all sizes are within 1 % of those of the sorted list. */
static void test_percentiles_are_close(void **state)
{
    static const double parts[] = {0.001, 0.1, 0.5, 0.9, 0.99, 0.999, 1};
    enum { N = 20000 };
    uint64_t *times = mem_alloc(N * sizeof(*times));
    struct bench_hist *h = *state;
    struct rng r;

    rng_init(&r, 1);
    for (size_t i = 0; i < N; i++) {
        times[i] = rng_below(&r, 1u << rng_below(&r, 31));
        bench_hist_add(h, (int64_t)times[i]);
    }
    qsort(times, N, sizeof(*times), compare);
    for (size_t i = 0; i < PORT_COUNT(parts); i++) {
        uint64_t nth = (uint64_t)(parts[i] * N + 0.5);
        uint64_t truth = times[nth ? nth - 1 : 0], got = bench_hist_at(h, parts[i]);

        assert_true(got >= truth);
        assert_true((double)got <= (double)truth * 1.01 + 1);
    }
    assert_int_equal(bench_hist_at(h, 1), times[N - 1]);
    mem_free(times);
}

/* Two halves merged are the whole. */
static void test_merge(void **state)
{
    struct bench_hist *whole = *state, *half = mem_zalloc(2 * sizeof(*half));
    struct rng r;

    rng_init(&r, 2);
    for (int i = 0; i < 1000; i++) {
        int64_t us = (int64_t)rng_below(&r, 100000);

        bench_hist_add(whole, us);
        bench_hist_add(&half[i % 2], us);
    }
    bench_hist_merge(&half[0], &half[1]);
    assert_memory_equal(&half[0], whole, sizeof(*whole));
    mem_free(half);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_empty, new_hist, free_hist),
        cmocka_unit_test_setup_teardown(test_one, new_hist, free_hist),
        cmocka_unit_test_setup_teardown(test_negative_and_huge_times, new_hist, free_hist),
        cmocka_unit_test_setup_teardown(test_percentiles_are_close, new_hist, free_hist),
        cmocka_unit_test_setup_teardown(test_merge, new_hist, free_hist),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
