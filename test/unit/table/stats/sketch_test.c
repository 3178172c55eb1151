/* The space-saving sketch: its error bound, and several together. */
#include "table/stats/sketch.h"

#include "base/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define KEYS 5000
#define NOTES 200000
#define CAPACITY 64

static void note(struct sketch *s, uint64_t key)
{
    const uint64_t figures[SKETCH_FIGURES] = {1, 0, 1, 0, 100};

    sketch_add(s, key * 0x9E3779B97F4A7C15ull, bytes_of(&key, sizeof(key)), 1, figures);
}

static uint64_t key_of(const struct sketch_entry *e)
{
    uint64_t key;

    assert_int_equal(e->key_len, sizeof(key));
    memcpy(&key, e->key, sizeof(key));
    return key;
}

/* Small numbers are much more frequent than large ones. */
static uint64_t skewed(struct rng *r)
{
    return (uint64_t)(KEYS * pow(rng_unit(r), 4));
}

static void check(struct sketch *const *sketches, size_t n, const uint64_t *truth, uint64_t total)
{
    struct sketch_entry *top;
    struct arena a;
    size_t count;

    arena_init(&a, NULL, 0);
    count = sketch_top(sketches, n, &a, n * CAPACITY, &top);
    assert_in_range(count, CAPACITY, n * CAPACITY);
    for (size_t i = 0; i < count; i++) {
        uint64_t key = key_of(&top[i]);

        assert_true(top[i].count >= truth[key]);
        assert_true(top[i].count - top[i].error <= truth[key]);
        assert_true(top[i].error <= total / CAPACITY);
        assert_true(top[i].figures[0] <= truth[key]);
        assert_true(i == 0 || top[i].count <= top[i - 1].count);
    }
    for (uint64_t key = 0; key < KEYS; key++) {
        bool there = false;

        for (size_t i = 0; i < count; i++)
            there |= key_of(&top[i]) == key;
        if (truth[key] > total / CAPACITY)
            assert_true(there);
    }
    arena_release(&a);
}

static void errors_stay_within_the_bound(void **state)
{
    struct sketch *s = sketch_new(CAPACITY);
    uint64_t truth[KEYS] = {0};
    struct rng r;

    (void)state;
    rng_init(&r, 7);
    for (int i = 0; i < NOTES; i++) {
        uint64_t key = skewed(&r);

        truth[key]++;
        note(s, key);
    }
    assert_int_equal(sketch_total(s), NOTES);
    check(&s, 1, truth, NOTES);
    sketch_free(s);
}

static void several_are_one_with_the_errors_of_all(void **state)
{
    struct sketch *s[3] = {sketch_new(CAPACITY), sketch_new(CAPACITY), sketch_new(CAPACITY)};
    uint64_t truth[KEYS] = {0};
    struct rng r;

    (void)state;
    rng_init(&r, 8);
    for (int i = 0; i < NOTES; i++) {
        uint64_t key = skewed(&r);

        truth[key]++;
        note(s[rng_below(&r, 3)], key);
    }
    check(s, 3, truth, NOTES);
    for (int i = 0; i < 3; i++)
        sketch_free(s[i]);
}

static void few_keys_are_exact(void **state)
{
    struct sketch *s[2] = {sketch_new(CAPACITY), NULL};
    struct sketch_entry *top;
    struct arena a;

    (void)state;
    arena_init(&a, NULL, 0);
    for (uint64_t key = 1; key <= 40; key++)
        for (uint64_t i = 0; i < key; i++)
            note(s[0], key);
    assert_int_equal(sketch_top(s, 2, &a, 10, &top), 10);
    for (uint64_t i = 0; i < 10; i++) {
        assert_int_equal(key_of(&top[i]), 40 - i);
        assert_int_equal(top[i].count, 40 - i);
        assert_int_equal(top[i].figures[4], 100 * (40 - i));
        assert_int_equal(top[i].error, 0);
    }
    sketch_free(s[0]);
    arena_release(&a);
}

static void memory_does_not_grow_with_keys(void **state)
{
    struct sketch *s = sketch_new(CAPACITY);
    size_t full;

    (void)state;
    assert_true(sketch_bytes(s) < 4096);
    for (uint64_t key = 0; key < CAPACITY; key++)
        note(s, key);
    full = sketch_bytes(s);
    for (uint64_t key = 0; key < 100000; key++)
        note(s, key);
    assert_int_equal(sketch_bytes(s), full);
    assert_true(full < CAPACITY * 200);
    sketch_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_stay_within_the_bound),
        cmocka_unit_test(several_are_one_with_the_errors_of_all),
        cmocka_unit_test(few_keys_are_exact),
        cmocka_unit_test(memory_does_not_grow_with_keys),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
