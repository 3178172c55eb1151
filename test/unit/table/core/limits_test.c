/* What tables with large cells let in, and that it goes with them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <unistd.h>
#include <cmocka.h>
#undef fail

#include "../database.h"

#include <stdio.h>
#include <string.h>

#define MIB ((size_t)1 << 20)
#define NAME(text) ((struct wr_bytes){(text), sizeof(text) - 1})

static void make(struct wr_db *db, struct wr_bytes name, size_t cell_bytes)
{
    struct wr_key_schema key = {.name = NAME("pk"), .type = WR_BIGINT};
    struct wr_request req = {.op = WR_OP_CREATE_TABLE};

    req.create_table = (struct wr_create_table){
        .table = name,
        .key = &key,
        .key_count = 1,
        .options = {.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS | WR_HAS_CELL_BYTES,
                    .ttl_s = -1,
                    .max_versions = 1,
                    .cell_bytes_max = (int64_t)cell_bytes}};
    assert_int_equal(database_run(db, &req), 0);
}

static void drop(struct wr_db *db, struct wr_bytes name)
{
    struct wr_request req = {.op = WR_OP_DELETE_TABLE};

    req.delete_table.table = name;
    assert_int_equal(database_run(db, &req), 0);
}

static void change(struct wr_db *db, struct wr_bytes name, size_t cell_bytes)
{
    struct wr_request req = {.op = WR_OP_UPDATE_TABLE};

    req.update_table.table = name;
    req.update_table.has_options = true;
    req.update_table.options = (struct wr_table_options){.given = WR_HAS_CELL_BYTES,
                                                         .cell_bytes_max = (int64_t)cell_bytes};
    assert_int_equal(database_run(db, &req), 0);
}

static size_t body_bytes(struct wr_db *db)
{
    size_t body, memory;

    wr_request_bounds(db, &body, &memory);
    return body;
}

static void test_the_largest_table_counts(void **state)
{
    struct wr_db *db = *state;
    size_t usual = body_bytes(db);

    make(db, NAME("small"), MIB);
    assert_int_equal(body_bytes(db), usual);
    make(db, NAME("large"), 16 * MIB);
    make(db, NAME("larger"), 32 * MIB);
    assert_int_equal(body_bytes(db), 35 * MIB);
    drop(db, NAME("larger"));
    assert_int_equal(body_bytes(db), 19 * MIB);
    drop(db, NAME("small"));
    assert_int_equal(body_bytes(db), 19 * MIB);
    drop(db, NAME("large"));
    assert_int_equal(body_bytes(db), usual);
}

static void test_a_table_may_come_down(void **state)
{
    struct wr_db *db = *state;
    size_t usual = body_bytes(db);

    make(db, NAME("t"), 16 * MIB);
    make(db, NAME("twin"), 16 * MIB);
    change(db, NAME("t"), MIB);
    assert_int_equal(body_bytes(db), 19 * MIB);
    change(db, NAME("twin"), 0); /* the server's own limit */
    assert_int_equal(body_bytes(db), usual);
}

static void test_settings_count_beside_tables(void **state)
{
    struct wr_setting more[] = {{"cell_bytes_max", "33554432"}}, less[] = {{"cell_bytes_max", "8"}};
    struct wr_db *db = *state;
    size_t usual = body_bytes(db);

    make(db, NAME("t"), 16 * MIB);
    assert_int_equal(wr_settings_change(db, more, 1, NULL, 0), 0);
    assert_int_equal(body_bytes(db), 35 * MIB);
    assert_int_equal(wr_settings_change(db, less, 1, NULL, 0), 0);
    assert_int_equal(body_bytes(db), 19 * MIB);
    drop(db, NAME("t"));
    assert_int_equal(body_bytes(db), usual);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_largest_table_counts, database_set_up,
                                        database_tear_down),
        cmocka_unit_test_setup_teardown(test_a_table_may_come_down, database_set_up,
                                        database_tear_down),
        cmocka_unit_test_setup_teardown(test_settings_count_beside_tables, database_set_up,
                                        database_tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
