/* Aggregates over several pages, in two parts side by side and in one. */
#include "bed.h"

#include "base/pool.h"

#define ROWS 18000
#define STATEMENT_ROWS 1000

/* Row i, with keys that lie on both sides of zero, far apart at one end. */
static void rows_put(struct bed *b, const char *table)
{
    struct arena a;
    struct buf sql;

    for (int i = 0; i < ROWS;) {
        arena_init(&a, NULL, 0);
        buf_init(&sql, &a, 0);
        buf_put_bytes(&sql, arena_printf(&a, "upsert into %s (k, n, v) values ", table));
        for (int n = 0; n < STATEMENT_ROWS; n++, i++) {
            long long at = i < ROWS / 9 ? -1000000000ll * (i + 1) : i;

            buf_put_bytes(&sql, arena_printf(&a, "%s('%s%06d', %lld, %d)", n ? "," : "",
                                             i % 3 ? "key" : "\xc3\xa4", i, at, i));
        }
        buf_put_u8(&sql, 0);
        expect(b, (const char *)sql.data, arena_printf(&a, "%d", STATEMENT_ROWS).ptr);
        arena_release(&a);
    }
}

static void test_parts(void **state)
{
    static const char *const tables[][2] = {
        {"t0", "create table t0 (k varchar, n bigint, v bigint, primary key (k, n))"},
        {"t1", "create table t1 (n bigint, k varchar, v bigint, primary key (n, k))"},
        {"t2", "create table t2 (n bigint, k varchar, v bigint, primary key (n desc, k))"},
    };
    static const char *const selects[] = {
        "select count(*), count(v), sum(v), min(v), max(v), min(k), max(k), min(n), max(n) from %s",
        "select count(*), sum(v) from %s where n > -3000000000 and n < 15000",
        "select count(*), min(n) from %s where k >= 'key'",
        "select sum(length(k)), count(length(k)), min(length(k)), max(length(k)) from %s",
    };
    struct pool_conf conf = {.name = "walk", .threads = 3};
    struct pool *pool = pool_start(&conf);
    struct bed *b = *state, parted = *b;
    struct arena a;
    char sql[400];

    parted.session = bed_session_with(b, pool);
    for (size_t t = 0; t < PORT_COUNT(tables); t++) {
        expect(b, tables[t][1], "0");
        rows_put(b, tables[t][0]);
        for (size_t i = 0; i < PORT_COUNT(selects); i++) {
            snprintf(sql, sizeof(sql), selects[i], tables[t][0]);
            arena_init(&a, NULL, 0);
            expect(&parted, sql, answer(b, &a, sql, NULL, 0));
            arena_release(&a);
        }
    }
    expect(&parted, "select count(*), sum(v) from t0", "count(*),sum(v)|18000,161991000");
    expect(b, "upsert into t1 (n, k, v) values (5, 'a', 9223372036854775807), (16001, 'a', 7)",
           "2");
    expect(&parted, "select sum(v) from t1",
           "!1690 BIGINT value is out of range in SUM, ABS, DIV or CAST: SUM(CAST(... AS DOUBLE)) "
           "goes "
           "further, with 15 digits");
    expect(&parted, "select count(v) from t1", "count(v)|18002");
    session_free(parted.session);
    pool_stop(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_parts, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
