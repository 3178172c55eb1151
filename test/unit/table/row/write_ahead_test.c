/* A batch of changes whose old rows are not in memory asks the disk for many of them at once, and
 * holds no row lock meanwhile unless it is atomic. */
#include "base/rng.h"
#include "table/catalog/catalog.h"
#include "table/core/db.h"
#include "table/model/key.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>
#undef fail /* the name is ctx.h's in this house */

#include "../changes.h"

#define ROWS 80
#define AHEAD 64         /* rows that are asked for at once */
#define VALUE_BYTES 9000 /* more than a block */
#define READERS_MANY                                                                               \
    20 /* threads that read from the disk, when many rows are asked for at once                    \
        */

static struct wr_db *db;
static char dir[FOLDER_BYTES];
static struct wr_key_column keys[ROWS][2];
static struct wr_cell cells[ROWS];
static char values[ROWS][VALUE_BYTES];

static uint64_t disk_reads(void)
{
    struct engine_stat stat;

    engine_stat(db->engine, &stat);
    return stat.disk_reads;
}

/* They begin when reads wait for them, and stay. */
static int reader_threads(void)
{
    DIR *tasks = opendir("/proc/self/task");
    int count = 0;

    for (struct dirent *e; (e = readdir(tasks));) {
        char path[300], name[32] = "";
        FILE *f;

        snprintf(path, sizeof(path), "/proc/self/task/%s/comm", e->d_name);
        f = fopen(path, "r");
        if (!f)
            continue;
        count += fgets(name, sizeof(name), f) && !strcmp(name, "wr-read\n");
        fclose(f);
    }
    closedir(tasks);
    return count;
}

/* ---- a database whose rows are on disk */

static void open_it(void)
{
    /* Nothing but the requests reads rows. */
    struct wr_setting settings[] = {{"table_ops_per_s_max", "0"},
                                    {"warm_bytes_per_s_max", "0"},
                                    {"size_watch_bytes_per_s_max", "0"}};
    struct wr_options o = {.version = WR_API_VERSION,
                           .memory_bytes = 256 << 20,
                           .engine = "rocks",
                           .dir = dir,
                           .settings = settings,
                           .setting_count = PORT_COUNT(settings)};

    db = database_open(&o);
}

struct batch {
    struct wr_row_change changes[ROWS];
    struct wr_table_write write;
    struct wr_request req;
    _Atomic(struct wr_reply *) reply;
};

static void batch_init(struct batch *b, enum wr_change_type type, enum wr_existence existence,
                       bool atomic)
{
    for (int i = 0; i < ROWS; i++)
        b->changes[i] = (struct wr_row_change){.type = type,
                                               .condition = {.existence = existence},
                                               .row = {{keys[i], 2}, &cells[i], 1}};
    b->write = (struct wr_table_write){CHANGES_TABLE, b->changes, ROWS};
    b->req = (struct wr_request){
        .op = WR_OP_BATCH_WRITE_ROW,
        .instance = BYTES_LIT("test"),
        .batch_write_row = {.tables = &b->write, .table_count = 1, .atomic = atomic}};
    b->reply = NULL;
}

static int batch_run(enum wr_change_type type, enum wr_existence existence, bool atomic)
{
    struct batch b;

    batch_init(&b, type, existence, atomic);
    return database_run(db, &b.req);
}

static int set_up(void **state)
{
    struct wr_request req = {.op = WR_OP_CREATE_TABLE};
    struct rng rng;

    (void)state;
    rng_init(&rng, 5);
    folder_make(dir);
    open_it();
    req.create_table = (struct wr_create_table){
        .table = CHANGES_TABLE,
        .key = changes_key_schema,
        .key_count = 2,
        .options = {.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS, .ttl_s = -1, .max_versions = 1}};
    assert_int_equal(database_run(db, &req), 0);
    for (int i = 0; i < ROWS; i++) {
        for (size_t k = 0; k < VALUE_BYTES; k++) /* nothing that could be compressed */
            values[i][k] = (char)rng_next(&rng);
        for (size_t k = 0; k < 2; k++)
            keys[i][k] = (struct wr_key_column){changes_key_schema[k].name,
                                                {.type = WR_BIGINT, .integer = k ? i : 1}};
        cells[i] =
            (struct wr_cell){.name = BYTES_LIT("v"),
                             .value = {.type = WR_VARBINARY, .bytes = {values[i], VALUE_BYTES}},
                             .op = WR_CELL_PUT,
                             .timestamp_ms = WR_TIMESTAMP_NONE};
    }
    /* The first of them lies in a block with the catalog, which is read at the opening. */
    keys[0][1].value.integer = -1;
    assert_int_equal(batch_run(WR_PUT, WR_IGNORE, false), 0);
    keys[0][1].value.integer = 0;
    assert_int_equal(batch_run(WR_PUT, WR_IGNORE, false), 0);
    wr_close(db);
    open_it();
    assert_int_equal(disk_reads(), 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    database_remove(db, dir);
    return 0;
}

/* ---- */

static void on_reply(void *arg, struct wr_reply *reply)
{
    ((struct batch *)arg)->reply = reply;
}

static void lock_of(struct ctx *c, int row, struct row_lock *lock)
{
    struct table *t;
    struct buf cols;

    *lock = (struct row_lock){.run = NULL};
    buf_init(&cols, &c->arena, 32);
    assert_int_equal(catalog_find(c, db->catalog, BYTES_LIT("test"), CHANGES_TABLE, &t), 0);
    assert_int_equal(key_put_columns(c, &cols, changes_key_schema, keys[row], 2), 0);
    lock->key = schema_lock_key(&c->arena, &t->schema, buf_bytes(&cols));
    table_release(t);
}

/* The first row waits alone, for it is not known before that others have to. While somebody has the
 * second one locked, those behind it are read all the same, and the first is free. */
static void asks_with_no_lock_held(void **state)
{
    struct row_lock first, second;
    struct run_list woken = {0};
    struct batch *b = mem_zalloc(sizeof(*b));
    struct ctx c;

    (void)state;
    ctx_init(&c, &db->clock, &db->log, NULL, 0);
    lock_of(&c, 0, &first);
    lock_of(&c, 1, &second);
    assert_true(row_lock_try(db->row_locks, &second));
    batch_init(b, WR_PUT, WR_EXPECT_EXIST, false);
    wr_submit(db, &b->req, on_reply, b);
    while (disk_reads() < 1 + AHEAD || reader_threads() < READERS_MANY)
        usleep(1000);
    assert_true(row_lock_try(db->row_locks, &first));
    assert_null(b->reply);
    row_lock_pass(db->row_locks, &first, &woken);
    row_lock_pass(db->row_locks, &second, &woken);
    row_lock_run(&woken);
    while (!b->reply)
        usleep(1000);
    for (int i = 0; i < ROWS; i++)
        assert_int_equal(b->reply->batch.tables[0].rows[i].code, 0);
    assert_true(disk_reads() >= ROWS); /* more where a compaction has come between */
    wr_reply_free(b->reply);
    ctx_release(&c);
    mem_free(b);
}

static void an_atomic_batch_asks_under_its_locks(void **state)
{
    (void)state;
    assert_int_equal(batch_run(WR_UPDATE, WR_IGNORE, true), 0);
    assert_true(disk_reads() >= ROWS);
    while (reader_threads() < READERS_MANY)
        usleep(1000);
}

/* Nobody reads for changes that do not look at the old row. */
static void blind_changes_ask_for_nothing(void **state)
{
    (void)state;
    assert_int_equal(batch_run(WR_PUT, WR_IGNORE, false), 0);
    assert_int_equal(disk_reads(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(asks_with_no_lock_held, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_atomic_batch_asks_under_its_locks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(blind_changes_ask_for_nothing, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
