/* Locks of transactions over a Ceph pool, if TEST_CEPH_CONF names the configuration of a cluster
 * with a pool `data`: those that nobody meets go; partitions are split and merged under open ones;
 * a server's wall clock is minutes ahead; and, in the nightly tier, how long a lock of the default
 * life outlives its server. (Not for TSAN, which knows no threads behind a fork.) */
#include "table/catalog/catalog.h"
#include "table/catalog/route.h"
#include "table/core/clock_watch.h"
#include "table/core/db.h"
#include "table/sync/wait.h"
#include "table/txn/txn_own.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#undef fail /* the name is ctx.h's in this house */

#include "pool.h"

#define AHEAD_US 180000000
#define LATER_MS 30000 /* what comes soon is there by then */

static struct table *table_of(struct wr_db *db, struct ctx *c)
{
    struct table *t;

    ctx_init(c, &db->clock, &db->log, NULL, 0);
    assert_int_equal(catalog_find(c, db->catalog, CLIENT_INSTANCE, CLIENT_TABLE, &t), 0);
    return t;
}

/* Records of locks. */
static size_t records(struct wr_db *db)
{
    struct key_range range;
    struct page page = {0};
    struct scan scan = {.view = VIEW_LATEST,
                        .ranges = &range,
                        .range_count = 1,
                        .items_max = 100000,
                        .bytes_max = 1 << 28,
                        .pages = &page};
    struct ctx c;
    struct table *t = table_of(db, &c);

    range = (struct key_range){key_prefix(&c.arena, t->schema.location.id, 0, KIND_CHANGE),
                               key_prefix(&c.arena, t->schema.location.id, 0, KIND_CHANGE + 1)};
    assert_int_equal(route_scan_now(&c, t, &scan), 0);
    table_release(t);
    ctx_release(&c);
    return page.count;
}

/* In place of `count` partitions from `first` on: one, or two that meet at `value`. */
static void repartition(struct wr_db *db, size_t first, size_t count, const int64_t *value)
{
    struct wr_value at = {.type = WR_BIGINT, .integer = value ? *value : 0};
    struct ctx c;
    struct table *t = table_of(db, &c);
    struct buf b;
    bytes bound;

    buf_init(&b, &c.arena, 16);
    buf_put_u8(&b, 0);
    assert_true(key_put_column(&b, &t->schema.location.key[0], &at));
    bound = buf_bytes(&b);
    assert_int_equal(catalog_repartition(&c, t, first, count, &bound, value != NULL), 0);
    table_release(t);
    ctx_release(&c);
}

static uint64_t expired(struct wr_db *db)
{
    struct wr_status s;

    wr_status(db, &s, sizeof(s));
    return s.transactions_expired;
}

/* So many transactions are told to be open, when the next round has come. */
static void await_open(struct wr_db *db, uint64_t count)
{
    int64_t begun_ms = now_ms();
    struct wr_status s;

    do {
        task_wake(db->txns->task);
        usleep(20000);
        wr_status(db, &s, sizeof(s));
    } while (s.transactions != count && now_ms() - begun_ms < LATER_MS);
    assert_int_equal(s.transactions, count);
}

/* In three partitions, one of them without any row. */
static void nobody_wants_the_value(void **state)
{
    static const int64_t values[] = {10, 11, 30};
    struct wr_db *db;
    struct client_id ids[3];
    int64_t begun_ms;

    (void)state;
    if (!getenv("TEST_CEPH_CONF"))
        skip();
    db = open_server();
    repartition(db, 0, 1, &(int64_t){20});
    repartition(db, 1, 1, &(int64_t){40});
    for (size_t i = 0; i < PORT_COUNT(values); i++) {
        assert_int_equal(begin(db, values[i], &ids[i]), WR_OK);
        assert_int_equal(put(db, &ids[i], values[i], 1), WR_OK);
    }
    assert_int_equal(records(db), 2 * PORT_COUNT(values));
    begun_ms = now_ms();
    while (expired(db) < PORT_COUNT(values) && now_ms() - begun_ms < LATER_MS)
        usleep(20000);
    print_message("no lock is left after %lld ms\n", (long long)(now_ms() - begun_ms));
    assert_int_equal(records(db), 0);
    for (size_t i = 0; i < PORT_COUNT(values); i++) {
        assert_int_equal(end(db, &ids[i], false), WR_E_SESSION);
        assert_int_equal(get(db, values[i]), 0);
        assert_int_equal(put(db, NULL, values[i], 2), WR_OK);
    }
    repartition(db, 0, 3, NULL);
    wr_close(db);
}

/* More than a server remembers to have met (TXN_SEEN): they go by the clocks. */
static void ten_thousand_are_left(void **state)
{
    const char *tier = getenv("TIER");
    struct client_id id;
    struct wr_db *db;
    int64_t begun_ms;

    (void)state;
    if (!getenv("TEST_CEPH_CONF"))
        skip();
    if (!tier || strcmp(tier, "nightly") != 0)
        return;
    db = open_server_for("20000");
    begun_ms = now_ms();
    for (int64_t value = 10000; value < 20000; value++)
        assert_int_equal(begin(db, value, &id), WR_OK);
    print_message("10,000 were begun in %lld ms, %zu locks stand\n",
                  (long long)(now_ms() - begun_ms), records(db));
    begun_ms = now_ms();
    assert_int_equal(begin(db, 9000, &id), WR_OK);
    assert_int_equal(put(db, &id, 9000, 1), WR_OK);
    assert_int_equal(end(db, &id, false), WR_OK);
    assert_int_equal(put(db, NULL, 9001, 1), WR_OK);
    print_message("another one took %lld ms\n", (long long)(now_ms() - begun_ms));
    print_message("the value of the last was free after %lld ms\n",
                  (long long)put_when_free(db, 19999, 1));
    while (records(db) && now_ms() - begun_ms < 5 * PATIENCE_MS)
        usleep(100000);
    print_message("no lock is left after %lld ms\n", (long long)(now_ms() - begun_ms));
    assert_int_equal(records(db), 0);
    wr_close(db);
}

/* The value's lock was begun so much earlier. */
static void make_older(struct wr_db *db, int64_t value, int64_t ms)
{
    struct wr_key_column column;
    struct wr_key key = client_key(&column, value);
    struct txn_head head;
    struct key_range range;
    struct page page = {0};
    struct scan scan = {.view = VIEW_LATEST,
                        .ranges = &range,
                        .range_count = 1,
                        .items_max = 1,
                        .bytes_max = 1 << 20,
                        .pages = &page};
    struct write_batch batch = {.edit_count = 1};
    struct edit edit;
    struct ctx c;
    struct table *t = table_of(db, &c);
    struct buf cols;

    buf_init(&cols, &c.arena, 16);
    assert_int_equal(key_put_columns(&c, &cols, t->schema.location.key, key.columns, 1), 0);
    range = txn_records(&c.arena, &t->schema.location, buf_bytes(&cols));
    assert_int_equal(route_scan_now(&c, t, &scan), 0);
    assert_int_equal(page.count, 1);
    assert_int_equal(txn_head_decode(&c, page.items[0].value, &head), 0);
    head.begun_ms -= ms;
    edit = (struct edit){EDIT_PUT, page.items[0].key, txn_head_encode(&c.arena, &head)};
    batch.edits = &edit;
    batch.partition = route_find(t, edit.key);
    assert_int_equal(wait_apply(&c, db->engine, &batch), 0);
    table_release(t);
    ctx_release(&c);
}

/* A lock that nobody has met goes by the clock of the server that began it, long before one that
 * meets it now has known it for its life. */
static void an_old_lock_is_met(void **state)
{
    struct client_id id;
    struct wr_db *db;
    int64_t took_ms;

    (void)state;
    if (!getenv("TEST_CEPH_CONF"))
        skip();
    db = open_server_for("60000");
    assert_int_equal(begin(db, 2, &id), WR_OK);
    assert_int_equal(put(db, &id, 2, 66), WR_OK);
    make_older(db, 2, 60000 + ENGINE_LEASE_MS + 1000);
    wr_close(db);
    db = open_server_for("60000");
    took_ms = put_when_free(db, 2, 7);
    print_message("an old lock goes %lld ms after it was met\n", (long long)took_ms);
    assert_true(took_ms < 30000); /* half of its life */
    assert_int_equal(end(db, &id, false), WR_E_SESSION);
    wr_close(db);
}

/* Two servers, one of which splits while transactions of the other are open. */
static void partitions_are_split(void **state)
{
    struct wr_db *servers[2];
    struct client_id low, high, edge;

    (void)state;
    if (!getenv("TEST_CEPH_CONF"))
        skip();
    for (size_t i = 0; i < 2; i++)
        servers[i] = open_server_for("60000");
    assert_int_equal(begin(servers[0], 50, &low), WR_OK);
    assert_int_equal(begin(servers[0], 70, &edge), WR_OK);
    assert_int_equal(begin(servers[0], 90, &high), WR_OK);
    assert_int_equal(put(servers[0], &low, 50, 1), WR_OK);
    assert_int_equal(put(servers[0], &edge, 70, 1), WR_OK);
    assert_int_equal(put(servers[0], &high, 90, 1), WR_OK);
    repartition(servers[1], 0, 1, &(int64_t){70});
    for (size_t i = 0; i < 2; i++)
        await_open(servers[i], 3); /* whoever began them */
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(put(servers[i], NULL, 50, 3), WR_E_CONFLICT);
        assert_int_equal(put(servers[i], NULL, 70, 3), WR_E_CONFLICT);
        assert_int_equal(put(servers[i], NULL, 90, 3), WR_E_CONFLICT);
        assert_int_equal(put(servers[i], NULL, 71, 3), WR_OK);
        assert_int_equal(get(servers[i], 90), 0);
    }
    assert_int_equal(put(servers[1], &high, 90, 2), WR_OK);
    assert_int_equal(end(servers[0], &high, false), WR_OK);
    assert_int_equal(get(servers[1], 90), 2);
    repartition(servers[0], 0, 2, NULL);
    assert_int_equal(put(servers[1], &edge, 70, 2), WR_OK);
    assert_int_equal(end(servers[1], &edge, false), WR_OK);
    assert_int_equal(get(servers[0], 70), 2);
    repartition(servers[1], 0, 1, &(int64_t){60});
    assert_int_equal(end(servers[1], &low, true), WR_OK);
    assert_int_equal(get(servers[0], 50), 0);
    assert_int_equal(records(servers[0]), 0);
    await_open(servers[0], 0);
    assert_int_equal(put(servers[0], NULL, 50, 4), WR_OK);
    repartition(servers[1], 0, 2, NULL);
    for (size_t i = 0; i < 2; i++)
        wr_close(servers[i]);
}

/* A layout that spreads a value's rows has no transactions here, and says so. */
static void a_layout_spreads_the_value(void **state)
{
    struct client_id id;
    struct wr_db *db;

    (void)state;
    if (!getenv("TEST_CEPH_CONF"))
        skip();
    db = open_server();
    assert_int_equal(client_drop(db), WR_OK);
    assert_int_equal(client_create_as(db, -1, "random:4"), WR_OK);
    assert_int_equal(begin(db, 1, &id), WR_E_UNSUPPORTED);
    assert_int_equal(put(db, NULL, 1, 1), WR_OK);
    assert_int_equal(client_drop(db), WR_OK);
    assert_int_equal(client_create_as(db, -1, "hash:4"), WR_OK);
    for (int64_t value = 0; value < 8; value++) {
        assert_int_equal(begin(db, value, &id), WR_OK);
        assert_int_equal(put(db, &id, value, 1), WR_OK);
        assert_int_equal(end(db, &id, false), WR_OK);
        assert_int_equal(get(db, value), 1);
    }
    assert_int_equal(client_drop(db), WR_OK);
    assert_int_equal(client_create(db), WR_OK);
    assert_int_equal(put(db, NULL, 1, 5), WR_OK);
    wr_close(db);
}

#ifndef __SANITIZE_THREAD__

static int64_t wall_ahead(struct clock *self)
{
    struct clock real;

    (void)self;
    clock_real_init(&real);
    return clock_wall_us(&real) + AHEAD_US;
}

/* A server whose wall clock is three minutes ahead once the other one is there, too. It says when
 * it is open; when the servers have compared their clocks; and then, how a write of value 1 went.
 * In between it is told to go on. (A process of its own: librados asks nobody behind a fork.) */
static int ahead_main(void)
{
    const int from = STDIN_FILENO, to = STDOUT_FILENO;
    struct wr_db *db = open_server_for("20000");
    int64_t begun_ms = now_ms();
    char byte = 0;
    int code;

    if (write(to, &byte, 1) != 1 || read(from, &byte, 1) != 1)
        return 1;
    db->clock.wall_us = wall_ahead;
    while (clock_watch_spread_ms(db) < AHEAD_US / 1000 / 2 && now_ms() - begun_ms < PATIENCE_MS)
        usleep(20000);
    if (write(to, &byte, 1) != 1 || read(from, &byte, 1) != 1)
        return 1;
    code = put(db, NULL, 1, 99);
    return write(to, &code, sizeof(code)) != sizeof(code);
}

static void clocks_are_apart(void **state)
{
    int in[2], out[2], code = 0, status;
    struct client_id id;
    struct wr_db *db;
    char byte;
    pid_t pid;

    (void)state;
    if (!getenv("TEST_CEPH_CONF"))
        skip();
    assert_int_equal(pipe(in), 0);
    assert_int_equal(pipe(out), 0);
    pid = fork();
    if (!pid) {
        dup2(in[0], STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
        close(in[1]);
        close(out[0]);
        execl("/proc/self/exe", "txn_sweep_test", "ahead", dir, (char *)NULL);
        _exit(1);
    }
    close(in[0]);
    close(out[1]);
    assert_int_equal(read(out[0], &byte, 1), 1);
    db = open_server_for("20000");
    assert_int_equal(write(in[1], &byte, 1), 1);
    assert_int_equal(read(out[0], &byte, 1), 1);
    do { /* unless this process was kept from going on for twenty seconds */
        code = begin(db, 1, &id);
        if (!code)
            code = put(db, &id, 1, 6);
    } while (code == WR_E_SESSION);
    assert_int_equal(code, WR_OK);
    assert_int_equal(write(in[1], &byte, 1), 1);
    assert_int_equal(read(out[0], &code, sizeof(code)), sizeof(code));
    assert_int_equal(code, WR_E_CONFLICT);
    assert_int_equal(end(db, &id, false), WR_OK);
    assert_int_equal(get(db, 1), 6);
    waitpid(pid, &status, 0);
    wr_close(db);
}

/* The server with an open transaction of the default life is killed. */
static void the_default_life(void **state)
{
    const char *tier = getenv("TIER");
    struct client_id id;
    struct wr_db *db;
    int out[2], status;
    pid_t pid;

    (void)state;
    if (!getenv("TEST_CEPH_CONF"))
        skip();
    if (!tier || strcmp(tier, "nightly") != 0)
        return;
    assert_int_equal(pipe(out), 0);
    pid = fork();
    if (!pid) {
        signal(SIGALRM, SIG_DFL);
        db = open_server_for("60000");
        if (begin(db, 1, &id) || put(db, &id, 1, 66) ||
            write(out[1], &id, sizeof(id)) != sizeof(id))
            _exit(1);
        pause();
    }
    assert_int_equal(read(out[0], &id, sizeof(id)), sizeof(id));
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    db = open_server_for("60000");
    print_message("with the default life the value of a killed server is free after %lld ms\n",
                  (long long)put_when_free(db, 1, 7));
    assert_int_equal(get(db, 1), 7);
    assert_int_equal(end(db, &id, false), WR_E_SESSION);
    wr_close(db);
}

#endif

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
#ifndef __SANITIZE_THREAD__
        cmocka_unit_test(the_default_life),
#endif
        cmocka_unit_test(nobody_wants_the_value),     cmocka_unit_test(ten_thousand_are_left),
        cmocka_unit_test(an_old_lock_is_met),         cmocka_unit_test(partitions_are_split),
        cmocka_unit_test(a_layout_spreads_the_value),
#ifndef __SANITIZE_THREAD__
        cmocka_unit_test(clocks_are_apart), /* stamps stay ahead behind it */
#endif
    };

#ifndef __SANITIZE_THREAD__
    if (argc == 3) {
        snprintf(dir, sizeof(dir), "%s", argv[2]);
        return ahead_main();
    }
#endif
    return cmocka_run_group_tests(tests, pool_set_up, pool_tear_down);
}
