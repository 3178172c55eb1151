/* Transactions over a Ceph pool whose servers are killed and paused with one open, if
 * TEST_CEPH_CONF names the configuration of a cluster with a pool `data`: the lock ends by itself,
 * nothing of the transaction is seen, and who wakes up later finds that it has ended. Ids of
 * others, and such as nobody was given, are none. (Not for TSAN, which knows no threads behind a
 * fork.) */
#include "table/core/db.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#undef fail /* the name is ctx.h's in this house */

#include "pool.h"

#define LIFE_MS 2000
#define LONG_MS "600000" /* where a life should not end on a slow machine */

/* ---- another server ---- */

struct child {
    pid_t pid;
    int to, from; /* pipes */
};

/* Begins one on value 1 and writes in it; then, once told to, commits, and says how that went. */
static void child_main(int from, int to)
{
    struct wr_db *db = open_server();
    struct client_id id;
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

static struct child child_start(struct client_id *id)
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
static void child_start_and_die(struct client_id *id)
{
    struct child child = child_start(id);

    kill(child.pid, SIGKILL);
    child_end(&child);
}

static void a_server_is_killed(void **state)
{
    struct wr_db *db;
    struct client_id id;

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
    struct client_id id;

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
    struct client_id id, mine;
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
    struct client_id id;

    (void)state;
    if (!getenv("TEST_CEPH_CONF"))
        skip();
    child_start_and_die(&id);
    usleep((LIFE_MS + ENGINE_LEASE_MS + 1000) * 1000);
    db = open_server();
    put_when_free(db, 1, 11);
    wr_close(db);
}

/* One server has known the lock for its life, and says so: from then on it has ended for a server,
 * too, that has met it just now. */
static void its_end_is_the_same_for_all(void **state)
{
    struct wr_db *servers[2];
    struct client_id id;

    (void)state;
    if (!getenv("TEST_CEPH_CONF"))
        skip();
    servers[0] = open_server();
    servers[1] = open_server_for("60000");
    assert_int_equal(begin(servers[0], 12, &id), WR_OK);
    assert_int_equal(put(servers[1], &id, 12, 1), WR_OK);
    usleep((LIFE_MS + 100) * 1000);
    assert_int_equal(put(servers[0], &id, 12, 2), WR_E_SESSION);
    assert_int_equal(put(servers[1], &id, 12, 3), WR_E_SESSION);
    assert_int_equal(end(servers[1], &id, false), WR_E_SESSION);
    assert_int_equal(get(servers[1], 12), 0);
    assert_int_equal(put(servers[1], NULL, 12, 4), WR_OK);
    wr_close(servers[0]);
    wr_close(servers[1]);
}

static int end_of_other_instance(struct wr_db *db, const struct client_id *id)
{
    struct wr_request r = {WR_REQUEST(COMMIT_TRANSACTION), .client = 1,
                           .instance = BYTES_LIT("other")};
    struct wr_reply *reply;
    int code;

    r.commit_transaction.id = bytes_str(id->text);
    reply = wr_exec(db, &r);
    code = reply->code;
    wr_reply_free(reply);
    return code;
}

static void ids_of_others(void **state)
{
    struct client_id id, wrong;
    struct wr_db *db;

    (void)state;
    if (!getenv("TEST_CEPH_CONF"))
        skip();
    db = open_server_for(LONG_MS);
    assert_int_equal(begin(db, 3, &id), WR_OK);
    assert_int_equal(put(db, &id, 3, 1), WR_OK);
    assert_int_equal(client_end(db, 2, &id, false), WR_E_SESSION);
    assert_int_equal(client_end(db, 2, &id, true), WR_E_SESSION);
    assert_int_equal(end_of_other_instance(db, &id), WR_E_NOT_EXIST);
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
    assert_int_equal(client_drop(db), WR_OK);
    assert_int_equal(put(db, &id, 3, 2), WR_E_NOT_EXIST);
    assert_int_equal(client_create(db), WR_OK);
    assert_int_equal(put(db, &id, 3, 2), WR_E_SESSION);
    assert_int_equal(end(db, &id, false), WR_E_SESSION);
    assert_int_equal(put(db, NULL, 3, 3), WR_OK);
    assert_int_equal(get(db, 3), 3);
    wr_close(db);
}

static struct wr_row_change change_of(struct wr_key_column *column, int64_t value)
{
    static struct wr_cell cell = {.name = BYTES_LIT("a"),
                                  .value = {.type = WR_BIGINT, .integer = 70},
                                  .timestamp_ms = WR_TIMESTAMP_NONE};

    return (struct wr_row_change){.type = WR_PUT, .row = {client_key(column, value), &cell, 1}};
}

/* The codes of a bulk import, or a batch, of two rows: of a locked value and another one. */
static void write_two(struct wr_db *db, int op, int64_t locked, int64_t other, int codes[2])
{
    struct wr_key_column columns[2];
    struct wr_row_change changes[] = {change_of(&columns[0], locked),
                                      change_of(&columns[1], other)};
    struct wr_table_write write = {.table = CLIENT_TABLE, .changes = changes, .change_count = 2};
    struct wr_request r = {.op = op, .instance = CLIENT_INSTANCE, .client = 1};
    struct wr_reply *reply;

    if (op == WR_OP_BULK_IMPORT)
        r.bulk_import.table = write;
    else
        r.batch_write_row = (struct wr_batch_write_row){.tables = &write, .table_count = 1};
    reply = wr_exec(db, &r);
    assert_int_equal(reply->code, WR_OK);
    for (size_t i = 0; i < 2; i++)
        codes[i] = reply->batch.tables[0].rows[i].code;
    wr_reply_free(reply);
}

static int delete_row(struct wr_db *db, int64_t value)
{
    struct wr_request r = {WR_REQUEST(DELETE_ROW), .client = 1};
    struct wr_key_column column;

    r.put_row = change_of(&column, value);
    r.put_row.type = WR_DELETE;
    r.put_row.table = CLIENT_TABLE;
    r.put_row.row.cell_count = 0;
    return database_run(db, &r);
}

/* Every way in which a row is written outside. */
static void writers_meet_the_lock(void **state)
{
    static const int ops[] = {WR_OP_BULK_IMPORT, WR_OP_BATCH_WRITE_ROW};
    struct wr_key_column column;
    struct client_id id;
    struct wr_status s;
    struct wr_db *db;
    int codes[2];

    (void)state;
    if (!getenv("TEST_CEPH_CONF"))
        skip();
    db = open_server_for(LONG_MS);
    assert_int_equal(put(db, NULL, 5, 1), WR_OK);
    assert_int_equal(begin(db, 5, &id), WR_OK);
    assert_int_equal(put(db, &id, 5, 2), WR_OK);
    for (size_t i = 0; i < PORT_COUNT(ops); i++) {
        write_two(db, ops[i], 5, 6, codes);
        assert_int_equal(codes[0], WR_E_CONFLICT);
        assert_int_equal(codes[1], WR_OK);
        assert_int_equal(get(db, 6), 70);
    }
    assert_int_equal(delete_row(db, 5), WR_E_CONFLICT);
    for (size_t size = 10; size < 40000000; size *= 2000000)
        assert_int_equal(
            database_stream(db, CLIENT_TABLE, client_key(&column, 5), BYTES_LIT("b"), size),
            WR_E_CONFLICT);
    wr_status(db, &s, sizeof(s));
    print_message("%llu met the lock\n", (unsigned long long)s.transaction_conflicts);
    assert_true(s.transaction_conflicts >= 4);
    assert_int_equal(get(db, 5), 1);
    assert_int_equal(end(db, &id, false), WR_OK);
    assert_int_equal(get(db, 5), 2);
    assert_int_equal(delete_row(db, 5), WR_OK);
    wr_close(db);
}

static int allow_update(struct wr_db *db, bool allow)
{
    struct wr_request r = {WR_REQUEST(UPDATE_TABLE)};

    r.update_table.table = CLIENT_TABLE;
    r.update_table.has_options = true;
    r.update_table.options =
        (struct wr_table_options){.given = WR_HAS_ALLOW_UPDATE, .allow_update = allow};
    return database_run(db, &r);
}

/* The table has come to refuse what it took inside: that ends the transaction, and frees the value
 * at once. (test/model found that the lock stayed for its time.) */
static void a_commit_is_refused(void **state)
{
    struct wr_cell cell = {.name = BYTES_LIT("b"),
                           .value = {.type = WR_BIGINT, .integer = 1},
                           .timestamp_ms = WR_TIMESTAMP_NONE};
    struct wr_request update = {WR_REQUEST(UPDATE_ROW), .client = 1};
    struct wr_key_column column;
    struct client_id id;
    struct wr_db *db;

    (void)state;
    if (!getenv("TEST_CEPH_CONF"))
        skip();
    db = open_server_for(LONG_MS);
    assert_int_equal(put(db, NULL, 8, 1), WR_OK);
    assert_int_equal(begin(db, 8, &id), WR_OK);
    update.put_row = (struct wr_row_change){.type = WR_UPDATE,
                                            .table = CLIENT_TABLE,
                                            .row = {client_key(&column, 8), &cell, 1},
                                            .transaction = bytes_str(id.text)};
    assert_int_equal(database_run(db, &update), WR_OK);
    assert_int_equal(allow_update(db, false), WR_OK);
    assert_int_equal(end(db, &id, false), WR_E_PARAMETER);
    assert_int_equal(put(db, NULL, 8, 2), WR_OK);
    assert_int_equal(end(db, &id, false), WR_E_SESSION);
    assert_int_equal(get(db, 8), 2);
    assert_int_equal(allow_update(db, true), WR_OK);
    wr_close(db);
}

/* One client has hundreds open; another one writes, begins and commits meanwhile. */
static void hundreds_are_open(void **state)
{
    static struct client_id ids[400];
    struct wr_db *db;
    struct client_id own;

    (void)state;
    if (!getenv("TEST_CEPH_CONF"))
        skip();
    db = open_server_for("60000");
    for (size_t i = 0; i < PORT_COUNT(ids); i++) {
        assert_int_equal(begin(db, 1000 + (int64_t)i, &ids[i]), WR_OK);
        assert_int_equal(put(db, &ids[i], 1000 + (int64_t)i, 1), WR_OK);
    }
    assert_int_equal(client_begin(db, 2, 2000, &own), WR_OK);
    assert_int_equal(
        client_put_cell(db, 2, &own, 2000, (struct wr_value){.type = WR_BIGINT, .integer = 3}),
        WR_OK);
    assert_int_equal(client_end(db, 2, &own, false), WR_OK);
    assert_int_equal(get(db, 2000), 3);
    for (size_t i = 0; i < PORT_COUNT(ids); i++) { /* unless a minute has passed */
        int code = end(db, &ids[i], i % 2);

        assert_true(code == WR_OK || code == WR_E_SESSION);
        if (!code)
            assert_int_equal(get(db, 1000 + (int64_t)i), i % 2 ? 0 : 1);
    }
    wr_close(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#ifndef __SANITIZE_THREAD__
        cmocka_unit_test(a_server_is_killed),
        cmocka_unit_test(another_server_goes_on),
        cmocka_unit_test(a_server_is_paused),
        cmocka_unit_test(nobody_has_met_it),
#endif
        cmocka_unit_test(its_end_is_the_same_for_all),
        cmocka_unit_test(writers_meet_the_lock),
        cmocka_unit_test(hundreds_are_open),
        cmocka_unit_test(a_commit_is_refused),
        cmocka_unit_test(ids_of_others)};

    return cmocka_run_group_tests(tests, pool_set_up, pool_tear_down);
}
