/* The tasks of a database in the background: what is told of them, one that fails, and a close in
 * the middle of their work. */
#include "base/fault.h"
#include "base/scheduler.h"
#include "table/catalog/catalog_own.h"
#include "table/core/db.h"
#include "table/maint/sweep.h"
#include "table/sync/blocking_lock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>
#undef fail /* the name is ctx.h's in this house */

#include "../database.h"

#define ROWS 600 /* some pages of the rekeyer's */

struct bed {
    char dir[FOLDER_BYTES];
    struct wr_db *db;
};

static void bed_open(struct bed *b)
{
    static const struct wr_setting settings[] = {{"table_ops_per_s_max", "0"},
                                                 {"batch_write_rows_max", "1000"},
                                                 {"scrub_pass_s_min", "1"},
                                                 {"wide_row_cells", "8"}};
    struct wr_options o = {WR_OPTIONS, .dir = b->dir, .settings = settings,
                           .setting_count = PORT_COUNT(settings)};

    b->db = database_open(&o);
}

static int run(struct bed *b, struct wr_request *req)
{
    return database_run(b->db, req);
}

static void fill(struct bed *b)
{
    static struct wr_key_column columns[ROWS];
    static struct wr_row_change changes[ROWS];
    struct wr_key_schema key = {.name = BYTES_LIT("k"), .type = WR_BIGINT};
    struct wr_table_write write = {
        .table = BYTES_LIT("t"), .changes = changes, .change_count = ROWS};
    struct wr_request create = {WR_REQUEST(CREATE_TABLE)};
    struct wr_request put = {WR_REQUEST(BATCH_WRITE_ROW)};

    create.create_table = (struct wr_create_table){
        .table = BYTES_LIT("t"),
        .key = &key,
        .key_count = 1,
        .options = {.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS, .ttl_s = -1, .max_versions = 1}};
    assert_int_equal(run(b, &create), WR_OK);
    for (int64_t i = 0; i < ROWS; i++) {
        columns[i] = (struct wr_key_column){BYTES_LIT("k"), {.type = WR_BIGINT, .integer = i}};
        changes[i] = (struct wr_row_change){.type = WR_PUT, .row = {.key = {&columns[i], 1}}};
    }
    put.batch_write_row = (struct wr_batch_write_row){.tables = &write, .table_count = 1};
    assert_int_equal(run(b, &put), WR_OK);
}

static int bed_set_up(void **state)
{
    struct bed *b = mem_zalloc(sizeof(*b));

    folder_make(b->dir);
    bed_open(b);
    fill(b);
    *state = b;
    return 0;
}

static int bed_tear_down(void **state)
{
    struct bed *b = *state;

    database_remove(b->db, b->dir);
    mem_free(b);
    return 0;
}

/* The rows copied so far, and whether the table is still being rekeyed. */
static int64_t rekey(struct bed *b, enum wr_rekey_action action, bool *under_way)
{
    struct wr_request req = {WR_REQUEST(REKEY_TABLE), .instance = BYTES_LIT("test")};
    struct wr_reply *reply;
    int64_t rows;

    req.rekey_table = (struct wr_rekey_table){BYTES_LIT("t"), action, BYTES_LIT("hash:4")};
    reply = wr_exec(b->db, &req);
    assert_int_equal(reply->code, WR_OK);
    rows = reply->rekey.rows;
    *under_way = reply->rekey.target.ptr != NULL;
    wr_reply_free(reply);
    return rows;
}

static void wait_rekeyed(struct bed *b)
{
    bool under_way = true;

    while (under_way) {
        usleep(5000);
        rekey(b, WR_REKEY_STATUS, &under_way);
    }
}

static struct wr_task task(struct bed *b, const char *name)
{
    struct wr_task tasks[16];
    size_t n = wr_tasks(b->db, tasks, PORT_COUNT(tasks));

    assert_true(n <= PORT_COUNT(tasks));
    for (size_t i = 0; i < n; i++)
        if (strcmp(tasks[i].name, name) == 0)
            return tasks[i];
    return (struct wr_task){.state = WR_TASK_IDLE}; /* whose name is empty */
}

static void all_tasks_are_told_of(void **state)
{
    static const char *const names[] = {"sweep",        "rekey",  "index",     "balance",
                                        "scrub",        "warm",   "sizes",     "stream",
                                        "transactions", "series", "changelog", "archive"};
    struct bed *b = *state;
    struct wr_task first;

    assert_int_equal(wr_tasks(b->db, NULL, 0), PORT_COUNT(names));
    for (size_t i = 0; i < PORT_COUNT(names); i++)
        assert_string_equal(task(b, names[i]).name, names[i]);
    while (!task(b, "scrub").steps || !task(b, "balance").steps)
        usleep(5000);
    first = task(b, "balance");
    assert_int_equal(first.failures, 0);
    assert_string_equal(first.text, "");
    assert_true(first.ago_ms >= 0);
}

static void a_task_that_fails_says_why_and_holds_up_no_other(void **state)
{
    struct bed *b = *state;
    struct wr_task seen;
    bool under_way;
    uint64_t looks;

    assert_true(fault_arm("rekey_page:error:1+"));
    rekey(b, WR_REKEY_START, &under_way);
    while (task(b, "rekey").state != WR_TASK_FAILED)
        usleep(1000);
    seen = task(b, "rekey");
    assert_string_equal(seen.text, "table 't': a page is not copied, as WR_FAULT says");
    looks = task(b, "balance").steps;
    while (task(b, "rekey").failures < seen.failures + 2 || task(b, "balance").steps < looks + 2)
        usleep(1000);
    rekey(b, WR_REKEY_STATUS, &under_way);
    assert_true(under_way);
    fault_arm(NULL);
    wait_rekeyed(b);
    while (task(b, "rekey").text[0]) /* until a step has ended well */
        usleep(1000);
}

static void *closes(void *arg)
{
    wr_close(arg);
    return NULL;
}

/* The rekeyer waits for the last row's lock when the close begins. It ends with the page that it is
 * at, and does not go on to the end of the table, nor to the switch. */
static void a_close_waits_for_a_page_only(void **state)
{
    struct bed *b = *state;
    struct table *t = catalog_get(b->db->catalog, BYTES_LIT("test"), BYTES_LIT("t"));
    struct wr_key_column last = {BYTES_LIT("k"), {.type = WR_BIGINT, .integer = ROWS - 1}};
    struct wr_db *db = b->db;
    struct blocking_lock held;
    pthread_t thread;
    bool under_way;
    struct buf cols;
    struct ctx c;

    ctx_init(&c, &db->clock, &db->log, NULL, 0);
    buf_init(&cols, &c.arena, 16);
    assert_int_equal(key_put_columns(&c, &cols, t->schema.d.key, &last, 1), E_OK);
    blocking_lock(db->row_locks, &held, schema_lock_key(&c.arena, &t->schema, buf_bytes(&cols)));
    table_release(t); /* the rekeyer waits for who holds an older description */
    rekey(b, WR_REKEY_START, &under_way);
    while (rekey(b, WR_REKEY_STATUS, &under_way) < ROWS / 256 * 256)
        usleep(1000);
    assert_true(under_way);
    assert_int_equal(pthread_create(&thread, NULL, closes, db), 0);
    while (!scheduler_stopping(db->background))
        usleep(1000);
    blocking_unlock(db->row_locks, &held);
    pthread_join(thread, NULL);
    ctx_release(&c);
    /* Else the rekeyer may have come to the end before it is asked. */
    assert_true(fault_arm("rekey_page:error:1+"));
    bed_open(b);
    rekey(b, WR_REKEY_STATUS, &under_way);
    assert_true(under_way);
    fault_arm(NULL);
    wait_rekeyed(b);
}

#define WIDE_ROWS 64
#define WIDE_CELLS 16

/* A wide row; its stored cells look like records of garbage, but for where they stand. */
static void put_wide(struct bed *b, enum wr_change_type type, int64_t k)
{
    struct wr_key_column column = {BYTES_LIT("k"), {.type = WR_BIGINT, .integer = k}};
    struct wr_row_change change = {.type = type, .row = {.key = {&column, 1}}};
    struct wr_request req = {WR_REQUEST(PUT_ROW)};
    struct wr_cell cells[WIDE_CELLS];
    char names[WIDE_CELLS][4];

    for (int i = 0; i < WIDE_CELLS; i++) {
        snprintf(names[i], sizeof(names[i]), "c%02d", i);
        cells[i] = (struct wr_cell){.name = bytes_str(names[i]), .value = {.type = WR_VARCHAR}};
        cells[i].value.bytes = BYTES_LIT("abcde");
        cells[i].timestamp_ms = WR_TIMESTAMP_NONE;
    }
    if (type == WR_PUT) {
        change.row.cells = cells;
        change.row.cell_count = WIDE_CELLS;
    } else {
        req = (struct wr_request){WR_REQUEST(DELETE_ROW)};
    }
    change.table = BYTES_LIT("t");
    req.put_row = change;
    assert_int_equal(run(b, &req), WR_OK);
}

static void assert_wide(struct bed *b, int64_t k)
{
    struct wr_key_column column = {BYTES_LIT("k"), {.type = WR_BIGINT, .integer = k}};
    struct wr_request req = {WR_REQUEST(GET_ROW), .instance = BYTES_LIT("test")};
    struct wr_reply *reply;

    req.get_row.table = BYTES_LIT("t");
    req.get_row.key = (struct wr_key){&column, 1};
    req.get_row.read = (struct wr_read_options){.has_max_versions = true, .max_versions = 1};
    reply = wr_exec(b->db, &req);
    assert_int_equal(reply->code, WR_OK);
    assert_int_equal(reply->row.row.cell_count, WIDE_CELLS);
    for (int i = 0; i < WIDE_CELLS; i++)
        assert_true(bytes_equal(reply->row.row.cells[i].value.bytes, BYTES_LIT("abcde")));
    wr_reply_free(reply);
}

/* A sweep stops within a table's garbage, the table gets another layout, the sweep goes on. */
static void a_sweep_goes_on_in_a_rekeyed_table(void **state)
{
    struct bed *b = *state;
    bool under_way;

    for (int64_t k = 0; k < WIDE_ROWS; k++)
        put_wide(b, WR_PUT, k);
    for (int64_t k = 0; k < WIDE_ROWS; k++)
        put_wide(b, WR_DELETE, k);
    assert_false(sweep_some(b->db, 0));
    rekey(b, WR_REKEY_START, &under_way);
    wait_rekeyed(b);
    for (int64_t k = 0; k < WIDE_ROWS; k++)
        put_wide(b, WR_PUT, k);
    while (!sweep_some(b->db, 1000000))
        ;
    for (int64_t k = 0; k < WIDE_ROWS; k++)
        assert_wide(b, k);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, bed_set_up, bed_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(all_tasks_are_told_of),
        TEST(a_task_that_fails_says_why_and_holds_up_no_other),
        TEST(a_close_waits_for_a_page_only),
        TEST(a_sweep_goes_on_in_a_rekeyed_table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
