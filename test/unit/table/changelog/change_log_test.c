/* Who takes the end of a table's change log, reads all rows, and then follows the log, ends with
 * what the table holds, whoever writes meanwhile. */
#include "table/changelog/change_log.h"
#include "table/changelog/change_log_watch.h"

#include "base/rng.h"
#include "table/catalog/catalog.h"
#include "table/model/key.h"
#include "table/stream/stream_record.h"
#include "table/sync/wait.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>
#undef fail /* the name is ctx.h's in this house */

#include "../../later.h"
#include "../database.h"

#define ROWS 40
#define WRITERS 3
#define TURNS 300
#define GONE (-1)
#define TABLE BYTES_LIT("t")
#define INSTANCE BYTES_LIT("test")

static const char *engine_name;
static struct wr_db *db;
static char dir[FOLDER_BYTES];
static struct wr_options options;
static struct wr_setting settings[] = {{"ttl_seconds_min", "1"}, {"table_ops_per_s_max", "0"}};
static const struct wr_key_schema key_schema[] = {{.name = BYTES_LIT("pk"), .type = WR_BIGINT}};

static void begin(int32_t ttl_s)
{
    struct wr_request req = {.op = WR_OP_CREATE_TABLE};

    options = (struct wr_options){.version = WR_API_VERSION,
                                  .engine = engine_name,
                                  .dir = dir,
                                  .settings = settings,
                                  .setting_count = PORT_COUNT(settings)};
    folder_make(dir);
    db = database_open(&options);
    req.create_table = (struct wr_create_table){
        .table = TABLE,
        .key = key_schema,
        .key_count = 1,
        .options = {.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS, .ttl_s = ttl_s, .max_versions = 1}};
    assert_int_equal(database_run(db, &req), 0);
}

static void end(void)
{
    database_remove(db, dir);
}

static int switch_log(bool on)
{
    struct ctx c;
    int code;

    ctx_init(&c, &db->clock, &db->log, NULL, 0);
    code = change_log_switch(&c, db, INSTANCE, TABLE, on);
    ctx_release(&c);
    return code;
}

/* ---- rows ---- */

static struct wr_key_column column_of(int row)
{
    return (struct wr_key_column){BYTES_LIT("pk"), {.type = WR_BIGINT, .integer = row}};
}

static void put(int row, int64_t n)
{
    struct wr_key_column key = column_of(row);
    struct wr_cell cell = {.name = BYTES_LIT("n"),
                           .value = {.type = WR_BIGINT, .integer = n},
                           .timestamp_ms = WR_TIMESTAMP_NONE};
    struct wr_request req = {.op = WR_OP_PUT_ROW};
    int code;

    req.put_row =
        (struct wr_row_change){.type = WR_PUT, .table = TABLE, .row = {{&key, 1}, &cell, 1}};
    if (n == GONE) {
        req.op = WR_OP_DELETE_ROW;
        req.put_row.type = WR_DELETE;
        req.put_row.row.cell_count = 0;
    }
    do /* a request that began before the log was switched on is to be sent again */
        code = database_run(db, &req);
    while (code == WR_E_BUSY);
    assert_int_equal(code, 0);
}

static int64_t get(int row)
{
    struct wr_key_column key = column_of(row);
    struct wr_request req = {.op = WR_OP_GET_ROW,
                             .instance = INSTANCE,
                             .get_row = {.table = TABLE,
                                         .key = {&key, 1},
                                         .read = {.has_max_versions = true, .max_versions = 1}}};
    struct wr_reply *reply = wr_exec(db, &req);
    int64_t n = GONE;

    assert_int_equal(reply->code, 0);
    if (reply->row.row.cell_count)
        n = reply->row.row.cells[0].value.integer;
    wr_reply_free(reply);
    return n;
}

/* ---- a follower ---- */

struct follower {
    struct table *table;
    uint64_t position;
    size_t records;
    int64_t seen[ROWS];
};

static void follower_begin(struct follower *f)
{
    struct ctx c;

    *f = (struct follower){.table = catalog_get(db->catalog, INSTANCE, TABLE)};
    while (!catalog_keeps_change_log(db->catalog, f->table))
        ;
    ctx_init(&c, &db->clock, &db->log, NULL, 0);
    assert_int_equal(change_log_end(&c, f->table, &f->position), 0);
    ctx_release(&c);
    for (int i = 0; i < ROWS; i++)
        f->seen[i] = get(i);
}

static int row_of(struct ctx *c, bytes key)
{
    struct wr_key_column column;
    size_t used;

    assert_int_equal(key_read_columns(c, key, key_schema, 1, &column, &used), 0);
    return (int)column.value.integer;
}

/* What there is now. False: some of it is gone. */
static bool follow(struct follower *f)
{
    struct change_log_page page;
    bool ok = true;

    do {
        struct ctx c;

        ctx_init(&c, &db->clock, &db->log, NULL, 0);
        assert_int_equal(change_log_read(&c, f->table, f->position, 7, &page), 0);
        assert_true(page.count <= 7 && page.next >= f->position);
        for (size_t i = 0; i < page.count; i++) {
            int row = row_of(&c, page.keys[i]);

            f->seen[row] = get(row);
        }
        f->records += page.count;
        f->position = page.next;
        ok = !page.gone;
        ctx_release(&c);
    } while (page.more && ok);
    return ok;
}

static void check_seen(const struct follower *f)
{
    for (int i = 0; i < ROWS; i++)
        assert_int_equal(f->seen[i], get(i));
}

static void follower_end(struct follower *f)
{
    table_release(f->table);
}

/* ---- tests ---- */

static void *writer_main(void *arg)
{
    atomic_int *left = arg;
    struct rng r;

    rng_init(&r, (uint64_t)(uintptr_t)&r);
    for (int i = 0; i < TURNS; i++)
        put((int)rng_below(&r, ROWS), rng_below(&r, 5) ? i : GONE);
    atomic_fetch_sub(left, 1);
    return NULL;
}

/* It is switched on while others write. */
static void test_follow(void **state)
{
    pthread_t threads[WRITERS];
    struct follower f;
    atomic_int left;

    (void)state;
    begin(-1);
    atomic_init(&left, WRITERS);
    for (int i = 0; i < WRITERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, writer_main, &left), 0);
    assert_int_equal(switch_log(true), 0);
    assert_int_equal(switch_log(true), 0);
    follower_begin(&f);
    while (atomic_load(&left))
        assert_true(follow(&f));
    for (int i = 0; i < WRITERS; i++)
        pthread_join(threads[i], NULL);
    assert_true(follow(&f));
    check_seen(&f);
    put(3, 77);
    put(4, GONE);
    f.records = 0;
    assert_true(follow(&f));
    assert_int_equal(f.records, 2);
    check_seen(&f);
    follower_end(&f);
    end();
}

/* A position means the same after a restart. */
static void test_restart(void **state)
{
    struct follower f;

    (void)state;
    begin(-1);
    assert_int_equal(switch_log(true), 0);
    put(1, 1);
    follower_begin(&f);
    put(1, 2);
    put(2, 2);
    table_release(f.table);
    if (strcmp(engine_name, "mem") != 0) {
        wr_close(db);
        db = database_open(&options);
    }
    f.table = catalog_get(db->catalog, INSTANCE, TABLE);
    put(3, 3);
    assert_true(follow(&f));
    assert_int_equal(f.records, 3);
    check_seen(&f);
    follower_end(&f);
    end();
}

static void test_expiry(void **state)
{
    struct follower f;

    (void)state;
    begin(5);
    assert_int_equal(switch_log(true), 0);
    follower_begin(&f);
    put(1, 1);
    assert_true(follow(&f));
    assert_int_equal(f.seen[1], 1);
    for (int i = 0; i < 3 && f.records < 2; i++) {
        sweep_later(db, 90000);
        assert_true(follow(&f));
    }
    assert_int_equal(f.records, 2);
    assert_int_equal(f.seen[1], GONE);
    follower_end(&f);
    end();
}

static void trim(const struct follower *f, uint64_t position)
{
    struct ctx c;

    ctx_init(&c, &db->clock, &db->log, NULL, 0);
    assert_int_equal(change_log_trim(&c, f->table, position), 0);
    ctx_release(&c);
}

/* What was trimmed is told as gone, and only that. */
static void test_trim(void **state)
{
    struct follower f;
    uint64_t start;

    (void)state;
    begin(-1);
    assert_int_equal(switch_log(true), 0);
    follower_begin(&f);
    start = f.position;
    put(1, 1);
    assert_true(follow(&f));
    trim(&f, f.position); /* of less than a minute: it stays */
    f.position = start;
    assert_true(follow(&f));
    go_later(db, 120000);
    put(2, 2);
    assert_true(follow(&f));
    assert_int_equal(f.records, 3);
    trim(&f, f.position);
    put(3, 3);
    assert_true(follow(&f));
    check_seen(&f);
    f.position = start;
    assert_false(follow(&f));
    assert_int_equal(f.records, 4);
    follower_end(&f);
    follower_begin(&f);
    put(3, 4);
    assert_true(follow(&f));
    check_seen(&f);
    follower_end(&f);
    end();
}

/* Whether it held more. */
static bool bound(const struct follower *f, uint64_t bytes_max)
{
    struct change_log_bounded done;
    struct ctx c;

    ctx_init(&c, &db->clock, &db->log, NULL, 0);
    assert_int_equal(change_log_bound(&c, f->table, bytes_max, &done), 0);
    assert_true(done.bytes <= bytes_max);
    ctx_release(&c);
    return done.removed;
}

/* Larger than it may be: the newest stay. */
static void test_bound(void **state)
{
    struct follower f;
    uint64_t start, late;

    (void)state;
    begin(-1);
    assert_int_equal(switch_log(true), 0);
    follower_begin(&f);
    start = f.position;
    for (int i = 0; i < 2000; i++)
        put(i % ROWS, i);
    assert_false(bound(&f, 1 << 20));
    assert_true(follow(&f));
    assert_int_equal(f.records, 2000);
    late = f.position - 1;
    assert_true(bound(&f, 20000));
    assert_false(bound(&f, 20000));
    f.position = start;
    assert_false(follow(&f));
    f.position = late;
    assert_true(follow(&f));
    bound(&f, 0);
    put(5, 5);
    assert_false(follow(&f) && f.position == late);
    follower_end(&f);
    end();
}

static struct wr_status status_of(void)
{
    struct wr_status s;

    wr_status(db, &s, sizeof(s));
    return s;
}

/* Its reader hangs while others write: it stays as small as the setting says, and he is told. */
static void test_stuck(void **state)
{
    pthread_t threads[WRITERS];
    struct follower f;
    atomic_int left;

    (void)state;
    begin(-1);
    db->limits.change_log_bytes_max = 10000;
    assert_int_equal(switch_log(true), 0);
    follower_begin(&f);
    for (int i = 0; i < 3; i++)
        put(i, i);
    assert_int_equal(change_log_watch_look(db->changes), 0);
    assert_in_range(status_of().change_log_bytes, 1, 10000);
    assert_int_equal(status_of().change_logs_cut, 0);
    atomic_init(&left, WRITERS);
    for (int i = 0; i < WRITERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, writer_main, &left), 0);
    while (atomic_load(&left)) {
        assert_int_equal(change_log_watch_look(db->changes), 0);
        assert_true(status_of().change_log_bytes <= 10000);
    }
    for (int i = 0; i < WRITERS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(change_log_watch_look(db->changes), 0);
    assert_true(status_of().change_log_bytes <= 10000 && status_of().change_logs_cut > 0);
    assert_false(follow(&f));
    follower_end(&f);
    follower_begin(&f);
    put(1, 4);
    assert_true(follow(&f));
    check_seen(&f);
    follower_end(&f);
    end();
}

struct trimming {
    struct follower *f;
    uint64_t position;
};

static void *trimmer_main(void *arg)
{
    const struct trimming *t = arg;

    trim(t->f, t->position);
    return NULL;
}

/* Two remove at once: a reader is told, or reads what is there, whatever either has noted. */
static void test_two_remove(void **state)
{
    struct follower f;

    (void)state;
    begin(-1);
    assert_int_equal(switch_log(true), 0);
    follower_begin(&f);
    for (int round = 0; round < 100; round++) {
        struct trimming t = {.f = &f};
        pthread_t thread;

        put(1, round);
        go_later(db, 61000);
        put(2, round);
        assert_true(follow(&f));
        t.position = f.position;
        put(3, round);
        assert_int_equal(pthread_create(&thread, NULL, trimmer_main, &t), 0);
        bound(&f, 0);
        pthread_join(thread, NULL);
        f.records = 0;
        assert_true(!follow(&f) || f.records == 1);
        follower_end(&f);
        follower_begin(&f);
    }
    follower_end(&f);
    end();
}

/* ---- what removing costs ---- */

static const struct engine_ops *engine_was;
static struct engine_ops counting;
static int erased, erase_code;

static int count_erase(struct ctx *c, struct engine *e, const struct partition_spec *p)
{
    erased++;
    return erase_code ? fail_code(c, erase_code) : engine_was->erase(c, e, p);
}

static void count_begin(void)
{
    engine_was = db->engine->ops;
    counting = *engine_was;
    counting.erase = count_erase;
    db->engine->ops = &counting;
    erased = erase_code = 0;
}

static void count_end(void)
{
    db->engine->ops = engine_was;
}

/* Records that are stored, whether or not readers are told of them. */
static size_t stored(const struct follower *f)
{
    struct key_range range;
    struct page page;
    struct scan scan = {.partition = PARTITION_SYSTEM,
                        .view = VIEW_LATEST,
                        .ranges = &range,
                        .range_count = 1,
                        .items_max = 100000,
                        .bytes_max = 1 << 28,
                        .pages = &page};
    struct ctx c;

    ctx_init(&c, &db->clock, &db->log, NULL, 0);
    range = (struct key_range){stream_record_key(&c.arena, f->table->schema.change_log, 0, 0),
                               stream_record_key(&c.arena, f->table->schema.change_log, 0, -1)};
    assert_int_equal(wait_scan(&c, db->engine, &scan), 0);
    ctx_release(&c);
    return page.count;
}

/* A minute of a follower who keeps up. */
static void minute(struct follower *f, int n)
{
    for (int i = 0; i < 20; i++)
        put(i, n);
    go_later(db, 61000);
    put(21, n);
    assert_true(follow(f));
    trim(f, f->position);
}

/* What followers have passed is taken out of shared files once an hour, by a tombstone each, and
 * not each minute. */
static void test_hours(void **state)
{
    bool files = strcmp(engine_name, "rocks") == 0;
    struct follower f;

    (void)state;
    begin(-1);
    assert_int_equal(switch_log(true), 0);
    follower_begin(&f);
    count_begin();
    for (int i = 0; i < 180; i++)
        minute(&f, i);
    if (files)
        assert_in_range(erased, 3, 5);
    assert_true(stored(&f) <= (files ? 61 * 21 : 21));
    check_seen(&f);
    count_end();
    follower_end(&f);
    end();
}

/* Nothing was removed, though it is noted as gone: it goes later. */
static void test_left(void **state)
{
    struct follower f;
    struct ctx c;

    (void)state;
    begin(-1);
    assert_int_equal(switch_log(true), 0);
    follower_begin(&f);
    put(1, 1);
    go_later(db, 3700000);
    put(2, 2);
    assert_true(follow(&f));
    count_begin();
    erase_code = E_UNAVAILABLE;
    ctx_init(&c, &db->clock, &db->log, NULL, 0);
    assert_int_equal(change_log_trim(&c, f.table, f.position), E_UNAVAILABLE);
    ctx_release(&c);
    count_end();
    assert_int_equal(stored(&f), 2);
    go_later(db, 3700000);
    put(3, 3);
    go_later(db, 3700000);
    put(4, 4);
    assert_true(follow(&f));
    trim(&f, f.position);
    assert_int_equal(stored(&f), 0);
    follower_end(&f);
    end();
}

/* Switched off and on again it is another log; clients never see one. */
static void test_off(void **state)
{
    struct wr_request list = {.op = WR_OP_LIST_STREAM, .instance = INSTANCE};
    struct wr_reply *reply;
    struct follower f;
    uint32_t location;

    (void)state;
    begin(-1);
    assert_int_equal(switch_log(true), 0);
    follower_begin(&f);
    location = f.table->schema.change_log;
    follower_end(&f);
    reply = wr_exec(db, &list);
    assert_int_equal(reply->code, 0);
    assert_int_equal(reply->streams.count, 0);
    wr_reply_free(reply);
    assert_int_equal(switch_log(false), 0);
    put(1, 1);
    assert_int_equal(switch_log(true), 0);
    follower_begin(&f);
    assert_int_not_equal(f.table->schema.change_log, location);
    put(1, 2);
    assert_true(follow(&f));
    assert_int_equal(f.records, 1);
    check_seen(&f);
    follower_end(&f);
    end();
}

int main(void)
{
    static const char *const engines[] = {"mem", "rocks"};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_follow),     cmocka_unit_test(test_restart),
        cmocka_unit_test(test_expiry),     cmocka_unit_test(test_trim),
        cmocka_unit_test(test_bound),      cmocka_unit_test(test_stuck),
        cmocka_unit_test(test_two_remove), cmocka_unit_test(test_hours),
        cmocka_unit_test(test_left),       cmocka_unit_test(test_off),
    };
    int failed = 0;

    for (size_t i = 0; i < PORT_COUNT(engines); i++) {
        engine_name = engines[i];
        failed += cmocka_run_group_tests_name(engines[i], tests, NULL, NULL);
    }
    return failed;
}
