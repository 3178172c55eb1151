/* Transactions on storage that stands still: on a disk whose log takes nothing, and over a Ceph
 * pool whose OSDs are stopped (if TEST_CEPH_CONF names the configuration of a cluster with a pool
 * `data`, and TEST_OSD_PIDS its OSDs). A commit waits, and holds its own value alone; what is only
 * open ends when its time is over. */
#include "base/fault.h"
#include "table/core/db.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>
#include <cmocka.h>
#undef fail /* the name is ctx.h's in this house */

#include "pool.h"

#define LIFE_MS 1000
#define ROUNDS 6

/* A commit on a thread of its own. */
struct commit {
    struct wr_db *db;
    struct client_id id;
    pthread_t thread;
    int code;
    _Atomic bool ended;
};

static void *commits(void *arg)
{
    struct commit *c = arg;

    c->code = end(c->db, &c->id, false);
    atomic_store(&c->ended, true);
    return NULL;
}

static void commit_start(struct commit *c)
{
    assert_int_equal(pthread_create(&c->thread, NULL, commits, c), 0);
}

/* Others begin, write, read and give up meanwhile: nothing of that is in the log. */
static void others_go_on(struct wr_db *db)
{
    for (int64_t value = 100; value < 200; value++) {
        struct client_id id;

        assert_int_equal(begin(db, value, &id), WR_OK);
        assert_int_equal(put(db, &id, value, 3), WR_OK);
        assert_int_equal(get(db, value), 0);
        assert_int_equal(end(db, &id, true), WR_OK);
    }
}

static void the_log_takes_nothing(void **state)
{
    struct wr_setting settings[] = {{"table_ops_per_s_max", "0"}, {"transaction_ms_max", "1000"}};
    char folder[FOLDER_BYTES];
    struct wr_options o = {WR_OPTIONS, .dir = folder, .settings = settings,
                           .setting_count = PORT_COUNT(settings)};
    struct commit c = {.code = -1};
    struct client_id left, again;
    int64_t begun_ms;

    (void)state;
    folder_make(folder);
    c.db = database_open(&o);
    assert_int_equal(client_create(c.db), WR_OK);
    assert_int_equal(put(c.db, NULL, 1, 5), WR_OK);
    assert_int_equal(begin(c.db, 1, &c.id), WR_OK);
    assert_int_equal(put(c.db, &c.id, 1, 6), WR_OK);
    assert_true(fault_arm("rocks_stall:error:1+"));
    commit_start(&c);
    while (!fault_passes(FAULT_rocks_stall))
        usleep(1000);
    others_go_on(c.db);
    assert_int_equal(begin(c.db, 2, &left), WR_OK); /* nobody comes back to it */
    begun_ms = now_ms();
    while (begin(c.db, 2, &again) == WR_E_CONFLICT)
        usleep(1000);
    assert_true(now_ms() - begun_ms >= LIFE_MS - 100);
    assert_int_equal(put(c.db, &left, 2, 1), WR_E_SESSION);
    assert_int_equal(end(c.db, &again, true), WR_OK);
    /* Time does not end a commit: what has become of it is not known yet. */
    assert_false(atomic_load(&c.ended));
    assert_int_equal(put(c.db, NULL, 1, 7), WR_E_CONFLICT);
    assert_int_equal(get(c.db, 1), 5);
    fault_arm(NULL);
    pthread_join(c.thread, NULL);
    assert_int_equal(c.code, WR_OK);
    assert_int_equal(get(c.db, 1), 6);
    assert_int_equal(put(c.db, NULL, 1, 7), WR_OK);
    database_remove(c.db, folder);
}

static void signal_osds(int signal_number)
{
    char *rest = NULL, *list = strdup(getenv("TEST_OSD_PIDS"));

    for (char *pid = strtok_r(list, " \n", &rest); pid; pid = strtok_r(NULL, " \n", &rest))
        assert_int_equal(kill((pid_t)strtol(pid, NULL, 10), signal_number), 0);
    free(list);
}

/* It has landed, or ended without a trace: whatever its client was told, and however late. */
static void a_round(struct wr_db *servers[2], int64_t what, int still_ms)
{
    struct commit c = {.db = servers[0], .code = -1};
    int64_t before = get(servers[1], 20), found, took_ms;

    assert_int_equal(begin(c.db, 20, &c.id), WR_OK);
    assert_int_equal(put(c.db, &c.id, 20, what), WR_OK);
    signal_osds(SIGSTOP);
    commit_start(&c);
    usleep((useconds_t)still_ms * 1000);
    signal_osds(SIGCONT);
    took_ms = put_when_free(servers[1], 21, what); /* of another value */
    pthread_join(c.thread, NULL);
    found = get(servers[1], 20);
    print_message("commit: %s; another value was written after %lld ms, the value itself %lld ms\n",
                  c.code ? "not done" : "ok", (long long)took_ms,
                  (long long)put_when_free(servers[1], 20, what + 1));
    if (c.code == WR_OK)
        assert_int_equal(found, what);
    else if (c.code == WR_E_SESSION)
        assert_int_equal(found, before);
    else
        assert_true(found == what || found == before);
    assert_int_equal(end(servers[0], &c.id, false), WR_E_SESSION);
    assert_int_equal(get(servers[0], 20), what + 1);
}

static void osds_stand_still(void **state)
{
    struct wr_db *servers[2];

    (void)state;
    if (!getenv("TEST_CEPH_CONF") || !getenv("TEST_OSD_PIDS"))
        skip();
    for (size_t i = 0; i < 2; i++)
        servers[i] = open_server();
    assert_int_equal(put(servers[0], NULL, 20, 1), WR_OK);
    for (int64_t i = 1; i <= ROUNDS; i++)
        a_round(servers, 10 * i, i % 2 ? 500 : 3000); /* the life of one lies between */
    for (size_t i = 0; i < 2; i++)
        wr_close(servers[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_log_takes_nothing),
                                       cmocka_unit_test(osds_stand_still)};

    return cmocka_run_group_tests(tests, pool_set_up, pool_tear_down);
}
