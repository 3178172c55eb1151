/* Search indexes in a table's description, as stored bytes. */
#include "table/model/schema_search.h"

#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#undef fail /* the name is ctx.h's in this house */

#include "../../../golden/golden.h"
#include "../../context.h"

#include "schema_sample.h"

static const struct wr_bytes formats[] = {BYTES_LIT("yyyy-MM-dd"), BYTES_LIT("epoch_millis")};
static const struct wr_bytes sources[] = {BYTES_LIT("text")};
static const struct wr_bytes routing[] = {BYTES_LIT("user")};
static const struct wr_field_schema children[] = {
    {.name = BYTES_LIT("child"), .type = WR_FIELD_LONG, .index = true}};
static const struct wr_field_schema fields[] = {
    {.name = BYTES_LIT("text"),
     .type = WR_FIELD_TEXT,
     .index_options = 3,
     .analyzer = BYTES_LIT("split"),
     .analyzer_options = {.case_sensitive = true, .delimiter = BYTES_LIT(",")},
     .analyzer_parameter = BYTES_LIT("\x0a\x01,"),
     .index = true,
     .highlighting = true,
     .similarity = 1},
    {.name = BYTES_LIT("date"),
     .type = WR_FIELD_DATE,
     .index = true,
     .sort_and_agg = true,
     .store_given = true,
     .is_array = true,
     .date_formats = formats,
     .date_format_count = 2},
    {.name = BYTES_LIT("virtual"),
     .type = WR_FIELD_KEYWORD,
     .index = true,
     .is_virtual = true,
     .source_fields = sources,
     .source_field_count = 1},
    {.name = BYTES_LIT("nested"),
     .type = WR_FIELD_NESTED,
     .children = children,
     .child_count = 1,
     .vector = {true, 2, 4, 1}},
};
static const struct wr_sorter sorters[] = {
    {.type = WR_SORTER_FIELD,
     .field = BYTES_LIT("date"),
     .order = WR_ORDER_DESC,
     .order_given = true,
     .mode = WR_SORT_MODE_MAX},
    {.type = WR_SORTER_KEY},
};
static const struct schema_search searches[] = {
    {.number = 9,
     .name = BYTES_LIT("first"),
     .creation_us = 1700000000000000,
     .ttl_s = -1,
     .d = {.fields = fields,
           .field_count = 4,
           .shards = 1,
           .routing_fields = routing,
           .routing_field_count = 1,
           .index_sort = {.given = true, .sorters = sorters, .count = 2}}},
    {.number = 10,
     .name = BYTES_LIT("second"),
     .ttl_s = 604800,
     .d = {.fields = fields,
           .field_count = 1,
           .has_routing_partition_size = true,
           .routing_partition_size = 2,
           .custom_column_version = true}},
};

static bytes description_of(const struct schema_search *list, size_t count)
{
    static const struct schema_partition partition = {.id = 5, .created_us = 1};
    struct schema s = schema_sample();
    struct buf b;

    s.partitions = &partition;
    s.partition_count = 1;
    s.change_log = 77;
    s.searches = list;
    s.search_count = count;
    buf_init(&b, &c.arena, 256);
    schema_encode(&b, &s);
    return buf_bytes(&b);
}

static bytes description(void)
{
    return description_of(searches, 2);
}

static void test_golden(void **state)
{
    struct golden goldens[] = {{"schema-searches", "A table with search indexes.", description()}};

    (void)state;
    assert_int_equal(*bytes_u8(goldens[0].value), 11); /* an older server must refuse it */
    golden_check("search.hex", "Search indexes.", goldens, 1);
}

/* What is read and stored again is the same. */
static void test_round_trip(void **state)
{
    bytes stored = description();
    struct schema back;
    struct buf b;

    (void)state;
    assert_int_equal(schema_decode(&c, stored, &back), E_OK);
    assert_int_equal(back.search_count, 2);
    assert_true(bytes_equal(back.searches[1].name, BYTES_LIT("second")));
    assert_ptr_equal(schema_search_find(&back, BYTES_LIT("first")), &back.searches[0]);
    assert_null(schema_search_find(&back, BYTES_LIT("third")));
    buf_init(&b, &c.arena, 256);
    schema_encode(&b, &back);
    assert_true(bytes_equal(buf_bytes(&b), stored));
}

/* Types that there are not are found out where they are read: of fields, of fields in fields, and
 * of sorters. */
static void test_unknown_types(void **state)
{
    static const struct {
        int field, child, sorter, code;
    } cases[] = {
        {WR_FIELD_NESTED, WR_FIELD_LONG, WR_SORTER_KEY, E_OK},
        {WR_FIELD_FLATTENED + 1, WR_FIELD_LONG, WR_SORTER_KEY, E_CORRUPT},
        {0, WR_FIELD_LONG, WR_SORTER_KEY, E_CORRUPT},
        {INT32_MAX, WR_FIELD_LONG, WR_SORTER_KEY, E_CORRUPT},
        {WR_FIELD_NESTED, WR_FIELD_FLATTENED + 1, WR_SORTER_KEY, E_CORRUPT},
        {WR_FIELD_NESTED, WR_FIELD_LONG, 0, E_CORRUPT},
        {WR_FIELD_NESTED, WR_FIELD_LONG, WR_SORTER_DOC + 1, E_CORRUPT},
    };

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(cases); i++) {
        struct wr_field_schema child = {.name = BYTES_LIT("child"),
                                        .type = (enum wr_field_type)cases[i].child};
        struct wr_field_schema field = {.name = BYTES_LIT("nested"),
                                        .type = (enum wr_field_type)cases[i].field,
                                        .children = &child,
                                        .child_count = 1};
        struct wr_sorter sorter = {.type = (enum wr_sorter_type)cases[i].sorter};
        struct schema_search search = {
            .number = 9,
            .name = BYTES_LIT("one"),
            .d = {.fields = &field,
                  .field_count = 1,
                  .index_sort = {.given = true, .sorters = &sorter, .count = 1}}};
        struct schema back;

        assert_int_equal(schema_decode(&c, description_of(&search, 1), &back), cases[i].code);
        ctx_clear(&c);
    }
}

/* Damaged bytes are refused, or are another description; they never lead astray. */
static void test_damaged(void **state)
{
    bytes stored = description();
    struct rng rng;

    (void)state;
    rng_init(&rng, 3);
    for (int i = 0; i < 3000; i++) {
        uint8_t *copy = arena_alloc(&c.arena, stored.len);
        struct schema back;

        memcpy(copy, stored.ptr, stored.len);
        copy[rng_below(&rng, stored.len)] ^= (uint8_t)(1u << rng_below(&rng, 8));
        schema_decode(&c, bytes_of(copy, i % 2 ? stored.len : rng_below(&rng, stored.len)), &back);
        ctx_clear(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_golden), TEST(test_round_trip),
                                       TEST(test_unknown_types), TEST(test_damaged)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
