/* Indexes follow every change of their table, however it is asked for: after it, an index is what
 * the rows make of it; by way of outbox records, too, when these have been drained. */
#include "table/index/index_observer.h"
#include "table/index/outbox_observer.h"

#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>
#undef fail /* the name is ctx.h's in this house */

#include "../../later.h"
#include "../changes.h"
#include "../stored.h"
#include "drain.h"
#include "projection.h"

#define BIG_BYTES (3u << 19)
#define INSTANCE BYTES_LIT("test")
#define FIRST_PLACE 0xfff0e0a0u /* no table's */

static const struct wr_defined_column defined[] = {{BYTES_LIT("a"), WR_BIGINT},
                                                   {BYTES_LIT("b"), WR_BIGINT},
                                                   {BYTES_LIT("c"), WR_VARBINARY},
                                                   {BYTES_LIT("d"), WR_BIGINT}};
static const bytes by_a[] = {BYTES_LIT("a")},
                   by_b_pk_a[] = {BYTES_LIT("b"), BYTES_LIT("pk"), BYTES_LIT("a")},
                   by_pk[] = {BYTES_LIT("pk")}, by_c[] = {BYTES_LIT("c")};
static const bytes covers_c_b[] = {BYTES_LIT("c"), BYTES_LIT("b")}, covers_d[] = {BYTES_LIT("d")};
static const struct wr_index_meta metas[] = {
    {BYTES_LIT("ix_a"), by_a, 1, covers_c_b, 2, .type = 0},
    {BYTES_LIT("ix_b_pk_a"), by_b_pk_a, 3, covers_d, 1, .type = 0},
    {BYTES_LIT("ix_pk"), by_pk, 1, NULL, 0, .type = 0},
    {BYTES_LIT("ix_c"), by_c, 1, by_a, 1, .type = 0}};
static const char *const layouts[] = {"plain", "hash:4", "plain", "random:3"};

static bool by_outbox; /* as on a pool */

static void observe_resolved(struct wr_db *db, struct table *t)
{
    if (by_outbox)
        outbox_observe(t);
    else
        index_observe(db, t);
}

/* As if they had been created with the table: its next version has them stored. */
static void observe(struct wr_db *db, struct table *t)
{
    struct index *list = ARENA_ARRAY(&t->ctx.arena, struct index, PORT_COUNT(metas));

    if (t->schema.index_count) {
        observe_resolved(db, t);
        return;
    }
    for (size_t i = 0; i < PORT_COUNT(metas); i++) {
        struct index *x = &list[i];

        *x = (struct index){.meta = &metas[i],
                            .id = FIRST_PLACE + (uint32_t)i,
                            .phase = INDEX_INCR,
                            .descending = i == 1 ? 5 : 0,
                            .location = {.id = FIRST_PLACE + (uint32_t)i}};
        assert_true(index_resolve(&t->ctx.arena, &t->schema.d, x));
        assert_int_equal(layout_parse(&t->ctx, bytes_of(layouts[i], strlen(layouts[i])),
                                      x->location.key, x->location.key_count, &x->location.layout),
                         0);
        if (i == 1) {
            x->shadow.id = FIRST_PLACE + 9;
            x->shadow.layout = list[0].location.layout;
        }
    }
    t->schema.indexes = list;
    t->schema.d.indexes = metas;
    t->schema.d.index_count = t->schema.index_count = PORT_COUNT(metas);
    observe_resolved(db, t);
}

/* ---- a database ---- */

static struct wr_db *db;
static char dir[FOLDER_BYTES];

static void begin(const char *engine, bool expires)
{
    struct wr_request req = {.op = WR_OP_CREATE_TABLE};

    db = changes_open(engine, dir);
    db->observe = observe;
    req.create_table = (struct wr_create_table){
        .table = CHANGES_TABLE,
        .key = changes_key_schema,
        .key_count = 2,
        .defined = defined,
        .defined_count = PORT_COUNT(defined),
        .local_transactions = by_outbox,
        .options = {.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS | WR_HAS_UPDATE_FULL_ROW,
                    .ttl_s = expires ? 3600 : -1,
                    .update_full_row = expires,
                    .max_versions = 1}};
    assert_int_equal(database_run(db, &req), 0);
}

static void end(void)
{
    wr_close(db);
    folder_remove(dir);
}

static size_t check(void)
{
    size_t entries;

    if (by_outbox)
        outbox_drain_all(db, INSTANCE, CHANGES_TABLE, false);
    assert_int_equal(projection_check(db, INSTANCE, CHANGES_TABLE, &entries), 0);
    return entries;
}

/* ---- changes ---- */

static struct wr_cell bytes_cell(int column, bytes value)
{
    struct wr_cell cell = integer_cell(column, 0, WR_CELL_PUT);

    cell.value = (struct wr_value){.type = WR_VARBINARY, .bytes = value};
    return cell;
}

/* ---- one of each ---- */

static void each_case_keeps_them(void)
{
    struct wr_cell all[] = {integer_cell(0, 5, WR_CELL_PUT), integer_cell(1, 6, WR_CELL_PUT),
                            bytes_cell(2, BYTES_LIT("x\0y")), integer_cell(3, 7, WR_CELL_PUT)};
    struct wr_cell gone = integer_cell(0, 0, WR_CELL_DELETE_ALL),
                   up = integer_cell(0, 2, WR_CELL_INCREMENT),
                   other = integer_cell(5, 1, WR_CELL_PUT);

    assert_int_equal(change_row(db, WR_UPDATE, 1, &other, 1),
                     0); /* makes the row: by its key alone */
    assert_int_equal(check(), 1);
    assert_int_equal(change_row(db, WR_PUT, 1, all, 2), 0);
    assert_int_equal(check(), 3);
    assert_int_equal(stored_count(db, FIRST_PLACE + 9, KIND_RECORD),
                     !by_outbox);                           /* the shadow copy */
    assert_int_equal(change_row(db, WR_PUT, 1, all, 4), 0); /* wide */
    assert_int_equal(check(), 4);
    assert_int_equal(change_row(db, WR_UPDATE, 1, &up, 1), 0);
    assert_int_equal(check(), 4);
    assert_int_equal(change_row(db, WR_UPDATE, 1, &gone, 1), 0);
    assert_int_equal(check(), 2);
    assert_int_equal(stored_count(db, FIRST_PLACE + 9, KIND_RECORD), 0);
    assert_int_equal(change_row(db, WR_UPDATE, 1, &all[0], 1), 0);
    assert_int_equal(check(), 4);
    assert_int_equal(change_row(db, WR_DELETE, 1, NULL, 0), 0);
    assert_int_equal(check(), 0);
    assert_int_equal(change_stream(db, 1, 2, 100), 0);
    assert_int_equal(check(), 2);
    assert_int_equal(change_stream(db, 1, 6, BIG_BYTES), 0); /* no index has the column */
    assert_int_equal(check(), 2);
    assert_int_equal(change_row(db, WR_DELETE, 1, NULL, 0), 0);
    assert_int_equal(check(), 0);
}

static void what_does_not_fit_is_refused(void)
{
    char *text = mem_zalloc(2000);
    struct wr_cell bad[] = {integer_cell(2, 1, WR_CELL_PUT), bytes_cell(0, BYTES_LIT("5")),
                            bytes_cell(3, BYTES_LIT("5")), bytes_cell(2, bytes_of(text, 1025)),
                            integer_cell(2, 1, WR_CELL_INCREMENT)};
    struct wr_cell good = bytes_cell(2, bytes_of(text, 1024)),
                   free = bytes_cell(5, good.value.bytes);

    for (size_t i = 0; i < PORT_COUNT(bad); i++)
        assert_int_equal(change_row(db, WR_UPDATE, 2, &bad[i], 1), E_PARAMETER);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(change_row(db, WR_PUT, 2, &bad[i], 1), E_PARAMETER);
    assert_int_equal(change_stream(db, 2, 2, BIG_BYTES), E_PARAMETER);
    assert_int_equal(change_stream(db, 2, 2, 1025), E_PARAMETER);
    assert_int_equal(check(), 0);
    assert_int_equal(change_row(db, WR_PUT, 2, &good, 1), 0);
    assert_int_equal(change_row(db, WR_UPDATE, 2, &free, 1), 0);
    assert_int_equal(check(), 2);
    assert_int_equal(change_row(db, WR_DELETE, 2, NULL, 0), 0);
    mem_free(text);
}

/* ---- many ---- */

/* Of some columns, values of either type. */
static struct wr_cell random_cell(struct rng *r, int column, bool puts)
{
    static const char text[] = "abcdefghijklmnop";
    int op = puts ? 9 : (int)rng_below(r, 10);

    if (op < 2)
        return integer_cell(column, 0, WR_CELL_DELETE_ALL);
    if (op < 4 && column != 2)
        return integer_cell(column, 1, WR_CELL_INCREMENT);
    if (column == 2)
        return bytes_cell(column, bytes_of(text, rng_below(r, sizeof(text))));
    return integer_cell(column, (int64_t)rng_below(r, 10) - 5, WR_CELL_PUT);
}

static struct wr_row_change random_change(struct rng *r, struct wr_cell *cells)
{
    int kind = (int)rng_below(r, 10), column = (int)rng_below(r, CHANGES_COLUMNS);
    size_t n = kind < 9 ? 1 + rng_below(r, CHANGES_COLUMNS - 1) : 0;

    for (size_t i = 0; i < n; i++)
        cells[i] = random_cell(r, (column + (int)i) % CHANGES_COLUMNS, kind < 4);
    return change_of(kind < 4   ? WR_PUT
                     : kind < 9 ? WR_UPDATE
                                : WR_DELETE,
                     (int)rng_below(r, CHANGES_ROWS), cells, n);
}

static void no_row_twice(struct wr_row_change *list, size_t *count)
{
    size_t kept = 0;

    for (size_t i = 0; i < *count; i++) {
        bool twice = false;

        for (size_t j = 0; j < kept; j++)
            twice |= list[j].row.key.columns == list[i].row.key.columns;
        if (!twice)
            list[kept++] = list[i];
    }
    *count = kept;
}

static int random_step(struct rng *r)
{
    struct wr_cell cells[8][CHANGES_COLUMNS];
    struct wr_row_change list[8];
    size_t count = 1 + rng_below(r, 8);
    int way = (int)rng_below(r, 40);

    if (way == 39)
        return change_stream(db, (int)rng_below(r, CHANGES_ROWS), 2 + 4 * (int)rng_below(r, 2),
                             rng_below(r, 20) ? 500 : BIG_BYTES);
    for (size_t i = 0; i < count; i++)
        list[i] = random_change(r, cells[i]);
    no_row_twice(list, &count);
    if (way < 24 && list[0].row.cell_count)
        return change_row(db, list[0].type, (int)list[0].row.key.columns[1].value.integer, cells[0],
                          list[0].row.cell_count);
    return way < 30   ? change_batch(db, list, count, false)
           : way < 36 ? change_batch(db, list, count, true)
                      : change_import(db, list, count);
}

static void many_keep_them(uint64_t seed, size_t steps)
{
    size_t entries = 0, done = 0;
    struct rng r;

    rng_init(&r, seed);
    for (size_t step = 0; step < steps; step++) {
        done += !random_step(&r);
        if (step % 50 == 49)
            entries += check();
    }
    assert_true(done > steps / 3);
    assert_true(entries > steps / 10);
}

struct writer {
    pthread_t thread;
    uint64_t seed;
};

static void *write_main(void *arg)
{
    struct writer *w = arg;
    struct rng r;

    rng_init(&r, w->seed);
    for (int i = 0; i < 300; i++)
        random_step(&r);
    return NULL;
}

static void threads_keep_them(void)
{
    struct writer writers[4];

    for (size_t i = 0; i < PORT_COUNT(writers); i++) {
        writers[i].seed = 30 + i;
        assert_int_equal(pthread_create(&writers[i].thread, NULL, write_main, &writers[i]), 0);
    }
    for (size_t i = 0; i < PORT_COUNT(writers); i++)
        pthread_join(writers[i].thread, NULL);
    check();
}

static void all_ways(const char *engine, size_t steps)
{
    begin(engine, false);
    each_case_keeps_them();
    what_does_not_fit_is_refused();
    many_keep_them(20, steps);
    threads_keep_them();
    end();
}

static void kept_on_mem(void **state)
{
    (void)state;
    all_ways("mem", 4000);
}

static void kept_on_rocks(void **state)
{
    (void)state;
    all_ways("rocks", 600);
}

/* Rows past their time take their entries along, also where some were written again meanwhile. */
static void expiry(const char *engine)
{
    struct rng r;

    rng_init(&r, 22);
    begin(engine, true);
    many_keep_them(21, 200);
    assert_true(check() > 0);
    sweep_run(db);
    assert_true(check() > 0);
    go_later(db, 2 * 3600 * 1000);
    for (int i = 0; i < 10; i++)
        random_step(&r);
    sweep_run(db);
    check();
    go_later(db, 2 * 3600 * 1000);
    sweep_run(db);
    assert_int_equal(check(), 0);
    end();
}

static void entries_expire_on_mem(void **state)
{
    (void)state;
    expiry("mem");
}

static void entries_expire_on_rocks(void **state)
{
    (void)state;
    expiry("rocks");
}

/* Marks stand where entries went, until they are taken away. */
static void marks_go(void)
{
    outbox_drain_all(db, INSTANCE, CHANGES_TABLE, true);
    for (int i = 0; i < CHANGES_ROWS; i++)
        assert_int_equal(change_row(db, WR_DELETE, i, NULL, 0), 0);
    assert_int_equal(check(), 0);
    assert_true(stored_count(db, FIRST_PLACE, KIND_CHANGE) > 1);
    outbox_drain_all(db, INSTANCE, CHANGES_TABLE, true);
    assert_int_equal(stored_count(db, FIRST_PLACE, KIND_CHANGE), 1); /* the fence */
}

/* A record does not grow without end: the row is busy until it is drained. */
static void record_is_bounded(void)
{
    int64_t value = 100;
    int code = 0;

    while (!code && value < 100 + 2 * OUTBOX_KEYS_MAX) {
        struct wr_cell cell = integer_cell(0, value++, WR_CELL_PUT);

        code = change_row(db, WR_UPDATE, 3, &cell, 1);
    }
    assert_int_equal(code, E_BUSY);
    assert_true(value > 100 + OUTBOX_KEYS_MAX / 2);
    check();
    outbox_drain_all(db, INSTANCE, CHANGES_TABLE, true);
    assert_int_equal(change_row(db, WR_DELETE, 3, NULL, 0), 0);
    check();
}

/* A row that went was written by a server whose clock is ahead; ours puts it again. The later entry
 * wins, for it is stamped above what the record knows. */
static void stamps_ascend_over_absence(void)
{
    struct wr_cell five = integer_cell(0, 5, WR_CELL_PUT);

    assert_int_equal(change_row(db, WR_PUT, 4, &five, 1), 0);
    assert_int_equal(check(), 2);
    assert_int_equal(change_row(db, WR_DELETE, 4, NULL, 0), 0);
    outbox_raise(db, INSTANCE, CHANGES_TABLE, (uint64_t)1 << 44);
    assert_int_equal(check(), 0);
    assert_int_equal(change_row(db, WR_PUT, 4, &five, 1), 0);
    assert_int_equal(check(), 2);
    assert_int_equal(change_row(db, WR_DELETE, 4, NULL, 0), 0);
    assert_int_equal(check(), 0);
}

static void in_transaction(bytes id, enum wr_change_type type, const struct wr_cell *cell)
{
    struct wr_request req = {.op = type == WR_PUT ? WR_OP_PUT_ROW : WR_OP_DELETE_ROW,
                             .put_row = change_of(type, 5, cell, cell ? 1 : 0)};

    req.put_row.transaction = id;
    assert_int_equal(database_run(db, &req), 0);
}

/* Puts row 5, deletes it, and then, unless it is NULL, puts it with that cell: one batch. */
static void commit_row(const struct wr_cell *last)
{
    struct wr_request req = {
        .op = WR_OP_START_LOCAL_TRANSACTION,
        .instance = INSTANCE,
        .start_local_transaction = {.table = CHANGES_TABLE, .key = {changes_keys[5], 1}}};
    struct wr_reply *reply = wr_exec(db, &req);
    struct wr_cell five = integer_cell(0, 5, WR_CELL_PUT);

    assert_int_equal(reply->code, 0);
    in_transaction(reply->transaction.id, WR_PUT, &five);
    in_transaction(reply->transaction.id, WR_DELETE, NULL);
    if (last)
        in_transaction(reply->transaction.id, WR_PUT, last);
    req = (struct wr_request){.op = WR_OP_COMMIT_TRANSACTION,
                              .commit_transaction = {.id = reply->transaction.id}};
    assert_int_equal(database_run(db, &req), 0);
    wr_reply_free(reply);
}

/* Changes of one row in one batch leave the way from the first state to the last. */
static void commit_leaves_one_record(void)
{
    struct wr_cell six = integer_cell(0, 6, WR_CELL_PUT);

    outbox_drain_all(db, INSTANCE, CHANGES_TABLE, true);
    commit_row(NULL);
    assert_int_equal(outbox_count(db, INSTANCE, CHANGES_TABLE), 0);
    commit_row(&six);
    assert_int_equal(outbox_count(db, INSTANCE, CHANGES_TABLE), 1);
    assert_int_equal(check(), 2);
    commit_row(NULL);
    assert_int_equal(check(), 0);
}

static void kept_by_outbox_on_mem(void **state)
{
    (void)state;
    by_outbox = true;
    begin("mem", false);
    each_case_keeps_them();
    what_does_not_fit_is_refused();
    many_keep_them(23, 2000);
    threads_keep_them();
    marks_go();
    record_is_bounded();
    commit_leaves_one_record();
    stamps_ascend_over_absence();
    end();
    expiry("mem");
    by_outbox = false;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kept_on_mem),           cmocka_unit_test(kept_on_rocks),
        cmocka_unit_test(entries_expire_on_mem), cmocka_unit_test(entries_expire_on_rocks),
        cmocka_unit_test(kept_by_outbox_on_mem),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
