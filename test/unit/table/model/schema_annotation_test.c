/* A table description with an annotation (schema.h): its stored bytes, which older readers pass
 * over. */
#include "../../../golden/golden.h"
#include "../../context.h"

#include "schema_sample.h"

static const struct schema_partition partition = {.id = 5};

static bytes encode(bytes annotation)
{
    struct schema s = schema_sample();
    struct buf b;

    s.d.annotation = annotation;
    s.partitions = &partition;
    s.partition_count = 1;
    buf_init(&b, &c.arena, 256);
    schema_encode(&b, &s);
    return buf_bytes(&b);
}

static void test_comes_back(void **state)
{
    bytes stored = encode(BYTES_LIT("a\0b")), none = encode(BYTES_LIT(""));
    struct golden golden = {"schema-annotated", "A table description with an annotation.", stored};
    struct schema back;
    struct wr_table_description described;

    (void)state;
    assert_int_equal(*bytes_u8(stored), *bytes_u8(none));
    assert_int_equal(stored.len, none.len + 2 + 3);
    assert_int_equal(schema_decode(&c, stored, &back), E_OK);
    schema_describe(&c.arena, &back, &described);
    assert_true(bytes_equal(described.annotation, BYTES_LIT("a\0b")));
    assert_int_equal(schema_decode(&c, none, &back), E_OK);
    assert_int_equal(back.d.annotation.len, 0);
    golden_check("annotation.hex", "Table descriptions with an annotation.", &golden, 1);
}

static int update(const struct schema *old, bytes annotation, bytes was, struct schema **out)
{
    struct wr_update_table u = {
        .table = BYTES_LIT("t"), .annotation = annotation, .annotation_was = was};
    static struct limits limits;

    return schema_update(&c, &limits, old, &u, out);
}

static void test_is_changed(void **state)
{
    static const char much[WR_ANNOTATION_BYTES_MAX + 1];
    struct schema old = schema_sample(), *next;

    (void)state;
    old.d.annotation = BYTES_LIT("old");
    assert_int_equal(update(&old, BYTES_LIT("new"), BYTES_NONE, &next), E_OK);
    assert_true(bytes_equal(next->d.annotation, BYTES_LIT("new")));
    assert_int_equal(next->version, old.version + 1);
    assert_int_equal(update(&old, BYTES_LIT(""), BYTES_NONE, &next), E_OK);
    assert_int_equal(next->d.annotation.len, 0);
    assert_int_equal(update(&old, BYTES_LIT("new"), BYTES_LIT("old"), &next), E_OK);
    assert_int_equal(update(&old, BYTES_LIT("new"), BYTES_LIT(""), &next), E_CONFLICT);
    ctx_clear(&c);
    assert_int_equal(update(&old, bytes_of(much, sizeof(much) - 1), BYTES_NONE, &next), E_OK);
    assert_int_equal(update(&old, bytes_of(much, sizeof(much)), BYTES_NONE, &next), E_PARAMETER);
    ctx_clear(&c);
    assert_int_equal(update(&old, BYTES_NONE, BYTES_NONE, &next),
                     E_PARAMETER); /* nothing to change */
    ctx_clear(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_comes_back), TEST(test_is_changed)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
