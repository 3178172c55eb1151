/* Writers on many threads while periods come and are frozen: once a freeze is answered nothing of
 * the period changes any more, and all that was acknowledged is in it. */
#include "base/bytes.h"
#include "base/port.h"
#include "table/catalog/catalog.h"
#include "table/core/db.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#include "../database.h"

#define WRITERS 4
#define DAYS 12
#define DAY_S 86400

struct crowd {
    struct wr_db *db;
    atomic_int day;                      /* that is written now, and the one before */
    _Atomic uint64_t acknowledged[DAYS]; /* rows */
    atomic_int late;                     /* refused, by name */
    atomic_bool wrong;
};

static struct wr_reply *put(struct wr_db *db, int64_t id, int64_t time)
{
    struct wr_key_column columns[] = {{BYTES_LIT("id"), {.type = WR_BIGINT, .integer = id}},
                                      {BYTES_LIT("time"), {.type = WR_BIGINT, .integer = time}}};
    struct wr_cell cell = {.name = BYTES_LIT("a"),
                           .value = {.type = WR_BIGINT, .integer = id},
                           .timestamp_ms = WR_TIMESTAMP_NONE};
    struct wr_request r = {.op = WR_OP_PUT_ROW, .instance = BYTES_LIT("test")};

    r.put_row = (struct wr_row_change){.type = WR_PUT, .table = BYTES_LIT("s")};
    r.put_row.row = (struct wr_row){{columns, 2}, &cell, 1};
    return wr_exec(db, &r);
}

static void *write_rows(void *arg)
{
    struct crowd *crowd = arg;
    static atomic_int ids;
    int day;

    while ((day = atomic_load(&crowd->day)) < DAYS) {
        int id = atomic_fetch_add(&ids, 1), of = day && id % 2 ? day - 1 : day;
        struct wr_reply *reply = put(crowd->db, id, (int64_t)of * DAY_S + id % DAY_S);

        usleep(100); /* the scans are to keep up */
        if (!reply->code)
            atomic_fetch_add(&crowd->acknowledged[of], 1);
        else if (reply->code == WR_E_PARAMETER && strstr(reply->message, "is read-only"))
            atomic_fetch_add(&crowd->late, 1);
        else if (reply->code != WR_E_BUSY)
            atomic_store(&crowd->wrong, true);
        wr_reply_free(reply);
    }
    return NULL;
}

static uint64_t count(struct wr_db *db, int day)
{
    struct wr_key_column low[] = {{BYTES_LIT("id"), {.type = WR_INF_MIN}},
                                  {BYTES_LIT("time"), {.type = WR_INF_MIN}}};
    struct wr_key_column high[] = {{BYTES_LIT("id"), {.type = WR_INF_MAX}},
                                   {BYTES_LIT("time"), {.type = WR_INF_MAX}}};
    struct wr_request r = {.op = WR_OP_GET_RANGE, .instance = BYTES_LIT("test")};
    uint64_t rows = 0;
    bool more = true;

    r.get_range = (struct wr_get_range){.table = BYTES_LIT("s"),
                                        .start = {low, 2},
                                        .end = {high, 2},
                                        .read = {.has_max_versions = true, .max_versions = 1}};
    while (more) {
        struct wr_reply *reply = wr_exec(db, &r);

        assert_int_equal(reply->code, WR_OK);
        for (size_t i = 0; i < reply->range.row_count; i++)
            rows += reply->range.rows[i].key.columns[1].value.integer / DAY_S == day;
        more = reply->range.next.count != 0;
        if (more) {
            low[0].value = reply->range.next.columns[0].value;
            low[1].value = reply->range.next.columns[1].value;
        }
        wr_reply_free(reply);
    }
    return rows;
}

static int freeze(struct wr_db *db, int day)
{
    char text[16];
    struct wr_request r = {.op = WR_OP_CHANGE_SERIES};

    snprintf(text, sizeof(text), "1970-01-%02d", day + 1);
    r.change_series = (struct wr_change_series){
        .table = BYTES_LIT("s"), .action = WR_SERIES_FREEZE, .period = bytes_str(text)};
    return database_run(db, &r);
}

static void make(struct wr_db *db)
{
    static const struct wr_key_schema key[] = {{.name = BYTES_LIT("id"), .type = WR_BIGINT},
                                               {.name = BYTES_LIT("time"), .type = WR_BIGINT}};
    struct wr_request r = {.op = WR_OP_CREATE_SERIES};

    r.create_series = (struct wr_create_series){
        .table = {.table = BYTES_LIT("s"),
                  .key = key,
                  .key_count = 2,
                  .options = {.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS,
                              .ttl_s = -1,
                              .max_versions = 1}},
        .series = {.by = WR_SERIES_BY_DAY, .column = BYTES_LIT("time"), .unit = WR_SERIES_SECONDS}};
    assert_int_equal(database_run(db, &r), WR_OK);
}

static void crowd_run(struct wr_db *db)
{
    struct crowd crowd = {.db = db};
    uint64_t frozen[DAYS] = {0};
    pthread_t threads[WRITERS];

    make(db);
    for (int i = 0; i < WRITERS; i++)
        pthread_create(&threads[i], NULL, write_rows, &crowd);
    for (int day = 0; day < DAYS; day++) {
        atomic_store(&crowd.day, day);
        while (atomic_load(&crowd.acknowledged[day]) < 100 && !atomic_load(&crowd.wrong))
            sched_yield();
        if (day) { /* while they write it */
            assert_int_equal(freeze(db, day - 1), WR_OK);
            frozen[day - 1] = count(db, day - 1);
        }
    }
    atomic_store(&crowd.day, DAYS);
    for (int i = 0; i < WRITERS; i++)
        pthread_join(threads[i], NULL);
    assert_false(atomic_load(&crowd.wrong));
    assert_true(atomic_load(&crowd.late) > 0);
    for (int day = 0; day < DAYS; day++) {
        uint64_t rows = count(db, day);

        assert_int_equal(rows, atomic_load(&crowd.acknowledged[day]));
        if (day < DAYS - 1)
            assert_int_equal(rows, frozen[day]);
    }
}

static void test_in_memory(void **state)
{
    crowd_run(*state);
}

static void test_on_disk(void **state)
{
    char dir[] = "/tmp/widerow-freeze-XXXXXX";
    struct wr_setting settings[] = {{"table_ops_per_s_max", "0"}};
    struct wr_options o = {.version = WR_API_VERSION,
                           .engine = "rocks",
                           .no_sync = true,
                           .settings = settings,
                           .setting_count = 1};
    struct wr_db *db;

    (void)state;
    assert_non_null(mkdtemp(dir));
    o.dir = dir;
    db = database_open(&o);
    crowd_run(db);
    database_remove(db, dir);
}

/* ---- the answer ---- */

struct asked {
    struct wr_db *db;
    atomic_bool answered;
};

static void *ask_freeze(void *arg)
{
    struct asked *asked = arg;

    assert_int_equal(freeze(asked->db, 0), WR_OK);
    atomic_store(&asked->answered, true);
    return NULL;
}

/* One write that began before is still under way: it holds what it began with. */
static void test_waits_for_writes(void **state)
{
    struct asked asked = {.db = *state};
    struct table *began;
    pthread_t thread;
    int code = WR_OK;

    make(asked.db);
    wr_reply_free(put(asked.db, 1, 1));
    began = catalog_get(asked.db->catalog, BYTES_LIT("test"), BYTES_LIT("s@1970-01-01"));
    assert_non_null(began);
    pthread_create(&thread, NULL, ask_freeze, &asked);
    while (code != WR_E_PARAMETER) { /* until it is frozen for those that begin now */
        struct wr_reply *reply = put(asked.db, 2, 2);

        code = reply->code;
        wr_reply_free(reply);
    }
    usleep(100000);
    assert_false(atomic_load(&asked.answered));
    table_release(began);
    pthread_join(thread, NULL);
    assert_true(atomic_load(&asked.answered));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_in_memory, database_set_up, database_tear_down),
        cmocka_unit_test(test_on_disk),
        cmocka_unit_test_setup_teardown(test_waits_for_writes, database_set_up, database_tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
