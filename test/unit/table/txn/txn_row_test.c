/* What a transaction's changes of a row come to (src/table/txn/txn_row.h): the same as outside. The
 * same random changes are made of rows inside a transaction and of their twins outside of any, and
 * after each one both are read, all versions of them; then the transaction commits. And however
 * many changes there were, a read and the commit take the memory of one, and a commit has its
 * bounds. */
#include "base/rng.h"
#include "table/core/db.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h>
#include <cmocka.h>

#include "../database.h"

#define ROWS 3
#define COLUMNS 5
#define STAMPS 6
#define CELLS_MAX 4
#define TEXT(s)                                                                                    \
    {                                                                                              \
        s, sizeof(s) - 1                                                                           \
    }

static const struct wr_bytes table = TEXT("t");
static int64_t begin_ms;

struct key {
    struct wr_key_column columns[2];
};

static struct wr_key key_of(struct key *k, int64_t value, int64_t id)
{
    k->columns[0] =
        (struct wr_key_column){.name = TEXT("pk"), .value = {.type = WR_BIGINT, .integer = value}};
    k->columns[1] =
        (struct wr_key_column){.name = TEXT("id"), .value = {.type = WR_BIGINT, .integer = id}};
    return (struct wr_key){k->columns, 2};
}

static void make_table(struct wr_db *db, int32_t versions)
{
    static const struct wr_key_schema key[] = {{.name = TEXT("pk"), .type = WR_BIGINT},
                                               {.name = TEXT("id"), .type = WR_BIGINT}};
    struct wr_request r = {WR_REQUEST(CREATE_TABLE)};

    r.create_table = (struct wr_create_table){.table = table,
                                              .key = key,
                                              .key_count = 2,
                                              .options = {.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS,
                                                          .ttl_s = -1,
                                                          .max_versions = versions},
                                              .local_transactions = true};
    assert_int_equal(database_run(db, &r), 0);
}

static struct wr_db *open_with(struct wr_setting *settings, size_t count, int32_t versions)
{
    struct wr_options o = {WR_OPTIONS, .engine = "mem", .settings = settings,
                           .setting_count = count};
    struct wr_db *db = database_open(&o);

    make_table(db, versions);
    return db;
}

/* ---- a transaction ---- */

struct transaction {
    struct wr_db *db;
    char id[36];
};

static struct wr_bytes id_of(const struct transaction *t)
{
    return (struct wr_bytes){t->id, t->db ? sizeof(t->id) : 0};
}

static void begin(struct wr_db *db, int64_t value, struct transaction *t)
{
    struct wr_request r = {WR_REQUEST(START_LOCAL_TRANSACTION), .instance = TEXT("test")};
    struct wr_reply *reply;
    struct key k;

    r.start_local_transaction.table = table;
    r.start_local_transaction.key = key_of(&k, value, 0);
    r.start_local_transaction.key.count = 1;
    reply = wr_exec(db, &r);
    assert_int_equal(reply->code, 0);
    t->db = db;
    memcpy(t->id, reply->transaction.id.ptr, sizeof(t->id));
    wr_reply_free(reply);
}

/* What requests hold: replies that were not freed have all of their memory. */
static size_t held(struct wr_db *db)
{
    return atomic_load(&db->memory.requests->bytes);
}

/* How much memory it took. */
static size_t commit(struct transaction *t)
{
    struct wr_request r = {WR_REQUEST(COMMIT_TRANSACTION), .instance = TEXT("test")};
    struct wr_reply *reply;
    size_t took;

    r.commit_transaction.id = id_of(t);
    reply = wr_exec(t->db, &r);
    assert_int_equal(reply->code, 0);
    took = held(t->db);
    wr_reply_free(reply);
    return took;
}

/* ---- changes ---- */

struct change {
    enum wr_change_type type;
    struct wr_cell cells[CELLS_MAX];
    char names[CELLS_MAX][4];
    char values[CELLS_MAX][8];
    size_t count;
};

static void choose_cell(struct rng *rng, struct change *c, size_t i)
{
    static const enum wr_cell_op ops[] = {WR_CELL_PUT, WR_CELL_PUT, WR_CELL_DELETE_ONE,
                                          WR_CELL_DELETE_ONE, WR_CELL_DELETE_ALL};
    struct wr_cell *cell = &c->cells[i];

    snprintf(c->names[i], sizeof(c->names[i]), "c%d", (int)rng_below(rng, COLUMNS));
    snprintf(c->values[i], sizeof(c->values[i]), "v%d", (int)rng_below(rng, 3));
    *cell = (struct wr_cell){.name = {c->names[i], 2},
                             .timestamp_ms = begin_ms + (int64_t)rng_below(rng, STAMPS)};
    if (c->type == WR_UPDATE)
        cell->op = ops[rng_below(rng, sizeof(ops) / sizeof(*ops))];
    if (cell->op == WR_CELL_DELETE_ALL)
        cell->timestamp_ms = WR_TIMESTAMP_NONE;
    if (cell->op == WR_CELL_PUT)
        cell->value = (struct wr_value){.type = WR_VARCHAR, .bytes = {c->values[i], 2}};
}

static void choose_change(struct rng *rng, struct change *c)
{
    uint64_t what = rng_below(rng, 16);

    *c = (struct change){.type = what == 0 ? WR_DELETE : what == 1 ? WR_PUT : WR_UPDATE};
    if (c->type != WR_DELETE)
        c->count = 1 + rng_below(rng, CELLS_MAX);
    for (size_t i = 0; i < c->count; i++)
        choose_cell(rng, c, i);
}

static struct wr_row_change change_of(const struct change *c, struct key *k, int64_t value,
                                      int64_t id)
{
    return (struct wr_row_change){
        .type = c->type, .table = table, .row = {key_of(k, value, id), c->cells, c->count}};
}

static int run_change(struct wr_db *db, const struct transaction *t, const struct change *c,
                      int64_t value, int64_t id)
{
    static const enum wr_op ops[] = {
        [WR_PUT] = WR_OP_PUT_ROW, [WR_UPDATE] = WR_OP_UPDATE_ROW, [WR_DELETE] = WR_OP_DELETE_ROW};
    struct wr_request r = {WR_REQUEST(PUT_ROW)};
    struct key k;

    r.op = ops[c->type];
    r.put_row = change_of(c, &k, value, id);
    if (t)
        r.put_row.transaction = id_of(t);
    return database_run(db, &r);
}

/* A batch of changes of all rows, and one more whose condition fails. */
static void run_failing_batch(struct wr_db *db, const struct transaction *t, struct rng *rng,
                              int64_t value)
{
    struct change c[ROWS];
    struct key k[ROWS + 1];
    struct wr_row_change changes[ROWS + 1];
    struct wr_table_write write = {.table = table, .changes = changes, .change_count = ROWS + 1};
    struct wr_request r = {WR_REQUEST(BATCH_WRITE_ROW)};
    struct change none = {.type = WR_DELETE};

    for (int i = 0; i < ROWS; i++) {
        choose_change(rng, &c[i]);
        changes[i] = change_of(&c[i], &k[i], value, (int64_t)rng_below(rng, ROWS + 1));
    }
    changes[ROWS] = change_of(&none, &k[ROWS], value, ROWS + 1);
    changes[ROWS].condition.existence = WR_EXPECT_EXIST;
    r.batch_write_row =
        (struct wr_batch_write_row){.tables = &write, .table_count = 1, .atomic = true};
    r.batch_write_row.transaction = id_of(t);
    assert_int_equal(database_run(db, &r), WR_E_CONDITION);
}

/* ---- reads ---- */

static struct wr_reply *read_row(struct wr_db *db, const struct transaction *t, int64_t value,
                                 int64_t id)
{
    struct wr_request r = {WR_REQUEST(GET_ROW), .instance = TEXT("test")};
    struct wr_reply *reply;
    struct key k;

    r.get_row = (struct wr_get_row){.table = table,
                                    .key = key_of(&k, value, id),
                                    .read = {.has_max_versions = true, .max_versions = 100}};
    if (t)
        r.get_row.transaction = id_of(t);
    reply = wr_exec(db, &r);
    if (reply->code)
        print_error("%s\n", reply->message);
    assert_int_equal(reply->code, 0);
    return reply;
}

static void show(const struct wr_reply *reply, char *text, size_t size)
{
    const struct wr_row *row = &reply->row.row;
    size_t n = (size_t)snprintf(text, size, "%s", row->key.count ? "row" : "no row");

    for (size_t i = 0; i < row->cell_count && n < size; i++)
        n += (size_t)snprintf(text + n, size - n, " %.*s@%lld=%.*s", (int)row->cells[i].name.len,
                              (const char *)row->cells[i].name.ptr,
                              (long long)(row->cells[i].timestamp_ms - begin_ms),
                              (int)row->cells[i].value.bytes.len,
                              (const char *)row->cells[i].value.bytes.ptr);
}

static void compare(struct wr_db *db, const struct transaction *t, int64_t inside, int64_t outside,
                    int64_t id)
{
    struct wr_reply *a = read_row(db, t, inside, id), *b = read_row(db, NULL, outside, id);
    char x[4000], y[4000];

    show(a, x, sizeof(x));
    show(b, y, sizeof(y));
    assert_string_equal(x, y);
    wr_reply_free(a);
    wr_reply_free(b);
}

static void run_twins(int32_t versions, char *wide_row_cells, int transactions)
{
    struct wr_setting settings[] = {{"wide_row_cells", wide_row_cells}};
    struct wr_db *db = open_with(settings, 1, versions);
    struct rng rng;

    rng_init(&rng, (uint64_t)versions);
    for (int i = 0; i < transactions; i++) {
        int64_t inside = 2 * i, outside = 2 * i + 1;
        struct transaction t;
        struct change c;

        for (int n = (int)rng_below(&rng, 12); n > 0; n--) {
            int64_t id = (int64_t)rng_below(&rng, ROWS);

            choose_change(&rng, &c);
            assert_int_equal(run_change(db, NULL, &c, inside, id), 0);
            assert_int_equal(run_change(db, NULL, &c, outside, id), 0);
        }
        begin(db, inside, &t);
        for (int n = (int)rng_below(&rng, 20); n > 0; n--) {
            int64_t id = (int64_t)rng_below(&rng, ROWS);

            choose_change(&rng, &c);
            assert_int_equal(run_change(db, &t, &c, inside, id), 0);
            assert_int_equal(run_change(db, NULL, &c, outside, id), 0);
            compare(db, &t, inside, outside, id);
            if (rng_below(&rng, 4) == 0)
                run_failing_batch(db, &t, &rng, inside);
        }
        for (int id = 0; id <= ROWS; id++)
            compare(db, &t, inside, outside, id);
        commit(&t);
        for (int id = 0; id <= ROWS; id++)
            compare(db, NULL, inside, outside, id);
    }
    wr_close(db);
}

static void test_one_version(void **state)
{
    (void)state;
    run_twins(1, "256", 400);
}

static void test_versions(void **state)
{
    (void)state;
    run_twins(2, "256", 400);
    run_twins(4, "256", 400);
}

static void test_cell_by_cell(void **state)
{
    (void)state;
    run_twins(1, "1", 300);
    run_twins(3, "2", 300);
}

/* ---- memory ---- */

#define WIDE_COLUMNS 1000
#define WIDE_CHANGES 1000

static void put_columns(struct wr_db *db, int64_t id)
{
    static char names[WIDE_COLUMNS][8];
    static struct wr_cell cells[WIDE_COLUMNS];
    struct wr_request r = {WR_REQUEST(PUT_ROW)};
    struct key k;

    for (int i = 0; i < WIDE_COLUMNS; i++) {
        snprintf(names[i], sizeof(names[i]), "c%04d", i);
        cells[i] = (struct wr_cell){.name = {names[i], 5},
                                    .value = {.type = WR_BIGINT, .integer = i},
                                    .timestamp_ms = WR_TIMESTAMP_NONE};
    }
    r.put_row = (struct wr_row_change){
        .type = WR_PUT, .table = table, .row = {key_of(&k, 1, id), cells, WIDE_COLUMNS}};
    assert_int_equal(database_run(db, &r), 0);
}

static void change_column(struct wr_db *db, const struct transaction *t, int64_t id, int i)
{
    char name[8];
    struct wr_cell cell = {.name = {name, 5},
                           .value = {.type = WR_BIGINT, .integer = -i},
                           .timestamp_ms = WR_TIMESTAMP_NONE};
    struct wr_request r = {WR_REQUEST(UPDATE_ROW)};
    struct key k;

    snprintf(name, sizeof(name), "c%04d", i % WIDE_COLUMNS);
    r.update_row = (struct wr_row_change){
        .type = WR_UPDATE, .table = table, .row = {key_of(&k, 1, id), &cell, 1}};
    r.update_row.transaction = id_of(t);
    assert_int_equal(database_run(db, &r), 0);
}

#define FEW_BYTES (4 << 20) /* a thousand replays of a thousand cells take far more */

static void test_a_read_applies_one_change(void **state)
{
    struct wr_setting life[] = {{"transaction_ms_max", "3600000"}}; /* a sanitizer takes its time */
    struct wr_db *db = open_with(life, 1, 1);
    struct transaction t;
    struct wr_reply *reply;

    (void)state;
    put_columns(db, 1);
    begin(db, 1, &t);
    for (int i = 0; i < WIDE_CHANGES; i++)
        change_column(db, &t, 1, i);
    reply = read_row(db, &t, 1, 1);
    assert_in_range(held(db), 1, FEW_BYTES);
    assert_int_equal(reply->row.row.cell_count, WIDE_COLUMNS);
    for (int i = 0; i < WIDE_COLUMNS; i++)
        assert_int_equal(reply->row.row.cells[i].value.integer, -i);
    wr_reply_free(reply);
    assert_in_range(commit(&t), 1, FEW_BYTES);
    reply = read_row(db, NULL, 1, 1);
    assert_int_equal(reply->row.row.cell_count, WIDE_COLUMNS);
    assert_int_equal(reply->row.row.cells[WIDE_COLUMNS - 1].value.integer, 1 - WIDE_COLUMNS);
    wr_reply_free(reply);
    wr_close(db);
}

#define LARGE_BYTES 8000
#define LARGE_ROWS 1000

static int write_large(struct wr_db *db, const struct transaction *t, int64_t id, const char *name,
                       size_t size)
{
    static char value[LARGE_BYTES];
    struct wr_cell cell = {.name = {name, 1},
                           .value = {.type = WR_VARBINARY, .bytes = {value, size}},
                           .timestamp_ms = WR_TIMESTAMP_NONE};
    struct wr_request r = {WR_REQUEST(UPDATE_ROW)};
    struct key k;

    r.update_row = (struct wr_row_change){
        .type = WR_UPDATE, .table = table, .row = {key_of(&k, 1, id), &cell, 1}};
    if (t)
        r.update_row.transaction = id_of(t);
    return database_run(db, &r);
}

/* Small changes of large rows: what would not fit into the memory of a commit is refused when it is
 * written, and what was written commits within that memory. */
static void test_a_commit_fits(void **state)
{
    const uint64_t memory = 64 << 20;
    struct wr_options o = {WR_OPTIONS, .engine = "mem", .memory_bytes = memory};
    struct wr_db *db = database_open(&o);
    struct transaction t;
    int64_t taken = 0;

    (void)state;
    make_table(db, 1);
    for (int64_t id = 0; id < LARGE_ROWS; id++)
        assert_int_equal(write_large(db, NULL, id, "a", LARGE_BYTES), 0);
    begin(db, 1, &t);
    while (taken < LARGE_ROWS && !write_large(db, &t, taken, "b", 8))
        taken++;
    assert_in_range(taken, 100, LARGE_ROWS - 1);
    assert_int_equal(write_large(db, &t, taken, "b", 8), WR_E_TXN_SIZE);
    assert_int_equal(write_large(db, &t, 0, "b", 4), 0); /* is there already */
    assert_in_range(commit(&t), 1, memory / 6);          /* and what blocks of memory leave over */
    for (int64_t id = 0; id <= taken; id++) {
        struct wr_reply *reply = read_row(db, NULL, 1, id);

        assert_int_equal(reply->row.row.cell_count, id < taken ? 2 : 1);
        wr_reply_free(reply);
    }
    wr_close(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_version),   cmocka_unit_test(test_versions),
        cmocka_unit_test(test_cell_by_cell),  cmocka_unit_test(test_a_read_applies_one_change),
        cmocka_unit_test(test_a_commit_fits),
    };

    begin_ms = (int64_t)time(NULL) * 1000 - 10000;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
