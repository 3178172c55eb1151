/* Indexes follow every change of their table, however it is asked for: after it, an index is what
 * the rows make of it. */
#include "table/index/index_observer.h"

#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>
#undef fail /* the name is ctx.h's in this house */

#include "../../later.h"
#include "../database.h"
#include "projection.h"

#define ROWS 24
#define COLUMNS 8 /* a, b, …; of more than three cells a row is wide */
#define BIG_BYTES (3u << 19)
#define INSTANCE BYTES_LIT("test")
#define TABLE BYTES_LIT("t")
#define FIRST_PLACE 0xfff0e0a0u /* no table's */

static const char names[] = "abcdefgh";
static const struct wr_key_schema row_keys[] = {{.name = BYTES_LIT("p"), .type = WR_BIGINT},
                                                {.name = BYTES_LIT("pk"), .type = WR_BIGINT}};
static const struct wr_defined_column defined[] = {{BYTES_LIT("a"), WR_BIGINT},
                                                   {BYTES_LIT("b"), WR_BIGINT},
                                                   {BYTES_LIT("c"), WR_VARBINARY},
                                                   {BYTES_LIT("d"), WR_BIGINT}};
static const bytes by_a[] = {BYTES_LIT("a")},
                   by_b_pk_a[] = {BYTES_LIT("b"), BYTES_LIT("pk"), BYTES_LIT("a")},
                   by_pk[] = {BYTES_LIT("pk")}, by_c[] = {BYTES_LIT("c")};
static const bytes covers_c_b[] = {BYTES_LIT("c"), BYTES_LIT("b")}, covers_d[] = {BYTES_LIT("d")};
static const struct wr_index_meta metas[] = {
    {BYTES_LIT("ix_a"), by_a, 1, covers_c_b, 2, 0, 0, 0},
    {BYTES_LIT("ix_b_pk_a"), by_b_pk_a, 3, covers_d, 1, 0, 0, 0},
    {BYTES_LIT("ix_pk"), by_pk, 1, NULL, 0, 0, 0, 0},
    {BYTES_LIT("ix_c"), by_c, 1, by_a, 1, 0, 0, 0}};
static const char *const layouts[] = {"plain", "hash:4", "plain", "random:3"};

/* As if they had been created with the table: its next version has them stored. */
static void observe(struct wr_db *db, struct table *t)
{
    struct index *list = ARENA_ARRAY(&t->ctx.arena, struct index, PORT_COUNT(metas));

    if (t->schema.index_count) {
        index_observe(db, t);
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
    index_observe(db, t);
}

/* ---- a database ---- */

static struct wr_db *db;
static char dir[FOLDER_BYTES];
static struct wr_key_column columns[ROWS][2];

static int run(struct wr_request *req)
{
    struct wr_reply *reply;
    int code;

    req->instance = INSTANCE;
    reply = wr_exec(db, req);
    code = reply->code;
    if (req->op == WR_OP_BATCH_WRITE_ROW || req->op == WR_OP_BULK_IMPORT)
        for (size_t i = 0; !code && i < reply->batch.tables[0].row_count; i++)
            code = reply->batch.tables[0].rows[i].code;
    wr_reply_free(reply);
    return code;
}

static void begin(const char *engine, bool expires)
{
    struct wr_setting settings[] = {
        {"wide_row_cells", "3"}, {"ttl_seconds_min", "1"}, {"table_ops_per_s_max", "0"}};
    struct wr_options o = {.version = WR_API_VERSION,
                           .engine = engine,
                           .dir = dir,
                           .settings = settings,
                           .setting_count = PORT_COUNT(settings)};
    struct wr_request req = {.op = WR_OP_CREATE_TABLE};

    folder_make(dir);
    db = database_open(&o);
    db->observe = observe;
    req.create_table = (struct wr_create_table){
        .table = TABLE,
        .key = row_keys,
        .key_count = 2,
        .defined = defined,
        .defined_count = PORT_COUNT(defined),
        .options = {.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS | WR_HAS_UPDATE_FULL_ROW,
                    .ttl_s = expires ? 3600 : -1,
                    .update_full_row = expires,
                    .max_versions = 1}};
    assert_int_equal(run(&req), 0);
    for (int i = 0; i < ROWS; i++) {
        columns[i][0] = (struct wr_key_column){BYTES_LIT("p"), {.type = WR_BIGINT, .integer = 1}};
        columns[i][1] = (struct wr_key_column){BYTES_LIT("pk"), {.type = WR_BIGINT, .integer = i}};
    }
}

static void end(void)
{
    wr_close(db);
    folder_remove(dir);
}

static size_t check(void)
{
    size_t entries;

    assert_int_equal(projection_check(db, INSTANCE, TABLE, &entries), 0);
    return entries;
}

/* Of the index with that place, in its bucket 0. */
static size_t stored_at(uint32_t place)
{
    struct ctx c;
    struct key_range range;
    struct page page = {0};
    struct scan scan = {.view = VIEW_LATEST,
                        .ranges = &range,
                        .range_count = 1,
                        .items_max = 10000,
                        .bytes_max = 1 << 24,
                        .pages = &page};

    ctx_init(&c, &db->clock, &db->log, NULL, 0);
    range = (struct key_range){key_prefix(&c.arena, place, 0, KIND_RECORD),
                               key_prefix(&c.arena, place, 0, KIND_RECORD + 1)};
    assert_int_equal(wait_scan(&c, db->engine, &scan), 0);
    ctx_release(&c);
    return page.count;
}

/* ---- changes ---- */

static struct wr_cell integer_cell(int column, int64_t value, enum wr_cell_op op)
{
    return (struct wr_cell){.name = bytes_of(&names[column], 1),
                            .value = {.type = WR_BIGINT, .integer = value},
                            .op = op,
                            .timestamp_ms = WR_TIMESTAMP_NONE};
}

static struct wr_cell bytes_cell(int column, bytes value)
{
    struct wr_cell cell = integer_cell(column, 0, WR_CELL_PUT);

    cell.value = (struct wr_value){.type = WR_VARBINARY, .bytes = value};
    return cell;
}

static int change(enum wr_change_type type, int row, const struct wr_cell *cells, size_t count)
{
    struct wr_request req = {.op = type == WR_PUT      ? WR_OP_PUT_ROW
                                   : type == WR_UPDATE ? WR_OP_UPDATE_ROW
                                                       : WR_OP_DELETE_ROW};

    req.put_row = (struct wr_row_change){
        .type = type, .table = TABLE, .row = {{columns[row], 2}, (struct wr_cell *)cells, count}};
    return run(&req);
}

static int put_stream(int row, int column, size_t length)
{
    struct wr_cell_put put = {.size = sizeof(put),
                              .instance = INSTANCE,
                              .table = TABLE,
                              .key = {columns[row], 2},
                              .column = bytes_of(&names[column], 1),
                              .length = length,
                              .timestamp_ms = WR_TIMESTAMP_NONE};
    char message[256] = "", *data = mem_zalloc(length);
    struct wr_cell_writer *w;
    struct wr_reply *reply;
    int code;

    wr_cell_writer_open(db, &put, &w, message, sizeof(message));
    assert_string_equal(message, "");
    assert_int_equal(wr_cell_write(w, data, length, NULL, NULL), (ptrdiff_t)length);
    reply = wr_cell_finish_wait(w);
    code = reply->code;
    wr_reply_free(reply);
    wr_cell_writer_free(w);
    mem_free(data);
    return code;
}

static int write_batch_of(struct wr_row_change *list, size_t count, bool atomic)
{
    struct wr_table_write write = {.table = TABLE, .changes = list, .change_count = count};
    struct wr_request req = {
        .op = WR_OP_BATCH_WRITE_ROW,
        .batch_write_row = {.tables = &write, .table_count = 1, .atomic = atomic}};

    return run(&req);
}

static int import(struct wr_row_change *list, size_t count)
{
    struct wr_request req = {
        .op = WR_OP_BULK_IMPORT,
        .bulk_import.table = {.table = TABLE, .changes = list, .change_count = count}};

    return run(&req);
}

/* ---- one of each ---- */

static void each_case_keeps_them(void)
{
    struct wr_cell all[] = {integer_cell(0, 5, WR_CELL_PUT), integer_cell(1, 6, WR_CELL_PUT),
                            bytes_cell(2, BYTES_LIT("x\0y")), integer_cell(3, 7, WR_CELL_PUT)};
    struct wr_cell gone = integer_cell(0, 0, WR_CELL_DELETE_ALL),
                   up = integer_cell(0, 2, WR_CELL_INCREMENT),
                   other = integer_cell(5, 1, WR_CELL_PUT);

    assert_int_equal(change(WR_UPDATE, 1, &other, 1), 0); /* makes the row: by its key alone */
    assert_int_equal(check(), 1);
    assert_int_equal(change(WR_PUT, 1, all, 2), 0);
    assert_int_equal(check(), 3);
    assert_int_equal(stored_at(FIRST_PLACE + 9), 1); /* the shadow copy */
    assert_int_equal(change(WR_PUT, 1, all, 4), 0);  /* wide */
    assert_int_equal(check(), 4);
    assert_int_equal(change(WR_UPDATE, 1, &up, 1), 0);
    assert_int_equal(check(), 4);
    assert_int_equal(change(WR_UPDATE, 1, &gone, 1), 0);
    assert_int_equal(check(), 2);
    assert_int_equal(stored_at(FIRST_PLACE + 9), 0);
    assert_int_equal(change(WR_UPDATE, 1, &all[0], 1), 0);
    assert_int_equal(check(), 4);
    assert_int_equal(change(WR_DELETE, 1, NULL, 0), 0);
    assert_int_equal(check(), 0);
    assert_int_equal(put_stream(1, 2, 100), 0);
    assert_int_equal(check(), 2);
    assert_int_equal(put_stream(1, 6, BIG_BYTES), 0); /* no index has the column */
    assert_int_equal(check(), 2);
    assert_int_equal(change(WR_DELETE, 1, NULL, 0), 0);
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
        assert_int_equal(change(WR_UPDATE, 2, &bad[i], 1), E_PARAMETER);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(change(WR_PUT, 2, &bad[i], 1), E_PARAMETER);
    assert_int_equal(put_stream(2, 2, BIG_BYTES), E_PARAMETER);
    assert_int_equal(put_stream(2, 2, 1025), E_PARAMETER);
    assert_int_equal(check(), 0);
    assert_int_equal(change(WR_PUT, 2, &good, 1), 0);
    assert_int_equal(change(WR_UPDATE, 2, &free, 1), 0);
    assert_int_equal(check(), 2);
    assert_int_equal(change(WR_DELETE, 2, NULL, 0), 0);
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
    int kind = (int)rng_below(r, 10), column = (int)rng_below(r, COLUMNS);
    size_t n = kind < 9 ? 1 + rng_below(r, COLUMNS - 1) : 0;

    for (size_t i = 0; i < n; i++)
        cells[i] = random_cell(r, (column + (int)i) % COLUMNS, kind < 4);
    return (struct wr_row_change){.type = kind < 4   ? WR_PUT
                                          : kind < 9 ? WR_UPDATE
                                                     : WR_DELETE,
                                  .table = TABLE,
                                  .row = {{columns[rng_below(r, ROWS)], 2}, cells, n}};
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
    struct wr_cell cells[8][COLUMNS];
    struct wr_row_change list[8];
    size_t count = 1 + rng_below(r, 8);
    int way = (int)rng_below(r, 40);

    if (way == 39)
        return put_stream((int)rng_below(r, ROWS), 2 + 4 * (int)rng_below(r, 2),
                          rng_below(r, 20) ? 500 : BIG_BYTES);
    for (size_t i = 0; i < count; i++)
        list[i] = random_change(r, cells[i]);
    no_row_twice(list, &count);
    if (way < 24 && list[0].row.cell_count)
        return change(list[0].type, (int)list[0].row.key.columns[1].value.integer, cells[0],
                      list[0].row.cell_count);
    return way < 30   ? write_batch_of(list, count, false)
           : way < 36 ? write_batch_of(list, count, true)
                      : import(list, count);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kept_on_mem),
        cmocka_unit_test(kept_on_rocks),
        cmocka_unit_test(entries_expire_on_mem),
        cmocka_unit_test(entries_expire_on_rocks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
