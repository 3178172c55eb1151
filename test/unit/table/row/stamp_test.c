/* The largest stamp that a client may give to a cell, and what comes after it. */
#include "table/model/change.h"
#include "table/model/modify.h"

#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>
#include <cmocka.h>
#undef fail /* the name is ctx.h's in this house */

#include "../database.h"

#include <stdio.h>
#include <string.h>

#define ROUNDS 3

static void make(struct wr_db *db, int versions)
{
    struct wr_key_schema key = {.name = BYTES_LIT("pk"), .type = WR_BIGINT};
    struct wr_request req = {.op = WR_OP_CREATE_TABLE};

    req.create_table = (struct wr_create_table){
        .table = BYTES_LIT("t"),
        .key = &key,
        .key_count = 1,
        .options = {.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS | WR_HAS_DEVIATION,
                    .ttl_s = -1,
                    .max_versions = versions,
                    .deviation_s = INT64_MAX / 1000000}};
    assert_int_equal(database_run(db, &req), 0);
}

static void update(struct wr_db *db, enum wr_cell_op op, const char *name, int64_t timestamp_ms)
{
    struct wr_key_column key = {BYTES_LIT("pk"), {.type = WR_BIGINT, .integer = 1}};
    struct wr_cell cell = {.name = bytes_of(name, strlen(name)),
                           .value = {.type = WR_BIGINT, .integer = 1},
                           .timestamp_ms = timestamp_ms,
                           .op = op};
    struct wr_request req = {.op = WR_OP_UPDATE_ROW};

    req.update_row = (struct wr_row_change){
        .table = BYTES_LIT("t"), .type = WR_UPDATE, .row = {{&key, 1}, &cell, 1}};
    assert_int_equal(database_run(db, &req), 0);
}

/* The newest stamp of the column. */
static int64_t newest(struct wr_db *db, const char *name)
{
    struct wr_key_column key = {BYTES_LIT("pk"), {.type = WR_BIGINT, .integer = 1}};
    struct wr_bytes columns[] = {bytes_of(name, strlen(name))};
    struct wr_request req = {.op = WR_OP_GET_ROW, .instance = BYTES_LIT("test")};
    struct wr_reply *reply;
    int64_t stamp;

    req.get_row = (struct wr_get_row){
        .table = BYTES_LIT("t"),
        .key = {&key, 1},
        .read = {
            .columns = columns, .column_count = 1, .has_max_versions = true, .max_versions = 1}};
    reply = wr_exec(db, &req);
    assert_int_equal(reply->code, 0);
    assert_int_equal(reply->row.row.cell_count, 1);
    stamp = reply->row.row.cells[0].timestamp_ms;
    wr_reply_free(reply);
    return stamp;
}

/* Nothing runs past the end, and the stamps that the server gives are no later for it. */
static void check_the_largest(struct wr_db *db, int versions)
{
    struct clock real;
    int64_t soon_ms;

    clock_real_init(&real);
    make(db, versions);
    update(db, WR_CELL_PUT, "a", STAMP_MS_MAX);
    for (int i = 0; i < ROUNDS; i++) {
        update(db, WR_CELL_PUT, "a", WR_TIMESTAMP_NONE);
        update(db, WR_CELL_INCREMENT, "a", WR_TIMESTAMP_NONE);
        assert_int_equal(newest(db, "a"), STAMP_MS_MAX);
        update(db, WR_CELL_PUT, "b", WR_TIMESTAMP_NONE);
        soon_ms = clock_wall_us(&real) / 1000 + 2000;
        assert_true(newest(db, "b") < soon_ms);
    }
}

static void one_version_at_the_largest_stamp(void **state)
{
    check_the_largest(*state, 1);
}

static void versions_at_the_largest_stamp(void **state)
{
    check_the_largest(*state, 5);
}

/* A row's stamp ascends up to the last microsecond that it can tell on either kind of engine. */
static void the_last_stamps_of_rows(void **state)
{
    static const uint64_t units[] = {1, 1024};

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(units); i++) {
        int64_t last_us = (int64_t)STAMP_MS_MAX * 1000 / (int64_t)units[i] - 1;
        struct modify m = {.time = {.us = last_us, .unit = units[i], .slot = units[i] - 1},
                           .stamp_ms = last_us / 1000};
        uint64_t first = modify_stamp(&m), next;

        assert_true(first >= (uint64_t)last_us * units[i]);
        m.old = (struct row){.there = true, .stamp = first};
        next = modify_stamp(&m);
        assert_true(next > first);
        assert_int_equal(next % units[i], units[i] - 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_version_at_the_largest_stamp, database_set_up,
                                        database_tear_down),
        cmocka_unit_test_setup_teardown(versions_at_the_largest_stamp, database_set_up,
                                        database_tear_down),
        cmocka_unit_test(the_last_stamps_of_rows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
