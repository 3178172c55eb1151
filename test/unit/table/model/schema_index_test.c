/* Descriptions of tables with indexes and of indexes as stored bytes, and an index resolved against
 * its base table. */
#include "../../../golden/golden.h"
#include "../../context.h"

#include "table/model/index_note.h"

#include "schema_sample.h"

static const struct wr_key_schema two_keys[] = {
    {.name = BYTES_LIT("pk0"), .type = WR_BIGINT, .descending = true},
    {.name = BYTES_LIT("pk1"), .type = WR_BIGINT, .auto_increment = true}};
static const struct wr_defined_column defined[] = {{BYTES_LIT("d0"), WR_VARCHAR},
                                                   {BYTES_LIT("d1"), WR_BIGINT},
                                                   {BYTES_LIT("d2"), WR_JSON},
                                                   {BYTES_LIT("d3"), WR_BINARY}};
static const struct wr_defined_column typed[] = {{BYTES_LIT("d0"), WR_VARCHAR},
                                                 {BYTES_LIT("d1"), WR_DECIMAL},
                                                 {BYTES_LIT("d2"), WR_JSON},
                                                 {BYTES_LIT("d3"), WR_BINARY}};
static const bytes by_d1[] = {BYTES_LIT("d1"), BYTES_LIT("pk1"), BYTES_LIT("d0")};
static const bytes covers[] = {BYTES_LIT("d3"), BYTES_LIT("d2")};
static const struct wr_index_meta metas[] = {
    {.name = BYTES_LIT("ix"),
     .key_columns = by_d1,
     .key_column_count = 3,
     .defined_columns = covers,
     .defined_column_count = 2},
    {.name = BYTES_LIT("old"), .key_columns = by_d1, .key_column_count = 1, .type = 1}};
static const struct schema_partition partition = {.id = 5, .created_us = 1};

static struct schema base_sample(void)
{
    struct schema s = schema_sample();

    s.d.key = s.location.key = two_keys;
    s.d.key_count = s.location.key_count = 2;
    s.d.defined = defined;
    s.d.defined_count = 4;
    s.d.indexes = metas;
    s.d.index_count = 2;
    s.partitions = &partition;
    s.partition_count = 1;
    return s;
}

static bytes encode(const struct schema *s)
{
    struct buf b;

    buf_init(&b, &c.arena, 256);
    schema_encode(&b, s);
    return buf_bytes(&b);
}

static struct index index_sample(const struct schema *base)
{
    struct index x = {.meta = &metas[0],
                      .id = 6,
                      .phase = INDEX_FULL,
                      .include_base_data = true,
                      .descending = 1,
                      .location = {.id = 7}};

    assert_true(index_resolve(&c.arena, &base->d, &x));
    assert_int_equal(layout_parse(&c, BYTES_LIT("hash:4"), x.location.key, x.location.key_count,
                                  &x.location.layout),
                     E_OK);
    return x;
}

static void check_resolved(const struct index *x)
{
    static const struct index_column from[] = {{false, 1}, {true, 1}, {false, 0}, {true, 0}};
    static const bytes names[] = {BYTES_LIT("d1"), BYTES_LIT("pk1"), BYTES_LIT("d0"),
                                  BYTES_LIT("pk0")};
    static const bool descends[] = {true, false, false, true};

    assert_int_equal(x->location.key_count, 4);
    for (size_t i = 0; i < 4; i++) {
        const struct wr_key_schema *k = &x->location.key[i];

        assert_true(bytes_equal(k->name, names[i]));
        assert_int_equal(k->descending, descends[i]);
        assert_int_equal(k->type, i == 2 ? WR_VARCHAR : WR_BIGINT);
        assert_false(k->auto_increment);
        assert_int_equal(x->from[i].is_key, from[i].is_key);
        assert_int_equal(x->from[i].at, from[i].at);
    }
    assert_int_equal(x->covered_count, 2);
    assert_true(bytes_equal(x->covered[0], BYTES_LIT("d2")));
    assert_true(bytes_equal(x->covered[1], BYTES_LIT("d3")));
    assert_int_equal(x->column_count, 4);
    for (size_t i = 0; i < 4; i++)
        assert_true(bytes_equal(x->columns[i], defined[i].name));
}

/* As builds wrote it that knew the order of an index's key in descriptions, and nobody who could
 * ask for one. */
static bytes as_version(bytes stored, uint8_t version)
{
    uint8_t *copy = arena_alloc(&c.arena, stored.len);

    memcpy(copy, stored.ptr, stored.len);
    copy[0] = version;
    return bytes_of(copy, stored.len);
}

static void test_comes_back(void **state)
{
    static const uint8_t versions[] = {7, 7, 12, 14, 15, 18, 0, 0, 19, 20};
    struct schema base = base_sample(), index = schema_sample(), back;
    struct index x = index_sample(&base);
    bool of_entry;

    (void)state;
    base.indexes = &x;
    base.index_count = 1;
    index.base = (struct index_base){BYTES_LIT("t"), 5, INDEX_INCR};
    index.partitions = &partition;
    index.partition_count = 1;
    struct golden goldens[] = {
        {"schema-indexed", "A table with one index, and one that an older build described alone.",
         as_version(encode(&base), 7)},
        {"schema-of-index", "The table of an index.", encode(&index)},
        {"schema-outbox", "An index that follows by outbox records.", BYTES_NONE},
        {"schema-beside", "The same, with records of a stream beside rows.", BYTES_NONE},
        {"schema-txn-records", "The same, with locks of transactions that are records.",
         BYTES_NONE},
        {"schema-marks", "The table of the first, while changes leave marks for its index.",
         BYTES_NONE},
        {"index-taken", "The notes of a build: the table files of index 6 were taken over;",
         index_note_taken(&c.arena, 6, true).key},
        {"index-mark", "and a mark.",
         index_note_mark(&c.arena, 6, BYTES_LIT("row"), BYTES_LIT("entry")).key},
        {"schema-index-order",
         "The first as it is written now: a key column descends, and entries are hashed.",
         encode(&base)},
        {"schema-index-types", "The same with a key column that only SQL's indexes have.",
         BYTES_NONE}};

    base.d.defined = typed;
    assert_true(index_resolve(&c.arena, &base.d, &x));
    goldens[9].value = encode(&base);
    base.d.defined = defined;
    assert_true(index_resolve(&c.arena, &base.d, &x));
    index.outbox = true;
    goldens[2].value = encode(&index);
    index.stream_beside = true;
    goldens[3].value = encode(&index);
    index.txn_records = true;
    goldens[4].value = encode(&index);
    x.phase = INDEX_COMING;
    goldens[5].value = as_version(encode(&base), 18);
    for (size_t i = 0; i < 10; i += i == 5 ? 3 : 1) /* an older server must refuse it */
        assert_int_equal(*bytes_u8(goldens[i].value), versions[i]);
    assert_int_equal(schema_decode(&c, goldens[0].value, &back), E_OK);
    assert_int_equal(back.index_count, 1);
    assert_int_equal(back.d.index_count, 2);
    assert_int_equal(back.d.indexes[0].sync_phase, INDEX_FULL);
    assert_ptr_equal(index_find(back.indexes, back.index_count, BYTES_LIT("ix")), back.indexes);
    assert_null(index_find(back.indexes, back.index_count, BYTES_LIT("old")));
    assert_int_equal(back.indexes->id, 6);
    assert_int_equal(back.indexes->location.id, 7);
    assert_int_equal(back.indexes->location.layout.buckets, 4);
    assert_int_equal(back.indexes->shadow.id, 0);
    assert_true(back.indexes->include_base_data);
    check_resolved(back.indexes);
    assert_int_equal(back.d.indexes[0].descending, 1);
    assert_int_equal(back.d.indexes[0].hashed, 1);
    assert_int_equal(back.d.indexes[1].descending, 0);
    assert_true(bytes_equal(encode(&back), goldens[8].value));
    assert_int_equal(schema_decode(&c, goldens[1].value, &back), E_OK);
    assert_true(bytes_equal(back.base.table, BYTES_LIT("t")));
    assert_int_equal(back.base.id, 5);
    assert_int_equal(back.base.phase, INDEX_INCR);
    assert_true(bytes_equal(encode(&back), goldens[1].value));
    assert_false(back.outbox);
    assert_int_equal(schema_decode(&c, goldens[2].value, &back), E_OK);
    assert_true(back.outbox);
    assert_false(back.stream_beside);
    assert_true(bytes_equal(encode(&back), goldens[2].value));
    assert_int_equal(schema_decode(&c, goldens[3].value, &back), E_OK);
    assert_true(back.stream_beside);
    assert_false(back.txn_records);
    assert_true(bytes_equal(encode(&back), goldens[3].value));
    assert_int_equal(schema_decode(&c, goldens[4].value, &back), E_OK);
    assert_true(back.txn_records);
    assert_true(bytes_equal(encode(&back), goldens[4].value));
    assert_int_equal(schema_decode(&c, goldens[5].value, &back), E_OK);
    assert_int_equal(back.indexes->phase, INDEX_COMING);
    assert_true(bytes_equal(as_version(encode(&back), 18), goldens[5].value));
    assert_int_equal(schema_decode(&c, goldens[9].value, &back), E_OK);
    assert_int_equal(back.indexes->location.key[0].type, WR_DECIMAL);
    assert_true(bytes_equal(encode(&back), goldens[9].value));
    assert_true(bytes_equal(index_note_cols(goldens[7].value, &of_entry), BYTES_LIT("rowentry")));
    assert_false(of_entry);
    golden_check("index.hex", "Descriptions of a table with indexes and of an index.", goldens, 10);
}

static void test_what_does_not_resolve(void **state)
{
    static const bytes wrong[][2] = {{BYTES_LIT("d9"), BYTES_LIT("pk0")},
                                     {BYTES_LIT("d1"), BYTES_LIT("d1")},
                                     {BYTES_LIT("d2"), BYTES_LIT("d1")}}; /* no key has JSON */
    struct schema base = base_sample();

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct wr_index_meta meta = {.key_columns = wrong[i], .key_column_count = 2};
        struct index x = {.meta = &meta, .id = 6, .location = {.id = 6}};

        assert_false(index_resolve(&c.arena, &base.d, &x));
    }
}

/* A description whose index names columns that the table does not have is damaged. */
static void test_damaged(void **state)
{
    struct schema base = base_sample(), back;
    struct index x = index_sample(&base);
    bytes stored;

    (void)state;
    base.indexes = &x;
    base.index_count = 1;
    base.d.defined_count = 1;
    stored = encode(&base);
    assert_int_equal(schema_decode(&c, stored, &back), E_CORRUPT);
    ctx_clear(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_comes_back), TEST(test_what_does_not_resolve),
                                       TEST(test_damaged)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
