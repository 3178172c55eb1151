#include "../../../golden/golden.h"
#include "../../context.h"

#include "table/model/layout.h"
#include "table/model/schema.h"

static const struct wr_key_schema key[] = {
    {.name = BYTES_LIT("user"), .type = WR_VARCHAR},
    {.name = BYTES_LIT("at"), .type = WR_BIGINT},
    {.name = BYTES_LIT("id"), .type = WR_BIGINT, .auto_increment = true},
};

static struct location location_of(const char *layout, const struct wr_key_schema *schema,
                                   size_t count)
{
    struct location p = {.id = 7, .key = schema, .key_count = count};

    assert_int_equal(layout_parse(&c, bytes_str(layout), schema, count, &p.layout), 0);
    return p;
}

static bytes encode(const struct wr_key_schema *schema, const struct wr_value *values, size_t count)
{
    struct wr_key_column columns[WR_KEY_COLUMNS_MAX];
    struct buf b;

    for (size_t i = 0; i < count; i++)
        columns[i] = (struct wr_key_column){schema[i].name, values[i]};
    buf_init(&b, &c.arena, 64);
    assert_int_equal(key_put_columns(&c, &b, schema, columns, count), 0);
    return buf_bytes(&b);
}

static struct wr_value text(const char *s)
{
    return (struct wr_value){.type = WR_VARCHAR, .bytes = bytes_str(s)};
}

static struct wr_value integer(int64_t v)
{
    return (struct wr_value){.type = WR_BIGINT, .integer = v};
}

/* ---- text ---- */

static void test_text_form(void **state)
{
    static const char *const forms[] = {"plain",
                                        "hash:1",
                                        "hash:256",
                                        "reverse:16",
                                        "random:4",
                                        "splice:2",
                                        "splice:2+hash:16",
                                        "splice:2+time:at/60000:32",
                                        "hash:16",
                                        "splice:2+reverse:7"};

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(forms); i++) {
        struct location p = location_of(forms[i], key, 3);
        bytes back = layout_format(&c.arena, &p.layout, key);

        assert_true(bytes_equal(back, bytes_str(forms[i])));
    }
}

/* The name of a column may hold every mark of the text form. */
static void test_time_of_any_name(void **state)
{
    static const struct wr_key_schema odd[] = {
        {.name = BYTES_LIT("a"), .type = WR_BIGINT},
        {.name = BYTES_LIT("b+splice:1/2:3"), .type = WR_BIGINT}};
    struct location p = location_of("splice:2+time:b+splice:1/2:3/10:4", odd, 2);

    (void)state;
    assert_int_equal(p.layout.column, 1);
    assert_int_equal(p.layout.width, 10);
    assert_int_equal(p.layout.buckets, 4);
}

/* ---- buckets ---- */

static uint8_t bucket(const char *layout, const char *user, int64_t at, int64_t id)
{
    struct location p = location_of(layout, key, 3);
    struct wr_value values[] = {text(user), integer(at), integer(id)};

    return layout_bucket(&p, encode(key, values, 3));
}

static void test_what_counts(void **state)
{
    (void)state;
    /* Only the partition key, but for RANDOM. */
    assert_int_equal(bucket("hash:256", "ann", 1, 1), bucket("hash:256", "ann", 2, 3));
    assert_int_not_equal(bucket("hash:256", "ann", 1, 1), bucket("hash:256", "bob", 1, 1));
    assert_int_equal(bucket("splice:2+hash:256", "ann", 1, 1),
                     bucket("splice:2+hash:256", "ann", 1, 2));
    assert_int_not_equal(bucket("splice:2+hash:256", "ann", 1, 1),
                         bucket("splice:2+hash:256", "ann", 2, 1));
    assert_int_not_equal(bucket("random:256", "ann", 1, 1), bucket("random:256", "ann", 1, 2));
    assert_int_equal(bucket("reverse:256", "user0123", 1, 1), bucket("reverse:256", "x0123", 2, 2));
    assert_int_equal(bucket("splice:2+reverse:10", "ann", 123, 1), 3);
    assert_int_equal(bucket("splice:2+reverse:10", "ann", -1, 1), 9);
    assert_int_equal(bucket("splice:2+time:at/60:10", "ann", 59, 1), 0);
    assert_int_equal(bucket("splice:2+time:at/60:10", "ann", 60, 1), 1);
    assert_int_equal(bucket("splice:2+time:at/60:10", "ann", 600, 1), 0);
    assert_int_equal(bucket("splice:2+time:at/60:10", "ann", -1, 1), 9);
    assert_int_equal(bucket("splice:2+time:at/60:10", "ann", -60, 1), 9);
    assert_int_equal(bucket("splice:2+time:at/60:10", "ann", -61, 1), 8);
}

static void test_buckets_are_even(void **state)
{
    static const char *const forms[] = {"hash:16", "reverse:16", "random:16",
                                        "splice:2+time:at/10:16"};

    (void)state;
    for (size_t f = 0; f < PORT_COUNT(forms); f++) {
        int counts[16] = {0};

        for (int i = 0; i < 16000; i++)
            counts[bucket(forms[f], arena_printf(&c.arena, "user%06d", i).ptr, i, 0)]++;
        for (int b = 0; b < 16; b++)
            assert_in_range(counts[b], 800, 1200);
    }
}

static void test_one_bucket(void **state)
{
    struct wr_key_column low[] = {{key[0].name, text("ann")},
                                  {key[1].name, {.type = WR_INF_MIN}},
                                  {key[2].name, {.type = WR_INF_MIN}}};
    struct wr_key_column high[] = {
        {key[0].name, text("ann")}, {key[1].name, integer(9)}, {key[2].name, {.type = WR_INF_MAX}}};
    struct wr_key a = {low, 3}, b = {high, 3};
    struct location hash = location_of("hash:256", key, 3),
                    random = location_of("random:256", key, 3);
    struct location spliced = location_of("splice:2+hash:256", key, 3);
    uint8_t n;

    (void)state;
    assert_true(layout_one_bucket(&c, &hash, &a, &b, &n));
    assert_int_equal(n, bucket("hash:256", "ann", 5, 5));
    assert_true(layout_one_bucket(&c, &hash, &b, &a, &n));
    assert_false(layout_one_bucket(&c, &random, &a, &b, &n));
    assert_false(layout_one_bucket(&c, &spliced, &a, &b, &n));
    high[0].value = text("anna");
    assert_false(layout_one_bucket(&c, &hash, &a, &b, &n));
    high[0].value.type = WR_INF_MAX;
    assert_false(layout_one_bucket(&c, &hash, &a, &b, &n));
}

/* ---- parts of encoded keys ---- */

static void test_column_lengths(void **state)
{
    struct wr_key_schema all[] = {{.name = BYTES_LIT("t"), .type = WR_VARCHAR},
                                  {.name = BYTES_LIT("d"), .type = WR_DECIMAL, .length = 2570},
                                  {.name = BYTES_LIT("i"), .type = WR_INTEGER},
                                  {.name = BYTES_LIT("n"), .type = WR_DECIMAL, .length = 2570},
                                  {.name = BYTES_LIT("b"), .type = WR_VARBINARY}};
    struct wr_value values[] = {{.type = WR_VARCHAR, .bytes = BYTES_LIT("a\0b\0\xff\x01")},
                                {.type = WR_DECIMAL, .bytes = BYTES_LIT("-12.5")},
                                {.type = WR_INTEGER, .integer = -70000},
                                {.type = WR_DECIMAL, .bytes = BYTES_LIT("0")},
                                {.type = WR_VARBINARY, .bytes = BYTES_LIT("\0\0\xff\xff")}};

    (void)state;
    for (unsigned descending = 0; descending < 32; descending++) {
        bytes whole;

        for (size_t i = 0; i < 5; i++)
            all[i].descending = descending >> i & 1;
        whole = encode(all, values, 5);
        for (size_t n = 1; n <= 5; n++)
            assert_int_equal(key_columns_length(all, whole, n), encode(all, values, n).len);
        assert_int_equal(key_column_integer(&all[2], key_column_bytes(all, whole, 2)), -70000);
    }
}

static void lengths_damaged(bytes damaged, void *arg)
{
    (void)arg;
    assert_true(key_columns_length(key, damaged, 3) <= damaged.len);
}

static void test_damaged_keys(void **state)
{
    struct wr_value values[] = {text("ann"), integer(5), integer(6)};

    (void)state;
    golden_damage(encode(key, values, 3), 10000, lengths_damaged, NULL);
}

/* ---- golden files ---- */

static bytes golden_schema(const char *layout, uint32_t location_id, const char *shadow)
{
    struct schema s = {.id = 5, .version = 3, .instance = BYTES_LIT("main")}, back;
    struct buf b;

    s.d.table = BYTES_LIT("t");
    s.d.key = key;
    s.d.key_count = 3;
    s.d.options.ttl_s = -1;
    s.d.options.max_versions = 1;
    s.location = location_of(layout, key, 3);
    s.location.id = location_id;
    if (shadow) {
        s.shadow = location_of(shadow, key, 3);
        s.shadow.id = 11;
        s.rekey = REKEY_COPYING;
    }
    buf_init(&b, &c.arena, 256);
    schema_encode(&b, &s);
    assert_int_equal(schema_decode(&c, buf_bytes(&b), &back), 0);
    assert_int_equal(back.location.id, location_id);
    assert_memory_equal(&back.location.layout, &s.location.layout, sizeof(s.location.layout));
    assert_int_equal(back.shadow.id, s.shadow.id);
    assert_int_equal(back.rekey, s.rekey);
    if (shadow)
        assert_memory_equal(&back.shadow.layout, &s.shadow.layout, sizeof(s.location.layout));
    return buf_bytes(&b);
}

static bytes golden_buckets(const char *layout)
{
    uint8_t *p = arena_alloc(&c.arena, 16);

    for (int i = 0; i < 16; i++)
        p[i] = bucket(layout, arena_printf(&c.arena, "user%d", i).ptr, i * 1000 - 3000, i);
    return bytes_of(p, 16);
}

static void test_golden(void **state)
{
    struct golden goldens[] = {
        {"schema-plain", "Table descriptions.", golden_schema("plain", 5, NULL)},
        {"schema-hash", NULL, golden_schema("hash:16", 5, NULL)},
        {"schema-splice-time", NULL, golden_schema("splice:2+time:at/60000:32", 5, NULL)},
        {"schema-rekeyed", NULL, golden_schema("plain", 9, NULL)},
        {"schema-mirror", NULL, golden_schema("plain", 5, "hash:16")},
        {"buckets-hash", "Buckets of (user<i>, 1000 * i - 3000, i) for i from 0 to 15.",
         golden_buckets("hash:256")},
        {"buckets-random", NULL, golden_buckets("random:256")},
        {"buckets-reverse", NULL, golden_buckets("reverse:256")},
        {"buckets-splice-hash", NULL, golden_buckets("splice:2+hash:256")},
        {"buckets-splice-reverse", NULL, golden_buckets("splice:2+reverse:256")},
        {"buckets-splice-time", NULL, golden_buckets("splice:2+time:at/700:13")},
    };

    (void)state;
    golden_check("layout.hex", "Key layouts: table descriptions and buckets.", goldens,
                 PORT_COUNT(goldens));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_form),    cmocka_unit_test(test_time_of_any_name),
        cmocka_unit_test(test_what_counts),  cmocka_unit_test(test_buckets_are_even),
        cmocka_unit_test(test_one_bucket),   cmocka_unit_test(test_column_lengths),
        cmocka_unit_test(test_damaged_keys), cmocka_unit_test(test_golden),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
