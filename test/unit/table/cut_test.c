/* When partitions are cut and merged, and where. */
#include "table/cut.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static struct limits limits_of(void)
{
    struct limits l;

    limits_init(&l, false);
    l.partition_bytes_max = 1000;
    l.partition_read_cu_max = 100;
    l.partition_write_cu_max = 50;
    l.partition_hot_s = 10;
    l.partition_idle_s = 60;
    return l;
}

static void test_size(void **state)
{
    struct limits l = limits_of();

    (void)state;
    assert_false(cut_by_size(&l, &(struct cut_view){.bytes = 1000}));
    assert_true(cut_by_size(&l, &(struct cut_view){.bytes = 1001}));
    /* One value alone: again when it has grown by a quarter. */
    assert_false(cut_by_size(&l, &(struct cut_view){.bytes = 1250, .uncut_bytes = 1001}));
    assert_true(cut_by_size(&l, &(struct cut_view){.bytes = 1252, .uncut_bytes = 1001}));
}

static void test_load(void **state)
{
    struct limits l = limits_of();
    const uint64_t edge[] = {80, 40}, reads[] = {81, 0}, writes[] = {0, 41};
    const uint64_t low[] = {10, 5}, some[] = {0, 6};

    (void)state;
    assert_false(cut_is_hot(&l, edge));
    assert_true(cut_is_hot(&l, reads));
    assert_true(cut_is_hot(&l, writes));
    assert_true(cut_is_idle(&l, low));
    assert_false(cut_is_idle(&l, some));
    assert_false(cut_by_load(&l, &(struct cut_view){.hot_us = 9999999}));
    assert_true(cut_by_load(&l, &(struct cut_view){.hot_us = 10000000}));
}

static void test_merge(void **state)
{
    struct limits l = limits_of();
    struct cut_view a = {.bytes = 100, .idle_us = 60000000},
                    b = {.bytes = 150, .idle_us = 70000000};

    (void)state;
    assert_true(cut_to_merge(&l, &a, &b));
    b.bytes = 151; /* a quarter of what would be cut again */
    assert_false(cut_to_merge(&l, &a, &b));
    b.bytes = 150;
    a.idle_us--;
    assert_false(cut_to_merge(&l, &a, &b));
    a.idle_us++;
    b.idle_us = 0;
    assert_false(cut_to_merge(&l, &a, &b));
}

/* `n` samples; the i-th is the letter for which `letters` counts it. */
static size_t samples_of(const char *letters, bytes *out)
{
    size_t n = 0;

    for (; letters[n]; n++)
        out[n] = bytes_of(letters + n, 1);
    return n;
}

static bool middle(const char *letters, char *out)
{
    bytes samples[256], at = BYTES_NONE;
    bool found = cut_middle(samples, samples_of(letters, samples), &at);

    if (found)
        *out = *(const char *)at.ptr;
    return found;
}

static void test_middle(void **state)
{
    char at;

    (void)state;
    /* Too few say nothing. */
    assert_false(middle("abababababababababababababababa", &at));
    assert_true(middle("abababababababababababababababab", &at));
    assert_int_equal(at, 'b');
    /* In any order; the best balance counts. */
    assert_true(middle("zzzzzzzzzzzzzzzzmmmmmmmmmmmmaaaa", &at));
    assert_int_equal(at, 'z');
    assert_true(middle("zzzzmmmmmmmmmmmmmmmmmmmmaaaaaaaa", &at));
    assert_int_equal(at, 'm');
    /* One value that is all the traffic cannot be relieved. */
    assert_false(middle("mmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm", &at));
    assert_false(middle("aaammmmmmmmmmmmmmmmmmmmmmmmmmzzz", &at));
}

/* ---- maps */

static struct partition_at ats[] = {{{NULL, 0}, NULL},
                                    {{"\0b", 2}, NULL},
                                    {{"\0bb", 3}, NULL},
                                    {{"\2", 1}, NULL},
                                    {{"\2x", 2}, NULL}};
static const struct partition_map map = {PORT_COUNT(ats), ats};

static void test_index(void **state)
{
    (void)state;
    assert_int_equal(partition_index(&map, 0, BYTES_LIT("")), 0);
    assert_int_equal(partition_index(&map, 0, BYTES_LIT("a")), 0);
    assert_int_equal(partition_index(&map, 0, BYTES_LIT("b")), 1);
    assert_int_equal(partition_index(&map, 0, BYTES_LIT("ba")), 1);
    assert_int_equal(partition_index(&map, 0, BYTES_LIT("bb")), 2);
    assert_int_equal(partition_index(&map, 1, BYTES_LIT("a")), 2);
    assert_int_equal(partition_index(&map, 2, BYTES_LIT("a")), 3);
    assert_int_equal(partition_index(&map, 2, BYTES_LIT("x1")), 4);
    assert_int_equal(partition_index(&map, 255, BYTES_LIT("")), 4);
}

static bool holds(const struct partition_spec *s, bytes key)
{
    for (size_t i = 0; i < s->range_count; i++)
        if (bytes_compare(key, s->ranges[i].start) >= 0 &&
            (!s->ranges[i].end.len || bytes_compare(key, s->ranges[i].end) < 0))
            return true;
    return false;
}

/* Every key of the table lies in one partition's ranges: the one that the map says. */
static void test_spec(void **state)
{
    static const char *const columns[] = {"", "a", "b", "ba", "bb", "bc", "w", "x", "xx", "\xff"};
    struct arena a;

    (void)state;
    arena_init(&a, NULL, 0);
    for (int bucket = 0; bucket < 4; bucket++)
        for (int kind = 1; kind <= 5; kind++)
            for (size_t c = 0; c < PORT_COUNT(columns); c++) {
                char key[16] = {0, 0, 0, 7, (char)bucket, (char)kind};
                size_t len = strlen(columns[c]);
                bytes cols = bytes_of(columns[c], len);

                memcpy(key + 6, columns[c], len);
                for (size_t i = 0; i < map.count; i++) {
                    struct partition_spec s =
                        partition_spec(&a, 7, 1, map.at[i].start, partition_end(&map, i));

                    assert_int_equal(holds(&s, bytes_of(key, 6 + len)),
                                     i == partition_index(&map, (uint8_t)bucket, cols));
                }
            }
    arena_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_size),   cmocka_unit_test(test_load),  cmocka_unit_test(test_merge),
        cmocka_unit_test(test_middle), cmocka_unit_test(test_index), cmocka_unit_test(test_spec),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
