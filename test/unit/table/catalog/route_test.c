/* Where rows lie by the newest map (route.h). */
#include "table/catalog/route.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>
#undef fail

#include "../../context.h"

/* Bounds as in a table that is split between values and inside of one: "b" has outgrown a partition,
 * and goes on at "b5" and "b8". */
static const struct schema_partition parts[] = {{.id = 10},
                                                {.id = 11, .start = BYTES_LIT("\0b5")},
                                                {.id = 12, .start = BYTES_LIT("\0b8")},
                                                {.id = 13, .start = BYTES_LIT("\0c")},
                                                {.id = 14, .start = BYTES_LIT("\1")}};

static struct table table_of(const struct partition_map *m)
{
    struct table t = {.traffic = traffic_new()};

    t.schema.location.id = 7;
    t.schema.location.layout.buckets = t.schema.location.layout.partition_cols = 1;
    if (m)
        traffic_reroute(t.traffic, m);
    return t;
}

static void test_rows_of_one_partition(void **state)
{
    struct map_page *pages[] = {map_page_new(1, parts, 2), map_page_new(2, parts + 2, 3)};
    struct partition_map map;
    const bytes low[] = {BYTES_LIT("a9"), BYTES_LIT("b0"), BYTES_LIT("b4")};
    const bytes high[] = {BYTES_LIT("b8"), BYTES_LIT("b9"), BYTES_LIT("bz")};
    const bytes across[] = {BYTES_LIT("b5"), BYTES_LIT("b7"), BYTES_LIT("b8")};
    partition_id id;
    struct table t;

    (void)state;
    partition_map_init(&map, pages, PORT_COUNT(pages));
    t = table_of(&map);
    partition_map_release(&map);
    assert_true(route_find_rows(&t, low, 3, &id));
    assert_int_equal(id, 10);
    assert_true(route_find_rows(&t, high, 3, &id));
    assert_int_equal(id, 12);
    assert_true(route_find_rows(&t, across, 2, &id));
    assert_int_equal(id, 11);
    assert_false(route_find_rows(&t, across, 3, &id));
    assert_false(route_find_rows(&t, (const bytes[]){high[2], BYTES_LIT("c0")}, 2, &id));
    traffic_release(t.traffic);
}

/* One map is one partition, wherever it is split. */
static void test_one_map(void **state)
{
    const bytes rows[] = {BYTES_LIT("a"), BYTES_LIT("z")};
    struct table t = table_of(NULL);
    partition_id id;

    (void)state;
    assert_true(route_find_rows(&t, rows, 2, &id));
    assert_int_equal(id, 7);
    traffic_release(t.traffic);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_rows_of_one_partition), TEST(test_one_map)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
