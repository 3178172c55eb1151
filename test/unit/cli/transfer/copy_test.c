/* Copies between two databases in memory, of what is hard to copy: versions with timestamps of long
 * ago, rows without cells, generated numbers, rows too large for one request. */
#include "cli/transfer/copy.h"
#include "cli/transfer/digest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define TABLE BYTES_LIT("t")
#define ROWS 2500       /* more than two pages */
#define WIDE_CELLS 2300 /* more than two changes */

static struct clock clk;
static struct target from, to;

static struct wr_reply *must(struct target *t, struct wr_request *request)
{
    struct wr_reply *reply;

    request->instance = BYTES_LIT("inst");
    reply = wr_exec(t->db, request);
    assert_string_equal(reply->code ? reply->message : "", "");
    return reply;
}

static void open_target(struct target *t)
{
    struct wr_options options = {.version = WR_API_VERSION, .engine = "mem"};
    struct wr_key_schema key[2] = {
        {.name = BYTES_LIT("k"), .type = WR_BIGINT},
        {.name = BYTES_LIT("n"), .type = WR_BIGINT, .auto_increment = true}};
    struct wr_request request = {
        .op = WR_OP_CREATE_TABLE,
        .create_table = {.table = TABLE,
                         .key = key,
                         .key_count = 2,
                         .options = {.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS | WR_HAS_DEVIATION,
                                     .ttl_s = -1,
                                     .max_versions = 3,
                                     .deviation_s = INT64_MAX / 1000000}}};
    char message[256];

    *t = (struct target){.instance = BYTES_LIT("inst"), .reached = true};
    assert_int_equal(wr_open(&options, &t->db, message, sizeof(message)), 0);
    wr_reply_free(must(t, &request));
}

/* A row, whose number the server chooses; it is returned. */
static int64_t put(int64_t k, const struct wr_cell *cells, size_t count)
{
    struct wr_key_column key[2] = {{BYTES_LIT("k"), {.type = WR_BIGINT, .integer = k}},
                                   {BYTES_LIT("n"), {.type = WR_AUTO_INCREMENT}}};
    struct wr_request request = {.op = WR_OP_PUT_ROW,
                                 .put_row = {.type = WR_PUT,
                                             .table = TABLE,
                                             .row = {{key, 2}, cells, count},
                                             .return_type = WR_RETURN_KEY}};
    struct wr_reply *reply = must(&from, &request);
    int64_t number = reply->row.row.key.columns[1].value.integer;

    wr_reply_free(reply);
    return number;
}

static void widen(int64_t k, int64_t n)
{
    struct wr_key_column key[2] = {{BYTES_LIT("k"), {.type = WR_BIGINT, .integer = k}},
                                   {BYTES_LIT("n"), {.type = WR_BIGINT, .integer = n}}};
    struct wr_cell *cells = mem_zalloc(sizeof(*cells) * WIDE_CELLS);
    char(*names)[16] = mem_alloc(sizeof(*names) * WIDE_CELLS);

    for (size_t i = 0; i < WIDE_CELLS; i++) {
        snprintf(names[i], sizeof(names[i]), "c%06zu", i);
        cells[i] = (struct wr_cell){.name = bytes_str(names[i]),
                                    .value = {.type = WR_DOUBLE, .real = (double)i / 3},
                                    .timestamp_ms = 1000 + (int64_t)i};
    }
    for (size_t at = 0; at < WIDE_CELLS; at += 1000) {
        size_t count = WIDE_CELLS - at < 1000 ? WIDE_CELLS - at : 1000;
        struct wr_request request = {.op = WR_OP_UPDATE_ROW,
                                     .update_row = {.type = WR_UPDATE,
                                                    .table = TABLE,
                                                    .row = {{key, 2}, cells + at, count}}};

        wr_reply_free(must(&from, &request));
    }
    mem_free(names);
    mem_free(cells);
}

static void fill(void)
{
    static const char blob[] = "a\0b";
    struct wr_cell cells[] = {
        {.name = BYTES_LIT("v"), .value = {.type = WR_BIGINT, .integer = 1}, .timestamp_ms = 7},
        {.name = BYTES_LIT("v"), .value = {.type = WR_BOOLEAN, .boolean = true}, .timestamp_ms = 8},
        {.name = BYTES_LIT("w"),
         .value = {.type = WR_VARBINARY, .bytes = bytes_of(blob, 3)},
         .timestamp_ms = WR_TIMESTAMP_NONE},
        {.name = BYTES_LIT("x"),
         .value = {.type = WR_VARCHAR, .bytes = BYTES_LIT("")},
         .timestamp_ms = 0},
    };

    for (int64_t i = 0; i < ROWS; i++)
        put(i % 100, cells, (size_t)i % 5); /* some without cells */
    widen(50, put(50, cells, 1));
}

static int run(bool compare, struct table_copy *copy)
{
    struct wr_table_description table;
    struct progress progress;
    struct client *cl;
    struct ctx c;
    int code;

    ctx_init(&c, &clk, NULL, NULL, 0);
    assert_int_equal(client_open(&c, &from, &cl), 0);
    assert_int_equal(client_describe(&c, cl, TABLE, &table), 0);
    *copy = (struct table_copy){.from = &from,
                          .to = &to,
                          .clock = &clk,
                          .table = &table,
                          .progress = &progress,
                          .worker_count = 4,
                          .compare = compare};
    progress_start(&progress, &clk, 0, true);
    code = copy_rows(&c, cl, copy);
    progress_end(&progress);
    client_close(cl);
    ctx_release(&c);
    return code;
}

static void take_digest(struct target *t, char *hex, struct digest *d)
{
    struct client *cl;
    struct ctx c;

    ctx_init(&c, &clk, NULL, NULL, 0);
    assert_int_equal(client_open(&c, t, &cl), 0);
    assert_int_equal(digest_init(&c, d), 0);
    assert_int_equal(digest_table(&c, cl, d, TABLE), 0);
    digest_finish(d, hex);
    client_close(cl);
    ctx_release(&c);
}

static void assert_same(void)
{
    char a[DIGEST_TEXT], b[DIGEST_TEXT];
    struct digest d, e;

    take_digest(&from, a, &d);
    take_digest(&to, b, &e);
    assert_int_equal(d.rows, ROWS + 1);
    assert_int_equal(e.rows, d.rows);
    assert_int_equal(e.cells, d.cells);
    assert_string_equal(a, b);
}

static int setup(void **state)
{
    (void)state;
    clock_real_init(&clk);
    open_target(&from);
    open_target(&to);
    fill();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    wr_close(from.db);
    wr_close(to.db);
    return 0;
}

static void test_everything_arrives(void **state)
{
    struct table_copy copy;

    (void)state;
    assert_int_equal(run(false, &copy), 0);
    assert_int_equal(copy.written, ROWS + 1);
    assert_same();
}

static void test_what_is_there_is_not_written_again(void **state)
{
    struct wr_cell cell = {
        .name = BYTES_LIT("w"), .value = {.type = WR_BIGINT, .integer = 9}, .timestamp_ms = 9};
    struct wr_key_column key[2] = {{BYTES_LIT("k"), {.type = WR_BIGINT, .integer = 1}},
                                   {BYTES_LIT("n"), {.type = WR_BIGINT}}};
    struct wr_request request = {.op = WR_OP_DELETE_ROW,
                                 .delete_row = {.type = WR_DELETE, .table = TABLE}};
    struct table_copy copy;

    (void)state;
    assert_int_equal(run(false, &copy), 0);
    /* One row is new here, and then the same one is missing there. A wide row that BatchGetRow
     * answers in parts counts as different. */
    key[1].value.integer = put(1, &cell, 1);
    assert_int_equal(run(true, &copy), 0);
    assert_in_range(copy.written, 1, 2);
    request.delete_row.row.key = (struct wr_key){key, 2};
    wr_reply_free(must(&to, &request));
    assert_int_equal(run(true, &copy), 0);
    assert_in_range(copy.written, 1, 2);
}

static void test_a_refused_row_ends_it(void **state)
{
    struct wr_request request = {
        .op = WR_OP_UPDATE_TABLE,
        .update_table = {.table = TABLE,
                         .has_options = true,
                         .options = {.given = WR_HAS_DEVIATION, .deviation_s = 86400}}};
    struct table_copy copy;

    (void)state;
    wr_reply_free(must(&to, &request));
    assert_int_equal(run(false, &copy), WR_E_PARAMETER);
    assert_non_null(strstr(copy.ranges.failure, "Invalid timestamp"));
}

/* Only a copy may bring a number of its own. */
static void test_numbers_are_kept_only_if_asked(void **state)
{
    struct wr_key_column key[2] = {{BYTES_LIT("k"), {.type = WR_BIGINT, .integer = 1}},
                                   {BYTES_LIT("n"), {.type = WR_BIGINT, .integer = 42}}};
    struct wr_row_change change = {.type = WR_PUT, .row = {{key, 2}, NULL, 0}};
    struct wr_table_write table = {TABLE, &change, 1};
    struct wr_request request = {.op = WR_OP_BATCH_WRITE_ROW,
                                 .batch_write_row = {.tables = &table, .table_count = 1}};
    struct wr_reply *reply = must(&to, &request);

    (void)state;
    assert_int_equal(reply->batch.tables[0].rows[0].code, WR_E_CONDITION);
    wr_reply_free(reply);
    change.keeps_number = true;
    reply = must(&to, &request);
    assert_int_equal(reply->batch.tables[0].rows[0].code, 0);
    wr_reply_free(reply);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_everything_arrives, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_is_there_is_not_written_again, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_refused_row_ends_it, setup, teardown),
        cmocka_unit_test_setup_teardown(test_numbers_are_kept_only_if_asked, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
