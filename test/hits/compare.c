/* compare.c: what an index finds against the rows, for each keyword: how many, the sum of a number,
 * and which rows, in the order of that number. */
#include "life.h"

#include "base/arena.h"
#include "base/bytes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WAIT_US 20000
#define FIND_TRIES 500  /* ten seconds */
#define WAIT_TRIES 3000 /* a minute, and more on a loaded machine: nothing is judged by it */

struct found {
    int64_t number, key;
};

struct list {
    struct found *items;
    size_t count, room;
};

static void list_add(struct arena *a, struct list *l, int64_t number, int64_t key)
{
    if (l->count == l->room) {
        struct found *more = ARENA_ARRAY(a, struct found, 2 * l->room + 64);

        if (l->count)
            memcpy(more, l->items, l->count * sizeof(*more));
        l->items = more;
        l->room = 2 * l->room + 64;
    }
    l->items[l->count++] = (struct found){number, key};
}

static int compare_found(const void *x, const void *y)
{
    const struct found *a = x, *b = y;

    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    return (a->key > b->key) - (a->key < b->key);
}

/* Where something is damaged, storage is opened again in between, and the index is made again. */
static bool comes_again(const struct life *l, int code)
{
    return code == WR_E_BUSY ||
           (l->comes_again && (code == WR_E_UNAVAILABLE || code == WR_E_UNSURE));
}

/* Until there is an answer. */
static struct wr_reply *run(struct life *l, struct wr_db *db, const struct wr_request *req)
{
    struct wr_reply *reply = wr_exec(db, req);

    for (int i = 0; i < WAIT_TRIES && l->comes_again && comes_again(l, reply->code); i++) {
        wr_reply_free(reply);
        usleep(WAIT_US);
        reply = wr_exec(db, req);
    }
    return reply;
}

/* ---- rows ---- */

struct rows {
    struct arena *a;
    struct list *of; /* each keyword */
};

/* Of "k7": 7; -1: none of ours. */
static int keyword_number(bytes k)
{
    int n = 0;

    if (k.len > sizeof("k999") - 1)
        return -1;
    for (size_t i = 1; i < k.len; i++)
        n = n * 10 + bytes_u8(k)[i] - '0';
    return n;
}

static int take_row(void *arg, const struct wr_row *row)
{
    struct rows *r = arg;
    int64_t number = 0;
    int keyword = -1;

    for (size_t i = 0; i < row->cell_count; i++) {
        const struct wr_cell *cell = &row->cells[i];

        if (bytes_equal(cell->name, BYTES_LIT("n")))
            number = cell->value.integer;
        else if (bytes_equal(cell->name, BYTES_LIT("k")))
            keyword = keyword_number(cell->value.bytes);
    }
    /* Where storage takes no writes, the row that marks the end of a comparison stays. */
    if (keyword >= 0 && keyword < LIFE_KEYWORDS)
        list_add(r->a, &r->of[keyword], number, row->key.columns[0].value.integer);
    return 0;
}

static void read_rows(struct life *l, struct wr_db *db, struct arena *a, struct list *of)
{
    struct rows rows = {a, of};
    struct wr_key_column low = {{"p", 1}, {.type = WR_INF_MIN}};
    struct wr_key_column high = {{"p", 1}, {.type = WR_INF_MAX}};

    for (bool more = true; more;) {
        struct wr_request req = {WR_REQUEST(GET_RANGE), .instance = {"search", 6}};
        struct wr_reply *reply;

        req.get_range = (struct wr_get_range){.table = life_table,
                                              .start = {&low, 1},
                                              .end = {&high, 1},
                                              .read = {.max_versions = 1, .has_max_versions = true},
                                              .on_row = take_row,
                                              .on_row_arg = &rows};
        reply = run(l, db, &req);
        if (reply->code)
            life_problem(l, "GetRange: %s", reply->message);
        more = !reply->code && reply->range.next.count;
        if (more)
            low.value = reply->range.next.columns[0].value;
        wr_reply_free(reply);
    }
    for (int k = 0; k < LIFE_KEYWORDS; k++)
        qsort(of[k].items, of[k].count, sizeof(of[k].items[0]), compare_found);
}

/* ---- the index ---- */

static struct wr_reply *ask(struct life *l, struct wr_db *db,
                            const struct wr_search_condition *query, int32_t limit, bytes token)
{
    struct wr_sorter by = {.type = WR_SORTER_FIELD, .field = {"n", 1}, .order = WR_ORDER_ASC};
    struct wr_bytes names[] = {{"n", 1}};
    struct wr_request req = {WR_REQUEST(SEARCH), .instance = {"search", 6}};

    req.search = (struct wr_search){.table = life_table,
                                    .index = life_index,
                                    .query = query,
                                    .sort = {.given = true, .sorters = &by, .count = 1},
                                    .has_limit = true,
                                    .limit = limit,
                                    .token = token,
                                    .track_total = INT32_MAX,
                                    .columns = WR_SEARCH_COLUMNS_NAMED,
                                    .names = names,
                                    .name_count = 1};
    return run(l, db, &req);
}

static bool is_following(struct life *l, struct wr_db *db)
{
    struct wr_request req = {WR_REQUEST(DESCRIBE_SEARCH_INDEX), .instance = {"search", 6}};
    struct wr_reply *reply;
    bool follows;

    req.describe_search_index =
        (struct wr_describe_search_index){.table = life_table, .index = life_index};
    reply = run(l, db, &req);
    if (reply->code)
        life_problem(l, "DescribeSearchIndex: %s", reply->message);
    follows = reply->search_index.phase == WR_SEARCH_INCR;
    wr_reply_free(reply);
    return follows;
}

static void write_row(struct life *l, struct wr_db *db, struct wr_request *req)
{
    int code = life_run(db, req);

    for (int i = 0; i < WAIT_TRIES && comes_again(l, code); i++) {
        usleep(WAIT_US);
        code = life_run(db, req);
    }
    if (code)
        life_problem(l, "a row cannot be written: %d", code);
}

/* A row that is written when all others have been and the index follows, and found: then all others
 * are in it, too. */
static void catch_up(struct life *l, struct wr_db *db)
{
    char text[32];
    struct wr_search_condition query = {.type = WR_SEARCH_TERM, .weight = 1, .field = {"k", 1}};
    struct wr_key_column key = {{"p", 1}, {.type = WR_BIGINT, .integer = -1}};
    struct wr_cell cell = {.name = {"k", 1}, .timestamp_ms = WR_TIMESTAMP_NONE};
    struct wr_request req = {WR_REQUEST(PUT_ROW)};
    int64_t total = 0;

    for (int i = 0; i < WAIT_TRIES && !is_following(l, db); i++)
        usleep(WAIT_US);
    snprintf(text, sizeof(text), "mark%" PRIu64, l->seed);
    cell.value = (struct wr_value){.type = WR_VARCHAR, .bytes = bytes_str(text)};
    req.put_row =
        (struct wr_row_change){.type = WR_PUT, .table = life_table, .row = {{&key, 1}, &cell, 1}};
    write_row(l, db, &req);
    query.term = cell.value;
    for (int i = 0; i < WAIT_TRIES && !total; i++) {
        struct wr_reply *reply = ask(l, db, &query, 0, BYTES_NONE);

        if (reply->code && reply->code != WR_E_BUSY)
            life_problem(l, "Search: %s", reply->message);
        total = reply->code ? 0 : reply->search.total;
        wr_reply_free(reply);
        if (!total)
            usleep(WAIT_US);
    }
    if (!total)
        life_problem(l, "the index does not catch up");
    req = (struct wr_request){WR_REQUEST(DELETE_ROW)};
    req.delete_row =
        (struct wr_row_change){.type = WR_DELETE, .table = life_table, .row = {{&key, 1}, NULL, 0}};
    write_row(l, db, &req);
}

static void compare_page(struct life *l, const struct wr_reply *reply, const struct list *want,
                         size_t at, int keyword)
{
    if (reply->search.total != (int64_t)want->count)
        life_problem(l, "k%d: %" PRId64 " are found, and %zu are there", keyword,
                     reply->search.total, want->count);
    for (size_t i = 0; i < reply->search.count; i++) {
        const struct wr_row *row = &reply->search.rows[i];

        if (at + i >= want->count)
            break;
        if (row->key.columns[0].value.integer != want->items[at + i].key)
            life_problem(l, "k%d: hit %zu is row %" PRId64 " and not %" PRId64, keyword, at + i,
                         row->key.columns[0].value.integer, want->items[at + i].key);
        atomic_fetch_add(&l->counts->compared, 1);
    }
}

static void compare_keyword(struct life *l, struct wr_db *db, const struct list *want, int keyword)
{
    char k[8], kept[4096];
    struct wr_search_condition query = {.type = WR_SEARCH_TERM, .weight = 1, .field = {"k", 1}};
    bytes token = BYTES_NONE;
    size_t at = 0;

    snprintf(k, sizeof(k), "k%d", keyword);
    query.term = (struct wr_value){.type = WR_VARCHAR, .bytes = bytes_str(k)};
    for (bool more = true; more;) {
        struct wr_reply *reply = ask(l, db, &query, 1000, token);

        if (reply->code)
            life_problem(l, "Search: %s", reply->message);
        compare_page(l, reply, want, at, keyword);
        at += reply->search.count;
        token = reply->search.next_token;
        more = !reply->code && token.ptr && token.len <= sizeof(kept);
        if (more)
            token.ptr = memcpy(kept, token.ptr, token.len);
        wr_reply_free(reply);
    }
    if (at != want->count)
        life_problem(l, "k%d: %zu rows come, and %zu are there", keyword, at, want->count);
}

/* All parts of the index are read that the comparison needs; what is damaged of them is found, and
 * the index made again. */
static void look(struct life *l, struct wr_db *db)
{
    struct wr_search_condition query = {.type = WR_SEARCH_EXISTS, .weight = 1, .field = {"k", 1}};
    int code = WR_E_BUSY;

    for (int i = 0; i < WAIT_TRIES && code == WR_E_BUSY; i++) {
        struct wr_reply *reply = ask(l, db, &query, 10, BYTES_NONE);

        code = reply->code;
        wr_reply_free(reply);
        if (code == WR_E_BUSY)
            usleep(WAIT_US);
    }
    if (code)
        life_problem(l, "the index cannot be read: %d", code);
}

void life_find_damage(struct life *l, struct wr_db *db)
{
    unsigned long long before = atomic_load(&l->counts->made_again);

    for (int i = 0; i < FIND_TRIES && atomic_load(&l->counts->made_again) == before; i++)
        usleep(WAIT_US);
    life_compare(l, db);
}

void life_compare(struct life *l, struct wr_db *db)
{
    struct list of[LIFE_KEYWORDS] = {0};
    struct arena a;

    arena_init(&a, NULL, 0);
    look(l, db);
    catch_up(l, db);
    read_rows(l, db, &a, of);
    for (int k = 0; k < LIFE_KEYWORDS; k++)
        compare_keyword(l, db, &of[k], k);
    arena_release(&a);
}
