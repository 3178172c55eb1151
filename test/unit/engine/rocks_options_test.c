/* What RocksDB's options let it take, for any --memory. */
#include "bed.h"

#include "engine/rocks.h"

static void expect_bounds(struct bed *b, uint64_t memory_bytes)
{
    struct rocks *r;
    uint64_t buffer, number, base, level0;

    bed_close(b);
    b->conf.memory_bytes = memory_bytes;
    bed_open(b, "rocks");
    r = PORT_CONTAINER(b->e, struct rocks, base);
    buffer = rocksdb_options_get_write_buffer_size(r->options);
    number = (uint64_t)rocksdb_options_get_max_write_buffer_number(r->options);
    base = rocksdb_options_get_max_bytes_for_level_base(r->options);
    level0 = (uint64_t)rocksdb_options_get_level0_slowdown_writes_trigger(r->options) * buffer;
    /* Those that wait for a slow disk: three times their share, and not without an end. */
    assert_true(number * buffer <= 3 * rocks_buffer_bytes(memory_bytes));
    assert_true(number * buffer <= 512 * MIB);
    /* The room that is kept is enough for a compaction of level 0 into the next one. */
    assert_true(rocks_compaction_bytes(memory_bytes) >= base + level0);
    assert_in_range(rocks_compaction_bytes(memory_bytes), 2048 * MIB, 4096 * MIB);
}

static void test_bounds(void **state)
{
    struct bed *b = *state;

    expect_bounds(b, 32 * MIB);
    expect_bounds(b, 224 * MIB);
    assert_int_equal(rocks_compaction_bytes(224 * MIB), 2048 * MIB); /* --memory 256M */
    expect_bounds(b, 896 * MIB);
    expect_bounds(b, 16384 * MIB);
}

#define ROWS 20000
#define VALUE_BYTES 200

/* A number of what RocksDB says of a level's table files together. */
static double level_number(rocksdb_t *db, int level, const char *name)
{
    char property[64], *text, *at;
    double n;

    snprintf(property, sizeof(property), "rocksdb.aggregated-table-properties-at-level%d", level);
    text = rocksdb_property_value(db, property);
    assert_non_null(text);
    at = strstr(text, name);
    assert_non_null(at);
    n = strtod(at + strlen(name), NULL);
    rocksdb_free(text);
    return n;
}

/* How large blocks of data are beside what is in them. */
static double level_ratio(rocksdb_t *db, int level)
{
    double raw =
        level_number(db, level, "raw key size=") + level_number(db, level, "raw value size=");

    assert_true(raw > 0); /* there are files */
    return level_number(db, level, "data block size=") / raw;
}

/* Puts all rows, in no order: half of a value is the same letter. */
static void put_rows(rocksdb_t *db)
{
    rocksdb_writeoptions_t *how = rocksdb_writeoptions_create();
    char *err = NULL;

    for (unsigned i = 0; i < ROWS; i++) {
        char key[16], value[VALUE_BYTES];

        snprintf(key, sizeof(key), "%010u", i * 7919 % ROWS);
        memset(value, 'x', sizeof(value));
        for (size_t k = 0; k < VALUE_BYTES / 2; k++)
            value[k] = (char)(rand() % 256);
        rocksdb_put(db, how, key, strlen(key), value, sizeof(value), &err);
        assert_null(err);
    }
    rocksdb_writeoptions_destroy(how);
}

static void await_compaction(rocksdb_t *db)
{
    rocksdb_flushoptions_t *flush = rocksdb_flushoptions_create();
    uint64_t pending = 1, running = 1;
    char *err = NULL;

    rocksdb_flush(db, flush, &err);
    assert_null(err);
    rocksdb_flushoptions_destroy(flush);
    for (int i = 0; i < 3000 && (pending || running); i++) {
        usleep(10000);
        assert_int_equal(rocksdb_property_int(db, "rocksdb.compaction-pending", &pending), 0);
        assert_int_equal(rocksdb_property_int(db, "rocksdb.num-running-compactions", &running), 0);
    }
    assert_false(pending || running);
}

/* The engine's options, with levels that a test can fill: the level that level 0 is compacted into
 * is as it was written, the last one is compressed. */
static void test_compression(void **state)
{
    struct bed *b = *state;
    struct rocks *r = PORT_CONTAINER(b->e, struct rocks, base);
    rocksdb_options_t *o = rocksdb_options_create_copy(r->options);
    const char *dir = arena_printf(&b->c.arena, "%s/levels", b->dir).ptr;
    char *err = NULL;
    rocksdb_t *db;

    rocksdb_options_set_create_if_missing(o, 1);
    rocksdb_options_set_disable_auto_compactions(o, 0);
    rocksdb_options_set_write_buffer_size(o, 256 << 10);
    rocksdb_options_set_target_file_size_base(o, 128 << 10);
    rocksdb_options_set_max_bytes_for_level_base(o, 512 << 10);
    db = rocksdb_open(o, dir, &err);
    assert_null(err);
    put_rows(db);
    await_compaction(db);
    put_rows(db);
    await_compaction(db);
    assert_true(level_ratio(db, 5) > 0.95);
    assert_true(level_ratio(db, 6) < 0.75);
    rocksdb_close(db);
    rocksdb_options_destroy(o);
}

static int setup(void **state)
{
    return bed_set_up(state, "rocks");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_bounds, setup, bed_tear_down),
        cmocka_unit_test_setup_teardown(test_compression, setup, bed_tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
