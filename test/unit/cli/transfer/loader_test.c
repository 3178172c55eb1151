/* The loader against a database in memory: what it acknowledges is there, what it refuses is not.
 */
#include "cli/transfer/loader.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#define ROWS 3000
#define TABLE BYTES_LIT("t")

static struct clock clk;
static struct target target;
static struct plan plan;
static struct shuffle_buffer window;
static struct progress progress;
static struct loader loader;

static void open_database(void)
{
    struct wr_options options = {.version = WR_API_VERSION, .engine = "mem"};
    struct wr_key_schema key = {.name = BYTES_LIT("k"), .type = WR_VARCHAR};
    struct wr_request request = {
        .op = WR_OP_CREATE_TABLE,
        .instance = BYTES_LIT("inst"),
        .create_table = {.table = TABLE,
                         .key = &key,
                         .key_count = 1,
                         .options = {.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS,
                                     .ttl_s = -1,
                                     .max_versions = 1}},
    };
    struct wr_reply *reply;
    char message[256];

    target = (struct target){.instance = BYTES_LIT("inst"), .reached = true};
    assert_int_equal(wr_open(&options, &target.db, message, sizeof(message)), 0);
    reply = wr_exec(target.db, &request);
    assert_int_equal(reply->code, 0);
    wr_reply_free(reply);
}

static uint64_t count_rows(void)
{
    struct wr_key_column low = {BYTES_LIT("k"), {.type = WR_INF_MIN}};
    struct wr_key_column high = {BYTES_LIT("k"), {.type = WR_INF_MAX}};
    struct wr_request request = {
        .op = WR_OP_GET_RANGE,
        .instance = BYTES_LIT("inst"),
        .get_range = {.table = TABLE,
                      .start = {&low, 1},
                      .end = {&high, 1},
                      .read = {.max_versions = 1, .has_max_versions = true}},
    };
    struct wr_reply *reply = wr_exec(target.db, &request);
    uint64_t n = reply->range.row_count;

    assert_int_equal(reply->code, 0);
    assert_int_equal(reply->range.next.count, 0);
    wr_reply_free(reply);
    return n;
}

/* A row with the key "<i>", or one that no table takes. */
static struct import_row *make_row(uint64_t i, bool good)
{
    static char long_key[2000];
    struct csv_field fields[2] = {{.text = BYTES_NONE}, {.text = BYTES_LIT("5")}};
    struct csv_record record = {.fields = fields, .count = 2, .line = i, .size = sizeof(long_key)};
    struct import_row *row;
    char key[32], message[200];

    memset(long_key, 'x', sizeof(long_key));
    snprintf(key, sizeof(key), "\"%llu", (unsigned long long)i);
    fields[0].text = good ? bytes_str(key) : bytes_of(long_key, sizeof(long_key));
    row = plan_row(&plan, &record, message, sizeof(message));
    assert_non_null(row);
    row->source_bytes = 10;
    return row;
}

/* Loads ROWS rows of which every `bad_every`th is refused (0: none). */
static void load(uint64_t bad_every, uint64_t errors_max, int acked_fd)
{
    struct plan_column columns[1] = {{.name = BYTES_LIT("v"), .type = WR_BIGINT, .field = 1}};
    struct ctx c;

    clock_real_init(&clk);
    ctx_init(&c, &clk, NULL, NULL, 0);
    plan = (struct plan){.keys = {{.name = BYTES_LIT("k"), .type = WR_VARCHAR}},
                         .key_count = 1,
                         .columns = columns,
                         .column_count = 1,
                         .field_count = 2};
    open_database();
    shuffle_buffer_init(&window, 1000, 200, 1 << 20, ROWS_SHUFFLED, 1);
    progress_start(&progress, &clk, 0, true);
    loader = (struct loader){.target = &target,
                             .clock = &clk,
                             .plan = &plan,
                             .table = TABLE,
                             .shuffle = &window,
                             .progress = &progress,
                             .retry_ms = 1000,
                             .errors_max = errors_max,
                             .acked_fd = acked_fd,
                             .worker_count = 3};
    assert_int_equal(loader_start(&c, &loader), 0);
    for (uint64_t i = 0; i < ROWS; i++) {
        struct import_row *row = make_row(i, !bad_every || i % bad_every);

        shuffle_buffer_put(&window, &row, 1);
    }
    shuffle_buffer_close(&window);
    loader_finish(&loader);
    progress_end(&progress);
    shuffle_buffer_release(&window);
    ctx_release(&c);
}

static void unload(void)
{
    wr_close(target.db);
}

static void test_all_good(void **state)
{
    (void)state;
    load(0, 0, -1);
    assert_string_equal(loader.failure, "");
    assert_int_equal(progress.records, ROWS);
    assert_int_equal(progress.bytes, ROWS * 10);
    assert_int_equal(count_rows(), ROWS);
    unload();
}

/* A refused row does not take its batch with it. */
static void test_some_refused(void **state)
{
    (void)state;
    load(1000, 100, -1);
    assert_string_equal(loader.failure, "");
    assert_int_equal(loader.errors, 3);
    assert_int_equal(progress.records, ROWS - 3);
    assert_int_equal(count_rows(), ROWS - 3);
    unload();
}

static void test_stops_at_error(void **state)
{
    (void)state;
    load(1000, 0, -1);
    assert_non_null(strstr(loader.failure, "first bad line"));
    assert_true(progress.records < ROWS);
    assert_int_equal(count_rows(), progress.records);
    unload();
}

/* The file names each acknowledged key once, as CSV. */
static void test_acked_file(void **state)
{
    static bool seen[ROWS];
    FILE *file = tmpfile();
    char line[64];
    size_t n = 0;

    (void)state;
    load(0, 0, fileno(file));
    rewind(file);
    while (fgets(line, sizeof(line), file)) {
        unsigned i;

        assert_int_equal(sscanf(line, "\"\"\"%u\"", &i), 1);
        assert_true(i < ROWS && !seen[i]);
        seen[i] = true;
        n++;
    }
    assert_int_equal(n, ROWS);
    fclose(file);
    unload();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_good),
        cmocka_unit_test(test_some_refused),
        cmocka_unit_test(test_stops_at_error),
        cmocka_unit_test(test_acked_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
