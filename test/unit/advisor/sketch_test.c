#include "advisor/sketch.h"

#include "base/port.h"
#include "base/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

/* Four standard errors, and half a value for the smallest counts. */
static void distinct_is_near(uint64_t count, uint64_t seed)
{
    struct sketch_distinct *s = mem_zalloc(sizeof(*s));
    struct rng rng;
    double found, allowed = (double)count * 4 * 1.04 / sqrt(1 << SKETCH_DISTINCT_BITS) + 0.5;

    rng_init(&rng, seed);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t hash = rng_next(&rng);

        sketch_distinct_add(s, hash);
        sketch_distinct_add(s, hash); /* again changes nothing */
    }
    found = sketch_distinct_count(s);
    if (fabs(found - (double)count) > allowed)
        fail_msg("%.0f of %llu values", found, (unsigned long long)count);
    mem_free(s);
}

static void test_distinct(void **state)
{
    (void)state;
    /* Around 10,000 values simpler estimators change over from one formula to the other. */
    static const uint64_t counts[] = {0, 1, 2, 10, 100, 1000, 5000, 10000, 20000, 100000, 2000000};

    for (size_t i = 0; i < PORT_COUNT(counts); i++)
        for (uint64_t seed = 1; seed <= 3; seed++)
            distinct_is_near(counts[i], seed);
}

/* Hashes of the values 0, 1, 2, ... */
static uint64_t hash_of(uint64_t value)
{
    struct rng rng;

    rng_init(&rng, value);
    return rng_next(&rng);
}

static void test_weights_never_too_low_and_seldom_too_high(void **state)
{
    (void)state;
    enum { VALUES = 200000 };
    struct sketch_weights *s = mem_zalloc(sizeof(*s));
    uint64_t total = 0, over = 0;
    double allowed;

    for (uint64_t v = 0; v < VALUES; v++) {
        sketch_weights_add(s, hash_of(v), 1 + v % 7, BYTES_LIT("x"));
        total += 1 + v % 7;
    }
    assert_int_equal(s->total, total);
    allowed = M_E * (double)total / SKETCH_WIDTH;
    for (uint64_t v = 0; v < VALUES; v++) {
        uint64_t weight = sketch_weights_of(s, hash_of(v));

        assert_true(weight >= 1 + v % 7);
        over += (double)(weight - (1 + v % 7)) > allowed;
    }
    assert_true((double)over < VALUES * exp(-SKETCH_DEPTH));
    mem_free(s);
}

static void test_weights_find_the_heaviest(void **state)
{
    (void)state;
    struct sketch_weights *s = mem_zalloc(sizeof(*s));
    struct rng rng;
    char text[24];

    /* Value v of 50 comes with a chance of 1/(v+1), among a million that come once. */
    rng_init(&rng, 7);
    for (uint64_t n = 0; n < 1000000; n++) {
        uint64_t v = (uint64_t)(50 * rng_unit(&rng) * rng_unit(&rng));
        int len = snprintf(text, sizeof(text), "heavy-%llu", (unsigned long long)v);

        sketch_weights_add(s, hash_of(v), 10, bytes_of(text, (size_t)len));
        sketch_weights_add(s, hash_of(1000 + n), 1, BYTES_LIT("light"));
    }
    sketch_weights_sort(s);
    assert_int_equal(s->top_count, SKETCH_TOP);
    for (uint64_t v = 0; v < SKETCH_TOP - 2; v++) {
        int len = snprintf(text, sizeof(text), "heavy-%llu", (unsigned long long)v);

        assert_int_equal(s->top[v].text_len, len);
        assert_memory_equal(s->top[v].text, text, (size_t)len);
        assert_true(v == 0 || s->top[v].weight <= s->top[v - 1].weight);
    }
    mem_free(s);
}

static void test_weights_exact_for_few_values(void **state)
{
    (void)state;
    struct sketch_weights *s = mem_zalloc(sizeof(*s));

    for (int round = 0; round < 100; round++)
        for (uint64_t v = 0; v < 40; v++)
            sketch_weights_add(s, hash_of(v), v + 1, BYTES_LIT("v"));
    for (uint64_t v = 0; v < 40; v++)
        assert_int_equal(sketch_weights_of(s, hash_of(v)), 100 * (v + 1));
    mem_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_distinct),
        cmocka_unit_test(test_weights_never_too_low_and_seldom_too_high),
        cmocka_unit_test(test_weights_find_the_heaviest),
        cmocka_unit_test(test_weights_exact_for_few_values),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
