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

static int setup(void **state)
{
    return bed_set_up(state, "rocks");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_bounds, setup, bed_tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
