/* A table description with a repartition under way, or with bounds inside of a value (schema.h): its stored bytes,
 * and what is refused of them. */
#include "../../../golden/golden.h"
#include "../../context.h"

#include "schema_sample.h"

/* The integers 0 and 1 in bucket 0, as bounds. */
#define BOUND_0 BYTES_LIT("\0\x45\x80\0\0\0\0\0\0\0")
#define BOUND_1 BYTES_LIT("\0\x45\x80\0\0\0\0\0\0\1")

static const struct schema_partition partitions[] = {{.id = 5, .created_us = 1, .bytes = 100},
                                                     {9 << 10, BOUND_1, 2, 200}};

static bytes encode(const struct schema_partition *list, size_t count, struct schema_repartition cut)
{
    struct schema s = schema_sample();
    struct buf b;

    s.repartition = cut;
    s.partitions = list;
    s.partition_count = count;
    buf_init(&b, &c.arena, 256);
    schema_encode(&b, &s);
    return buf_bytes(&b);
}

/* The two partitions with that repartition under way. */
static bytes encode_repartition(struct schema_repartition cut)
{
    return encode(partitions, 2, cut);
}

static void test_comes_back(void **state)
{
    const struct schema_partition made[] = {{.id = 77, .created_us = 3, .bytes = 50},
                                            {78, BOUND_0, 3, 50}};
    bytes stored = encode_repartition((struct schema_repartition){0, 1, made, 2});
    struct golden goldens[] = {{"schema-cut", "A table description that notes a cut.", stored}};
    struct schema back;

    (void)state;
    assert_int_equal(*bytes_u8(stored), 3); /* an older server must refuse it */
    assert_int_equal(schema_decode(&c, stored, &back), E_OK);
    assert_int_equal(back.partition_count, 2);
    assert_int_equal(back.repartition.first, 0);
    assert_int_equal(back.repartition.count, 1);
    assert_int_equal(back.repartition.made_count, 2);
    assert_int_equal(back.repartition.made[1].id, 78);
    assert_true(bytes_equal(back.repartition.made[1].start, BOUND_0));
    golden_check("cut.hex", "Table descriptions while they are cut.", goldens, PORT_COUNT(goldens));
}

/* ---- bounds inside of a value */

static const struct wr_key_schema key_2[] = {{.name = BYTES_LIT("user"), .type = WR_BIGINT},
                                             {.name = BYTES_LIT("at"), .type = WR_BIGINT}};

/* User 1 from 7 on, user 1 from 8 on, user 2, user 3 from 7 on. */
static const struct schema_partition in_values[] = {
    {.id = 5},
    {90, BYTES_LIT("\0\x45\x80\0\0\0\0\0\0\1\x45\x80\0\0\0\0\0\0\7"), 2, 200},
    {91, BYTES_LIT("\0\x45\x80\0\0\0\0\0\0\1\x45\x80\0\0\0\0\0\0\x08"), 2, 200},
    {92, BYTES_LIT("\0\x45\x80\0\0\0\0\0\0\2"), 2, 200},
    {93, BYTES_LIT("\0\x45\x80\0\0\0\0\0\0\3\x45\x80\0\0\0\0\0\0\7"), 2, 200}};

static void test_inside_of_a_value(void **state)
{
    struct schema s = {.id = 5, .version = 3, .instance = BYTES_LIT("main"), .value_split = true};
    struct golden golden = {"schema-value-cut", "Partitions between rows of one value.",
                            BYTES_NONE};
    struct schema back;
    struct buf b;

    (void)state;
    s.d.table = BYTES_LIT("t");
    s.d.key = key_2;
    s.d.key_count = 2;
    s.d.options.ttl_s = -1;
    s.d.options.max_versions = 1;
    s.location = (struct location){.id = 5, .key = key_2, .key_count = 2};
    s.location.layout.buckets = s.location.layout.partition_cols = 1;
    s.partitions = in_values;
    s.partition_count = PORT_COUNT(in_values);
    s.partition_location = 5;
    buf_init(&b, &c.arena, 256);
    schema_encode(&b, &s);
    golden.value = buf_bytes(&b);
    assert_int_equal(*b.data,
                     4); /* an older server takes rows of one value to be in one partition */
    golden_check("value_cut.hex", "Table descriptions with cuts inside of a value.", &golden, 1);
    assert_int_equal(schema_decode(&c, buf_bytes(&b), &back), E_OK);
    assert_true(back.value_split);
    assert_int_equal(back.partition_count, 5);
    assert_true(bytes_equal(back.partitions[2].start, in_values[2].start));
    /* Clients see each value once. */
    assert_int_equal(back.d.split_count, 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(back.d.splits[i].integer, i + 1);
    for (size_t i = 0; i < PORT_COUNT(in_values); i++)
        assert_int_equal(schema_bound_inside(&back, in_values[i].start), i && i != 3);
    /* With both columns in the partition key these are bounds between values. */
    back.location.layout.partition_cols = 2;
    assert_false(schema_bound_inside(&back, in_values[1].start));
}

static void test_no_cut_is_version_1(void **state)
{
    (void)state;
    assert_int_equal(*bytes_u8(encode_repartition((struct schema_repartition){0})), 1);
}

static void test_a_long_key_is_version_6(void **state)
{
    struct wr_key_schema columns[WR_KEY_COLUMNS_MAX];
    struct schema s = {.id = 5, .version = 3, .instance = BYTES_LIT("main")}, back;
    struct buf b;

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(columns); i++)
        columns[i] =
            (struct wr_key_schema){.name = bytes_of(&"abcdefghij"[i], 1), .type = WR_BIGINT};
    s.d = (struct wr_table_description){.table = BYTES_LIT("t"), .key = columns};
    s.location = (struct location){.id = 5, .key = columns, .layout = {.buckets = 1, .partition_cols = 1}};
    for (s.d.key_count = 5; s.d.key_count <= PORT_COUNT(columns); s.d.key_count += 5) {
        s.location.key_count = s.d.key_count;
        assert_int_equal(schema_partitions_init(&c, &s), E_OK);
        buf_init(&b, &c.arena, 0);
        schema_encode(&b, &s);
        assert_int_equal(b.data[0], s.d.key_count > 5 ? 6 : 1);
        assert_int_equal(schema_decode(&c, buf_bytes(&b), &back), E_OK);
        assert_int_equal(back.d.key_count, s.d.key_count);
        assert_true(bytes_equal(back.d.key[4].name, columns[4].name));
    }
}

static void refused(struct schema_repartition cut)
{
    struct schema back;

    assert_int_equal(schema_decode(&c, encode_repartition(cut), &back), E_CORRUPT);
    ctx_clear(&c);
}

static void test_what_does_not_fit(void **state)
{
    const struct schema_partition low[] = {{.id = 77}, {.id = 78, .start = BOUND_0}};
    const struct schema_partition past[] = {{.id = 77}, {.id = 78, .start = BOUND_1}};
    const struct schema_partition turned[] = {{.id = 77, .start = BOUND_1},
                                              {.id = 78, .start = BOUND_0}};

    (void)state;
    refused((struct schema_repartition){0, 0, low, 2}); /* of nothing */
    refused((struct schema_repartition){0, 3, low, 2}); /* of more than there are */
    refused((struct schema_repartition){2, 1, low, 2}); /* behind them */
    refused((struct schema_repartition){1, SIZE_MAX, low, 2});
    refused((struct schema_repartition){1, 1, low, 2});    /* begins elsewhere */
    refused((struct schema_repartition){0, 1, past, 2});   /* goes into the next one */
    refused((struct schema_repartition){1, 1, turned, 2}); /* out of order */
}

static void test_one_that_is_not_the_first_is_listed(void **state)
{
    const struct schema_partition one[] = {{.id = 99}};
    struct schema back;

    (void)state;
    assert_int_equal(schema_decode(&c, encode(one, 1, (struct schema_repartition){0}), &back), E_OK);
    assert_int_equal(back.partition_count, 1);
    assert_int_equal(back.partitions[0].id, 99); /* what a merge has left */
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_comes_back),
                                       TEST(test_no_cut_is_version_1),
                                       TEST(test_a_long_key_is_version_6),
                                       TEST(test_what_does_not_fit),
                                       TEST(test_inside_of_a_value),
                                       TEST(test_one_that_is_not_the_first_is_listed)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
