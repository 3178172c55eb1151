/* An index is made on a table with rows while they are written: at its end it is what the rows make
 * of it. */
#include "base/fault.h"
#include "base/rng.h"
#include "table/core/db.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>
#undef fail /* the name is ctx.h's in this house */

#include "../database.h"
#include "../index/projection.h"

#define INSTANCE BYTES_LIT("test")
#define TABLE BYTES_LIT("t")
#define ROWS 900 /* several pages */

static const struct wr_key_schema keys[] = {{.name = BYTES_LIT("p"), .type = WR_BIGINT},
                                            {.name = BYTES_LIT("pk"), .type = WR_BIGINT}};
static const struct wr_defined_column defined[] = {{BYTES_LIT("a"), WR_BIGINT},
                                                   {BYTES_LIT("b"), WR_BIGINT}};
static const bytes by_a[] = {BYTES_LIT("a")}, by_pk[] = {BYTES_LIT("pk")},
                   by_b[] = {BYTES_LIT("b")};
static const struct wr_index_meta metas[] = {{BYTES_LIT("ix_a"), by_a, 1, by_b, 1, .type = 0},
                                             {BYTES_LIT("ix_pk"), by_pk, 1, by_a, 1, .type = 0}};

static struct wr_db *db;
static char dir[FOLDER_BYTES];

static int run(struct wr_request *req)
{
    return database_run(db, req);
}

static void open_it(const char *engine)
{
    struct wr_setting settings[] = {{"wide_row_cells", "3"}, {"table_ops_per_s_max", "0"}};
    struct wr_options o = {.version = WR_API_VERSION,
                           .engine = engine,
                           .dir = dir,
                           .settings = settings,
                           .setting_count = PORT_COUNT(settings)};

    db = database_open(&o);
}

static int change(int row, enum wr_change_type type, int64_t a, int64_t b, size_t count)
{
    static const bytes names[] = {BYTES_LIT("a"), BYTES_LIT("b"), BYTES_LIT("x"), BYTES_LIT("y")};
    struct wr_key_column key[] = {
        {keys[0].name, {.type = WR_BIGINT, .integer = row % 7}},
        {keys[1].name, {.type = WR_BIGINT, .integer = row}},
    };
    struct wr_cell cells[4];
    struct wr_request req = {.op = type == WR_PUT      ? WR_OP_PUT_ROW
                                   : type == WR_UPDATE ? WR_OP_UPDATE_ROW
                                                       : WR_OP_DELETE_ROW};

    for (size_t i = 0; i < 4; i++)
        cells[i] = (struct wr_cell){.name = names[i],
                                    .value = {.type = WR_BIGINT,
                                              .integer = i == 0   ? a
                                                         : i == 1 ? b
                                                                  : (int64_t)i},
                                    .op = a < 0 && i == 0 && type == WR_UPDATE ? WR_CELL_DELETE_ALL
                                                                               : WR_CELL_PUT,
                                    .timestamp_ms = WR_TIMESTAMP_NONE};
    req.put_row = (struct wr_row_change){
        .type = type, .table = TABLE, .row = {{key, 2}, cells, type == WR_DELETE ? 0 : count}};
    return run(&req);
}

static void create_table(bytes name)
{
    struct wr_request req = {.op = WR_OP_CREATE_TABLE};

    req.create_table = (struct wr_create_table){
        .table = name,
        .key = keys,
        .key_count = 2,
        .defined = defined,
        .defined_count = 2,
        .options = {.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS, .ttl_s = -1, .max_versions = 1}};
    assert_int_equal(run(&req), 0);
}

static void begin(const char *engine)
{
    folder_make(dir);
    open_it(engine);
    create_table(TABLE);
    for (int i = 0; i < ROWS; i++) /* some have no entry, some are wide */
        assert_int_equal(change(i, WR_PUT, i % 50, i, i % 11 == 0 ? 4 : i % 5 ? 2 : 1), 0);
}

static void end(void)
{
    wr_close(db);
    folder_remove(dir);
}

static void create_index(size_t at)
{
    struct wr_request req = {.op = WR_OP_CREATE_INDEX,
                             .create_index = {TABLE, metas[at], .include_base_data = true}};

    assert_int_equal(run(&req), 0);
}

static int drop_index(size_t at)
{
    struct wr_request req = {.op = WR_OP_DROP_INDEX, .drop_index = {TABLE, metas[at].name}};

    return run(&req);
}

/* Are all indexes of the table complete? */
static bool is_complete(void)
{
    struct wr_request req = {
        .op = WR_OP_DESCRIBE_TABLE, .instance = INSTANCE, .delete_table = {TABLE}};
    struct wr_reply *reply = wr_exec(db, &req);
    bool complete = true;

    assert_int_equal(reply->code, 0);
    for (size_t i = 0; i < reply->description.index_count; i++)
        complete &= reply->description.indexes[i].sync_phase == INDEX_INCR;
    wr_reply_free(reply);
    return complete;
}

static size_t check(void)
{
    size_t entries;

    while (!is_complete())
        usleep(1000);
    assert_int_equal(projection_check(db, INSTANCE, TABLE, &entries), 0);
    return entries;
}

static int read_index(size_t at)
{
    struct wr_key_column low[3], high[3];
    struct wr_request req = {.op = WR_OP_GET_RANGE};
    static const char *const names[2][3] = {{"a", "p", "pk"}, {"pk", "p", ""}};

    for (size_t i = 0; i < 3; i++) {
        bytes name = bytes_of(names[at][i], strlen(names[at][i]));

        low[i] = (struct wr_key_column){name, {.type = WR_INF_MIN}};
        high[i] = (struct wr_key_column){name, {.type = WR_INF_MAX}};
    }
    req.get_range = (struct wr_get_range){.table = metas[at].name,
                                          .start = {low, at ? 2 : 3},
                                          .end = {high, at ? 2 : 3},
                                          .read = {.has_max_versions = true, .max_versions = 1}};
    return run(&req);
}

/* ---- writers beside it ---- */

struct writer {
    pthread_t thread;
    atomic_bool stop;
    _Atomic size_t done;
    size_t wrong;
    uint64_t seed;
};

static void *write_main(void *arg)
{
    struct writer *w = arg;
    struct rng r;

    rng_init(&r, w->seed);
    while (!atomic_load(&w->stop)) {
        int row = (int)rng_below(&r, ROWS + 100), kind = (int)rng_below(&r, 10);
        int code = change(row,
                          kind < 4   ? WR_PUT
                          : kind < 9 ? WR_UPDATE
                                     : WR_DELETE,
                          (int64_t)rng_below(&r, 50) - 5, (int64_t)rng_below(&r, 1000),
                          1 + rng_below(&r, 4));

        atomic_fetch_add(&w->done, code == 0);
        w->wrong += code && code != E_BUSY; /* busy: the table has just got an index */
    }
    return NULL;
}

static void writers_start(struct writer *w, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        w[i] = (struct writer){.seed = 70 + i};
        assert_int_equal(pthread_create(&w[i].thread, NULL, write_main, &w[i]), 0);
    }
}

static void writers_stop(struct writer *w, size_t count)
{
    for (size_t i = 0; i < count; i++)
        atomic_store(&w[i].stop, true);
    for (size_t i = 0; i < count; i++) {
        pthread_join(w[i].thread, NULL);
        assert_true(w[i].done > 0);
        assert_int_equal(w[i].wrong, 0);
    }
}

static void build_beside_writers(const char *engine, int rounds)
{
    struct writer writers[3];

    begin(engine);
    for (int round = 0; round < rounds; round++) {
        writers_start(writers, PORT_COUNT(writers));
        for (size_t i = 0; i < PORT_COUNT(writers); i++)
            while (!atomic_load(&writers[i].done))
                usleep(1000);
        create_index(0);
        create_index(1);
        while (!is_complete())
            usleep(1000);
        writers_stop(writers, PORT_COUNT(writers));
        assert_true(check() > 0);
        assert_int_equal(read_index(0), 0);
        assert_int_equal(read_index(1), 0);
        assert_int_equal(drop_index(0), 0);
        assert_int_equal(drop_index(1), 0);
        assert_int_equal(drop_index(1), E_NOT_EXIST);
    }
    end();
}

static void beside_writers_on_mem(void **state)
{
    (void)state;
    build_beside_writers("mem", 3);
}

static void beside_writers_on_rocks(void **state)
{
    (void)state;
    build_beside_writers("rocks", 2);
}

/* ---- in the midst of it ---- */

/* As long as somebody holds a description from before the index, the build waits. */
static struct table *hold(void)
{
    struct table *t;
    struct ctx c;

    ctx_init(&c, &db->clock, &db->log, NULL, 0);
    assert_int_equal(catalog_find(&c, db->catalog, INSTANCE, TABLE, &t), 0);
    ctx_release(&c);
    return t;
}

static void goes_on_after_a_restart(void **state)
{
    struct table *held;

    (void)state;
    begin("rocks");
    held = hold();
    create_index(0);
    assert_int_equal(read_index(0), E_PARAMETER);
    for (int i = 0; i < 100; i++)
        assert_int_equal(change(ROWS - i, WR_PUT, 70 + i, i, 2), 0);
    usleep(600000); /* the builder has had a look */
    assert_false(is_complete());
    table_release(held);
    wr_close(db);
    open_it("rocks");
    assert_true(check() > 0);
    assert_int_equal(read_index(0), 0);
    wr_close(db);
    open_it("rocks");
    assert_true(is_complete());
    assert_true(check() > 0);
    end();
}

#ifdef WR_FAULTS
static bool task_fails(const char *name)
{
    struct wr_task tasks[32];
    size_t n = wr_tasks(db, tasks, PORT_COUNT(tasks));
    bool fails = false;

    for (size_t i = 0; i < n; i++)
        fails |= !strcmp(tasks[i].name, name) && tasks[i].text[0];
    return fails;
}

/* A full disk takes deletions, whose entries go with them; the build waits, and goes on by itself
 * when there is room. */
static void waits_while_the_disk_is_full(void **state)
{
    struct table *held;

    (void)state;
    begin("rocks");
    held = hold();
    create_index(0);
    assert_true(fault_arm("rocks_disk_full:error:1+"));
    while (!change(1, WR_PUT, 1, 1, 2))
        usleep(1000);
    table_release(held);
    while (!task_fails("index"))
        usleep(1000);
    assert_false(is_complete());
    for (int i = 0; i < 20; i++)
        assert_int_equal(change(i, WR_DELETE, 0, 0, 0), 0);
    fault_arm(NULL);
    assert_true(check() > 0);
    assert_false(task_fails("index"));
    end();
}

static void fails_once(const char *engine, const char *point)
{
    begin(engine);
    assert_true(fault_arm(point));
    create_index(1);
    assert_int_equal(check(), ROWS);
    fault_arm(NULL);
    end();
}

static void what_fails_is_tried_again(void **state)
{
    (void)state;
    fails_once("mem", "index_page:error:2");
    fails_once("rocks", "index_page:error:2");
    fails_once("rocks", "bulk_before_ingest:error:1");
    fails_once("rocks", "index_marks:error:1");
}

/* Each row is visited then, as on mem. Writers go on. */
static void too_large_to_sort(void **state)
{
    (void)state;
    assert_true(fault_arm("index_too_large:error:1+"));
    build_beside_writers("rocks", 1);
    assert_true(fault_passes(FAULT_index_too_large) > 0);
    fault_arm(NULL);
}
#endif

/* An index that is dropped meanwhile, or whose table is, ends by itself; its name is free. */
static void ends_when_dropped(const char *engine)
{
    struct wr_request req = {.op = WR_OP_DELETE_TABLE, .delete_table = {TABLE}};
    struct table *held;

    begin(engine);
    held = hold();
    create_index(0);
    assert_int_equal(drop_index(0), 0);
    create_index(0);
    create_index(1);
    table_release(held);
    assert_true(check() > 0);
    assert_int_equal(drop_index(1), 0);
    held = hold();
    create_index(1);
    assert_int_equal(run(&req), 0);
    table_release(held);
    assert_int_equal(read_index(0), E_NOT_EXIST);
    assert_int_equal(read_index(1), E_NOT_EXIST);
    end();
}

static void ends_when_it_is_dropped(void **state)
{
    (void)state;
    ends_when_dropped("mem");
    ends_when_dropped("rocks");
}

/* A table with a row that cannot be read, and with an index that so is never complete. */
static void spoilt_table(bytes name, bytes index)
{
    struct wr_index_meta meta = metas[0];
    struct wr_request req = {.op = WR_OP_CREATE_INDEX};
    struct write_batch batch = {.edit_count = 1};
    struct table *t;
    struct edit edit = {.type = EDIT_PUT, .value = BYTES_LIT("\xff")};
    struct buf key;
    struct ctx c;

    create_table(name);
    ctx_init(&c, &db->clock, &db->log, NULL, 0);
    assert_int_equal(catalog_find(&c, db->catalog, INSTANCE, name, &t), 0);
    buf_init(&key, &c.arena, 64);
    layout_put_key(&key, &t->schema.location, KIND_RECORD, BYTES_LIT("spoilt"));
    edit.key = buf_bytes(&key);
    batch.edits = &edit;
    batch.partition = t->schema.location.id;
    assert_int_equal(wait_apply(&c, db->engine, &batch), 0);
    table_release(t);
    ctx_release(&c);
    meta.name = index;
    req.create_index = (struct wr_create_index){name, meta, .include_base_data = true};
    assert_int_equal(run(&req), 0);
}

static void what_cannot_be_built_is_in_nobodys_way(void **state)
{
    (void)state;
    begin("rocks");
    spoilt_table(BYTES_LIT("bad0"), BYTES_LIT("ix_bad0"));
    spoilt_table(BYTES_LIT("bad1"), BYTES_LIT("ix_bad1"));
    usleep(300000);
    create_index(0);
    create_index(1);
    assert_true(check() > 0);
    end();
}

static int64_t standing_wall_us(struct clock *self)
{
    return self->set_us;
}

/* An index of later writes only lacks the entries of rows from before it, so a write that changes
 * nothing, not even the moment, brings them. */
static void the_same_row_again_is_a_later_write(void **state)
{
    struct wr_request req = {.op = WR_OP_CREATE_INDEX,
                             .create_index = {TABLE, metas[0], .include_base_data = false}};

    (void)state;
    begin("mem");
    db->clock.set_us = clock_wall_us(&db->clock);
    db->clock.wall_us = standing_wall_us;
    for (int i = 0; i < ROWS; i++)
        assert_int_equal(change(i, WR_PUT, i % 50, i, 2), 0);
    assert_int_equal(run(&req), 0);
    for (int i = 0; i < ROWS; i++)
        assert_int_equal(change(i, WR_PUT, i % 50, i, 2), 0);
    assert_int_equal(check(), ROWS);
    end();
}

/* The table gets another layout while its index is built. */
static void goes_on_while_rekeyed(const char *engine)
{
    struct wr_request req = {.op = WR_OP_REKEY_TABLE,
                             .rekey_table = {TABLE, WR_REKEY_START, BYTES_LIT("splice:1+hash:4")}};
    struct writer writers[2];
    bool running = true;

    begin(engine);
    writers_start(writers, PORT_COUNT(writers));
    assert_int_equal(run(&req), 0);
    create_index(0);
    req.rekey_table.action = WR_REKEY_STATUS;
    while (running) {
        struct wr_reply *reply = wr_exec(db, &req);

        running = reply->rekey.target.ptr != NULL;
        wr_reply_free(reply);
        usleep(1000);
    }
    create_index(1);
    while (!is_complete())
        usleep(1000);
    writers_stop(writers, PORT_COUNT(writers));
    assert_true(check() > 0);
    end();
}

static void goes_on_while_the_table_is_rekeyed(void **state)
{
    (void)state;
    goes_on_while_rekeyed("mem");
    goes_on_while_rekeyed("rocks");
}

/* The table's sizes are being counted. */
static bool is_counted(void)
{
    struct wr_request req = {.op = WR_OP_DESCRIBE_SIZES, .instance = INSTANCE};
    struct wr_reply *reply;
    bool running;

    req.describe_sizes.table = TABLE;
    reply = wr_exec(db, &req);
    assert_int_equal(reply->code, 0);
    running = reply->sizes.running;
    wr_reply_free(reply);
    return running;
}

/* The size watch has read its first page, and takes a minute to be within its pace: the version of
 * the table that it began with keeps no index waiting. */
static void comes_while_sizes_are_counted(void **state)
{
    struct wr_setting settings[] = {{"size_watch_pass_s_min", "1"},
                                    {"size_watch_bytes_per_s_max", "500"}};
    struct wr_options o = {.version = WR_API_VERSION,
                           .engine = "rocks",
                           .dir = dir,
                           .settings = settings,
                           .setting_count = PORT_COUNT(settings)};
    int tries = 1000;

    (void)state;
    begin("rocks");
    wr_close(db);
    db = database_open(&o);
    while (!is_counted())
        usleep(1000);
    create_index(0);
    while (!is_complete() && tries-- > 0)
        usleep(10000);
    assert_true(is_complete());
    assert_true(is_counted());
    assert_true(check() > 0);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(beside_writers_on_mem),
        cmocka_unit_test(beside_writers_on_rocks),
        cmocka_unit_test(goes_on_after_a_restart),
#ifdef WR_FAULTS
        cmocka_unit_test(waits_while_the_disk_is_full),
        cmocka_unit_test(what_fails_is_tried_again),
        cmocka_unit_test(too_large_to_sort),
#endif
        cmocka_unit_test(ends_when_it_is_dropped),
        cmocka_unit_test(what_cannot_be_built_is_in_nobodys_way),
        cmocka_unit_test(the_same_row_again_is_a_later_write),
        cmocka_unit_test(goes_on_while_the_table_is_rekeyed),
        cmocka_unit_test(comes_while_sizes_are_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
