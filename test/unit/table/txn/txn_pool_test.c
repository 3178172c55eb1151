/* Transactions over a Ceph pool whose servers are killed and paused with one open, if
 * TEST_CEPH_CONF names the configuration of a cluster with a pool `data`: the lock ends by itself,
 * nothing of the transaction is seen, and who wakes up later finds that it has ended. Ids of
 * others, and such as nobody was given, are none. (Not for TSAN, which knows no threads behind a
 * fork.) */
#include "base/clock.h"
#include "table/core/db.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#undef fail /* the name is ctx.h's in this house */

#include "../database.h"

#define INSTANCE BYTES_LIT("test")
#define TABLE BYTES_LIT("t")
#define ID_BYTES 256
#define LIFE_MS 2000

static char dir[FOLDER_BYTES];

struct id {
    char text[ID_BYTES];
};

static struct wr_db *open_server(void)
{
    struct wr_setting own[] = {{"ceph_conf", getenv("TEST_CEPH_CONF")},
                               {"pool", "data"},
                               {"namespace", strrchr(dir, '/') + 1}};
    struct wr_setting settings[] = {{"table_ops_per_s_max", "0"}, {"transaction_ms_max", "2000"}};
    struct wr_options o = {.version = WR_API_VERSION,
                           .engine = "rados",
                           .engine_settings = own,
                           .engine_setting_count = PORT_COUNT(own),
                           .settings = settings,
                           .setting_count = PORT_COUNT(settings)};

    return database_open(&o);
}

static int create(struct wr_db *db)
{
    static const struct wr_key_schema key[] = {{.name = BYTES_LIT("p"), .type = WR_BIGINT}};
    struct wr_request r = {.op = WR_OP_CREATE_TABLE};

    r.create_table = (struct wr_create_table){
        .table = TABLE,
        .key = key,
        .key_count = 1,
        .options = {.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS, .ttl_s = -1, .max_versions = 1},
        .local_transactions = true};
    return database_run(db, &r);
}

static int drop(struct wr_db *db)
{
    struct wr_request r = {.op = WR_OP_DELETE_TABLE};

    r.delete_table.table = TABLE;
    return database_run(db, &r);
}

static struct wr_key key_of(struct wr_key_column *column, int64_t value)
{
    *column = (struct wr_key_column){.name = BYTES_LIT("p"),
                                     .value = {.type = WR_BIGINT, .integer = value}};
    return (struct wr_key){column, 1};
}

static int begin(struct wr_db *db, int64_t value, struct id *id)
{
    struct wr_request r = {.op = WR_OP_START_LOCAL_TRANSACTION, .instance = INSTANCE, .client = 1};
    struct wr_key_column column;
    struct wr_reply *reply;
    int code;

    r.start_local_transaction.table = TABLE;
    r.start_local_transaction.key = key_of(&column, value);
    reply = wr_exec(db, &r);
    code = reply->code;
    *id = (struct id){""};
    if (!code) {
        assert_true(reply->transaction.id.len < ID_BYTES);
        memcpy(id->text, reply->transaction.id.ptr, reply->transaction.id.len);
    }
    wr_reply_free(reply);
    return code;
}

/* Outside of transactions, if id is NULL. */
static int put(struct wr_db *db, const struct id *id, int64_t value, int64_t what)
{
    struct wr_cell cell = {.name = BYTES_LIT("a"),
                           .value = {.type = WR_BIGINT, .integer = what},
                           .timestamp_ms = WR_TIMESTAMP_NONE};
    struct wr_request r = {.op = WR_OP_PUT_ROW, .client = 1};
    struct wr_key_column column;

    r.put_row = (struct wr_row_change){
        .type = WR_PUT, .table = TABLE, .row = {key_of(&column, value), &cell, 1}};
    if (id)
        r.put_row.transaction = bytes_str(id->text);
    return database_run(db, &r);
}

/* What is stored, or 0: nothing. */
static int64_t get(struct wr_db *db, int64_t value)
{
    struct wr_request r = {.op = WR_OP_GET_ROW, .instance = INSTANCE};
    struct wr_key_column column;
    struct wr_reply *reply;
    int64_t found = 0;

    r.get_row.table = TABLE;
    r.get_row.key = key_of(&column, value);
    r.get_row.read.max_versions = 1;
    r.get_row.read.has_max_versions = true;
    reply = wr_exec(db, &r);
    assert_int_equal(reply->code, WR_OK);
    if (reply->row.row.cell_count)
        found = reply->row.row.cells[0].value.integer;
    wr_reply_free(reply);
    return found;
}

static int end_as(struct wr_db *db, const struct id *id, bool aborts, uint64_t client,
                  struct wr_bytes instance)
{
    struct wr_request r = {.op = aborts ? WR_OP_ABORT_TRANSACTION : WR_OP_COMMIT_TRANSACTION,
                           .client = client,
                           .instance = instance};
    struct wr_reply *reply;
    int code;

    r.commit_transaction.id = bytes_str(id->text);
    reply = wr_exec(db, &r);
    code = reply->code;
    wr_reply_free(reply);
    return code;
}

static int end(struct wr_db *db, const struct id *id, bool aborts)
{
    return end_as(db, id, aborts, 1, INSTANCE);
}

static int64_t now_ms(void)
{
    struct clock clock;

    clock_real_init(&clock);
    return clock_mono_ms(&clock);
}

/* Writes the value as soon as that is let in; how long that took, in milliseconds. */
static int64_t put_when_free(struct wr_db *db, int64_t value, int64_t what)
{
    int64_t begun_ms = now_ms();
    int code;

    while ((code = put(db, NULL, value, what)) == WR_E_CONFLICT && now_ms() - begun_ms < 60000)
        usleep(20000);
    assert_int_equal(code, WR_OK);
    return now_ms() - begun_ms;
}

/* ---- another server ---- */

struct child {
    pid_t pid;
    int to, from; /* pipes */
};

/* Begins one on value 1 and writes in it; then, once told to, commits, and says how that went. */
static void child_main(int from, int to)
{
    struct wr_db *db = open_server();
    struct id id;
    char byte;
    int code;

    if (begin(db, 1, &id) || put(db, &id, 1, 66) || write(to, &id, sizeof(id)) != sizeof(id) ||
        read(from, &byte, 1) != 1)
        _exit(1);
    code = end(db, &id, false);
    if (write(to, &code, sizeof(code)) != sizeof(code))
        _exit(1);
    _exit(0);
}

static struct child child_start(struct id *id)
{
    int in[2], out[2];
    struct child child;

    assert_int_equal(pipe(in), 0);
    assert_int_equal(pipe(out), 0);
    child.pid = fork();
    if (!child.pid) {
        signal(SIGALRM, SIG_DFL);
        child_main(in[0], out[1]);
    }
    close(in[0]);
    close(out[1]);
    child.to = in[1];
    child.from = out[0];
    assert_int_equal(read(child.from, id, sizeof(*id)), sizeof(*id));
    return child;
}

static void child_end(struct child *child)
{
    int status;

    close(child->to);
    close(child->from);
    waitpid(child->pid, &status, 0);
}

/* The server that began it is gone. */
static void child_start_and_die(struct id *id)
{
    struct child child = child_start(id);

    kill(child.pid, SIGKILL);
    child_end(&child);
}

static int setup(void **state)
{
    struct wr_db *db;

    (void)state;
    folder_make(dir);
    if (!getenv("TEST_CEPH_CONF"))
        return 0;
    db = open_server();
    assert_int_equal(create(db), WR_OK);
    assert_int_equal(put(db, NULL, 1, 5), WR_OK);
    wr_close(db);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    folder_remove(dir);
    return 0;
}

static void a_server_is_killed(void **state)
{
    struct wr_db *db;
    struct id id;

    (void)state;
    if (!getenv("TEST_CEPH_CONF"))
        skip();
    child_start_and_die(&id);
    db = open_server();
    assert_int_equal(put(db, NULL, 2, 2), WR_OK); /* another value */
    assert_int_equal(get(db, 1), 5);
    print_message("the value was free %lld ms after it was asked for\n",
                  (long long)put_when_free(db, 1, 7));
    assert_int_equal(get(db, 1), 7);
    assert_int_equal(put(db, &id, 1, 8), WR_E_SESSION);
    assert_int_equal(end(db, &id, false), WR_E_SESSION);
    assert_int_equal(get(db, 1), 7);
    wr_close(db);
}

/* It goes on through another server, which never met it before. */
static void another_server_goes_on(void **state)
{
    struct child child;
    struct wr_db *db;
    struct id id;

    (void)state;
    if (!getenv("TEST_CEPH_CONF"))
        skip();
    db = NULL;
    child = child_start(&id); /* before this process has threads */
    db = open_server();
    kill(child.pid, SIGKILL);
    child_end(&child);
    assert_int_equal(put(db, &id, 1, 67), WR_OK);
    assert_int_equal(end(db, &id, false), WR_OK);
    assert_int_equal(get(db, 1), 67);
    assert_int_equal(end(db, &id, false), WR_E_SESSION);
    assert_int_equal(put(db, NULL, 1, 5), WR_OK);
    wr_close(db);
}

/* Its time is over while it is paused; what it then commits is nothing. */
static void a_server_is_paused(void **state)
{
    struct id id, mine;
    struct child child;
    struct wr_db *db;
    int code = 0;

    (void)state;
    if (!getenv("TEST_CEPH_CONF"))
        skip();
    child = child_start(&id);
    kill(child.pid, SIGSTOP);
    assert_int_equal(write(child.to, "x", 1), 1);
    db = open_server();
    put_when_free(db, 1, 9);
    assert_int_equal(begin(db, 1, &mine), WR_OK);
    assert_int_equal(put(db, &mine, 1, 10), WR_OK);
    kill(child.pid, SIGCONT);
    assert_int_equal(read(child.from, &code, sizeof(code)), sizeof(code));
    assert_int_equal(code, WR_E_SESSION);
    child_end(&child);
    assert_int_equal(get(db, 1), 9);
    code = end(db, &mine, false); /* unless this process was kept from going on for two seconds */
    assert_true(code == WR_OK || code == WR_E_SESSION);
    assert_int_equal(get(db, 1), code ? 9 : 10);
    wr_close(db);
}

/* A lock that nobody has met goes by the clock of the server that began it. */
static void nobody_has_met_it(void **state)
{
    struct wr_db *db;
    struct id id;

    (void)state;
    if (!getenv("TEST_CEPH_CONF"))
        skip();
    child_start_and_die(&id);
    usleep((LIFE_MS + ENGINE_LEASE_MS + 1000) * 1000);
    db = open_server();
    assert_int_equal(put(db, NULL, 1, 11), WR_OK);
    wr_close(db);
}

static void ids_of_others(void **state)
{
    struct id id, wrong;
    struct wr_db *db;

    (void)state;
    if (!getenv("TEST_CEPH_CONF"))
        skip();
    db = open_server();
    assert_int_equal(begin(db, 3, &id), WR_OK);
    assert_int_equal(put(db, &id, 3, 1), WR_OK);
    assert_int_equal(end_as(db, &id, false, 2, INSTANCE), WR_E_SESSION);
    assert_int_equal(end_as(db, &id, true, 2, INSTANCE), WR_E_SESSION);
    assert_int_equal(end_as(db, &id, false, 1, BYTES_LIT("other")), WR_E_NOT_EXIST);
    assert_int_equal(put(db, &id, 4, 1), WR_E_OUT_OF_RANGE);
    for (size_t i = 0; i < strlen(id.text); i++) { /* each character another one */
        wrong = id;
        wrong.text[i] = wrong.text[i] == '0' ? '1' : '0';
        assert_int_not_equal(put(db, &wrong, 3, 2), WR_OK);
        wrong.text[i] = '\0';
        if (i)
            assert_int_not_equal(put(db, &wrong, 3, 2), WR_OK);
    }
    wrong = id;
    memset(wrong.text + strlen(wrong.text), '0', 2);
    assert_int_not_equal(put(db, &wrong, 3, 2), WR_OK);
    assert_int_equal(drop(db), WR_OK);
    assert_int_equal(put(db, &id, 3, 2), WR_E_NOT_EXIST);
    assert_int_equal(create(db), WR_OK);
    assert_int_equal(put(db, &id, 3, 2), WR_E_SESSION);
    assert_int_equal(end(db, &id, false), WR_E_SESSION);
    assert_int_equal(put(db, NULL, 3, 3), WR_OK);
    assert_int_equal(get(db, 3), 3);
    wr_close(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#ifndef __SANITIZE_THREAD__
        cmocka_unit_test(a_server_is_killed), cmocka_unit_test(another_server_goes_on),
        cmocka_unit_test(a_server_is_paused), cmocka_unit_test(nobody_has_met_it),
#endif
        cmocka_unit_test(ids_of_others)};

    return cmocka_run_group_tests(tests, setup, teardown);
}
