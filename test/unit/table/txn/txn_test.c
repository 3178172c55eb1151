/* The lock of a partition-key value and the life of a transaction, with a clock that the test sets,
 * and without rows: test/spec/txn.spec has those. */
#include "base/rng.h"
#include "base/scheduler.h"
#include "table/model/key.h"
#include "table/txn/txn.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>
#include <cmocka.h>
#undef fail /* the name is ctx.h's in this house */

#define MS 1000ll

static struct wr_db *db;
static struct table *table;
static const struct wr_key_schema schema[] = {{.name = {"pk", 2}, .type = WR_BIGINT}};

static int64_t rate(void *arg)
{
    (void)arg;
    return 0;
}

static bool never(void *arg)
{
    (void)arg;
    return false;
}

static int setup(void **state)
{
    struct scheduler_conf conf = {rate, never, never, NULL};

    (void)state;
    db = mem_zalloc(sizeof(*db));
    clock_set_init(&db->clock, 1000 * MS);
    limits_init(&db->limits, false);
    memory_init(&db->memory, &(struct wr_options){.memory_bytes = 4 << 20});
    db->background = scheduler_new(&conf);
    db->txns = txns_new(db, NULL);
    assert_true(txns_start(db->txns));
    table = mem_zalloc(sizeof(*table));
    table->schema.id = 7;
    table->schema.d.table = BYTES_LIT("t");
    table->schema.location = (struct location){
        .id = 7, .layout = {.buckets = 1, .partition_cols = 1}, .key = schema, .key_count = 1};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    scheduler_stop(db->background);
    txns_free(db->txns);
    scheduler_free(db->background);
    assert_int_equal(atomic_load(&db->memory.requests->bytes), 0);
    memory_release(&db->memory);
    mem_free(table);
    mem_free(db);
    return 0;
}

/* A request, and its answer. */
struct asked {
    struct call call;
    struct wr_request req;
    atomic_bool done;
    int code;
    char id[37];
};

static void answered(void *arg, struct wr_reply *reply)
{
    struct asked *a = arg;

    a->code = reply->code;
    if (!reply->code && a->req.op == WR_OP_START_LOCAL_TRANSACTION)
        memcpy(a->id, reply->transaction.id.ptr, 36);
    atomic_store(&a->done, true);
}

static struct asked *ask(enum wr_op op, uint64_t client)
{
    struct asked *a = mem_zalloc(sizeof(*a));

    a->req = (struct wr_request){.op = op, .client = client, .instance = BYTES_LIT("i")};
    ctx_init(&a->call.c, &db->clock, NULL, NULL, 0);
    a->call.db = db;
    a->call.req = &a->req;
    a->call.done = answered;
    a->call.arg = a;
    atomic_fetch_add(&db->requests, 1);
    return a;
}

static void forget(struct asked *a)
{
    ctx_release(&a->call.c);
    mem_free(a);
}

/* The key column of a value, encoded; good until the next one of this thread. */
static bytes value(int n)
{
    static _Thread_local uint8_t encoded[9];

    memset(encoded, 0, sizeof(encoded));
    encoded[0] = 0x40 + WR_BIGINT;
    encoded[8] = (uint8_t)n;
    return bytes_of(encoded, key_columns_length(schema, bytes_of(encoded, 9), 1));
}

/* A start that is answered, or waits. */
static struct asked *begin(int n, uint64_t client)
{
    struct asked *a = ask(WR_OP_START_LOCAL_TRANSACTION, client);

    if (txn_begin(&a->call, table, value(n)))
        call_finish(&a->call);
    return a;
}

static int begin_code(int n, uint64_t client)
{
    struct asked *a = begin(n, client);
    int code = a->code;

    assert_true(atomic_load(&a->done));
    forget(a);
    return code;
}

static void begin_id(int n, uint64_t client, char id[37])
{
    struct asked *a = begin(n, client);

    assert_true(atomic_load(&a->done));
    assert_int_equal(a->code, E_OK);
    memcpy(id, a->id, 37);
    forget(a);
}

/* A request in the transaction; `ends`: it aborts. */
static int visit(const char *id, uint64_t client, bool ends)
{
    struct asked *a = ask(WR_OP_ABORT_TRANSACTION, client);
    int code = txn_enter(&a->call, bytes_str(id), NULL);

    if (!code && ends)
        txn_drop(&a->call);
    else
        call_finish(&a->call);
    forget(a);
    return code;
}

static int write_code(int n, struct txn_gate **gate)
{
    struct asked *a = ask(WR_OP_PUT_ROW, 1);
    int code = txn_gate_enter(&a->call, table, value(n), gate);

    call_finish(&a->call);
    forget(a);
    return code;
}

static void test_writes_share_and_a_start_excludes(void **state)
{
    struct txn_gate *one, *two, *three;
    struct asked *start;

    (void)state;
    assert_int_equal(write_code(1, &one), E_OK);
    assert_int_equal(write_code(1, &two), E_OK);
    start = begin(1, 1);
    assert_false(atomic_load(&start->done));
    assert_int_equal(write_code(1, &three), E_CONFLICT); /* it would never come to its turn */
    assert_int_equal(begin_code(1, 2), E_CONFLICT);
    assert_int_equal(write_code(2, &three), E_OK);
    txn_gate_leave(db, three);
    txn_gate_leave(db, one);
    assert_false(atomic_load(&start->done));
    txn_gate_leave(db, two);
    assert_true(atomic_load(&start->done));
    assert_int_equal(start->code, E_OK);
    assert_int_equal(write_code(1, &three), E_CONFLICT);
    assert_int_equal(visit(start->id, 1, true), E_OK);
    assert_int_equal(write_code(1, &three), E_OK);
    txn_gate_leave(db, three);
    forget(start);
}

static void test_a_start_waits_for_so_long(void **state)
{
    struct txn_gate *gate, *other;
    struct asked *start;

    (void)state;
    assert_int_equal(write_code(1, &gate), E_OK);
    scheduler_stop(db->background); /* the task reads the clock that is set here */
    start = begin(1, 1);
    scheduler_free(db->background);
    clock_set_step(&db->clock, 0);
    db->clock.set_us += 1001 * MS;
    db->background = scheduler_new(&(struct scheduler_conf){rate, never, never, NULL});
    assert_true(txns_start(db->txns));
    assert_int_equal(begin_code(2, 1), E_OK); /* wakes it */
    while (!atomic_load(&start->done))
        usleep(1000);
    assert_int_equal(start->code, E_CONFLICT);
    assert_int_equal(write_code(1, &other), E_OK);
    txn_gate_leave(db, other);
    txn_gate_leave(db, gate);
    forget(start);
}

static void test_life(void **state)
{
    struct txn_gate *gate;
    char id[37];

    (void)state;
    scheduler_stop(db->background); /* whoever meets it ends it, too */
    begin_id(1, 1, id);
    db->clock.set_us += 59999 * MS;
    clock_set_step(&db->clock, 3600 * 1000 * MS); /* the wall clock is nothing to it */
    assert_int_equal(write_code(1, &gate), E_CONFLICT);
    assert_int_equal(visit(id, 1, false), E_OK);
    db->clock.set_us += 1 * MS;
    assert_int_equal(write_code(1, &gate), E_OK);
    txn_gate_leave(db, gate);
    assert_int_equal(visit(id, 1, false), E_SESSION);
    begin_id(1, 1, id);
    db->clock.set_us += 60000 * MS;
    assert_int_equal(visit(id, 1, false), E_SESSION);
    assert_int_equal(begin_code(1, 1), E_OK);
}

static void test_time_does_not_end_a_commit(void **state)
{
    struct asked *commit, *late;
    struct txn_gate *gate;
    char id[37];

    (void)state;
    scheduler_stop(db->background);
    begin_id(1, 1, id);
    commit = ask(WR_OP_COMMIT_TRANSACTION, 1);
    assert_int_equal(txn_enter(&commit->call, bytes_str(id), NULL), E_OK);
    assert_int_equal(visit(id, 1, false), E_SESSION_BUSY);
    assert_int_equal(txn_commits(&commit->call), E_OK);
    db->clock.set_us += 60000 * MS;
    assert_int_equal(write_code(1, &gate), E_CONFLICT);
    call_finish(&commit->call);
    assert_int_equal(write_code(1, &gate), E_OK);
    txn_gate_leave(db, gate);
    forget(commit);
    /* Its time was over before the commit began. */
    begin_id(1, 1, id);
    late = ask(WR_OP_COMMIT_TRANSACTION, 1);
    assert_int_equal(txn_enter(&late->call, bytes_str(id), NULL), E_OK);
    db->clock.set_us += 60000 * MS;
    assert_int_equal(write_code(1, &gate), E_OK);
    txn_gate_leave(db, gate);
    assert_int_equal(txn_commits(&late->call), E_SESSION);
    call_finish(&late->call);
    forget(late);
}

static void test_a_commit_that_came_to_nothing_can_be_tried_again(void **state)
{
    struct asked *commit = ask(WR_OP_COMMIT_TRANSACTION, 1);
    struct txn_gate *gate;
    char id[37];

    (void)state;
    begin_id(1, 1, id);
    assert_int_equal(txn_enter(&commit->call, bytes_str(id), NULL), E_OK);
    assert_int_equal(txn_commits(&commit->call), E_OK);
    fail_code(&commit->call.c, E_BUSY);
    call_finish(&commit->call);
    assert_int_equal(write_code(1, &gate), E_CONFLICT);
    assert_int_equal(visit(id, 1, false), E_OK);
    ctx_clear(&commit->call.c);
    commit->call.reply = (struct wr_reply){.code = 0};
    commit->call.done = answered;
    commit->call.arg = commit;
    atomic_fetch_add(&db->requests, 1);
    assert_int_equal(txn_enter(&commit->call, bytes_str(id), NULL), E_OK);
    assert_int_equal(txn_commits(&commit->call), E_OK);
    fail_code(&commit->call.c, E_UNSURE); /* it may have landed: nobody may try again */
    call_finish(&commit->call);
    assert_int_equal(visit(id, 1, false), E_SESSION);
    assert_int_equal(write_code(1, &gate), E_OK);
    txn_gate_leave(db, gate);
    forget(commit);
}

static void test_ids_are_their_clients(void **state)
{
    struct asked *other;
    char id[37];

    (void)state;
    begin_id(1, 1, id);
    assert_int_equal(visit(id, 2, true), E_SESSION);
    other = ask(WR_OP_ABORT_TRANSACTION, 1);
    other->req.instance = BYTES_LIT("j");
    assert_int_equal(txn_enter(&other->call, bytes_str(id), NULL), E_SESSION);
    call_finish(&other->call);
    forget(other);
    assert_int_equal(visit(id, 1, true), E_OK);
    assert_int_equal(visit(id, 1, true), E_SESSION);
}

/* 512 KiB for all: who opens as many as there is room for leaves as much to the next. */
static void test_one_client_leaves_room_for_others(void **state)
{
    struct txn_stat stat;
    int first = 0, second = 0;
    bytes key;
    uint8_t wide[9] = {0x40 + WR_BIGINT};

    (void)state;
    for (int client = 1; client <= 2; client++)
        for (int n = 0;; n++) {
            struct asked *a = ask(WR_OP_START_LOCAL_TRANSACTION, (uint64_t)client);
            int code;

            wide[6] = (uint8_t)client;
            wide[7] = (uint8_t)(n >> 8);
            wide[8] = (uint8_t)n;
            key = bytes_of(wide, 9);
            code = txn_begin(&a->call, table, key);
            if (code)
                call_finish(&a->call);
            forget(a);
            if (code) {
                assert_int_equal(code, E_BUSY);
                break;
            }
            *(client == 1 ? &first : &second) += 1;
        }
    assert_true(first > 50);
    assert_true(second >= first / 3);
    txns_stat(db->txns, &stat);
    assert_int_equal(stat.open, first + second);
    assert_true(stat.bytes <= (4 << 20) / 8);
    assert_int_equal(atomic_load(&db->memory.requests->bytes), stat.bytes);
}

/* ---- many threads ---- */

#define VALUES 3
#define ROUNDS 3000

static _Atomic int writers[VALUES], owners[VALUES];

static void wait_for(struct asked *a)
{
    while (!atomic_load(&a->done))
        usleep(50);
}

static void own(int n, uint64_t client)
{
    struct asked *a = begin(n, client);
    char id[37];

    wait_for(a);
    if (!a->code) {
        memcpy(id, a->id, 37);
        assert_int_equal(atomic_fetch_add(&owners[n], 1), 0);
        assert_int_equal(atomic_load(&writers[n]), 0);
        sched_yield();
        assert_int_equal(atomic_load(&writers[n]), 0);
        atomic_fetch_sub(&owners[n], 1);
        assert_int_equal(visit(id, client, true), E_OK);
    }
    forget(a);
}

static void *worker(void *arg)
{
    struct rng rng;

    rng_init(&rng, (uint64_t)(uintptr_t)arg);
    for (int i = 0; i < ROUNDS; i++) {
        int n = (int)rng_below(&rng, VALUES);
        struct txn_gate *gate;

        if (rng_below(&rng, 4) == 0) {
            own(n, (uint64_t)(uintptr_t)arg);
        } else if (!write_code(n, &gate)) {
            atomic_fetch_add(&writers[n], 1);
            assert_int_equal(atomic_load(&owners[n]), 0);
            sched_yield();
            atomic_fetch_sub(&writers[n], 1);
            txn_gate_leave(db, gate);
        }
    }
    return NULL;
}

static void test_threads(void **state)
{
    pthread_t threads[4];
    struct txn_stat stat;

    (void)state;
    for (size_t i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, worker, (void *)(i + 1));
    for (size_t i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    txns_stat(db->txns, &stat);
    assert_int_equal(stat.open, 0);
    assert_int_equal(stat.bytes, 0);
    assert_true(stat.aborted > 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_writes_share_and_a_start_excludes),
        TEST(test_a_start_waits_for_so_long),
        TEST(test_life),
        TEST(test_time_does_not_end_a_commit),
        TEST(test_a_commit_that_came_to_nothing_can_be_tried_again),
        TEST(test_ids_are_their_clients),
        TEST(test_one_client_leaves_room_for_others),
        TEST(test_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
