/* A search index holds its table's rows: those from before it, and each change that comes; also
 * while others write, after it was dropped and made again, and after the database was reopened. */
#include "base/bytes.h"
#include "base/rng.h"
#include "table/sync/reply_wait.h"

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>
#undef fail /* the name is ctx.h's in this house */

#include "../database.h"

#define ROWS 400
#define TABLE BYTES_LIT("t")
#define INDEX BYTES_LIT("i")

static struct wr_db *db;
static char dir[FOLDER_BYTES];
static struct wr_options options;
static struct wr_setting settings[] = {{"table_ops_per_s_max", "0"}};

static const struct wr_field_schema fields[] = {
    {.name = BYTES_LIT("pk"), .type = WR_FIELD_LONG, .index = true},
    {.name = BYTES_LIT("n"), .type = WR_FIELD_LONG, .index = true},
    {.name = BYTES_LIT("k"), .type = WR_FIELD_KEYWORD, .index = true},
    {.name = BYTES_LIT("t"), .type = WR_FIELD_TEXT, .index = true},
};

static int run(struct wr_request *req)
{
    return database_run(db, req);
}

/* A request that began before the index was made is to be sent again. */
static void change(struct wr_request *req)
{
    int code;

    do
        code = run(req);
    while (code == WR_E_BUSY);
    assert_int_equal(code, 0);
}

static void create_table(void)
{
    static const struct wr_key_schema key[] = {{.name = BYTES_LIT("pk"), .type = WR_BIGINT}};
    struct wr_request req = {WR_REQUEST(CREATE_TABLE)};

    req.create_table = (struct wr_create_table){
        .table = TABLE,
        .key = key,
        .key_count = 1,
        .options = {.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS, .ttl_s = -1, .max_versions = 1}};
    assert_int_equal(run(&req), 0);
}

static int create_index(void)
{
    struct wr_request req = {WR_REQUEST(CREATE_SEARCH_INDEX)};

    req.create_search_index = (struct wr_create_search_index){
        .table = TABLE, .index = INDEX, .schema = {.fields = fields, .field_count = 4}};
    return run(&req);
}

static int drop_index(void)
{
    struct wr_request req = {WR_REQUEST(DELETE_SEARCH_INDEX)};

    req.delete_search_index = (struct wr_search_index_name){TABLE, INDEX};
    return run(&req);
}

static void put(int64_t pk, int64_t n)
{
    struct wr_key_column key = {BYTES_LIT("pk"), {.type = WR_BIGINT, .integer = pk}};
    char keyword[16], text[48];
    struct wr_cell cells[3] = {
        {.name = BYTES_LIT("n"),
         .value = {.type = WR_BIGINT, .integer = n},
         .timestamp_ms = WR_TIMESTAMP_NONE},
        {.name = BYTES_LIT("k"), .timestamp_ms = WR_TIMESTAMP_NONE},
        {.name = BYTES_LIT("t"), .timestamp_ms = WR_TIMESTAMP_NONE},
    };
    struct wr_request req = {WR_REQUEST(PUT_ROW)};

    snprintf(keyword, sizeof(keyword), "k%d", (int)(n % 7));
    snprintf(text, sizeof(text), "this is number%d", (int)n);
    cells[1].value = (struct wr_value){.type = WR_VARCHAR, .bytes = bytes_str(keyword)};
    cells[2].value = (struct wr_value){.type = WR_VARCHAR, .bytes = bytes_str(text)};
    req.put_row = (struct wr_row_change){
        .type = WR_PUT, .table = TABLE, .row = {{&key, 1}, cells, n < 0 ? 0 : 3}};
    change(&req);
}

static void remove_row(int64_t pk)
{
    struct wr_key_column key = {BYTES_LIT("pk"), {.type = WR_BIGINT, .integer = pk}};
    struct wr_request req = {WR_REQUEST(DELETE_ROW)};

    req.delete_row =
        (struct wr_row_change){.type = WR_DELETE, .table = TABLE, .row = {{&key, 1}, NULL, 0}};
    change(&req);
}

static struct wr_reply *search(const struct wr_search_condition *query, int32_t limit,
                               struct wr_bytes token)
{
    struct wr_request req = {WR_REQUEST(SEARCH), .instance = {"test", 4}};

    req.search = (struct wr_search){.table = TABLE,
                                    .index = INDEX,
                                    .query = query,
                                    .has_limit = true,
                                    .limit = limit,
                                    .track_total = INT32_MAX,
                                    .token = token,
                                    .columns = WR_SEARCH_COLUMNS_INDEX};
    return wr_exec(db, &req);
}

/* How many rows match; -1: an index from before is still being read. */
static int64_t count(const struct wr_search_condition *query)
{
    struct wr_reply *reply = search(query, 0, BYTES_NONE);
    int64_t n = reply->code == WR_E_BUSY ? -1 : reply->search.total;

    assert_true(reply->code == 0 || reply->code == WR_E_BUSY);
    wr_reply_free(reply);
    return n;
}

struct expected {
    const struct wr_search_condition *query;
    int64_t rows;
};

static bool counts(void *arg)
{
    const struct expected *e = arg;

    return count(e->query) == e->rows;
}

/* Waits for it, half a minute at most: an index follows its table a moment later. */
static void eventually(bool (*is)(void *arg), void *arg)
{
    for (int i = 0; i < 3000 && !is(arg); i++)
        usleep(10000);
    assert_true(is(arg));
}

#define EXPECT(condition, n)                                                                       \
    do {                                                                                           \
        struct expected e_ = {(condition), (n)};                                                   \
        eventually(counts, &e_);                                                                   \
    } while (0)

static const struct wr_search_condition all = {.type = WR_SEARCH_MATCH_ALL, .weight = 1};

static struct wr_search_condition keyword(const char *k)
{
    return (struct wr_search_condition){.type = WR_SEARCH_TERM,
                                        .weight = 1,
                                        .field = BYTES_LIT("k"),
                                        .term = {.type = WR_VARCHAR, .bytes = bytes_str(k)}};
}

static struct wr_search_condition word(const char *w)
{
    return (struct wr_search_condition){.type = WR_SEARCH_MATCH,
                                        .weight = 1,
                                        .field = BYTES_LIT("t"),
                                        .match = {.text = bytes_str(w)}};
}

static void test_before_and_after(void **state)
{
    struct wr_search_condition k3 = keyword("k3"), one = word("number77"), many = word("this");

    (void)state;
    for (int i = 0; i < ROWS; i++)
        put(i, i);
    assert_int_equal(create_index(), 0);
    EXPECT(&all, ROWS);
    assert_int_equal(count(&k3), ROWS / 7);
    assert_int_equal(count(&one), 1);
    assert_int_equal(count(&many), ROWS);
    put(77, 78); /* another row of that number, and none of this */
    EXPECT(&one, 0);
    for (int i = 0; i < ROWS / 2; i++)
        remove_row(i);
    EXPECT(&all, ROWS / 2);
    assert_int_equal(drop_index(), 0);
    assert_int_equal(drop_index(), WR_E_SEARCH_INDEX);
}

/* Rows that have none of the indexed columns are there, too. */
static void test_bare_row(void **state)
{
    (void)state;
    put(1000, -1);
    assert_int_equal(create_index(), 0);
    EXPECT(&all, ROWS / 2 + 1);
    put(1001, -1);
    EXPECT(&all, ROWS / 2 + 2);
    remove_row(1000);
    remove_row(1001);
    EXPECT(&all, ROWS / 2);
    assert_int_equal(drop_index(), 0);
}

static void test_pages(void **state)
{
    struct wr_bytes token = BYTES_NONE;
    uint8_t kept[512];
    int64_t last = -1;
    size_t rows = 0;

    (void)state;
    assert_int_equal(create_index(), 0);
    EXPECT(&all, ROWS / 2);
    for (;;) {
        struct wr_reply *reply = search(&all, 70, token);

        assert_int_equal(reply->code, 0);
        for (size_t i = 0; i < reply->search.count; i++) {
            const struct wr_row *row = &reply->search.rows[i];

            assert_true(row->key.columns[0].value.integer > last);
            last = row->key.columns[0].value.integer;
            assert_int_equal(row->cell_count, 2); /* k and n: of TEXT nothing is stored */
            assert_true(isnan(reply->search.scores[i]));
        }
        rows += reply->search.count;
        token = reply->search.next_token;
        assert_true(token.len < sizeof(kept));
        if (token.ptr)
            token.ptr = memcpy(kept, token.ptr, token.len);
        wr_reply_free(reply);
        if (!token.ptr)
            break;
    }
    assert_int_equal(rows, ROWS / 2);
    assert_int_equal(drop_index(), 0);
}

static void *write_rows(void *arg)
{
    struct rng rng;

    rng_init(&rng, (uint64_t)(uintptr_t)arg);
    for (int i = 0; i < 1500; i++) {
        int64_t pk = (int64_t)(uintptr_t)arg * 10000 + (int64_t)rng_below(&rng, 300);

        if (rng_below(&rng, 4) == 0)
            remove_row(pk);
        else
            put(pk, (int64_t)rng_below(&rng, 1000));
    }
    return NULL;
}

/* How many rows the table has with a keyword; NULL: all. */
static int64_t stored(const char *k)
{
    struct wr_key_column low = {BYTES_LIT("pk"), {.type = WR_INF_MIN}};
    struct wr_key_column high = {BYTES_LIT("pk"), {.type = WR_INF_MAX}};
    struct wr_request req = {WR_REQUEST(GET_RANGE), .instance = {"test", 4}};
    struct wr_reply *reply;
    int64_t n = 0;

    req.get_range = (struct wr_get_range){.table = TABLE,
                                          .start = {&low, 1},
                                          .end = {&high, 1},
                                          .read = {.max_versions = 1, .has_max_versions = true}};
    reply = wr_exec(db, &req);
    assert_int_equal(reply->code, 0);
    assert_int_equal(reply->range.next.count, 0);
    for (size_t i = 0; i < reply->range.row_count; i++)
        for (size_t c = 0; c < reply->range.rows[i].cell_count; c++) {
            const struct wr_cell *cell = &reply->range.rows[i].cells[c];

            n += bytes_equal(cell->name, BYTES_LIT("k")) &&
                 (!k || bytes_equal(cell->value.bytes, bytes_str(k)));
        }
    wr_reply_free(reply);
    return n;
}

static void test_beside_writers(void **state)
{
    pthread_t writers[3];

    (void)state;
    for (uintptr_t i = 0; i < 3; i++)
        pthread_create(&writers[i], NULL, write_rows, (void *)(i + 1));
    assert_int_equal(create_index(), 0);
    for (int i = 0; i < 3; i++)
        pthread_join(writers[i], NULL);
    EXPECT(&all, stored(NULL));
    for (int i = 0; i < 7; i++) {
        char k[4];
        struct wr_search_condition q;

        snprintf(k, sizeof(k), "k%d", i);
        q = keyword(k);
        assert_int_equal(count(&q), stored(k));
    }
}

static void test_reopened(void **state)
{
    int64_t rows = stored(NULL);
    struct wr_search_condition k3 = keyword("k3");

    (void)state;
    if (strcmp(options.engine, "mem") == 0)
        skip();
    wr_close(db);
    db = database_open(&options);
    EXPECT(&all, rows);
    assert_int_equal(count(&k3), stored("k3"));
    put(99999, 3);
    EXPECT(&all, rows + 1);
}

static void test_table_stays(void **state)
{
    struct wr_request req = {WR_REQUEST(DELETE_TABLE)};

    (void)state;
    req.delete_table.table = TABLE;
    assert_int_equal(run(&req), WR_E_PARAMETER);
    assert_int_equal(drop_index(), 0);
    assert_int_equal(run(&req), 0);
}

static int set_up(const char *engine)
{
    options = (struct wr_options){.version = WR_API_VERSION,
                                  .engine = engine,
                                  .dir = dir,
                                  .settings = settings,
                                  .setting_count = 1};
    folder_make(dir);
    db = database_open(&options);
    create_table();
    return 0;
}

static int set_up_mem(void **state)
{
    (void)state;
    return set_up("mem");
}

static int set_up_rocks(void **state)
{
    (void)state;
    return set_up("rocks");
}

static int tear_down(void **state)
{
    (void)state;
    database_remove(db, dir);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_before_and_after),
        cmocka_unit_test(test_bare_row),
        cmocka_unit_test(test_pages),
        cmocka_unit_test(test_beside_writers),
        cmocka_unit_test(test_reopened),
        cmocka_unit_test(test_table_stays),
    };

    return cmocka_run_group_tests_name("mem", tests, set_up_mem, tear_down) +
           cmocka_run_group_tests_name("rocks", tests, set_up_rocks, tear_down);
}
