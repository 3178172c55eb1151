/* A table gets its time to live when its rows' cells differ in age: an index shows a row as long as
 * the table shows it with the columns that the index is of. */
#include "base/fault.h"
#include "table/catalog/catalog.h"
#include "table/core/db.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>
#undef fail /* the name is ctx.h's in this house */

#include "../changes.h"

#define MINUTE_MS 60000
#define ROWS 16 /* each has one of all combinations of ages */

static struct wr_db *db;
static char dir[FOLDER_BYTES];

static const struct wr_defined_column defined[] = {{BYTES_LIT("a"), WR_BIGINT},
                                                   {BYTES_LIT("b"), WR_BIGINT}};
static const bytes of_pk[] = {BYTES_LIT("pk")}, of_a[] = {BYTES_LIT("a")},
                   of_ab[] = {BYTES_LIT("a"), BYTES_LIT("b")}, b_alone[] = {BYTES_LIT("b")};
static const struct wr_index_meta indexes[] = {
    {BYTES_LIT("by_pk"), of_pk, 1, NULL, 0, .type = 0},
    {BYTES_LIT("by_pk_b"), of_pk, 1, b_alone, 1, .type = 0},
    {BYTES_LIT("by_a"), of_a, 1, b_alone, 1, .type = 0},
    {BYTES_LIT("by_ab"), of_ab, 2, NULL, 0, .type = 0}};

static void later(int minutes)
{
    clock_set_step(&db->clock, (int64_t)minutes * MINUTE_MS * 1000);
}

static void begin(const char *engine, size_t index_count)
{
    struct wr_request req = {.op = WR_OP_CREATE_TABLE};

    db = changes_open(engine, dir);
    clock_set_init(&db->clock, clock_wall_us(&db->clock));
    req.create_table = (struct wr_create_table){
        .table = CHANGES_TABLE,
        .key = changes_key_schema,
        .key_count = 2,
        .defined = defined,
        .defined_count = 2,
        .indexes = indexes,
        .index_count = index_count,
        .options = {.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS, .ttl_s = -1, .max_versions = 1}};
    assert_int_equal(database_run(db, &req), 0);
}

/* Row by row, a, b, c and d are of now or of half an hour later, by the bits of its number; with
 * all four it is a wide one. */
static void rows_put(void)
{
    for (int step = 0; step < 2; step++) {
        for (int row = 0; row < ROWS; row++) {
            struct wr_cell cells[4];
            size_t n = 0;

            for (int column = 0; column < (row % 3 ? 3 : 4); column++)
                if ((row >> column & 1) == step)
                    cells[n++] = integer_cell(column, row, WR_CELL_PUT);
            if (n)
                assert_int_equal(change_row(db, WR_UPDATE, row, cells, n), 0);
        }
        later(30);
    }
}

static void set_ttl(int minutes)
{
    struct wr_request req = {.op = WR_OP_UPDATE_TABLE};

    req.update_table = (struct wr_update_table){
        .table = CHANGES_TABLE,
        .has_options = true,
        .options = {.given = WR_HAS_TTL | WR_HAS_ALLOW_UPDATE, .ttl_s = minutes * 60}};
    assert_int_equal(database_run(db, &req), 0);
}

/* Those that are made of the key alone are built anew when the time to live comes. */
static bool is_complete(void)
{
    struct table *t = catalog_get(db->catalog, BYTES_LIT("test"), CHANGES_TABLE);
    bool complete = true;

    for (size_t i = 0; i < t->schema.index_count; i++)
        complete &= t->schema.indexes[i].phase == INDEX_INCR;
    table_release(t);
    return complete;
}

static struct wr_reply *read_row(bytes table, const struct wr_key_column *key, size_t count)
{
    struct wr_request req = {.op = WR_OP_GET_ROW, .instance = {"test", 4}};
    struct wr_reply *reply;

    req.get_row = (struct wr_get_row){
        .table = table, .key = {key, count}, .read = {.has_max_versions = true, .max_versions = 1}};
    reply = wr_exec(db, &req);
    assert_int_equal(reply->code, 0);
    return reply;
}

static bool has(const struct wr_row *row, bytes name)
{
    for (size_t i = 0; i < row->cell_count; i++)
        if (bytes_equal(row->cells[i].name, name))
            return true;
    return false;
}

/* Is the entry there that belongs to what the table shows of the row, and no other? */
static void compare(int number, const struct wr_row *row, size_t at)
{
    const struct wr_index_meta *m = &indexes[at];
    struct wr_value value = {.type = WR_BIGINT, .integer = number};
    struct wr_value one = {.type = WR_BIGINT, .integer = 1};
    struct wr_key_column key[4];
    struct wr_reply *reply;
    bool expected = row->key.count > 0;
    size_t n = 0;

    for (size_t i = 0; i < m->key_column_count; i++) {
        expected &= bytes_equal(m->key_columns[i], of_pk[0]) || has(row, m->key_columns[i]);
        key[n++] = (struct wr_key_column){m->key_columns[i], value};
    }
    key[n++] = (struct wr_key_column){BYTES_LIT("p"), one};
    if (at > 1)
        key[n++] = (struct wr_key_column){BYTES_LIT("pk"), value};
    reply = read_row(m->name, key, n);
    if (expected != (reply->row.row.key.count > 0))
        print_error("row %d, index %zu: expected %d\n", number, at, expected);
    assert_int_equal(expected, reply->row.row.key.count > 0);
    for (size_t i = 0; expected && i < m->defined_column_count; i++)
        assert_int_equal(has(row, m->defined_columns[i]),
                         has(&reply->row.row, m->defined_columns[i]));
    wr_reply_free(reply);
}

static size_t check(void)
{
    size_t there = 0;

    while (!is_complete())
        usleep(1000);
    for (int row = 0; row < ROWS; row++) {
        struct wr_reply *reply = read_row(CHANGES_TABLE, changes_keys[row], 2);

        there += reply->row.row.key.count > 0;
        for (size_t i = 0; i < PORT_COUNT(indexes); i++)
            compare(row, &reply->row.row, i);
        wr_reply_free(reply);
    }
    return there;
}

static void ages(const char *engine)
{
    begin(engine, PORT_COUNT(indexes));
    rows_put();
    assert_int_equal(check(), ROWS);
    set_ttl(75); /* cells are of an hour ago, or of half of that */
    assert_int_equal(check(), ROWS);
    later(20);
    assert_true(check() < ROWS); /* what was written at once has gone */
    assert_true(check() > ROWS / 2);
    later(30);
    assert_int_equal(check(), 0);
    database_remove(db, dir);
}

static void ages_on_mem(void **state)
{
    (void)state;
    ages("mem");
}

static void ages_on_rocks(void **state)
{
    (void)state;
    ages("rocks");
}

#ifdef WR_FAULTS
/* The time to live comes while the first index is built, behind a later change of its rows in a
 * column of none of them. */
static void comes_while_built(const char *engine, const char *point, enum fault at)
{
    unsigned passes;

    begin(engine, 0);
    rows_put();
    passes = fault_passes(at);
    assert_true(fault_arm(point));
    for (size_t i = 0; i < PORT_COUNT(indexes); i++) {
        struct wr_request req = {.op = WR_OP_CREATE_INDEX,
                                 .create_index = {CHANGES_TABLE, indexes[i], true}};

        assert_int_equal(database_run(db, &req), 0);
    }
    while (fault_passes(at) == passes)
        usleep(1000);
    for (int row = 0; row < ROWS; row++) {
        struct wr_cell cell = integer_cell(2, row, WR_CELL_PUT);

        assert_int_equal(change_row(db, WR_UPDATE, row, &cell, 1), 0);
    }
    set_ttl(75);
    fault_arm(NULL);
    assert_int_equal(check(), ROWS);
    later(20); /* all but the last change has expired of some */
    assert_int_equal(check(), ROWS);
    database_remove(db, dir);
}

static void comes_while_an_index_is_built(void **state)
{
    (void)state;
    comes_while_built("rocks", "index_marks:error:1+", FAULT_index_marks);
    comes_while_built("rocks", "index_page:error:1+", FAULT_index_page);
    comes_while_built("mem", "index_page:error:1+", FAULT_index_page);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ages_on_mem),
        cmocka_unit_test(ages_on_rocks),
#ifdef WR_FAULTS
        cmocka_unit_test(comes_while_an_index_is_built),
#endif
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
