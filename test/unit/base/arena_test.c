#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#undef fail /* ctx.h has one of another meaning */

#include "base/arena.h"

#include "base/arena_take.h"

static int calls[3], call_count;

static void note_call(void *arg)
{
    calls[call_count++] = *(int *)arg;
}

static void test_memory_is_aligned_and_apart(void **state)
{
    uint8_t first[100], *pieces[400];
    struct arena a;

    (void)state;
    arena_init(&a, first, sizeof(first));
    for (size_t i = 0; i < PORT_COUNT(pieces); i++) {
        pieces[i] = arena_alloc(&a, 1 + i * 7);
        assert_int_equal((uintptr_t)pieces[i] % 16, 0);
        memset(pieces[i], (int)i, 1 + i * 7);
    }
    for (size_t i = 0; i < PORT_COUNT(pieces); i++)
        assert_true(pieces[i][0] == (uint8_t)i && pieces[i][i * 7] == (uint8_t)i);
    assert_true(a.used >= 7 * 400 * 399 / 2);
    arena_release(&a);
}

/* The caller's own memory serves first and is not freed. */
static void test_first_block(void **state)
{
    _Alignas(16) uint8_t first[64];
    struct arena a;

    (void)state;
    arena_init(&a, first, sizeof(first));
    assert_ptr_equal(arena_alloc(&a, 48), first);
    assert_ptr_equal(arena_alloc(&a, 16), first + 48);
    assert_null(a.blocks);
    arena_alloc(&a, 1);
    assert_non_null(a.blocks);
    arena_release(&a);
    arena_init(&a, first + 1, 3); /* too small to hold anything aligned */
    assert_non_null(arena_alloc(&a, 1));
    arena_release(&a);
}

/* Beginning again runs hooks, gives all blocks back and keeps how it counts. */
static void test_restart(void **state)
{
    _Alignas(16) uint8_t first[256];
    atomic_size_t meter = 0;
    int one = 1, two = 2;
    struct arena a;

    (void)state;
    arena_init(&a, first, sizeof(first));
    arena_meter(&a, &meter);
    a.cap = 100000;
    arena_on_release(&a, note_call, &one); /* its hook is in `first`: there is no block */
    arena_restart(&a, first, sizeof(first));
    assert_int_equal(call_count, 1);
    assert_ptr_equal(arena_alloc(&a, 16), first);
    arena_alloc(&a, 5000);
    arena_on_release(&a, note_call, &two);
    assert_true(atomic_load(&meter) >= 5000);
    arena_restart(&a, first, sizeof(first));
    assert_int_equal(call_count, 2);
    assert_int_equal(atomic_load(&meter), 0);
    assert_int_equal(a.used, 0);
    assert_null(arena_try_alloc(&a, 100001));
    assert_ptr_equal(arena_alloc(&a, 16), first);
    arena_release(&a);
    assert_int_equal(call_count, 2);
    call_count = 0;
}

/* A row after the other: mostly all of it lies in `first`. */
static void test_reuse(void **state)
{
    _Alignas(16) uint8_t first[256];
    atomic_size_t meter = 0;
    struct arena a;

    (void)state;
    arena_init(&a, first, sizeof(first));
    arena_meter(&a, &meter);
    a.cap = 10000;
    for (size_t size = 1; size < 1000; size += 3) {
        size_t rounded = (size + 15) / 16 * 16;

        assert_ptr_equal(arena_try_quick(&a, 1), first);
        assert_non_null(memset(arena_try_quick(&a, size), 1, size));
        assert_int_equal(a.used, 16 + rounded);
        assert_int_equal(atomic_load(&meter) > 0, 16 + rounded > sizeof(first));
        arena_reuse(&a, first, sizeof(first));
        assert_int_equal(a.used, 0);
        assert_int_equal(atomic_load(&meter), 0);
    }
    assert_null(arena_try_quick(&a, 10001));
    assert_null(arena_try_quick(&a, SIZE_MAX - 3));
    a.cap = 200;
    assert_ptr_equal(arena_try_quick(&a, 192), first);
    assert_null(arena_try_quick(&a, 16)); /* it would have room, and is past the cap */
    arena_release(&a);
}

/* Going back gives away what came behind the mark, as often as one likes, and nothing else. */
static void test_rewind(void **state)
{
    _Alignas(16) uint8_t first[256];
    atomic_size_t meter = 0;
    int kept = 1, gone = 2;
    struct arena_mark mark;
    uint8_t *before;
    struct arena a;
    size_t held;

    (void)state;
    arena_init(&a, first, sizeof(first));
    arena_meter(&a, &meter);
    arena_on_release(&a, note_call, &kept);
    before = memset(arena_alloc(&a, 5000), 7, 5000);
    mark = arena_mark(&a);
    held = atomic_load(&meter);
    for (int i = 1; i <= 2; i++) {
        void *next = arena_alloc(&a, 16);

        arena_on_release(&a, note_call, &gone);
        arena_alloc(&a, 3 << 20);
        arena_rewind(&a, &mark);
        assert_int_equal(call_count, i);
        assert_int_equal(calls[i - 1], gone);
        assert_int_equal(atomic_load(&meter), held);
        assert_int_equal(a.used, mark.used);
        assert_ptr_equal(arena_alloc(&a, 16), next);
        arena_rewind(&a, &mark);
    }
    assert_int_equal(before[0] + before[4999], 14);
    arena_release(&a);
    assert_int_equal(call_count, 3);
    assert_int_equal(calls[2], kept);
    assert_int_equal(atomic_load(&meter), 0);
    call_count = 0;
}

static void test_large_pieces(void **state)
{
    struct arena a;
    uint8_t *p;

    (void)state;
    arena_init(&a, NULL, 0);
    p = arena_zalloc(&a, 5 << 20);
    assert_int_equal(p[0] | p[(5 << 20) - 1], 0);
    assert_non_null(arena_alloc(&a, 10));
    arena_release(&a);
}

#define MB ((size_t)1 << 20)

/* A large piece is taken, with the room in front of it, and outlives the arena. */
static void test_take(void **state)
{
    atomic_size_t meter = 0;
    struct arena_piece piece;
    struct arena a;
    uint8_t *large, *small;
    size_t held;

    (void)state;
    arena_init(&a, NULL, 0);
    arena_meter(&a, &meter);
    small = arena_alloc(&a, 1000);
    held = meter;
    large = arena_alloc(&a, 2 * MB);
    memset(large, 7, 2 * MB);
    assert_true(arena_take(&a, bytes_of(large + 4096, 2 * MB - 4096), 4096, &piece));
    assert_ptr_equal(piece.memory + piece.at, large + 4096);
    assert_int_equal(piece.size, 2 * MB);
    assert_int_equal(meter, held);
    memset(small, 1, 1000);
    memset(arena_alloc(&a, 5000), 2, 5000); /* not in what was taken */
    arena_release(&a);
    assert_int_equal(meter, 0);
    for (size_t i = 0; i < 2 * MB - 4096; i++)
        assert_int_equal(piece.memory[piece.at + i], 7);
    mem_free(piece.memory);
}

static void test_take_refused(void **state)
{
    uint8_t first[4000], *small, *large;
    struct arena_piece piece;
    struct arena a;

    (void)state;
    arena_init(&a, first, sizeof(first));
    small = arena_alloc(&a, MB / 2);
    large = arena_alloc(&a, 2 * MB);
    assert_false(arena_take(&a, bytes_of(first, 3000), 0, &piece));
    assert_false(arena_take(&a, bytes_of(small, MB / 2), 0, &piece));         /* others beside it */
    assert_false(arena_take(&a, bytes_of(large, 2 * MB), 4096, &piece));      /* no room */
    assert_false(arena_take(&a, bytes_of(large + MB, MB - 1), 4096, &piece)); /* half empty */
    assert_false(arena_take(&a, bytes_of(large + 4096, 2 * MB), 16, &piece)); /* beyond its end */
    assert_false(arena_take(&a, BYTES_LIT("elsewhere"), 0, &piece));
    memset(small, 1, MB / 2);
    memset(large, 2, 2 * MB);
    arena_release(&a);
}

static void test_cap(void **state)
{
    struct arena a;

    (void)state;
    arena_init(&a, NULL, 0);
    assert_non_null(arena_try_alloc(&a, 1 << 20));
    a.cap = a.used + 1000;
    assert_null(arena_try_alloc(&a, 1001));
    assert_null(arena_try_alloc(&a, SIZE_MAX));
    assert_non_null(arena_try_alloc(&a, 900));
    assert_null(arena_try_alloc(&a, 900));
    assert_non_null(arena_alloc(&a, 5000)); /* does not look at the cap */
    assert_null(arena_try_alloc(&a, 1));
    arena_release(&a);
}

static void test_hooks_run_newest_first(void **state)
{
    static int numbers[3] = {1, 2, 3};
    struct arena a;

    (void)state;
    arena_init(&a, NULL, 0);
    for (int i = 0; i < 3; i++) {
        int *in_arena = arena_alloc(&a, sizeof(int)); /* still there when the hook runs */

        *in_arena = numbers[i];
        arena_on_release(&a, note_call, in_arena);
    }
    arena_release(&a);
    assert_int_equal(call_count, 3);
    assert_int_equal(calls[0], 3);
    assert_int_equal(calls[2], 1);
    arena_release(&a); /* nothing is left */
    assert_int_equal(call_count, 3);
}

static void test_copies(void **state)
{
    char s[] = "abc";
    struct arena a;
    bytes copy, empty, text;

    (void)state;
    arena_init(&a, NULL, 0);
    copy = arena_copy(&a, bytes_str(s));
    s[0] = 'x';
    assert_true(bytes_equal(copy, BYTES_LIT("abc")));
    empty = arena_copy(&a, BYTES_NONE);
    assert_non_null(empty.ptr);
    assert_int_equal(empty.len, 0);
    text = arena_printf(&a, "%s-%d", "abc", 7);
    assert_int_equal(text.len, 5);
    assert_string_equal(text.ptr, "abc-7");
    arena_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory_is_aligned_and_apart),
        cmocka_unit_test(test_first_block),
        cmocka_unit_test(test_restart),
        cmocka_unit_test(test_reuse),
        cmocka_unit_test(test_rewind),
        cmocka_unit_test(test_large_pieces),
        cmocka_unit_test(test_take),
        cmocka_unit_test(test_take_refused),
        cmocka_unit_test(test_cap),
        cmocka_unit_test(test_hooks_run_newest_first),
        cmocka_unit_test(test_copies),
    };

    return cmocka_run_group_tests_name("arena", tests, NULL, NULL);
}
