/* A search index holds its table's rows: those from before it, and each change that comes; also
 * while others write, which scans see none of twice, after it was dropped and made again, and after
 * the database was reopened. */
#include "base/rng.h"
#include "table/sync/reply_wait.h"

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <cmocka.h>
#undef fail /* the name is ctx.h's in this house */

#include "search_bed.h"

#define ROWS 400

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
        EXPECT(&q, stored(k)); /* as many as all there were before the last change was in */
    }
}

/* ---- several scans beside writers */

#define STILL_ROWS 300 /* which nobody changes */
#define STILL_FIRST 100000
#define SCANS 3 /* at once */

struct scan {
    atomic_bool *stop;
    int scans, wrong;
};

/* The next page: how many of those that stay it has, or -1: a row that is not in order. */
static int scan_page(bytes *token, uint8_t *kept, int64_t *last)
{
    struct wr_request req = {WR_REQUEST(PARALLEL_SCAN), .instance = {"test", 4}};
    struct wr_reply *reply;
    int still = 0;

    req.parallel_scan = (struct wr_parallel_scan){.table = TABLE,
                                                  .index = INDEX,
                                                  .columns = WR_SEARCH_COLUMNS_INDEX,
                                                  .query = &all,
                                                  .has_limit = true,
                                                  .limit = 40,
                                                  .token = *token};
    reply = wr_exec(db, &req);
    still = reply->code ? -1 : 0;
    for (size_t i = 0; still >= 0 && i < reply->scan.count; i++) {
        int64_t pk = reply->scan.rows[i].key.columns[0].value.integer;

        still = pk <= *last ? -1 : still + (pk >= STILL_FIRST);
        *last = pk;
    }
    *token = still < 0 ? BYTES_NONE : reply->scan.next_token;
    if (token->ptr)
        token->ptr = memcpy(kept, token->ptr, token->len);
    wr_reply_free(reply);
    return still;
}

/* From the first page to the last: every row that stays is there, and each row once. */
static bool scan_is_right(void)
{
    bytes token = BYTES_NONE;
    uint8_t kept[256];
    int64_t last = INT64_MIN;
    int rows = 0, page;

    do {
        page = scan_page(&token, kept, &last);
        rows += page;
    } while (page >= 0 && token.ptr);
    return page >= 0 && rows == STILL_ROWS;
}

static void *scan_rows(void *arg)
{
    struct scan *s = arg;

    do {
        s->wrong += !scan_is_right();
        s->scans++;
    } while (!atomic_load(s->stop));
    return NULL;
}

static void test_scans_beside_writers(void **state)
{
    pthread_t writers[3], scanners[SCANS];
    struct scan scans[SCANS];
    atomic_bool stop = false;

    (void)state;
    for (int64_t i = 0; i < STILL_ROWS; i++)
        put(STILL_FIRST + i, i);
    EXPECT(&all, stored(NULL));
    for (uintptr_t i = 0; i < 3; i++)
        pthread_create(&writers[i], NULL, write_rows, (void *)(i + 1));
    for (int i = 0; i < SCANS; i++) {
        scans[i] = (struct scan){&stop, 0, 0};
        pthread_create(&scanners[i], NULL, scan_rows, &scans[i]);
    }
    for (int i = 0; i < 3; i++)
        pthread_join(writers[i], NULL);
    atomic_store(&stop, true);
    for (int i = 0; i < SCANS; i++) {
        pthread_join(scanners[i], NULL);
        assert_int_equal(scans[i].wrong, 0);
        assert_true(scans[i].scans > 0);
    }
    for (int64_t i = 0; i < STILL_ROWS; i++)
        remove_row(STILL_FIRST + i);
    EXPECT(&all, stored(NULL));
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
        cmocka_unit_test(test_scans_beside_writers),
        cmocka_unit_test(test_reopened),
        cmocka_unit_test(test_table_stays),
    };

    return cmocka_run_group_tests_name("mem", tests, set_up_mem, tear_down) +
           cmocka_run_group_tests_name("rocks", tests, set_up_rocks, tear_down);
}
