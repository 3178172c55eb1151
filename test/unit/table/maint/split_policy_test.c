/* When partitions are split and merged, and where. */
#include "table/maint/split_policy.h"

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
    assert_false(split_policy_by_size(&l, &(struct split_view){.bytes = 1000}));
    assert_true(split_policy_by_size(&l, &(struct split_view){.bytes = 1001}));
    /* One value alone: again when it has grown by a quarter. */
    assert_false(split_policy_by_size(&l, &(struct split_view){.bytes = 1250, .unsplit_bytes = 1001}));
    assert_true(split_policy_by_size(&l, &(struct split_view){.bytes = 1252, .unsplit_bytes = 1001}));
}

static void test_load(void **state)
{
    struct limits l = limits_of();
    const uint64_t edge[] = {80, 40}, reads[] = {81, 0}, writes[] = {0, 41};
    const uint64_t low[] = {10, 5}, some[] = {0, 6};

    (void)state;
    assert_false(split_policy_is_hot(&l, edge));
    assert_true(split_policy_is_hot(&l, reads));
    assert_true(split_policy_is_hot(&l, writes));
    assert_true(split_policy_is_idle(&l, low));
    assert_false(split_policy_is_idle(&l, some));
    assert_false(split_policy_by_load(&l, &(struct split_view){.hot_us = 9999999}));
    assert_true(split_policy_by_load(&l, &(struct split_view){.hot_us = 10000000}));
}

static void test_merge(void **state)
{
    struct limits l = limits_of();
    struct split_view a = {.bytes = 100, .idle_us = 60000000},
                    b = {.bytes = 150, .idle_us = 70000000};

    (void)state;
    assert_true(split_policy_merge(&l, &a, &b));
    b.bytes = 151; /* a quarter of what would be split again */
    assert_false(split_policy_merge(&l, &a, &b));
    b.bytes = 150;
    a.idle_us--;
    assert_false(split_policy_merge(&l, &a, &b));
    a.idle_us++;
    b.idle_us = 0;
    assert_false(split_policy_merge(&l, &a, &b));
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
    bool found = split_policy_key(samples, samples_of(letters, samples), &at);

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

static const struct schema_partition list[] = {{.id = 10},
                                               {.id = 11, .start = BYTES_LIT("\0b")},
                                               {.id = 12, .start = BYTES_LIT("\0bb")},
                                               {.id = 13, .start = BYTES_LIT("\2")},
                                               {.id = 14, .start = BYTES_LIT("\2x")}};
static struct partition_map map;

/* The list in pages of so many. */
static void map_of(size_t page)
{
    struct map_page *pages[PORT_COUNT(list)];
    size_t n = 0;

    for (size_t i = 0; i < PORT_COUNT(list); i += page)
        pages[n++] = map_page_new(i + 1, list + i,
                                  page < PORT_COUNT(list) - i ? page : PORT_COUNT(list) - i);
    partition_map_init(&map, pages, n);
}

static size_t index_of(uint8_t bucket, bytes cols)
{
    return (size_t)partition_find(&map, bucket, cols)->id - 10;
}

static void test_index(void **state)
{
    (void)state;
    for (size_t page = 1; page <= PORT_COUNT(list); page++) {
        map_of(page);
        assert_int_equal(map.count, 5);
        assert_int_equal(index_of(0, BYTES_LIT("")), 0);
        assert_int_equal(index_of(0, BYTES_LIT("a")), 0);
        assert_int_equal(index_of(0, BYTES_LIT("b")), 1);
        assert_int_equal(index_of(0, BYTES_LIT("ba")), 1);
        assert_int_equal(index_of(0, BYTES_LIT("bb")), 2);
        assert_int_equal(index_of(1, BYTES_LIT("a")), 2);
        assert_int_equal(index_of(2, BYTES_LIT("a")), 3);
        assert_int_equal(index_of(2, BYTES_LIT("x1")), 4);
        assert_int_equal(index_of(255, BYTES_LIT("")), 4);
        for (size_t i = 0; i < PORT_COUNT(list); i++) {
            assert_int_equal(partition_at(&map, i)->partition->id, list[i].id);
            assert_ptr_equal(partition_starting(&map, list[i].start), partition_at(&map, i));
        }
        assert_null(partition_starting(&map, BYTES_LIT("\0ba")));
        partition_map_release(&map);
    }
}

/* A map that follows another one shares what is the same and counts on where it was. */
static void test_adopt(void **state)
{
    struct schema_partition next[] = {
        list[0], list[1], {.id = 20, .start = BYTES_LIT("\0bc")}, list[2]};
    struct map_page *pages[3];
    struct partition_map after;
    struct traffic *t = traffic_new();
    struct partition_counts counts;
    uint64_t stored;

    (void)state;
    map_of(2); /* b | bb, 2 | 2x */
    atomic_store(&map.slots[0].page->at[1].partition->shards[0].reads, 7);
    atomic_store(&map.slots[1].page->at[0].partition->shards[1].reads, 5);
    next[3] = list[3]; /* bb became bc, and 2 stays */
    pages[0] = map_page_new(77, next, 2);
    pages[1] = map_page_new(78, next + 2, 2);
    pages[2] = map_page_ref(map.slots[2].page);
    partition_map_init(&after, pages, 3);
    partition_map_adopt(&after, &map, t);
    assert_ptr_equal(partition_at(&after, 1)->partition, partition_at(&map, 1)->partition);
    assert_ptr_equal(partition_at(&after, 3)->partition, partition_at(&map, 3)->partition);
    assert_int_equal(partition_at(&after, 2)->partition->id, 20);
    assert_ptr_equal(t->retired, partition_at(&map, 2)->partition);
    assert_null(t->retired->next_folded);
    counts = traffic_counts(t, &map, &stored); /* a request that holds the old map asks */
    assert_int_equal(counts.reads, 12);
    partition_map_release(&map);
    counts = traffic_counts(t, &after, &stored);
    assert_int_equal(counts.reads, 12);
    assert_null(t->retired); /* nobody has it any more */
    partition_map_release(&after);
    traffic_release(t);
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
    map_of(2);
    for (int bucket = 0; bucket < 4; bucket++)
        for (int kind = 1; kind <= 5; kind++)
            for (size_t c = 0; c < PORT_COUNT(columns); c++) {
                char key[16] = {0, 0, 0, 7, (char)bucket, (char)kind};
                size_t len = strlen(columns[c]);
                bytes cols = bytes_of(columns[c], len);

                memcpy(key + 6, columns[c], len);
                for (size_t i = 0; i < map.count; i++) {
                    struct partition_spec s = partition_spec(&a, 7, 1, partition_at(&map, i)->start,
                                                             partition_end(&map, i));

                    assert_int_equal(holds(&s, bytes_of(key, 6 + len)),
                                     i == index_of((uint8_t)bucket, cols));
                }
            }
    partition_map_release(&map);
    arena_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_size),   cmocka_unit_test(test_load),  cmocka_unit_test(test_merge),
        cmocka_unit_test(test_middle), cmocka_unit_test(test_index), cmocka_unit_test(test_spec),
        cmocka_unit_test(test_adopt),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
