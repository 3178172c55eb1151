/* A write whose sync hangs: its client is told within op_timeout that the outcome is not known, the
 * write keeps its row, and all is well when the disk is back. */
#include "client/client.h"
#include "server/op.h"

#include <ftw.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#define TABLE BYTES_LIT("t")

static struct {
    struct clock clock;
    struct log log;
    struct wr_db *db;
    struct credential_store *credentials;
    struct server_stat stat;
    struct op_front door;
    struct http *http;
    struct target target;
    struct client *client;
    char dir[64];
} t;

/* ---- a disk that hangs ---- */

static pthread_mutex_t disk_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t disk_back = PTHREAD_COND_INITIALIZER;
static bool disk_hangs;

static void disk(bool hangs)
{
    pthread_mutex_lock(&disk_lock);
    disk_hangs = hangs;
    pthread_cond_broadcast(&disk_back);
    pthread_mutex_unlock(&disk_lock);
}

/* In place of the C library's, for the whole program. */
__attribute__((visibility("default"))) int fdatasync(int fd)
{
    pthread_mutex_lock(&disk_lock);
    while (disk_hangs)
        pthread_cond_wait(&disk_back, &disk_lock);
    pthread_mutex_unlock(&disk_lock);
    return (int)syscall(SYS_fdatasync, fd);
}

/* ---- requests ---- */

static int change(enum wr_op op, struct wr_cell *cell)
{
    struct wr_key_column key = {BYTES_LIT("k"), {.type = WR_BIGINT, .integer = 1}};
    struct wr_request req = {.op = op};
    struct wr_row_change *to = op == WR_OP_PUT_ROW ? &req.put_row : &req.update_row;
    struct wr_reply reply;
    struct ctx c;
    int code;

    *to = (struct wr_row_change){.type = op == WR_OP_PUT_ROW ? WR_PUT : WR_UPDATE,
                                 .table = TABLE,
                                 .row = {{&key, 1}, cell, 1}};
    ctx_init(&c, &t.clock, NULL, NULL, 0);
    code = client_exec(&c, t.client, &req, &reply);
    ctx_release(&c);
    return code;
}

static int put(int64_t value)
{
    struct wr_cell cell = {.name = BYTES_LIT("v"),
                           .op = WR_CELL_PUT,
                           .value = {.type = WR_BIGINT, .integer = value},
                           .timestamp_ms = WR_TIMESTAMP_NONE};

    return change(WR_OP_PUT_ROW, &cell);
}

/* It depends on the row, so it waits for the row's lock. */
static int increment(void)
{
    struct wr_cell cell = {.name = BYTES_LIT("v"),
                           .op = WR_CELL_INCREMENT,
                           .value = {.type = WR_BIGINT, .integer = 1},
                           .timestamp_ms = WR_TIMESTAMP_NONE};

    return change(WR_OP_UPDATE_ROW, &cell);
}

static int64_t get(void)
{
    struct wr_key_column key = {BYTES_LIT("k"), {.type = WR_BIGINT, .integer = 1}};
    struct wr_request req = {.op = WR_OP_GET_ROW};
    struct wr_reply reply;
    struct ctx c;
    int64_t value;

    req.get_row = (struct wr_get_row){
        .table = TABLE, .key = {&key, 1}, .read = {.has_max_versions = true, .max_versions = 1}};
    ctx_init(&c, &t.clock, NULL, NULL, 0);
    assert_int_equal(client_exec(&c, t.client, &req, &reply), E_OK);
    assert_int_equal(reply.row.row.cell_count, 1);
    value = reply.row.row.cells[0].value.integer;
    ctx_release(&c);
    return value;
}

static void create(void)
{
    struct wr_key_schema key = {.name = BYTES_LIT("k"), .type = WR_BIGINT};
    struct wr_request req = {.op = WR_OP_CREATE_TABLE};
    struct wr_reply reply;
    struct ctx c;

    req.create_table = (struct wr_create_table){
        .table = TABLE,
        .key = &key,
        .key_count = 1,
        .options = {.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS, .ttl_s = -1, .max_versions = 1}};
    ctx_init(&c, &t.clock, NULL, NULL, 0);
    assert_int_equal(client_exec(&c, t.client, &req, &reply), E_OK);
    ctx_release(&c);
}

/* ---- the server ---- */

static int setup(void **state)
{
    struct wr_options options = {.version = WR_API_VERSION, .dir = t.dir};
    struct credential_conf conf = {
        .instance = "main", .id = "key-1", .secret = "secret-1", .log = &t.log};
    struct http_conf http = {.address = "127.0.0.1:0",
                             .clock = &t.clock,
                             .log = &t.log,
                             .on_head = op_on_head,
                             .on_request = op_on_request,
                             .arg = &t.door};
    static char endpoint[64];
    char message[256] = "";
    struct ctx c;

    (void)state;
    clock_real_init(&t.clock);
    t.log = (struct log){.level = 'E', .clock = &t.clock};
    snprintf(t.dir, sizeof(t.dir), "/tmp/wr-late.XXXXXX");
    assert_non_null(mkdtemp(t.dir));
    if (wr_open(&options, &t.db, message, sizeof(message)) ||
        credential_store_open(&conf, &t.credentials, message, sizeof(message)))
        fail_msg("%s", message);
    t.door = (struct op_front){.db = t.db,
                               .credentials = t.credentials,
                               .stat = &t.stat,
                               .clock = &t.clock,
                               .log = &t.log,
                               .op_timeout_ms = 1000,
                               .access_fd = -1,
                               .seed = 7};
    if (http_open(&http, &t.http, message, sizeof(message)))
        fail_msg("%s", message);
    snprintf(endpoint, sizeof(endpoint), "http://%s", http_address(t.http));
    t.target = (struct target){.instance = BYTES_LIT("main"),
                               .endpoint = endpoint,
                               .key_id = BYTES_LIT("key-1"),
                               .key_secret = BYTES_LIT("secret-1")};
    ctx_init(&c, &t.clock, NULL, NULL, 0);
    assert_int_equal(client_open(&c, &t.target, &t.client), E_OK);
    ctx_release(&c);
    create();
    t.client->retry_ms = 0;
    return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static int teardown(void **state)
{
    (void)state;
    disk(false); /* also where a test has failed */
    client_close(t.client);
    http_close(t.http, 1000); /* NULL: closed before */
    wr_close(t.db);
    credential_store_close(t.credentials);
    nftw(t.dir, remove_one, 32, FTW_DEPTH | FTW_PHYS);
    return 0;
}

/* ---- tests ---- */

/* A machine that is slow beyond op_timeout is asked again. */
static int until_ok(int (*fn)(void))
{
    int tries = 1;

    while (fn() != E_OK && tries < 60)
        tries++;
    return tries;
}

static int put_one(void)
{
    return put(1);
}

/* The disk comes back only when all have their answers, so none of them can have waited for it. */
static void test_answered_while_the_disk_hangs(void **state)
{
    int tries;

    (void)state;
    assert_in_range(until_ok(put_one), 1, 59);
    disk(true);
    assert_int_equal(put(5), E_UNSURE);
    assert_int_equal(increment(), E_UNSURE); /* on the same connection, and of the same row */
    disk(false);
    tries = until_ok(increment); /* behind both: rows are changed in their order */
    assert_in_range(tries, 1, 59);
    assert_in_range(get(), 6, 6 + tries); /* what was not known may have been done or given up */
}

static void *disk_back_main(void *arg)
{
    (void)arg;
    nanosleep(&(struct timespec){3, 0}, NULL);
    disk(false);
    return NULL;
}

/* The server closes while a write that has been answered still waits: it is waited for. */
static void test_closing_waits(void **state)
{
    pthread_t thread;

    (void)state;
    disk(true);
    assert_int_equal(put(9), E_UNSURE);
    pthread_create(&thread, NULL, disk_back_main, NULL);
    client_close(t.client);
    t.client = NULL;
    http_close(t.http, 100);
    t.http = NULL;
    pthread_join(thread, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_answered_while_the_disk_hangs, setup, teardown),
        cmocka_unit_test_setup_teardown(test_closing_waits, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
