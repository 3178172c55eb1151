/* The database from inside: what survives a reopening, and what the sweeper removes. */
#include "table/core/db.h"

#include "table/catalog/catalog_own.h"
#include "table/maint/sweep.h"
#include "table/model/key.h"
#include "table/sync/blocking_lock.h"
#include "table/sync/wait.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>
#undef fail /* the name is ctx.h's in this house */

#include "database.h"
#include "stored.h"
#include "../later.h"

#define MINUTE_MS 60000

struct bed {
    char dir[FOLDER_BYTES];
    struct wr_db *db;
};

static void bed_open(struct bed *b)
{
    struct wr_setting settings[] = {
        {"wide_row_cells", "3"}, {"ttl_seconds_min", "1"}, {"table_ops_per_s_max", "0"}};
    struct wr_options o = {.version = WR_API_VERSION,
                           .dir = b->dir,
                           .settings = settings,
                           .setting_count = PORT_COUNT(settings)};

    b->db = database_open(&o);
}

static int bed_set_up(void **state)
{
    struct bed *b = mem_zalloc(sizeof(*b));

    folder_make(b->dir);
    bed_open(b);
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

static int run(struct bed *b, struct wr_request *req)
{
    return database_run(b->db, req);
}

static void create(struct bed *b, const char *name, int ttl_s)
{
    struct wr_key_schema key = {.name = BYTES_LIT("pk"), .type = WR_BIGINT};
    struct wr_request req = {.op = WR_OP_CREATE_TABLE};

    req.create_table = (struct wr_create_table){
        .table = bytes_str(name),
        .key = &key,
        .key_count = 1,
        .options = {.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS, .ttl_s = ttl_s, .max_versions = 1}};
    assert_int_equal(run(b, &req), 0);
}

static void put(struct bed *b, const char *table, int64_t pk, size_t cell_count)
{
    struct wr_key_column column = {BYTES_LIT("pk"), {.type = WR_BIGINT, .integer = pk}};
    struct wr_cell cells[26];
    struct wr_request req = {.op = WR_OP_PUT_ROW};
    static const char names[] = "abcdefghijklmnopqrstuvwxyz";

    for (size_t i = 0; i < cell_count; i++)
        cells[i] = (struct wr_cell){.name = bytes_of(&names[i], 1),
                                    .value = {.type = WR_BIGINT, .integer = (int64_t)i},
                                    .timestamp_ms = WR_TIMESTAMP_NONE};
    req.put_row = (struct wr_row_change){
        .type = WR_PUT, .table = bytes_str(table), .row = {{&column, 1}, cells, cell_count}};
    assert_int_equal(run(b, &req), 0);
}

/* Many rows, 200 a request. */
static void put_many(struct bed *b, const char *table, int64_t count)
{
    struct wr_key_column columns[200];
    struct wr_row_change changes[200];
    struct wr_table_write write = {
        .table = bytes_str(table), .changes = changes, .change_count = 200};
    struct wr_request req = {.op = WR_OP_BATCH_WRITE_ROW,
                             .batch_write_row = {.tables = &write, .table_count = 1}};

    for (int64_t first = 0; first < count; first += 200) {
        for (int64_t i = 0; i < 200; i++) {
            columns[i] =
                (struct wr_key_column){BYTES_LIT("pk"), {.type = WR_BIGINT, .integer = first + i}};
            changes[i] = (struct wr_row_change){.type = WR_PUT, .row = {.key = {&columns[i], 1}}};
        }
        assert_int_equal(run(b, &req), 0);
    }
}

static void tables_survive_and_ids_are_new(void **state)
{
    struct bed *b = *state;
    struct wr_request req = {.op = WR_OP_DELETE_TABLE};
    struct wr_reply *reply;
    uint64_t number = catalog_next_number(b->db->catalog);

    create(b, "a", -1);
    create(b, "b", -1);
    put(b, "b", 1, 2);
    req.delete_table.table = BYTES_LIT("a");
    assert_int_equal(run(b, &req), 0);
    wr_close(b->db);
    bed_open(b);
    create(b, "c", -1);
    put(b, "c", 1, 2);
    assert_int_equal(stored_count(b->db, 2, KIND_RECORD), 1);
    assert_int_equal(stored_count(b->db, 3, KIND_RECORD), 1); /* id 1 is never used again */
    assert_true(catalog_next_number(b->db->catalog) > number);
    req = (struct wr_request){.op = WR_OP_LIST_TABLE, .instance = BYTES_LIT("test")};
    reply = wr_exec(b->db, &req);
    assert_int_equal(reply->table_list.count, 2);
    wr_reply_free(reply);
}

static void numbers_rise_although_the_clock_goes_back(void **state)
{
    struct bed *b = *state;
    uint64_t last = catalog_next_number(b->db->catalog);

    for (int i = 0; i < 3; i++) {
        uint64_t next;

        /* What a process would find whose clock lies an hour behind the one before. */
        wr_close(b->db);
        bed_open(b);
        clock_set_init(&b->db->clock, clock_wall_us(&b->db->clock) - 3600ll * 1000000);
        next = catalog_next_number(b->db->catalog);
        assert_true(next > last);
        last = next;
        clock_real_init(&b->db->clock);
    }
}

static void replaced_wide_rows_leave_nothing(void **state)
{
    struct bed *b = *state;

    create(b, "t", -1);
    put(b, "t", 1, 2);
    assert_int_equal(stored_count(b->db, 1, KIND_CELL), 0); /* small: all in the head */
    put(b, "t", 1, 10);
    assert_int_equal(stored_count(b->db, 1, KIND_CELL), 10);
    put(b, "t", 1, 20);
    assert_int_equal(stored_count(b->db, 1, KIND_CELL),
                     30); /* the old cells wait for their readers */
    assert_int_equal(stored_count(b->db, 1, KIND_GARBAGE), 1);
    sweep_run(b->db);
    assert_int_equal(stored_count(b->db, 1, KIND_CELL), 30);
    sweep_later(b->db, 2 * MINUTE_MS);
    assert_int_equal(stored_count(b->db, 1, KIND_CELL), 20);
    assert_int_equal(stored_count(b->db, 1, KIND_GARBAGE), 0);
    put(b, "t", 1, 1); /* and back to a small row, over a reopening */
    wr_close(b->db);
    bed_open(b);
    sweep_later(b->db, 2 * MINUTE_MS);
    assert_int_equal(stored_count(b->db, 1, KIND_CELL), 0);
    assert_int_equal(stored_count(b->db, 1, KIND_RECORD), 1);
}

static void count_good(void *arg, struct wr_reply *reply)
{
    atomic_fetch_add((atomic_int *)arg, reply->code == 0);
    wr_reply_free(reply);
}

/* Locks row 1 of the table, so that a batch that begins with it waits. */
static void hold_first_row(struct bed *b, struct ctx *c, const char *name,
                           struct blocking_lock *held)
{
    struct wr_key_column column = {BYTES_LIT("pk"), {.type = WR_BIGINT, .integer = 1}};
    struct table *t;
    struct buf cols;

    assert_int_equal(catalog_find(c, b->db->catalog, BYTES_LIT("test"), bytes_str(name), &t), 0);
    buf_init(&cols, &c->arena, 16);
    assert_int_equal(key_put_columns(c, &cols, t->schema.d.key, &column, 1), 0);
    blocking_lock(b->db->row_locks, held, schema_lock_key(&c->arena, &t->schema, buf_bytes(&cols)));
    table_release(t);
}

/* A batch waits with a description of the table from before its first wide row; between, the table
 * gets another description and, by that one, the wide row. */
static void a_put_by_an_older_description_leaves_nothing(void **state)
{
    struct bed *b = *state;
    struct wr_cell cell = {.name = BYTES_LIT("a"),
                           .value = {.type = WR_BIGINT, .integer = 7},
                           .timestamp_ms = WR_TIMESTAMP_NONE};
    struct wr_key_column columns[2];
    struct wr_row_change changes[2];
    struct wr_table_write write = {
        .table = BYTES_LIT("t"), .changes = changes, .change_count = PORT_COUNT(changes)};
    struct wr_request batch = {.op = WR_OP_BATCH_WRITE_ROW,
                               .instance = BYTES_LIT("test"),
                               .batch_write_row = {.tables = &write, .table_count = 1}};
    struct wr_request update = {.op = WR_OP_UPDATE_TABLE};
    atomic_int good = 0;
    struct blocking_lock held;
    int code, early;
    size_t cells;
    struct ctx c;

    for (int i = 0; i < 2; i++) {
        columns[i] = (struct wr_key_column){BYTES_LIT("pk"), {.type = WR_BIGINT, .integer = i + 1}};
        changes[i] = (struct wr_row_change){.type = WR_PUT, .row = {{&columns[i], 1}, &cell, 1}};
    }
    create(b, "t", -1);
    ctx_init(&c, &b->db->clock, &b->db->log, NULL, 0);
    hold_first_row(b, &c, "t", &held);
    wr_submit(b->db, &batch, count_good, &good);
    update.update_table.table = BYTES_LIT("t");
    update.update_table.has_options = true;
    update.update_table.options =
        (struct wr_table_options){.given = WR_HAS_MAX_VERSIONS, .max_versions = 2};
    code = run(b, &update);
    put(b, "t", 2, 10);
    cells = stored_count(b->db, 1, KIND_CELL);
    early = atomic_load(&good);
    blocking_unlock(b->db->row_locks, &held); /* closing the database waits for the batch */
    assert_int_equal(code, 0);
    assert_int_equal(cells, 10);
    assert_int_equal(early, 0);
    put(b, "t", 3, 1); /* durable behind the batch */
    while (atomic_load(&good) == 0)
        usleep(1000);
    assert_int_equal(stored_count(b->db, 1, KIND_GARBAGE), 1);
    sweep_later(b->db, 2 * MINUTE_MS);
    assert_int_equal(stored_count(b->db, 1, KIND_CELL), 0);
    assert_int_equal(stored_count(b->db, 1, KIND_GARBAGE), 0);
    assert_int_equal(stored_count(b->db, 1, KIND_RECORD), 3);
    ctx_release(&c);
}

static void dropped_tables_leave_nothing(void **state)
{
    struct bed *b = *state;
    struct wr_request req = {.op = WR_OP_DELETE_TABLE};

    create(b, "t", -1);
    for (int64_t i = 0; i < 100; i++)
        put(b, "t", i, i % 2 ? 2 : 10);
    req.delete_table.table = BYTES_LIT("t");
    assert_int_equal(run(b, &req), 0);
    create(b, "t", -1);
    put(b, "t", 1, 2);
    sweep_run(b->db);
    assert_int_equal(stored_count(b->db, 1, KIND_RECORD), 100);
    sweep_later(b->db, 2 * MINUTE_MS);
    assert_int_equal(stored_count(b->db, 1, KIND_RECORD), 0);
    assert_int_equal(stored_count(b->db, 1, KIND_CELL), 0);
    assert_int_equal(stored_count(b->db, 2, KIND_RECORD), 1);
}

static void expired_rows_are_removed(void **state)
{
    struct bed *b = *state;

    create(b, "t", 60);
    for (int64_t i = 0; i < 10; i++)
        put(b, "t", i, i % 2 ? 2 : 10);
    sweep_later(b->db, 30 * 1000);
    assert_int_equal(stored_count(b->db, 1, KIND_RECORD), 10);
    sweep_later(b->db, 3 * MINUTE_MS);
    sweep_later(b->db, 5000); /* the rows leave garbage, with a grace of its own */
    sweep_later(b->db, 3 * MINUTE_MS);
    assert_int_equal(stored_count(b->db, 1, KIND_RECORD), 0);
    assert_int_equal(stored_count(b->db, 1, KIND_CELL), 0);
}

/* Behind more rows that live on than one sweep looks at. */
static void the_sweep_goes_on_where_it_was(void **state)
{
    struct bed *b = *state;

    create(b, "t", 3600);
    put(b, "t", 1000000, 2);
    go_later(b->db, 2 * 3600 * (int64_t)1000);
    put_many(b, "t", 40000);
    sweep_run(b->db);
    sweep_run(b->db);
    assert_int_equal(stored_count(b->db, 1, KIND_RECORD), 40000);
}

static void closing_waits_for_requests(void **state)
{
    struct bed *b = *state;
    struct wr_request req = {.op = WR_OP_DESCRIBE_SIZES, .instance = BYTES_LIT("test")};
    atomic_int good = 0;

    create(b, "t", -1);
    req.describe_sizes.table = BYTES_LIT("t");
    for (int i = 0; i < 500; i++)
        wr_submit(b->db, &req, count_good, &good);
    wr_close(b->db);
    assert_int_equal(good, 500);
    bed_open(b);
}

/* Stores a description of a version that is to come under that name. */
static void store_newer(struct bed *b, const char *name)
{
    struct ctx c;
    struct edit edit = {EDIT_PUT, BYTES_NONE, BYTES_LIT("\143 what is to come")};
    struct write_batch batch = {.partition = PARTITION_SYSTEM, .edits = &edit, .edit_count = 1};

    ctx_init(&c, &b->db->clock, &b->db->log, NULL, 0);
    edit.key = catalog_table_key(&c.arena, BYTES_LIT("test"), bytes_str(name));
    assert_int_equal(wait_apply(&c, b->db->engine, &batch), E_OK);
    ctx_release(&c);
}

static int describe(struct bed *b, const char *name)
{
    return run(b, &(struct wr_request){.op = WR_OP_DESCRIBE_TABLE,
                                       .describe_table.table = bytes_str(name)});
}

/* It alone is refused, by name, and left as it is; the others are served. */
static void a_table_of_a_newer_program_is_refused_alone(void **state)
{
    struct bed *b = *state;
    struct wr_request list = {.op = WR_OP_LIST_TABLE, .instance = BYTES_LIT("test")};
    struct wr_key_schema key = {.name = BYTES_LIT("pk"), .type = WR_BIGINT};
    struct wr_request again = {
        .op = WR_OP_CREATE_TABLE,
        .create_table = {.table = BYTES_LIT("newer"),
                         .key = &key,
                         .key_count = 1,
                         .options = {.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS,
                                     .ttl_s = -1,
                                     .max_versions = 1}}};
    struct wr_reply *reply;

    create(b, "known", -1);
    create(b, "newer", -1);
    store_newer(b, "newer");
    for (int i = 0; i < 2; i++) {
        wr_close(b->db);
        bed_open(b);
        assert_int_equal(describe(b, "known"), 0);
        assert_int_equal(describe(b, "newer"), E_FORMAT);
        assert_int_equal(run(b, &again), E_FORMAT);
        assert_int_equal(run(b, &(struct wr_request){.op = WR_OP_DELETE_TABLE,
                                                     .delete_table.table = BYTES_LIT("newer")}),
                         E_FORMAT);
        reply = wr_exec(b->db, &list);
        assert_int_equal(reply->table_list.count, 2);
        wr_reply_free(reply);
    }
}

/* ---- memory ---- */

#define ROOM_BYTES (1u << 20)
#define ROOM_ROWS 20
#define ROOM_CELL 20000

static uint64_t others_bytes;

static uint64_t on_front(void *arg)
{
    (void)arg;
    return others_bytes;
}

static void bed_reopen_small(struct bed *b)
{
    struct wr_options o = {.version = WR_API_VERSION,
                           .dir = b->dir,
                           .memory_bytes = ROOM_BYTES,
                           .front_memory = on_front};

    wr_close(b->db);
    b->db = database_open(&o);
}

static void put_large(struct bed *b, int64_t pk)
{
    static char text[ROOM_CELL];
    struct wr_key_column column = {BYTES_LIT("pk"), {.type = WR_BIGINT, .integer = pk}};
    struct wr_cell cell = {.name = BYTES_LIT("a"),
                           .value = {.type = WR_VARCHAR, .bytes = bytes_of(text, ROOM_CELL)},
                           .timestamp_ms = WR_TIMESTAMP_NONE};
    struct wr_request req = {.op = WR_OP_PUT_ROW};

    memset(text, 'x', sizeof(text));
    req.put_row = (struct wr_row_change){
        .type = WR_PUT, .table = BYTES_LIT("t"), .row = {{&column, 1}, &cell, 1}};
    assert_int_equal(run(b, &req), 0);
}

/* How many rows a batch of ROOM_ROWS has read; the others failed with `code`. */
static size_t get_large(struct bed *b, int code)
{
    struct wr_key_column columns[ROOM_ROWS];
    struct wr_key keys[ROOM_ROWS];
    struct wr_table_get get = {.table = BYTES_LIT("t"),
                               .keys = keys,
                               .key_count = ROOM_ROWS,
                               .read = {.max_versions = 1, .has_max_versions = true}};
    struct wr_request req = {.op = WR_OP_BATCH_GET_ROW,
                             .instance = BYTES_LIT("test"),
                             .batch_get_row = {.tables = &get, .table_count = 1}};
    struct wr_reply *reply;
    size_t n = 0;

    for (size_t i = 0; i < ROOM_ROWS; i++) {
        columns[i] =
            (struct wr_key_column){BYTES_LIT("pk"), {.type = WR_BIGINT, .integer = (int64_t)i}};
        keys[i] = (struct wr_key){&columns[i], 1};
    }
    reply = wr_exec(b->db, &req);
    assert_int_equal(reply->code, 0);
    for (size_t i = 0; i < ROOM_ROWS; i++)
        if (!reply->batch.tables[0].rows[i].code)
            n++;
        else
            assert_int_equal(reply->batch.tables[0].rows[i].code, code);
    wr_reply_free(reply);
    return n;
}

/* A batch takes an eighth of the memory at most, and stops where others have taken the half that
 * all may hold; one row it reads always. */
static void a_batch_stops_where_memory_ends(void **state)
{
    struct bed *b = *state;

    create(b, "t", -1);
    for (int64_t i = 0; i < ROOM_ROWS; i++)
        put_large(b, i);
    bed_reopen_small(b);
    others_bytes = 0;
    assert_int_equal(get_large(b, E_PARAMETER), ROOM_BYTES / 8 / ROOM_CELL + 1);
    others_bytes = ROOM_BYTES / 2;
    assert_int_equal(get_large(b, E_BUSY), 1);
    others_bytes = 0;
}

static void put_wide(struct bed *b, int columns)
{
    static char text[ROOM_CELL];
    struct wr_key_column column = {BYTES_LIT("pk"), {.type = WR_BIGINT, .integer = 1}};

    memset(text, 'x', sizeof(text));
    for (int i = 0; i < columns; i++) {
        char name[16];
        struct wr_cell cell = {.op = WR_CELL_PUT,
                               .value = {.type = WR_VARCHAR, .bytes = bytes_of(text, ROOM_CELL)},
                               .timestamp_ms = WR_TIMESTAMP_NONE};
        struct wr_request req = {.op = WR_OP_UPDATE_ROW};

        cell.name = bytes_of(name, (size_t)snprintf(name, sizeof(name), "c%d", i));
        req.update_row = (struct wr_row_change){
            .type = WR_UPDATE, .table = BYTES_LIT("t"), .row = {{&column, 1}, &cell, 1}};
        assert_int_equal(run(b, &req), 0);
    }
}

static int get_range(struct bed *b)
{
    static struct wr_key_column least = {BYTES_LIT("pk"), {.type = WR_INF_MIN}};
    static struct wr_key_column most = {BYTES_LIT("pk"), {.type = WR_INF_MAX}};
    struct wr_request req = {.op = WR_OP_GET_RANGE};

    req.get_range = (struct wr_get_range){.table = BYTES_LIT("t"),
                                          .start = {&least, 1},
                                          .end = {&most, 1},
                                          .read = {.max_versions = 1, .has_max_versions = true}};
    return run(b, &req);
}

/* Others are blamed for what they take only: not for a row that finds no room though it is alone,
 * in whichever of a request's arenas that is. */
static void a_row_that_never_fits_is_no_fault_of_others(void **state)
{
    struct bed *b = *state;

    create(b, "t", -1);
    put_wide(b, 40);
    bed_reopen_small(b);
    others_bytes = 0;
    assert_int_equal(get_range(b), E_MEMORY);
    run(b, &(struct wr_request){.op = WR_OP_DELETE_TABLE, .delete_table.table = BYTES_LIT("t")});
    others_bytes = 0;
    create(b, "t", -1);
    put_wide(b, 18);
    assert_int_equal(get_range(b), 0);
    others_bytes = ROOM_BYTES / 2 - 1;
    assert_int_equal(get_range(b), E_BUSY);
    others_bytes = 0;
}

/* A program that was compiled with another header is told so, and nothing of its folder is touched.
 */
static void opens_only_for_a_form_that_it_knows(void **state)
{
    struct bed *b = *state;
    struct wr_options o = {.engine = "mem"};
    struct wr_db *db = b->db;
    char message[256] = "";

    assert_int_equal(wr_open(&o, &db, message, sizeof(message)), WR_E_PARAMETER);
    assert_null(db);
    assert_non_null(strstr(message, "wr_options.version is 0, but this library reads version 1"));
    o.version = WR_API_VERSION + 1;
    assert_int_equal(wr_open(&o, &db, NULL, 0), WR_E_PARAMETER);
    assert_null(db);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, bed_set_up, bed_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_table_of_a_newer_program_is_refused_alone),
        TEST(tables_survive_and_ids_are_new),
        TEST(numbers_rise_although_the_clock_goes_back),
        TEST(replaced_wide_rows_leave_nothing),
        TEST(dropped_tables_leave_nothing),
        TEST(expired_rows_are_removed),
        TEST(the_sweep_goes_on_where_it_was),
        TEST(closing_waits_for_requests),
        TEST(a_put_by_an_older_description_leaves_nothing),
        TEST(a_batch_stops_where_memory_ends),
        TEST(a_row_that_never_fits_is_no_fault_of_others),
        TEST(opens_only_for_a_form_that_it_knows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
