/* Crowds of transactions: thousands that are open at once, clients that never end theirs, and many
 * writers, and cells that come as streams, at one lock. Memory stays within its bound, and the
 * others go on. */
#include "table/core/db.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>
#include <cmocka.h>

#include "../database.h"
#include "client.h"

#define MEMORY (256u << 20)
#define SHARE (MEMORY / 8)
#define THOUSANDS 3000 /* of open ones, at least */
#define WRITERS 8
#define WRITES 400
#define VALUE_BYTES 2000
#define BLOCK 65536 /* of memory: what the last write may take more than was asked for */
static struct wr_db *db;

static void open_with(struct wr_setting *settings, size_t count)
{
    struct wr_options o = {WR_OPTIONS, .engine = "mem", .memory_bytes = MEMORY,
                           .settings = settings, .setting_count = count};

    db = database_open(&o);
    assert_int_equal(client_create(db), 0);
}

static int begin(uint64_t client, int64_t value, struct client_id *id)
{
    return client_begin(db, client, value, id);
}

/* Outside of transactions, if id is NULL. */
static int put(uint64_t client, const struct client_id *id, int64_t value, size_t size)
{
    static char text[VALUE_BYTES];

    return client_put_cell(db, client, id, value,
                           (struct wr_value){.type = WR_VARBINARY, .bytes = {text, size}});
}

static struct wr_status status(void)
{
    struct wr_status s;

    wr_status(db, &s, sizeof(s));
    return s;
}

static size_t held(void)
{
    return atomic_load(&db->memory.requests->bytes);
}

/* Another client begins, writes and commits, and writes outside. */
static void others_go_on(uint64_t client)
{
    for (int64_t value = -100; value < 0; value++) {
        struct client_id id;

        assert_int_equal(begin(client, value, &id), 0);
        assert_int_equal(put(client, &id, value, VALUE_BYTES), 0);
        assert_int_equal(client_end(db, client, &id, value % 2), 0);
        assert_int_equal(put(client, NULL, value, VALUE_BYTES), 0);
    }
}

/* Clients open as many as they may: the first takes a half, the next a half of the rest, ... */
static void test_thousands_are_open(void **state)
{
    static struct client_id ids[20000];
    uint64_t client = 1;
    size_t open = 0, before;

    (void)state;
    open_with(NULL, 0);
    before = held();
    for (; client <= 3; client++) {
        int code = 0;

        while (!code && open < PORT_COUNT(ids)) {
            code = begin(client, (int64_t)open, &ids[open]);
            open += !code;
        }
        assert_int_equal(code, WR_E_BUSY);
        assert_in_range(status().transaction_bytes, 1, SHARE + BLOCK);
    }
    assert_in_range(open, THOUSANDS, PORT_COUNT(ids) - 1);
    assert_int_equal(status().transactions, open);
    assert_in_range(held() - before, 1, SHARE + BLOCK);
    others_go_on(client);
    for (size_t i = 0; i < open; i++)
        for (uint64_t c = 1; c <= 3 && client_end(db, c, &ids[i], true); c++)
            ;
    assert_int_equal(status().transactions, 0);
    assert_int_equal(status().transaction_bytes, 0);
    assert_int_equal(held(), before);
    wr_close(db);
}

/* It writes in each, too, and comes back to none of them. */
static void test_a_client_never_ends(void **state)
{
    int64_t value = 0;
    int code = 0;

    (void)state;
    open_with(NULL, 0);
    for (struct client_id id; !code; value++) {
        code = begin(1, value, &id);
        code = code ? code : put(1, &id, value, VALUE_BYTES);
    }
    assert_int_equal(code, WR_E_BUSY);
    assert_in_range(status().transaction_bytes, SHARE / 4, SHARE / 2 + BLOCK);
    others_go_on(2);
    assert_int_equal(put(2, NULL, 0, 1), WR_E_CONFLICT); /* what it has it keeps for its time */
    wr_close(db);
}

/* When their time is over nothing is left of them. */
static void test_time_ends_them(void **state)
{
    struct wr_setting settings[] = {{"transaction_ms_max", "1000"}};
    uint64_t begun = 0;

    (void)state;
    open_with(settings, 1);
    for (int64_t value = 0; value < THOUSANDS; value++) {
        struct client_id id;

        if (begin(1, value, &id))
            continue;
        begun++;
        put(1, &id, value, VALUE_BYTES);
    }
    while (status().transactions)
        usleep(1000);
    assert_int_equal(status().transactions_expired, begun);
    assert_int_equal(status().transaction_bytes, 0);
    others_go_on(1);
    wr_close(db);
}

/* A cell that comes as a stream meets the lock, whether it is stored in its row or apart; and one
 * whose bytes are still coming when a transaction begins does not get past it. */
static void test_cells_at_a_lock(void **state)
{
    struct wr_key_column column;
    struct client_id id;

    (void)state;
    open_with(NULL, 0);
    assert_int_equal(begin(1, 1, &id), 0);
    for (size_t size = 10; size < 40000000; size *= 2000000) {
        assert_int_equal(
            database_stream(db, CLIENT_TABLE, client_key(&column, 1), BYTES_LIT("b"), size),
            WR_E_CONFLICT);
        assert_int_equal(
            database_stream(db, CLIENT_TABLE, client_key(&column, 2), BYTES_LIT("b"), size), 0);
    }
    assert_int_equal(put(1, &id, 1, VALUE_BYTES), 0);
    assert_int_equal(client_end(db, 1, &id, false), 0);
    assert_int_equal(database_stream(db, CLIENT_TABLE, client_key(&column, 1), BYTES_LIT("b"), 10),
                     0);
    wr_close(db);
}

/* The cell is refused, and the transaction's own writes are what is there. */
static void test_a_cell_that_is_under_way(void **state)
{
    struct wr_key_column column;
    struct wr_cell_put cell = {.size = sizeof(cell),
                               .instance = CLIENT_INSTANCE,
                               .table = CLIENT_TABLE,
                               .key = client_key(&column, 1),
                               .column = BYTES_LIT("b"),
                               .length = 20 << 20,
                               .timestamp_ms = WR_TIMESTAMP_NONE};
    char message[256] = "", *data = calloc(1, cell.length + 1);
    struct wr_cell_writer *w;
    struct wr_reply *reply;
    struct client_id id;

    (void)state;
    open_with(NULL, 0);
    wr_cell_writer_open(db, &cell, &w, message, sizeof(message));
    assert_string_equal(message, "");
    assert_int_equal(wr_cell_write(w, data, cell.length / 2, NULL, NULL), cell.length / 2);
    assert_int_equal(begin(1, 1, &id), 0);
    assert_int_equal(put(1, &id, 1, VALUE_BYTES), 0);
    assert_int_equal(wr_cell_write(w, data, cell.length / 2, NULL, NULL), cell.length / 2);
    reply = wr_cell_finish_wait(w);
    assert_int_equal(reply->code, WR_E_CONFLICT);
    wr_reply_free(reply);
    wr_cell_writer_free(w);
    free(data);
    assert_int_equal(client_end(db, 1, &id, false), 0);
    assert_int_equal(put(1, NULL, 1, VALUE_BYTES), 0);
    wr_close(db);
}

static atomic_int refused, other;

static void *writer(void *arg)
{
    uint64_t client = (uint64_t)(uintptr_t)arg;

    for (int i = 0; i < WRITES; i++) {
        int code = put(client, NULL, 1, VALUE_BYTES);

        *(code == WR_E_CONFLICT ? &refused : &other) += 1;
    }
    return NULL;
}

/* None of them waits. */
static void test_writers_at_one_lock(void **state)
{
    pthread_t threads[WRITERS];
    size_t before;
    struct client_id id;

    (void)state;
    open_with(NULL, 0);
    assert_int_equal(begin(99, 1, &id), 0);
    before = held();
    for (size_t i = 0; i < WRITERS; i++)
        pthread_create(&threads[i], NULL, writer, (void *)(i + 1));
    for (size_t i = 0; i < WRITERS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(refused, WRITERS * WRITES);
    assert_int_equal(other, 0);
    assert_int_equal(held(), before);
    assert_int_equal(put(99, &id, 1, VALUE_BYTES), 0);
    assert_int_equal(client_end(db, 99, &id, false), 0);
    assert_int_equal(put(1, NULL, 1, VALUE_BYTES), 0);
    wr_close(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_thousands_are_open), cmocka_unit_test(test_a_client_never_ends),
        cmocka_unit_test(test_time_ends_them),     cmocka_unit_test(test_writers_at_one_lock),
        cmocka_unit_test(test_cells_at_a_lock),    cmocka_unit_test(test_a_cell_that_is_under_way),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
