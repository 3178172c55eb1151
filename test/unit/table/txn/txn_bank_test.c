/* Transactions among atomic batches, readers, and kills: accounts under one partition-key value,
 * between which amounts are moved. Whoever reads a value's accounts at one moment finds the sum
 * with which they began. A transaction reads two accounts and puts both, so a write that comes in
 * between, or half of a transaction, breaks the sum. That the test would see it is shown by movers
 * that do the same without a transaction. */
#include "base/rng.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "../database.h"

#define VALUES 2
#define ACCOUNTS 6
#define BEGIN 1000
#define THREADS 4

#define TEXT(s)                                                                                    \
    {                                                                                              \
        s, sizeof(s) - 1                                                                           \
    }

static struct wr_db *db;
static const struct wr_bytes instance = TEXT("test"), table = TEXT("bank"), column = TEXT("n");
static atomic_bool stop, careless;
static _Atomic int committed, conflicts, wrong;

struct account {
    struct wr_key_column key[2];
};

static struct wr_key key_of(struct account *a, int value, int account)
{
    a->key[0] =
        (struct wr_key_column){.name = TEXT("pk"), .value = {.type = WR_BIGINT, .integer = value}};
    a->key[1] = (struct wr_key_column){.name = TEXT("id"),
                                       .value = {.type = WR_BIGINT, .integer = account}};
    return (struct wr_key){a->key, 2};
}

static struct wr_reply *run(struct wr_request *r)
{
    r->instance = instance;
    return wr_exec(db, r);
}

static int run_code(struct wr_request *r)
{
    struct wr_reply *reply = run(r);
    int code = reply->code;

    wr_reply_free(reply);
    return code;
}

static struct wr_row_change change_of(struct account *a, struct wr_cell *cell, int value,
                                      int account, int64_t n, bool increment)
{
    *cell = (struct wr_cell){.name = column,
                             .value = {.type = WR_BIGINT, .integer = n},
                             .timestamp_ms = WR_TIMESTAMP_NONE,
                             .op = increment ? WR_CELL_INCREMENT : WR_CELL_PUT};
    return (struct wr_row_change){
        .type = WR_UPDATE, .table = table, .row = {key_of(a, value, account), cell, 1}};
}

static int put(struct wr_bytes transaction, int value, int account, int64_t n)
{
    struct account a;
    struct wr_cell cell;
    struct wr_request r = {WR_REQUEST(UPDATE_ROW)};

    r.update_row = change_of(&a, &cell, value, account, n, false);
    r.update_row.transaction = transaction;
    return run_code(&r);
}

static int get(struct wr_bytes transaction, int value, int account, int64_t *n)
{
    struct account a;
    struct wr_request r = {WR_REQUEST(GET_ROW)};
    struct wr_reply *reply;
    int code;

    r.get_row = (struct wr_get_row){.table = table,
                                    .key = key_of(&a, value, account),
                                    .read = {.has_max_versions = true, .max_versions = 1},
                                    .transaction = transaction};
    reply = run(&r);
    code = reply->code;
    if (!code)
        *n = reply->row.row.cells[0].value.integer;
    wr_reply_free(reply);
    return code;
}

static int move(struct wr_bytes transaction, int value, int from, int to, int64_t amount)
{
    int64_t x = 0, y = 0;
    int code = get(transaction, value, from, &x);

    code = code ? code : get(transaction, value, to, &y);
    code = code ? code : put(transaction, value, from, x - amount);
    return code ? code : put(transaction, value, to, y + amount);
}

static void transaction(struct rng *rng, int value, int from, int to, int64_t amount)
{
    struct account a;
    struct wr_request r = {WR_REQUEST(START_LOCAL_TRANSACTION)}, end;
    struct wr_reply *begun;
    bool aborts = rng_below(rng, 4) == 0;

    r.start_local_transaction.table = table;
    r.start_local_transaction.key = key_of(&a, value, 0);
    r.start_local_transaction.key.count = 1;
    begun = run(&r);
    if (begun->code) {
        conflicts++;
    } else {
        if (move(begun->transaction.id, value, from, to, amount))
            wrong++;
        end = (struct wr_request){.op = aborts ? WR_OP_ABORT_TRANSACTION : WR_OP_COMMIT_TRANSACTION,
                                  .size = WR_SIZE_COMMIT_TRANSACTION};
        end.commit_transaction.id = begun->transaction.id;
        if (run_code(&end))
            wrong++;
        committed += !aborts;
    }
    wr_reply_free(begun);
}

static void batch(int value, int from, int to, int64_t amount)
{
    struct account a[2];
    struct wr_cell cells[2];
    struct wr_row_change changes[] = {change_of(&a[0], &cells[0], value, from, -amount, true),
                                      change_of(&a[1], &cells[1], value, to, amount, true)};
    struct wr_table_write write = {.table = table, .changes = changes, .change_count = 2};
    struct wr_request r = {WR_REQUEST(BATCH_WRITE_ROW)};

    r.batch_write_row =
        (struct wr_batch_write_row){.tables = &write, .table_count = 1, .atomic = true};
    if (run_code(&r))
        wrong++;
}

static void *mover(void *arg)
{
    struct rng rng;

    rng_init(&rng, (uint64_t)(uintptr_t)arg);
    while (!atomic_load(&stop)) {
        int value = (int)rng_below(&rng, VALUES), from = (int)rng_below(&rng, ACCOUNTS);
        int to = (from + 1 + (int)rng_below(&rng, ACCOUNTS - 1)) % ACCOUNTS;
        int64_t amount = (int64_t)rng_below(&rng, 50);

        if (atomic_load(&careless))
            move((struct wr_bytes){NULL, 0}, value, from, to, amount);
        else if (rng_below(&rng, 3) == 0)
            batch(value, from, to, amount);
        else
            transaction(&rng, value, from, to, amount);
    }
    return NULL;
}

static int64_t sum(int value)
{
    struct account from, to;
    struct wr_request r = {WR_REQUEST(GET_RANGE)};
    struct wr_reply *reply;
    int64_t n = 0;

    r.get_range = (struct wr_get_range){.table = table,
                                        .start = key_of(&from, value, 0),
                                        .end = key_of(&to, value, ACCOUNTS),
                                        .read = {.has_max_versions = true, .max_versions = 1}};
    reply = run(&r);
    assert_int_equal(reply->code, 0);
    for (size_t i = 0; i < reply->range.row_count; i++)
        n += reply->range.rows[i].cells[0].value.integer;
    wr_reply_free(reply);
    return n;
}

static void fill(void)
{
    static const struct wr_key_schema key[] = {{.name = TEXT("pk"), .type = WR_BIGINT},
                                               {.name = TEXT("id"), .type = WR_BIGINT}};
    struct wr_request r = {WR_REQUEST(CREATE_TABLE)};

    r.create_table = (struct wr_create_table){
        .table = table,
        .key = key,
        .key_count = 2,
        .options = {.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS, .ttl_s = -1, .max_versions = 1},
        .local_transactions = true};
    assert_int_equal(run_code(&r), 0);
    for (int v = 0; v < VALUES; v++)
        for (int i = 0; i < ACCOUNTS; i++)
            assert_int_equal(put((struct wr_bytes){NULL, 0}, v, i, BEGIN), 0);
}

/* Threads move until enough was committed; how often a reader found another sum. */
static int work(int enough)
{
    pthread_t threads[THREADS];
    int odd = 0;

    committed = conflicts = wrong = 0;
    atomic_store(&stop, false);
    for (size_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, mover, (void *)(i + 1));
    for (int i = 0; i < 100000 && (committed < enough || !conflicts) && !(careless && odd); i++)
        odd += sum(i % VALUES) != ACCOUNTS * BEGIN;
    atomic_store(&stop, true);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int v = 0; v < VALUES; v++)
        odd += sum(v) != ACCOUNTS * BEGIN;
    return odd;
}

static void open_at(const char *engine, const char *dir)
{
    db = database_open(
        &(struct wr_options){WR_OPTIONS, .engine = engine, .dir = dir, .no_sync = !dir});
}

static void test_sums(void **state)
{
    (void)state;
    open_at("mem", NULL);
    fill();
    assert_int_equal(work(300), 0);
    assert_int_equal(wrong, 0);
    assert_true(conflicts > 0);
    wr_close(db);
}

static void test_the_test_would_see_it(void **state)
{
    (void)state;
    open_at("mem", NULL);
    fill();
    atomic_store(&careless, true);
    assert_true(work(INT32_MAX) > 0);
    atomic_store(&careless, false);
    wr_close(db);
}

#ifndef __SANITIZE_THREAD__ /* which knows no threads behind a fork */
/* Killed while it commits, a process leaves whole transactions only. */
static void test_kills(void **state)
{
    char dir[FOLDER_BYTES];

    (void)state;
    folder_make(dir);
    open_at("rocks", dir);
    fill();
    wr_close(db);
    for (int i = 0; i < 3; i++) {
        int ready[2], status;
        pid_t child;
        char byte;

        assert_int_equal(pipe(ready), 0);
        child = fork();
        if (!child) {
            open_at("rocks", dir);
            signal(SIGALRM, SIG_DFL);
            if (work(20) || write(ready[1], "x", 1) != 1)
                _exit(1);
            work(INT32_MAX);
            _exit(0);
        }
        close(ready[1]);
        assert_int_equal(read(ready[0], &byte, 1), 1); /* it has committed some */
        close(ready[0]);
        usleep(30000);
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
        assert_true(WIFSIGNALED(status));
        open_at("rocks", dir);
        for (int v = 0; v < VALUES; v++)
            assert_int_equal(sum(v), ACCOUNTS * BEGIN);
        wr_close(db);
    }
    folder_remove(dir);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
#ifndef __SANITIZE_THREAD__           /* which knows no threads behind a fork */
        cmocka_unit_test(test_kills), /* first: it forks */
#endif
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_the_test_would_see_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
