/* A series beside a plain table: the same requests, the same answers, whatever the periods are. */
#include "base/bytes.h"
#include "base/port.h"
#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "../database.h"

#define OPS 6000
#define IDS 5
#define DAYS 120 /* from before 1970 on */
#define BATCH 12

static const struct wr_bytes tables[] = {BYTES_LIT("plain"), BYTES_LIT("series")};

struct requests {
    struct wr_db *db;
    struct rng rng;
    enum wr_series_unit unit;
    bool descending;
    char texts[2 * BATCH + 2][24];
    size_t text_count;
};

/* ---- the two tables ---- */

static void make(struct requests *q, enum wr_series_by by, struct wr_bytes layout)
{
    struct wr_key_schema key[] = {{.name = BYTES_LIT("id"), .type = WR_BIGINT},
                                  {.name = BYTES_LIT("time"),
                                   .type = q->unit == WR_SERIES_TEXT ? WR_VARCHAR : WR_BIGINT,
                                   .descending = q->descending}};
    struct wr_create_table t = {
        .table = tables[0],
        .key = key,
        .key_count = 2,
        .options = {.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS, .ttl_s = -1, .max_versions = 2},
        .layout = layout};
    struct wr_request plain = {.op = WR_OP_CREATE_TABLE, .create_table = t};
    struct wr_request series = {.op = WR_OP_CREATE_SERIES};

    t.table = tables[1];
    series.create_series = (struct wr_create_series){
        .table = t, .series = {.by = by, .column = BYTES_LIT("time"), .unit = q->unit}};
    assert_int_equal(database_run(q->db, &plain), WR_OK);
    assert_int_equal(database_run(q->db, &series), WR_OK);
}

static void drop(struct requests *q)
{
    for (int i = 0; i < 2; i++) {
        struct wr_request r = {.op = WR_OP_DELETE_TABLE, .delete_table = {tables[i]}};

        assert_int_equal(database_run(q->db, &r), WR_OK);
    }
}

/* ---- values ---- */

static struct wr_value a_time(struct requests *q)
{
    int64_t day = (int64_t)rng_below(&q->rng, DAYS) - DAYS / 3;
    int64_t unit = q->unit == WR_SERIES_SECONDS        ? 1
                   : q->unit == WR_SERIES_MILLISECONDS ? 1000
                                                       : 1000000;

    if (q->unit == WR_SERIES_TEXT) {
        char *text = q->texts[q->text_count++];

        snprintf(text, sizeof(q->texts[0]), "2024-%02d-%02dT%02d:00", (int)(1 + (day + 40) / 28),
                 (int)(1 + (day + 40) % 28), (int)rng_below(&q->rng, 3));
        return (struct wr_value){.type = WR_VARCHAR, .bytes = bytes_str(text)};
    }
    return (struct wr_value){.type = WR_BIGINT,
                             .integer = day * 86400 * unit - (int64_t)rng_below(&q->rng, 2)};
}

static struct wr_key a_key(struct requests *q, struct wr_key_column *columns, bool bound)
{
    columns[0] = (struct wr_key_column){
        BYTES_LIT("id"), {.type = WR_BIGINT, .integer = (int64_t)rng_below(&q->rng, IDS)}};
    columns[1] = (struct wr_key_column){BYTES_LIT("time"), a_time(q)};
    if (bound && rng_below(&q->rng, 3) == 0)
        columns[1].value.type = rng_below(&q->rng, 2) ? WR_INF_MIN : WR_INF_MAX;
    if (bound && rng_below(&q->rng, 6) == 0)
        columns[0].value.type = columns[1].value.type =
            rng_below(&q->rng, 2) ? WR_INF_MIN : WR_INF_MAX;
    return (struct wr_key){columns, 2};
}

/* ---- comparing ---- */

static void same_bytes(struct wr_bytes a, struct wr_bytes b)
{
    assert_int_equal(a.len, b.len);
    if (a.len)
        assert_memory_equal(a.ptr, b.ptr, a.len);
}

static void same_value(const struct wr_value *a, const struct wr_value *b)
{
    assert_int_equal(a->type, b->type);
    if (a->type == WR_BIGINT)
        assert_true(a->integer == b->integer);
    else if (a->type == WR_VARCHAR)
        same_bytes(a->bytes, b->bytes);
}

static void same_key(const struct wr_key *a, const struct wr_key *b)
{
    assert_int_equal(a->count, b->count);
    for (size_t i = 0; i < a->count; i++) {
        same_bytes(a->columns[i].name, b->columns[i].name);
        same_value(&a->columns[i].value, &b->columns[i].value);
    }
}

static void same_row(const struct wr_row *a, const struct wr_row *b)
{
    same_key(&a->key, &b->key);
    assert_int_equal(a->cell_count, b->cell_count);
    for (size_t i = 0; i < a->cell_count; i++) {
        same_bytes(a->cells[i].name, b->cells[i].name);
        same_value(&a->cells[i].value, &b->cells[i].value);
    }
}

static void same_result(const struct wr_row_result *a, const struct wr_row_result *b)
{
    assert_int_equal(a->code, b->code);
    same_row(&a->row, &b->row);
    assert_int_equal(a->consumed.read, b->consumed.read);
    assert_int_equal(a->consumed.write, b->consumed.write);
}

static void same_reply(enum wr_op op, const struct wr_reply *a, const struct wr_reply *b)
{
    assert_int_equal(a->code, b->code);
    if (a->code)
        return;
    if (op == WR_OP_BATCH_GET_ROW || op == WR_OP_BATCH_WRITE_ROW || op == WR_OP_BULK_IMPORT) {
        assert_int_equal(a->batch.tables[0].row_count, b->batch.tables[0].row_count);
        for (size_t i = 0; i < a->batch.tables[0].row_count; i++)
            same_result(&a->batch.tables[0].rows[i], &b->batch.tables[0].rows[i]);
    } else if (op == WR_OP_GET_RANGE) {
        assert_int_equal(a->range.row_count, b->range.row_count);
        for (size_t i = 0; i < a->range.row_count; i++)
            same_row(&a->range.rows[i], &b->range.rows[i]);
        same_key(&a->range.next, &b->range.next);
        assert_int_equal(a->range.consumed.read, b->range.consumed.read);
    } else {
        same_result(&a->row, &b->row);
    }
}

/* Sends it to both; `table` is where it names one. */
static void ask(struct requests *q, struct wr_request *r, struct wr_bytes *table)
{
    struct wr_reply *replies[2];

    r->instance = (struct wr_bytes)BYTES_LIT("test");
    for (int i = 0; i < 2; i++) {
        *table = tables[i];
        replies[i] = wr_exec(q->db, r);
    }
    same_reply(r->op, replies[0], replies[1]);
    for (int i = 0; i < 2; i++)
        wr_reply_free(replies[i]);
}

/* ---- requests ---- */

static struct wr_row_change a_change(struct requests *q, struct wr_key_column *columns,
                                     struct wr_cell *cell, bool conditions)
{
    static const enum wr_change_type types[] = {WR_PUT, WR_PUT, WR_UPDATE, WR_UPDATE, WR_DELETE};
    struct wr_row_change change = {.type = types[rng_below(&q->rng, 5)]};

    change.row.key = a_key(q, columns, false);
    *cell =
        (struct wr_cell){.name = rng_below(&q->rng, 2) ? BYTES_LIT("a") : BYTES_LIT("b"),
                         .value = {.type = WR_BIGINT, .integer = (int64_t)rng_next(&q->rng) >> 8},
                         .timestamp_ms = WR_TIMESTAMP_NONE};
    if (change.type == WR_UPDATE && rng_below(&q->rng, 4) == 0)
        cell->op = WR_CELL_INCREMENT;
    if (change.type != WR_DELETE) {
        change.row.cells = cell;
        change.row.cell_count = 1;
    }
    if (conditions)
        change.condition.existence = (enum wr_existence)rng_below(&q->rng, 3);
    return change;
}

static void write_one(struct requests *q)
{
    static const enum wr_op ops[] = {0, WR_OP_PUT_ROW, WR_OP_UPDATE_ROW, WR_OP_DELETE_ROW};
    struct wr_key_column columns[2];
    struct wr_cell cell;
    struct wr_request r = {.op = WR_OP_PUT_ROW};

    r.put_row = a_change(q, columns, &cell, true);
    r.op = ops[r.put_row.type];
    ask(q, &r, &r.put_row.table);
}

static void write_many(struct requests *q)
{
    struct wr_key_column columns[BATCH][2];
    struct wr_row_change changes[BATCH];
    struct wr_cell cells[BATCH];
    struct wr_table_write w = {.changes = changes,
                               .change_count = 1 + (size_t)rng_below(&q->rng, BATCH)};
    struct wr_request r = {.op = WR_OP_BATCH_WRITE_ROW};

    for (size_t i = 0; i < w.change_count; i++)
        changes[i] = a_change(q, columns[i], &cells[i], false);
    if (rng_below(&q->rng, 4) == 0) {
        r.op = WR_OP_BULK_IMPORT;
        r.bulk_import.table = w;
        ask(q, &r, &r.bulk_import.table.table);
        return;
    }
    r.batch_write_row.tables = &w;
    r.batch_write_row.table_count = 1;
    ask(q, &r, &w.table);
}

static void read_one(struct requests *q)
{
    struct wr_key_column columns[2];
    struct wr_request r = {.op = WR_OP_GET_ROW};

    r.get_row.key = a_key(q, columns, false);
    r.get_row.read = (struct wr_read_options){.has_max_versions = true, .max_versions = 2};
    ask(q, &r, &r.get_row.table);
}

static void read_many(struct requests *q)
{
    struct wr_key_column columns[BATCH][2];
    struct wr_key keys[BATCH];
    struct wr_table_get g = {.keys = keys,
                             .key_count = 1 + (size_t)rng_below(&q->rng, BATCH),
                             .read = {.has_max_versions = true, .max_versions = 1}};
    struct wr_request r = {.op = WR_OP_BATCH_GET_ROW};

    for (size_t i = 0; i < g.key_count; i++)
        keys[i] = a_key(q, columns[i], false);
    r.batch_get_row.tables = &g;
    r.batch_get_row.table_count = 1;
    ask(q, &r, &g.table);
}

static void read_range(struct requests *q)
{
    struct wr_key_column start[2], end[2];
    struct wr_request r = {.op = WR_OP_GET_RANGE};

    r.get_range.start = a_key(q, start, true);
    r.get_range.end = a_key(q, end, true);
    if (rng_below(&q->rng, 2)) /* the periods are ruled out by the bounds */
        end[0] = start[0];
    r.get_range.backward = rng_below(&q->rng, 2);
    r.get_range.read = (struct wr_read_options){.has_max_versions = true, .max_versions = 1};
    r.get_range.has_limit = rng_below(&q->rng, 2);
    r.get_range.limit = 1 + (int32_t)rng_below(&q->rng, 30);
    ask(q, &r, &r.get_range.table);
}

static void run(void **state, struct requests *q, enum wr_series_by by, struct wr_bytes layout)
{
    static void (*const kinds[])(struct requests *) = {write_one,  write_one, write_many, read_one,
                                                       read_range, read_many, read_range};

    q->db = *state;
    rng_init(&q->rng, (uint64_t)by * 10 + q->unit);
    make(q, by, layout);
    for (int i = 0; i < OPS; i++) {
        q->text_count = 0;
        kinds[rng_below(&q->rng, PORT_COUNT(kinds))](q);
    }
    drop(q);
}

static void test_months_of_texts(void **state)
{
    struct requests q = {.unit = WR_SERIES_TEXT};

    run(state, &q, WR_SERIES_BY_MONTH, (struct wr_bytes){NULL, 0});
}

static void test_weeks_of_seconds(void **state)
{
    struct requests q = {.unit = WR_SERIES_SECONDS};

    run(state, &q, WR_SERIES_BY_WEEK, (struct wr_bytes)BYTES_LIT("hash:4"));
}

static void test_days_newest_first(void **state)
{
    struct requests q = {.unit = WR_SERIES_MICROSECONDS, .descending = true};

    run(state, &q, WR_SERIES_BY_DAY, (struct wr_bytes){NULL, 0});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_months_of_texts, database_set_up, database_tear_down),
        cmocka_unit_test_setup_teardown(test_weeks_of_seconds, database_set_up, database_tear_down),
        cmocka_unit_test_setup_teardown(test_days_newest_first, database_set_up,
                                        database_tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
