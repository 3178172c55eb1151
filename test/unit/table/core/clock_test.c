/* The database clock over steps of the wall clock, and what expires by which time. */
#include "table/catalog/catalog.h"
#include "table/core/db.h"

#include "table/maint/sweep.h"
#include "table/model/key.h"
#include "table/sync/wait.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>
#undef fail /* the name is ctx.h's in this house */

#include "../database.h"
#include "../../later.h"

#define SECOND_MS 1000ll
#define HOUR_MS (3600 * SECOND_MS)
#define DAY_MS (24 * HOUR_MS)

struct bed {
    char dir[FOLDER_BYTES];
    struct wr_db *db;
};

static void bed_open(struct bed *b, bool reset)
{
    struct wr_setting settings[] = {
        {"wide_row_cells", "3"}, {"ttl_seconds_min", "1"}, {"table_ops_per_s_max", "0"}};
    struct wr_options o = {
        .version = WR_API_VERSION,
        .dir = b->dir, .clock_reset = reset, .settings = settings, .setting_count = PORT_COUNT(settings)};

    b->db = database_open(&o);
}

static int bed_set_up(void **state)
{
    struct bed *b = mem_zalloc(sizeof(*b));

    folder_make(b->dir);
    bed_open(b, false);
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

/* With the true wall clock, which is earlier than the one before if that was set ahead. */
static void reopen(struct bed *b, bool reset)
{
    wr_close(b->db);
    bed_open(b, reset);
}

static void create(struct bed *b, int32_t ttl_s, int32_t versions)
{
    struct wr_key_schema key = {.name = BYTES_LIT("k"), .type = WR_BIGINT};
    struct wr_request req = {.op = WR_OP_CREATE_TABLE, .instance = BYTES_LIT("test")};
    struct wr_reply *reply;

    req.create_table = (struct wr_create_table){
        .table = BYTES_LIT("t"),
        .key = &key,
        .key_count = 1,
        .options = {.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS, .ttl_s = ttl_s, .max_versions = versions}};
    reply = wr_exec(b->db, &req);
    assert_int_equal(reply->code, 0);
    wr_reply_free(reply);
}

static void put(struct bed *b, enum wr_change_type type, int64_t value, int64_t stamp_ms)
{
    struct wr_key_column key = {BYTES_LIT("k"), {.type = WR_BIGINT, .integer = 1}};
    struct wr_cell cell = {.name = BYTES_LIT("a"),
                           .op = WR_CELL_PUT,
                           .value = {.type = WR_BIGINT, .integer = value},
                           .timestamp_ms = stamp_ms};
    struct wr_request req = {.op = type == WR_PUT ? WR_OP_PUT_ROW : WR_OP_UPDATE_ROW,
                             .instance = BYTES_LIT("test")};
    struct wr_reply *reply;

    req.put_row = (struct wr_row_change){
        .type = type, .table = BYTES_LIT("t"), .row = {{&key, 1}, &cell, 1}};
    reply = wr_exec(b->db, &req);
    assert_int_equal(reply->code, 0);
    wr_reply_free(reply);
}

/* The newest value and, unless NULL, its stamp; -1: there is no row. */
static int64_t value_of(struct bed *b, int64_t *stamp_ms)
{
    struct wr_key_column key = {BYTES_LIT("k"), {.type = WR_BIGINT, .integer = 1}};
    struct wr_request req = {.op = WR_OP_GET_ROW, .instance = BYTES_LIT("test")};
    struct wr_reply *reply;
    int64_t value = -1;

    req.get_row = (struct wr_get_row){.table = BYTES_LIT("t"),
                                      .key = {&key, 1},
                                      .read = {.has_max_versions = true, .max_versions = 1}};
    reply = wr_exec(b->db, &req);
    assert_int_equal(reply->code, 0);
    if (reply->row.row.cell_count) {
        value = reply->row.row.cells[0].value.integer;
        if (stamp_ms)
            *stamp_ms = reply->row.row.cells[0].timestamp_ms;
    }
    wr_reply_free(reply);
    return value;
}

/* Updates that follow a step of the wall clock are there, and their stamps do not go back. */
static void updates_survive_steps(void **state)
{
    static const int64_t steps[] = {-1500, -5 * SECOND_MS, -HOUR_MS, 2 * HOUR_MS, -DAY_MS, DAY_MS, -DAY_MS};
    struct bed *b = *state;
    int64_t last = 0, stamp = 0;

    create(b, -1, 1);
    put(b, WR_PUT, 0, WR_TIMESTAMP_NONE);
    for (size_t i = 0; i < PORT_COUNT(steps); i++) {
        step_wall(b->db, steps[i]);
        put(b, WR_UPDATE, (int64_t)i + 1, WR_TIMESTAMP_NONE);
        assert_int_equal(value_of(b, &stamp), i + 1);
        assert_true(stamp >= last);
        last = stamp;
    }
}

static void updates_survive_reopenings(void **state)
{
    struct bed *b = *state;
    int64_t first, stamp = 0;

    create(b, -1, 1);
    step_wall(b->db, DAY_MS);
    put(b, WR_PUT, 1, WR_TIMESTAMP_NONE);
    assert_int_equal(value_of(b, &first), 1);
    reopen(b, false);
    put(b, WR_UPDATE, 2, WR_TIMESTAMP_NONE);
    assert_int_equal(value_of(b, &stamp), 2);
    assert_true(stamp >= first);
    put(b, WR_PUT, 3, WR_TIMESTAMP_NONE);
    assert_int_equal(value_of(b, &stamp), 3);
    assert_true(stamp >= first); /* a put that has seen no older one too */
}

/* Garbage of before an opening need not wait for its grace: its milliseconds tell it apart, also when the clock is ahead of the wall
 * clock and nothing read it between the last stamp and the closing. */
static void an_opening_lies_behind_all_stamps(void **state)
{
    struct bed *b = *state;
    int64_t last;

    create(b, -1, 1);
    step_wall(b->db, DAY_MS);
    for (int i = 0; i < 20; i++) {
        last = db_clock_ms(b->db);
        reopen(b, false);
        assert_true(last < b->db->stamps.opened_us / 1000);
    }
}

/* The way back: stamps are of today again, and what was stamped in the future is written all the same. */
static void a_reset_clock_loses_nothing(void **state)
{
    struct bed *b = *state;
    struct wr_status status;
    int64_t stamp = 0, wild;

    create(b, -1, 1);
    step_wall(b->db, 365 * DAY_MS);
    put(b, WR_PUT, 1, WR_TIMESTAMP_NONE);
    value_of(b, &wild);
    reopen(b, false);
    wr_status(b->db, &status, sizeof(status));
    assert_non_null(strstr(status.clock, "ahead of the wall clock"));
    reopen(b, true);
    wr_status(b->db, &status, sizeof(status));
    assert_string_equal(status.clock, "");
    put(b, WR_UPDATE, 2, WR_TIMESTAMP_NONE);
    assert_int_equal(value_of(b, &stamp), 2);
    assert_true(stamp >= wild);
    put(b, WR_PUT, 3, WR_TIMESTAMP_NONE);
    assert_int_equal(value_of(b, &stamp), 3);
    assert_true(stamp < wild);
    reopen(b, false); /* it stays so */
    put(b, WR_PUT, 4, WR_TIMESTAMP_NONE);
    assert_int_equal(value_of(b, &stamp), 4);
    assert_true(stamp < wild);
}

/* What a client stamped in the future stays the newest. */
static void a_clients_stamp_stays_ahead(void **state)
{
    struct bed *b = *state;
    int64_t ahead = clock_wall_ms(&b->db->clock) + HOUR_MS, stamp = 0;

    create(b, -1, 1);
    put(b, WR_PUT, 1, ahead);
    put(b, WR_UPDATE, 2, WR_TIMESTAMP_NONE);
    assert_int_equal(value_of(b, &stamp), 1);
    assert_int_equal(stamp, ahead);
}

/* A clock that is wrong for a while hides nothing and removes nothing. */
static void a_jump_expires_nothing(void **state)
{
    struct bed *b = *state;
    struct wr_status status;

    create(b, 3600, 1);
    put(b, WR_PUT, 1, WR_TIMESTAMP_NONE);
    sweep_run(b->db);
    step_wall(b->db, 30 * DAY_MS);
    assert_int_equal(value_of(b, NULL), 1);
    sweep_run(b->db);
    sweep_run(b->db);
    assert_int_equal(value_of(b, NULL), 1);
    wr_status(b->db, &status, sizeof(status));
    assert_non_null(strstr(status.clock, "jumped ahead"));
    step_wall(b->db, -30 * DAY_MS);
    sweep_run(b->db);
    wr_status(b->db, &status, sizeof(status));
    assert_null(strstr(status.clock, "jumped ahead"));
    assert_int_equal(value_of(b, NULL), 1);
    go_later(b->db, 2 * HOUR_MS); /* true time is believed */
    assert_int_equal(value_of(b, NULL), -1);
}

/* Records of what nobody needs are kept for a minute that passes, not for one that the wall clock skips. */
static void grace_is_no_wall_time(void **state)
{
    struct bed *b = *state;
    int64_t now_ms;

    now_ms = db_clock_ms(b->db);
    clock_watch_look(b->db);
    go_later(b->db, 5 * SECOND_MS);
    clock_watch_look(b->db);
    assert_true(now_ms > clock_watch_before(b->db, 60 * SECOND_MS));
    step_wall(b->db, DAY_MS);
    clock_watch_look(b->db);
    assert_true(now_ms > clock_watch_before(b->db, 60 * SECOND_MS));
    step_wall(b->db, -2 * DAY_MS);
    go_later(b->db, 61 * SECOND_MS);
    clock_watch_look(b->db);
    assert_true(now_ms <= clock_watch_before(b->db, 60 * SECOND_MS));
    reopen(b, false); /* who watches anew waits for a whole one */
    assert_true(now_ms > clock_watch_before(b->db, 60 * SECOND_MS));
}

/* Numbers beyond the stored lease would be given out again after a crash. */
static void numbers_stay_below_their_lease(void **state)
{
    struct bed *b = *state;
    uint64_t number = catalog_next_number(b->db->catalog), next;

    step_wall(b->db, 30 * DAY_MS);
    next = catalog_next_number(b->db->catalog);
    assert_true(next > number && next < number + 3600 * 1000000ull);
}

/* ---- the lease comes first ---- */

#define READERS 4
#define READ_MS 300 /* that the lease is held up for */

/* Stands between the database and its engine: batches to the system partition are held up for a
 * while, as by a thread that loses its processor before it appends them. */
static struct slow_engine {
    struct engine_ops ops;
    const struct engine_ops *real;
    atomic_int begun, appended;
    struct wr_db *db;
} slow;

static void slow_apply(struct ctx *c, struct engine *e, const struct write_batch *b, apply_done done,
                       void *arg)
{
    struct timespec pause = {0, READ_MS * 1000000l};

    if (b->partition == PARTITION_SYSTEM) {
        atomic_fetch_add(&slow.begun, 1);
        nanosleep(&pause, NULL);
    }
    slow.real->apply(c, e, b, done, arg);
    if (b->partition == PARTITION_SYSTEM)
        atomic_fetch_add(&slow.appended, 1);
}

/* Reads the clock, and returns whether a lease was appended by then. */
static void *read_clock(void *arg)
{
    (void)arg;
    db_clock_read(slow.db);
    return atomic_load(&slow.appended) ? &slow : NULL;
}

/* A crash behind a batch whose stamp no lease in the log covers could give the stamp once more. */
static void no_time_past_the_lease_before_it_is_appended(void **state)
{
    struct bed *b = *state;
    pthread_t readers[READERS];
    void *well;

    db_clock_read(b->db);
    slow.db = b->db;
    slow.real = b->db->engine->ops;
    slow.ops = *slow.real;
    slow.ops.apply = slow_apply;
    b->db->engine->ops = &slow.ops;
    go_later(b->db, HOUR_MS); /* the lease is long past */
    for (int i = 0; i < READERS; i++) {
        pthread_create(&readers[i], NULL, read_clock, NULL);
        while (!atomic_load(&slow.begun))
            sched_yield();
    }
    for (int i = 0; i < READERS; i++) {
        pthread_join(readers[i], &well);
        assert_non_null(well);
    }
    b->db->engine->ops = slow.real;
}

/* Who is apart from most is odd; of two, both. */
static void clocks_are_compared(void **state)
{
    struct bed *b = *state;
    int64_t now = 1000000000;
    struct wr_status status;

#define OTHERS(...) (int64_t[]){__VA_ARGS__}, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)
    clock_watch_compare(b->db, now, now + 1000, OTHERS(now, now + 999000), true);
    wr_status(b->db, &status, sizeof(status));
    assert_string_equal(status.clock, "");
    clock_watch_compare(b->db, now, now + 1000, OTHERS(now + 1200000), true);
    wr_status(b->db, &status, sizeof(status));
    assert_true(status.clock_odd);
    clock_watch_compare(b->db, now, now + 3000000, OTHERS(now + 1200000), true); /* that took 3 s */
    wr_status(b->db, &status, sizeof(status));
    assert_false(status.clock_odd);
    clock_watch_compare(b->db, now, now + 1000, OTHERS(now - 9000000, now), true);
    wr_status(b->db, &status, sizeof(status));
    assert_false(status.clock_odd);
    assert_non_null(strstr(status.clock, "9000 ms"));
    clock_watch_compare(b->db, now, now + 1000, OTHERS(now - 9000000, now - 9000000), true);
    wr_status(b->db, &status, sizeof(status));
    assert_true(status.clock_odd);
}

/* What one server stamped as its clock says has its grace from others whose clocks say something else, and is not dated
 * anew by them. */
static void grace_is_by_the_slowest_clock(void **state)
{
    struct bed *b = *state;
    int64_t now = 1000000000, hour = HOUR_MS * 1000, stamp_ms, before_ms;

    clock_watch_look(b->db);
    go_later(b->db, 61 * SECOND_MS);
    clock_watch_look(b->db);
    stamp_ms = clock_watch_before(b->db, 60 * SECOND_MS);
    assert_true(clock_watch_ahead(b->db, db_clock_ms(b->db) + HOUR_MS));
    clock_watch_compare(b->db, now, now, OTHERS(now - hour, now + 2 * hour), true);
    assert_int_equal(clock_watch_before(b->db, 60 * SECOND_MS), stamp_ms - HOUR_MS);
    assert_false(clock_watch_ahead(b->db, db_clock_ms(b->db) + 2 * HOUR_MS));
    assert_true(clock_watch_ahead(b->db, db_clock_ms(b->db) + 3 * HOUR_MS));
    clock_watch_compare(b->db, now, now, NULL, 0, false); /* they are silent */
    before_ms = clock_watch_before(b->db, 60 * SECOND_MS);
    assert_in_range(before_ms, stamp_ms - HOUR_MS - SECOND_MS, stamp_ms - HOUR_MS + SECOND_MS);
    assert_false(clock_watch_ahead(b->db, db_clock_ms(b->db) + 2 * HOUR_MS));
    clock_watch_compare(b->db, now, now, OTHERS(now - 2 * hour), false); /* and another is slower */
    assert_int_equal(clock_watch_before(b->db, 60 * SECOND_MS), stamp_ms - 2 * HOUR_MS);
    clock_watch_compare(b->db, now, now, NULL, 0, true); /* they have left */
    assert_int_equal(clock_watch_before(b->db, 60 * SECOND_MS), stamp_ms);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, bed_set_up, bed_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(updates_survive_steps),  TEST(updates_survive_reopenings), TEST(a_reset_clock_loses_nothing),
        TEST(a_clients_stamp_stays_ahead), TEST(a_jump_expires_nothing),     TEST(grace_is_no_wall_time),
        TEST(no_time_past_the_lease_before_it_is_appended),
        TEST(numbers_stay_below_their_lease), TEST(clocks_are_compared),    TEST(an_opening_lies_behind_all_stamps),
        TEST(grace_is_by_the_slowest_clock),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
