/* One budget: who gives way to whom, and when no request may begin. */

#include "table/sync/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define TOTAL 64000u

static uint64_t front_bytes, spared;
static int asked;

static uint64_t on_front(void *arg)
{
    (void)arg;
    return front_bytes;
}

static void on_spare(struct engine *e, uint64_t less)
{
    (void)e;
    spared = less;
    asked++;
}

static void test_shares(void **state)
{
    static const struct engine_ops ops = {.spare = on_spare};
    struct wr_options o = {.version = WR_API_VERSION, .memory_bytes = TOTAL,
                           .front_memory = on_front};
    struct engine e = {&ops};
    struct memory m = {0};

    (void)state;
    memory_init(&m, &o);
    assert_int_equal(memory_of_engine(&m), TOTAL / 8 * 7);
    assert_int_equal(memory_of_requests(&m), TOTAL / 2);

    /* Their own eighth is theirs. */
    front_bytes = TOTAL / 16;
    atomic_store(&m.requests->bytes, TOTAL / 16);
    assert_false(memory_full(&m, &e));
    assert_int_equal(asked, 0);

    /* Past it the engine does without what they hold, in steps of a sixteenth. */
    front_bytes = TOTAL / 16 + 1;
    assert_false(memory_full(&m, &e));
    assert_in_range(spared, 1, TOTAL / 16 + 1);
    front_bytes += TOTAL / 32;
    assert_false(memory_full(&m, &e));
    assert_int_equal(asked, 1);

    /* At a half nobody else may begin, and three eighths are all that the engine gives. */
    front_bytes = TOTAL / 16 * 7;
    assert_true(memory_full(&m, &e));
    assert_false(memory_spent(&m)); /* what is small may */
    front_bytes = TOTAL;
    assert_true(memory_full(&m, &e));
    assert_true(memory_spent(&m));
    assert_int_equal(spared, TOTAL / 8 * 3);

    /* It has it back when it is looked after, not at once. */
    front_bytes = 0;
    asked = 0;
    assert_false(memory_full(&m, &e));
    assert_int_equal(asked, 0);
    memory_give_back(&m, &e);
    assert_int_equal(asked, 1);
    assert_int_equal(spared, 0);
    memory_give_back(&m, &e);
    assert_int_equal(asked, 1);
    memory_release(&m);
}

/* Blocks of many arenas are counted while they are held. */
static void test_meter(void **state)
{
    atomic_size_t meter = 0;
    struct arena a, b;
    char first[64];

    (void)state;
    arena_init(&a, first, sizeof(first));
    arena_init(&b, NULL, 0);
    arena_meter(&a, &meter);
    arena_alloc(&a, 8);
    assert_int_equal(meter, 0); /* the caller's own memory */
    arena_alloc(&b, 500000);
    assert_int_equal(meter, 0);
    arena_meter(&b, &meter); /* also what it has already */
    assert_in_range(meter, 500000, 510000);
    arena_release(&b);
    assert_int_equal(meter, 0);
    arena_init(&b, NULL, 0);
    arena_meter(&b, &meter);
    arena_alloc(&a, 100000);
    assert_in_range(meter, 100000, 110000);
    arena_alloc(&b, 1000000);
    assert_in_range(meter, 1100000, 1200000);
    arena_unmeter(&a);
    assert_in_range(meter, 1000000, 1100000);
    arena_release(&a);
    assert_in_range(meter, 1000000, 1100000);
    arena_release(&b);
    assert_int_equal(meter, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shares),
        cmocka_unit_test(test_meter),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
