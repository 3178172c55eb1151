/* Records of a transaction on a pool, and ids that tell where they are: what is written is read
 * back, and bytes that are cut or wrong are refused or mean something else, but break nothing. */
#include "table/txn/txn_record.h"

#include "../../../golden/golden.h"
#include "base/ctx.h"
#include "table/index/outbox.h"
#include "table/model/lock_key.h"
#include "table/model/schema.h"

#define ID "0f8fad5b-d9cb-469f-a165-70867728950e"

static struct ctx c;
static struct clock wall;
static const struct wr_key_schema schema[] = {
    {.name = {"pk", 2}, .type = WR_VARCHAR},
    {.name = {"id", 2}, .type = WR_BIGINT, .descending = true}};
static const struct location place = {
    .id = 7, .layout = {.buckets = 1, .partition_cols = 1}, .key = schema, .key_count = 2};

static int setup(void **state)
{
    (void)state;
    clock_set_init(&wall, 1000);
    ctx_init(&c, &wall, NULL, NULL, 0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ctx_release(&c);
    return 0;
}

static bytes cols(const char *pk, int64_t id, size_t count)
{
    struct wr_key_column columns[] = {
        {.name = {"pk", 2}, .value = {.type = WR_VARCHAR, .bytes = bytes_str(pk)}},
        {.name = {"id", 2}, .value = {.type = WR_BIGINT, .integer = id}}};
    struct buf b;

    buf_init(&b, &c.arena, 64);
    assert_int_equal(key_put_columns(&c, &b, schema, columns, count), E_OK);
    return buf_bytes(&b);
}

static const struct txn_head head = {.id = {ID, TXN_ID_BYTES},
                                     .client = 0x1122334455667788,
                                     .begun_ms = 1700000000123,
                                     .steps = 300,
                                     .stamp = 1700000000123000,
                                     .bytes = 70000,
                                     .changes = 2};

static void test_head(void **state)
{
    bytes stored = txn_head_encode(&c.arena, &head);
    struct txn_head back;

    (void)state;
    assert_int_equal(txn_head_decode(&c, stored, &back), E_OK);
    assert_true(bytes_equal(back.id, head.id));
    assert_int_equal(back.client, head.client);
    assert_int_equal(back.begun_ms, head.begun_ms);
    assert_int_equal(back.steps, head.steps);
    assert_int_equal(back.stamp, head.stamp);
    assert_int_equal(back.bytes, head.bytes);
    assert_int_equal(back.changes, head.changes);
    for (size_t cut = 0; cut < stored.len; cut++) {
        assert_int_equal(txn_head_decode(&c, (bytes){stored.ptr, cut}, &back), E_CORRUPT);
        ctx_clear(&c);
    }
    *(uint8_t *)stored.ptr = 2;
    assert_int_equal(txn_head_decode(&c, stored, &back), E_FORMAT);
    ctx_clear(&c);
}

static struct txn_row row_of(void)
{
    static struct wr_cell cells[] = {
        {.name = {"a", 1}, .op = WR_CELL_DELETE_ALL},
        {.name = {"a", 1},
         .op = WR_CELL_PUT,
         .timestamp_ms = 5,
         .crc8 = 9,
         .crc8_known = true,
         .value = {.type = WR_VARCHAR, .bytes = {"value", 5}}},
        {.name = {"b", 1}, .op = WR_CELL_DELETE_ONE, .timestamp_ms = -7},
        {.name = {"c", 1},
         .op = WR_CELL_PUT,
         .timestamp_ms = 6,
         .value = {.type = WR_BIGINT, .integer = -1}}};

    return (struct txn_row){.cols = cols("k", 3, 2),
                            .there = true,
                            .creates = true,
                            .cells = cells,
                            .cell_count = 4,
                            .stored_bytes = 1000};
}

static void test_row(void **state)
{
    struct txn_row row = row_of(), back;
    bytes value = cols("k", 0, 1);
    struct kv kv = {txn_row_key(&c.arena, &place, value, row.cols), txn_row_encode(&c.arena, &row)};

    (void)state;
    assert_int_equal(txn_row_decode(&c, &place, &kv, &back), E_OK);
    assert_true(bytes_equal(back.cols, row.cols));
    assert_int_equal(back.key.count, 2);
    assert_int_equal(back.key.columns[1].value.integer, 3);
    assert_true(back.there && back.creates && !back.replaces);
    assert_int_equal(back.stored_bytes, 1000);
    assert_int_equal(back.cell_count, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_true(bytes_equal(back.cells[i].name, row.cells[i].name));
        assert_int_equal(back.cells[i].op, row.cells[i].op);
        assert_int_equal(back.cells[i].timestamp_ms, row.cells[i].timestamp_ms);
        assert_int_equal(back.cells[i].crc8_known, row.cells[i].crc8_known);
        assert_int_equal(back.cells[i].crc8, row.cells[i].crc8);
    }
    assert_true(bytes_equal(back.cells[1].value.bytes, BYTES_LIT("value")));
    assert_int_equal(back.cells[3].value.integer, -1);
    for (size_t i = 0; i < 8 * kv.value.len; i++) { /* it may mean something else */
        struct kv wrong = {kv.key, arena_copy(&c.arena, kv.value)};

        ((uint8_t *)wrong.value.ptr)[i / 8] ^= (uint8_t)(1 << i % 8);
        (void)txn_row_decode(&c, &place, &wrong, &back);
        ctx_clear(&c);
    }
    for (size_t cut = 0; cut < kv.value.len; cut++) {
        struct kv wrong = {kv.key, {kv.value.ptr, cut}};

        assert_int_not_equal(txn_row_decode(&c, &place, &wrong, &back), E_OK);
        ctx_clear(&c);
    }
}

/* All lie in one range, between the rows' other records, and nobody takes them for those. */
static void test_keys(void **state)
{
    bytes value = cols("k", 0, 1);
    struct key_range range = txn_records(&c.arena, &place, value);
    bytes keys[] = {txn_head_key(&c.arena, &place, value),
                    txn_row_key(&c.arena, &place, value, cols("k", 3, 2)),
                    txn_row_key(&c.arena, &place, value, cols("k", INT64_MIN, 2))};

    (void)state;
    assert_true(bytes_equal(range.start, keys[0]));
    for (size_t i = 0; i < 3; i++) {
        assert_true(bytes_compare(keys[i], range.start) >= 0);
        assert_true(bytes_compare(keys[i], range.end) < 0);
        assert_true(key_is_of_lock(&place, keys[i]));
        for (int what = BESIDE_FENCE; what <= BESIDE_CHANGE; what++)
            assert_false(beside_is(&place, keys[i], (enum beside)what));
    }
    for (int what = BESIDE_FENCE; what <= BESIDE_CHANGE; what++) {
        bytes other = beside_key(&c.arena, &place, cols("k", 3, 2), (enum beside)what);

        assert_false(key_is_of_lock(&place, other));
        assert_true(bytes_compare(other, range.end) >= 0 || bytes_compare(other, range.start) < 0);
    }
}

static void test_ids(void **state)
{
    struct txn_place at = {{ID, TXN_ID_BYTES}, BYTES_LIT("table"), cols("k", 0, 1)}, back;
    bytes id = txn_place_write(&c.arena, &at);

    (void)state;
    assert_true(txn_place_read(&c.arena, id, &back));
    assert_true(bytes_equal(back.id, at.id));
    assert_true(bytes_equal(back.table, at.table));
    assert_true(bytes_equal(back.value, at.value));
    assert_false(txn_place_read(&c.arena, bytes_str(ID), &back));
    assert_false(txn_place_read(&c.arena, bytes_str(ID "-"), &back));
    assert_false(txn_place_read(&c.arena, bytes_str(ID "-0"), &back));
    assert_false(txn_place_read(&c.arena, bytes_str(ID "-0g"), &back));
    assert_false(txn_place_read(&c.arena, bytes_str(ID "-05"), &back));   /* a name of five bytes */
    assert_false(txn_place_read(&c.arena, bytes_str(ID "-0174"), &back)); /* and no value */
}

static void test_golden(void **state)
{
    struct txn_row row = row_of();
    bytes value = cols("k", 0, 1);
    struct golden goldens[] = {
        {"txn-head-key", "The lock of the value 'k'.", txn_head_key(&c.arena, &place, value)},
        {"txn-head", "Who has it.", txn_head_encode(&c.arena, &head)},
        {"txn-row-key", "A row that is changed.", txn_row_key(&c.arena, &place, value, row.cols)},
        {"txn-row", "What is changed of it.", txn_row_encode(&c.arena, &row)}};

    (void)state;
    golden_check("txn.hex", "Transactions on a pool.", goldens, PORT_COUNT(goldens));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_head, setup, teardown),
        cmocka_unit_test_setup_teardown(test_row, setup, teardown),
        cmocka_unit_test_setup_teardown(test_keys, setup, teardown),
        cmocka_unit_test_setup_teardown(test_ids, setup, teardown),
        cmocka_unit_test_setup_teardown(test_golden, setup, teardown)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
