/* Keys as long as they may be: 10 columns of 2,048 bytes, each stored as two. Clients make tables
 * of fewer columns; the database's own (indexes) have them, and rows of such a table are read and
 * written as any other's. On every engine; on a Ceph pool if TEST_CEPH_CONF names the configuration
 * of a cluster with a pool `data`. */
#include "table/core/db.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>
#undef fail /* the name is ctx.h's in this house */

#include "database.h"

#define COLUMNS WR_KEY_COLUMNS_MAX
#define VALUE_BYTES 2048
#define ROWS 8
#define BIG_BYTES 100000

struct bed {
    char dir[FOLDER_BYTES];
    const char *engine;
    struct wr_db *db;
    struct wr_reply *last;
    char names[COLUMNS + 1][4];
    uint8_t values[ROWS][VALUE_BYTES];
    uint8_t fill[VALUE_BYTES]; /* NULs: the longest when stored */
    struct wr_key_column columns[ROWS][COLUMNS + 1];
};

static void bed_open(struct bed *b)
{
    static const struct wr_setting settings[] = {
        {"key_value_bytes_max", "2048"}, {"wide_row_cells", "3"}, {"table_ops_per_s_max", "0"}};
    struct wr_options o = {.version = WR_API_VERSION,
                           .engine = b->engine,
                           .dir = b->dir,
                           .settings = settings,
                           .setting_count = PORT_COUNT(settings)};

    b->db = database_open_in(&o, b->dir);
}

/* Rows differ in the last byte of their last column, or with it in that of their first. */
static int bed_set_up(void **state)
{
    struct bed *b = mem_zalloc(sizeof(*b));

    b->engine = *state;
    folder_make(b->dir);
    for (int k = 0; k <= COLUMNS; k++)
        snprintf(b->names[k], sizeof(b->names[k]), "k%d", k);
    for (int i = 0; i < ROWS; i++) {
        b->values[i][VALUE_BYTES - 1] = (uint8_t)i;
        for (int k = 0; k <= COLUMNS; k++)
            b->columns[i][k] = (struct wr_key_column){
                bytes_str(b->names[k]),
                {.type = WR_VARBINARY, .bytes = bytes_of(b->fill, VALUE_BYTES)}};
        b->columns[i][COLUMNS - 1].value.bytes.ptr = b->values[i];
        if (i % 2)
            b->columns[i][0].value.bytes.ptr = b->values[i];
    }
    bed_open(b);
    *state = b;
    return 0;
}

static int bed_tear_down(void **state)
{
    struct bed *b = *state;

    wr_reply_free(b->last);
    database_remove(b->db, b->dir);
    mem_free(b);
    return 0;
}

/* Of the test's last request; lives until the next. */
static const struct wr_reply *run(struct bed *b, struct wr_request *req, bool internal)
{
    req->instance = BYTES_LIT("test");
    wr_reply_free(b->last);
    b->last = internal ? db_exec_internal(b->db, req) : wr_exec(b->db, req);
    return b->last;
}

static const struct wr_reply *create(struct bed *b, const char *layout, size_t columns,
                                     bool internal)
{
    struct wr_key_schema key[COLUMNS + 1] = {0};
    struct wr_request req = {.op = WR_OP_CREATE_TABLE};

    for (size_t k = 0; k < columns; k++)
        key[k] = (struct wr_key_schema){
            .name = bytes_str(b->names[k]), .type = WR_VARBINARY, .descending = k == COLUMNS - 1};
    req.create_table = (struct wr_create_table){
        .table = BYTES_LIT("t"),
        .key = key,
        .key_count = columns,
        .options = {.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS, .ttl_s = -1, .max_versions = 1},
        .layout = bytes_str(layout)};
    return run(b, &req, internal);
}

static const struct wr_reply *drop(struct bed *b)
{
    struct wr_request req = {.op = WR_OP_DELETE_TABLE, .delete_table = {BYTES_LIT("t")}};

    return run(b, &req, false);
}

static const struct wr_reply *get(struct bed *b, int i, size_t columns)
{
    struct wr_request req = {.op = WR_OP_GET_ROW};

    req.get_row = (struct wr_get_row){.table = BYTES_LIT("t"),
                                      .key = {b->columns[i], columns},
                                      .read = {.has_max_versions = true, .max_versions = 1}};
    return run(b, &req, false);
}

/* A row that is small, wide, or has a big cell. */
static void put(struct bed *b, int i)
{
    static const uint8_t big[BIG_BYTES];
    struct wr_cell cells[8];
    struct wr_request req = {.op = WR_OP_PUT_ROW};
    size_t count = i % 3 == 1 ? 8 : 1;

    for (size_t n = 0; n < count; n++)
        cells[n] = (struct wr_cell){
            .name = bytes_of(&"abcdefgh"[n], 1),
            .value = {.type = WR_VARBINARY, .bytes = {big, i % 3 == 2 ? sizeof(big) : 1}},
            .timestamp_ms = WR_TIMESTAMP_NONE};
    req.put_row = (struct wr_row_change){
        .type = WR_PUT, .table = BYTES_LIT("t"), .row = {{b->columns[i], COLUMNS}, cells, count}};
    assert_int_equal(run(b, &req, false)->code, WR_OK);
}

/* Page after page to the end; how many rows there are, each behind the one before. */
static size_t count_rows(struct bed *b, bool backward)
{
    struct wr_key_column low[COLUMNS], high[COLUMNS];
    struct wr_request req = {.op = WR_OP_GET_RANGE};
    struct wr_get_range *g = &req.get_range;
    struct wr_reply *kept = NULL;
    size_t count = 0;

    for (size_t k = 0; k < COLUMNS; k++) {
        low[k] = (struct wr_key_column){b->columns[0][k].name, {.type = WR_INF_MIN}};
        high[k] = (struct wr_key_column){b->columns[0][k].name, {.type = WR_INF_MAX}};
    }
    *g = (struct wr_get_range){.table = BYTES_LIT("t"),
                               .start = {backward ? high : low, COLUMNS},
                               .end = {backward ? low : high, COLUMNS},
                               .backward = backward,
                               .has_limit = true,
                               .limit = 3,
                               .read = {.has_max_versions = true, .max_versions = 1}};
    do {
        const struct wr_reply *r = run(b, &req, false);

        assert_int_equal(r->code, WR_OK);
        assert_true(r->range.row_count > 0 || !r->range.next.count);
        for (size_t i = 0; i < r->range.row_count; i++)
            assert_int_equal(r->range.rows[i].key.columns[COLUMNS - 1].value.bytes.len,
                             VALUE_BYTES);
        count += r->range.row_count;
        g->start = r->range.next;
        wr_reply_free(kept);
        kept = b->last; /* the next page begins with its key */
        b->last = NULL;
    } while (g->start.count);
    wr_reply_free(kept);
    return count;
}

static void expect_rows(struct bed *b)
{
    for (int i = 0; i < ROWS; i++) {
        const struct wr_reply *r = get(b, i, COLUMNS);

        assert_int_equal(r->code, WR_OK);
        assert_int_equal(r->row.row.cell_count, i % 3 == 1 ? 8 : 1);
        assert_int_equal(r->row.row.cells[0].value.bytes.len, i % 3 == 2 ? BIG_BYTES : 1);
        assert_int_equal(r->row.row.key.count, COLUMNS);
        for (size_t k = 0; k < COLUMNS; k++)
            assert_true(
                bytes_equal(r->row.row.key.columns[k].value.bytes, b->columns[i][k].value.bytes));
    }
    assert_int_equal(count_rows(b, false), ROWS);
    assert_int_equal(count_rows(b, true), ROWS);
}

static void describe_all(struct bed *b)
{
    struct wr_request sizes = {.op = WR_OP_DESCRIBE_SIZES,
                               .describe_sizes = {.table = BYTES_LIT("t"), .now = true}};
    struct wr_request parts = {.op = WR_OP_DESCRIBE_PARTITIONS,
                               .describe_partitions = {BYTES_LIT("t")}};
    struct wr_request points = {.op = WR_OP_COMPUTE_SPLIT_POINTS,
                                .compute_split_points = {.table = BYTES_LIT("t"), .split_size = 1}};

    assert_int_equal(run(b, &parts, false)->code, WR_OK);
    assert_int_equal(run(b, &points, false)->code, WR_OK);
    for (int i = 0; i < 3000 && !run(b, &sizes, false)->sizes.passes; i++)
        usleep(10000);
    assert_int_equal(b->last->code, WR_OK);
    assert_int_equal(b->last->sizes.rows, ROWS);
    assert_int_equal(b->last->sizes.keys[0].place.key.columns[0].value.bytes.len, VALUE_BYTES);
}

static void remove_rows(struct bed *b)
{
    for (int i = 0; i < ROWS; i++) {
        struct wr_request req = {.op = WR_OP_DELETE_ROW};

        req.delete_row = (struct wr_row_change){
            .type = WR_DELETE, .table = BYTES_LIT("t"), .row = {{b->columns[i], COLUMNS}, NULL, 0}};
        assert_int_equal(run(b, &req, false)->code, WR_OK);
    }
    assert_int_equal(count_rows(b, false), 0);
}

static void rows_of_the_longest_keys_are_stored_in_every_layout(void **state)
{
    static const char *const layouts[] = {
        "plain", "hash:16", "splice:10", "splice:10+hash:4", "splice:10+reverse:4", "random:4"};
    struct bed *b = *state;

    for (size_t n = 0; n < PORT_COUNT(layouts); n++) {
        assert_int_equal(create(b, layouts[n], COLUMNS, true)->code, WR_OK);
        for (int i = 0; i < ROWS; i++)
            put(b, i);
        expect_rows(b);
        describe_all(b);
        if (strcmp(b->engine, "mem") != 0) {
            wr_close(b->db);
            bed_open(b);
            expect_rows(b);
        }
        remove_rows(b);
        assert_int_equal(drop(b)->code, WR_OK);
    }
}

/* Other tables' long keys change nothing for a table of few columns. */
static void clients_keep_their_limit(void **state)
{
    struct bed *b = *state;
    const char *text = "The number of primary key columns must be in range: [1, 4].";

    assert_int_equal(create(b, "plain", 5, false)->code, WR_E_PARAMETER);
    assert_string_equal(b->last->message, text);
    assert_int_equal(create(b, "plain", COLUMNS + 1, true)->code, WR_E_PARAMETER);
    assert_string_equal(b->last->message,
                        "The number of primary key columns must be in range: [1, 10].");
    assert_int_equal(create(b, "plain", 2, false)->code, WR_OK);
    assert_int_equal(get(b, 0, 5)->code, WR_E_PARAMETER);
    assert_string_equal(b->last->message, text);
    assert_int_equal(get(b, 0, 3)->code, WR_E_INVALID_PK);
    assert_int_equal(drop(b)->code, WR_OK);
    assert_int_equal(get(b, 0, 5)->code, WR_E_PARAMETER); /* before "there is no such table" */

    assert_int_equal(create(b, "plain", COLUMNS, true)->code, WR_OK);
    assert_int_equal(get(b, 0, 5)->code, WR_E_INVALID_PK);
    assert_string_equal(b->last->message, "Validate PK size fail. Input: 5, Meta: 10.");
    assert_int_equal(get(b, 0, COLUMNS + 1)->code, WR_E_PARAMETER);
    assert_int_equal(drop(b)->code, WR_OK);
    assert_int_equal(create(b, "plain", 2, false)->code, WR_OK);
    assert_int_equal(get(b, 0, 5)->code, WR_E_PARAMETER);
    assert_string_equal(b->last->message, text);
    assert_int_equal(create(b, "plain", 5, false)->code, WR_E_PARAMETER);
    assert_string_equal(b->last->message, text);
}

#define TEST(f, engine)                                                                            \
    {                                                                                              \
#f " (" engine ")", f, bed_set_up, bed_tear_down, engine                                   \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(rows_of_the_longest_keys_are_stored_in_every_layout, "mem"),
        TEST(rows_of_the_longest_keys_are_stored_in_every_layout, "rocks"),
        TEST(clients_keep_their_limit, "mem"),
        TEST(clients_keep_their_limit, "rocks"),
    };
    const struct CMUnitTest on_a_pool[] = {
        TEST(rows_of_the_longest_keys_are_stored_in_every_layout, "rados"),
        TEST(clients_keep_their_limit, "rados"),
    };

    if (getenv("TEST_CEPH_CONF"))
        return cmocka_run_group_tests(on_a_pool, NULL, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
