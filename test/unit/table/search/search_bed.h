/* search_bed.h: a table of a number, a keyword and a text in each row, with a search index over
 * them. Included behind cmocka. */
#ifndef UNIT_TABLE_SEARCH_SEARCH_BED_H
#define UNIT_TABLE_SEARCH_SEARCH_BED_H

#include "base/bytes.h"

#include <stdio.h>
#include <unistd.h>

#include "../database.h"

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

static inline void remove_row(int64_t pk)
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

static inline struct wr_search_condition keyword(const char *k)
{
    return (struct wr_search_condition){.type = WR_SEARCH_TERM,
                                        .weight = 1,
                                        .field = BYTES_LIT("k"),
                                        .term = {.type = WR_VARCHAR, .bytes = bytes_str(k)}};
}

static inline struct wr_search_condition word(const char *w)
{
    return (struct wr_search_condition){.type = WR_SEARCH_MATCH,
                                        .weight = 1,
                                        .field = BYTES_LIT("t"),
                                        .match = {.text = bytes_str(w)}};
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

#endif
