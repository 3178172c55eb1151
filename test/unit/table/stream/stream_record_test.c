/* Change records, and a description with a stream, as stored bytes; and the texts that name places.
 */
#include "../../../golden/golden.h"
#include "../../context.h"

#include "table/model/big.h"
#include "table/model/modify.h"
#include "table/model/name.h"
#include "table/stream/stream_name.h"
#include "table/stream/stream_record.h"

#include "../model/schema_sample.h"

#define NOW_MS 1700000000000

static const bytes wanted[] = {BYTES_LIT("a"), BYTES_LIT("b")};
static const char *const golden_names[] = {"put", "update", "delete", "wide"};

/* A record made of everything that there is. */
struct record_sample {
    struct table table;
    struct wr_row_change asked;
    struct wr_cell cells[6];
    struct wr_cell old_cells[2], now_cells[1];
    struct row old, now;
    struct row_change change;
};

static struct wr_cell cell_of(bytes name, enum wr_cell_op op, int64_t timestamp_ms, int64_t value)
{
    struct wr_cell cell = {.name = name,
                           .op = op,
                           .timestamp_ms = timestamp_ms,
                           .value = {.type = WR_BIGINT, .integer = value}};

    return modify_stored_cell(&cell, &cell.value, timestamp_ms);
}

static struct wr_cell large_cell(bytes name)
{
    struct big_ref ref = {.id = 9, .length = 5000000, .location = 5, .chunk_bytes = 524288};
    struct wr_cell cell = {.name = name, .timestamp_ms = NOW_MS, .apart = true};

    for (size_t i = 0; i < sizeof(ref.sha256); i++)
        ref.sha256[i] = (uint8_t)i;
    cell.value = big_value(&c.arena, &ref);
    return cell;
}

static void sample_init(struct record_sample *x, enum row_change_kind kind, bool wide)
{
    static const enum wr_cell_op ops[] = {WR_CELL_PUT, WR_CELL_INCREMENT, WR_CELL_DELETE_ALL,
                                          WR_CELL_DELETE_ONE, WR_CELL_PUT};
    static const bytes columns[] = {BYTES_LIT("b"), BYTES_LIT("a"), BYTES_LIT("c"), BYTES_LIT("d"),
                                    BYTES_LIT("e")};
    struct buf cols;

    memset(x, 0, sizeof(*x));
    x->table.schema = schema_sample();
    for (size_t i = 0; i < 5; i++) {
        x->cells[i] = cell_of(columns[i], WR_CELL_PUT, NOW_MS + (int64_t)i, (int64_t)i);
        x->cells[i].op = ops[i];
    }
    x->cells[0].timestamp_ms = WR_TIMESTAMP_NONE;
    x->cells[0].crc8_known = false;
    x->cells[5] = large_cell(BYTES_LIT("f"));
    x->now_cells[0] = cell_of(BYTES_LIT("a"), WR_CELL_PUT, NOW_MS, 77);
    x->old_cells[0] = cell_of(BYTES_LIT("a"), WR_CELL_PUT, NOW_MS - 5, 76);
    x->old_cells[1] = cell_of(BYTES_LIT("z"), WR_CELL_PUT, NOW_MS - 5, 1);
    x->old = (struct row){.there = true, .wide = wide, .cells = x->old_cells, .cell_count = 2};
    x->now = (struct row){.there = true, .cells = x->now_cells, .cell_count = 1};
    x->asked.row.cells = x->cells;
    x->asked.row.cell_count = kind == ROW_PUT ? 1 : kind == ROW_UPDATE ? 6 : 0;
    buf_init(&cols, &c.arena, 16);
    key_put_column(&cols, key, &(struct wr_value){.type = WR_BIGINT, .integer = 1});
    x->change = (struct row_change){.kind = kind,
                                    .table = &x->table,
                                    .cols = buf_bytes(&cols),
                                    .asked = &x->asked,
                                    .now_ms = NOW_MS,
                                    .stamp_ms = NOW_MS,
                                    .old = &x->old,
                                    .now = &x->now};
}

/* Of a put, whose row was not there; an update of every kind; a delete; a put of a wide row. */
static bytes sample_record(size_t i)
{
    static const enum row_change_kind kinds[] = {ROW_PUT, ROW_UPDATE, ROW_DELETE, ROW_PUT};
    struct record_sample *x = ARENA_NEW(&c.arena, struct record_sample);

    sample_init(x, kinds[i], i == 3);
    if (i == 0)
        x->old = (struct row){.there = false};
    return stream_record_encode(&c.arena, &x->change, wanted, i == 1 ? 0 : 2);
}

static int decode(bytes value, struct wr_stream_record *out)
{
    return stream_record_decode(&c, stream_record_key(&c.arena, 7, 1, 123456), value, key, 1, out);
}

static void test_golden(void **state)
{
    struct golden goldens[7];
    struct schema s = schema_sample(), back;
    static const struct schema_partition partition = {.id = 5, .created_us = 1};
    struct buf b;

    (void)state;
    for (size_t i = 0; i < 4; i++)
        goldens[i] = (struct golden){golden_names[i], i ? NULL : "Values.", sample_record(i)};
    goldens[4] = (struct golden){"key", "Of shard 1, at the location 7.",
                                 stream_record_key(&c.arena, 7, 1, 123456)};
    s.partitions = &partition;
    s.partition_count = 1;
    s.stream = (struct schema_stream){.location = 7, .shards = 3};
    buf_init(&b, &c.arena, 256);
    schema_encode(&b, &s);
    goldens[5] =
        (struct golden){"schema-stream", "A table whose stream keeps records.", buf_bytes(&b)};
    assert_int_equal(*bytes_u8(goldens[5].value), 8); /* an older server must refuse it */
    assert_int_equal(schema_decode(&c, goldens[5].value, &back), E_OK);
    assert_int_equal(back.stream.location, 7);
    assert_int_equal(back.stream.shards, 3);
    s.change_log = 9;
    buf_init(&b, &c.arena, 256);
    schema_encode(&b, &s);
    goldens[6] = (struct golden){"schema-change-log", "The same with a change log.", buf_bytes(&b)};
    assert_int_equal(*bytes_u8(goldens[6].value), 9); /* likewise */
    assert_int_equal(schema_decode(&c, goldens[6].value, &back), E_OK);
    assert_int_equal(back.change_log, 9);
    golden_check("stream.hex", "Change records, and the description of a table with a stream.",
                 goldens, 7);
}

static void test_comes_back(void **state)
{
    struct wr_stream_record r;

    (void)state;
    assert_int_equal(decode(sample_record(0), &r), E_OK);
    assert_int_equal(r.type, WR_PUT);
    assert_int_equal(r.timestamp_us, 123456);
    assert_false(r.has_original);
    assert_int_equal(r.row.key.columns[0].value.integer, 1);
    assert_int_equal(r.row.cell_count, 1);
    assert_int_equal(r.row.cells[0].timestamp_ms, NOW_MS);
    assert_int_equal(decode(sample_record(1), &r), E_OK);
    assert_int_equal(r.row.cell_count, 6);
    assert_int_equal(r.row.cells[1].op, WR_CELL_PUT);
    assert_int_equal(r.row.cells[1].value.integer, 77);
    assert_int_equal(r.row.cells[2].op, WR_CELL_DELETE_ALL);
    assert_int_equal(r.row.cells[2].timestamp_ms, WR_TIMESTAMP_NONE);
    assert_int_equal(r.row.cells[3].op, WR_CELL_DELETE_ONE);
    assert_int_equal(r.row.cells[3].timestamp_ms, NOW_MS + 3);
    assert_int_equal(r.large_count, 1);
    assert_int_equal(r.large[0].at, 5);
    assert_int_equal(r.large[0].size, 5000000);
    assert_int_equal(r.large[0].sha256[31], 31);
    assert_int_equal(decode(sample_record(2), &r), E_OK);
    assert_int_equal(r.type, WR_DELETE);
    assert_int_equal(r.original_count, 1);
    assert_int_equal(r.original[0].value.integer, 76);
    assert_int_equal(decode(sample_record(3), &r), E_OK);
    assert_int_equal(r.original_count, 0);
    assert_int_equal(r.original_missing_count, 1);
    assert_true(bytes_equal(r.original_missing[0], BYTES_LIT("a")));
}

/* Whatever stands there, it is read or refused. */
static void test_damage(void **state)
{
    struct wr_stream_record r;

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        bytes good = sample_record(i);

        for (size_t at = 0; at < good.len; at++) {
            assert_int_not_equal(decode(bytes_of(good.ptr, at), &r), E_OK);
            ctx_clear(&c);
            for (int bit = 0; bit < 8; bit++) {
                bytes bad = arena_copy(&c.arena, good);

                ((uint8_t *)(uintptr_t)bad.ptr)[at] ^= (uint8_t)(1 << bit);
                if (decode(bad, &r))
                    assert_true(c.code == E_CORRUPT || c.code == E_FORMAT);
                ctx_clear(&c);
            }
        }
    }
}

static void test_names(void **state)
{
    bytes it = stream_iterator(&c.arena, BYTES_LIT("my_table_12_1700000000000000"), 3, 0xabc),
          table;
    static const bytes none[] = {BYTES_LIT(""),   BYTES_LIT("t"),  BYTES_LIT("t_"),
                                 BYTES_LIT("_1"), BYTES_LIT("t1"), BYTES_LIT(":t_1")};
    struct stream_place place;

    (void)state;
    assert_int_equal(stream_place_read(&c, it, &place), E_OK);
    assert_int_equal(place.shard, 3);
    assert_int_equal(place.number, 0xabc);
    assert_true(bytes_equal(place.stream, BYTES_LIT("my_table_12_1700000000000000")));
    assert_true(wr_stream_table(it, &table));
    assert_true(bytes_equal(table, BYTES_LIT("my_table_12")));
    assert_true(wr_stream_table(place.stream, &table));
    assert_true(bytes_equal(table, BYTES_LIT("my_table_12")));
    for (size_t i = 0; i < PORT_COUNT(none); i++)
        assert_false(wr_stream_table(none[i], &table));
    assert_true(bytes_equal(stream_shard_name(&c.arena, 42, 3, 17), BYTES_LIT("0000002a0003_17")));
}

/* Rows spread over all shards by their first key column. */
static void test_shards(void **state)
{
    struct schema s = schema_sample();
    size_t counts[SCHEMA_SHARDS_MAX] = {0};

    (void)state;
    s.stream.shards = SCHEMA_SHARDS_MAX;
    for (int i = 0; i < 1600; i++) {
        struct buf cols;
        uint16_t shard;

        buf_init(&cols, &c.arena, 16);
        key_put_column(&cols, key, &(struct wr_value){.type = WR_BIGINT, .integer = i});
        shard = stream_shard(&s, buf_bytes(&cols));
        assert_true(shard < SCHEMA_SHARDS_MAX);
        counts[shard]++;
        s.stream.shards = 1;
        assert_int_equal(stream_shard(&s, buf_bytes(&cols)), 0);
        s.stream.shards = SCHEMA_SHARDS_MAX;
    }
    for (size_t i = 0; i < SCHEMA_SHARDS_MAX; i++)
        assert_in_range(counts[i], 50, 150);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_golden), TEST(test_comes_back), TEST(test_damage),
        TEST(test_names),  TEST(test_shards),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
