/* Window functions: what differ_test does not say of them. */
#include "bed.h"

static void test_windows(void **state)
{
    static const char *const cases[][2] = {
        /* The newest of each, and a sum that runs. */
        {"select host, n, row_number() over (partition by host order by n desc) as r, sum(n) over "
         "(order by host, n) as s from t order by host, n",
         "host,n,r,s|a,1,2,1|a,2,1,3|b,1,1,4"},
        {"select /*+ _l_allow_filtering_ */ host, n from (select host, n, rank() over (partition "
         "by host order by n desc) as "
         "place from t) as x where place = 1 order by host",
         "host,n|a,2|b,1"},
        {"select host, count(*), sum(count(*)) over () as total from t group by host",
         "host,count(*),total|a,2,3|b,1,3"},
        {"select n, count(*) over w, first_value(n) over (w order by n desc) from t window w as "
         "(partition by host) order by host, n",
         "n,count(*) over w,first_value(n) over (w order by n desc)|1,2,2|2,2,2|1,1,1"},
        /* Numbers that SQLite does not have keep their types, defaults too. */
        {"select lag(d) over (order by host, n) as x, lag(d, 1, 0.50) over (order by host, n) as "
         "y, "
         "max(u) over () as z from t",
         "x,y,z|NULL,0.5,18446744073709551615|1.25,1.25,18446744073709551615|100.5,100.5,"
         "18446744073709551615"},
        {"select sum(n) over (order by d range between 1 preceding and current row) as x from t "
         "order by d",
         "x|1|1|3"},
        {"select at, lead(at) over (order by at) as next from t order by at limit 1",
         "at,next|2024-01-02 00:00:00,2024-01-03 00:00:00"},
        /* Words of windows are names elsewhere. */
        {"select over, rows, `window` from words", "over,rows,window|1,2,3"},
        {"select range, partition, current from words where over = 1 and row is null",
         "range,partition,current|NULL,NULL,NULL"},
        {"select count(*) over", "!1064 You have an error in your SQL syntax: line 1, column 21: "
                                 "the statement ends too early"},
        /* A plan is refused as without them. */
        {"select row_number() over () from t where n = 1",
         "!9001 Detect inefficient query: select row_number() over () from t where n = 1 This "
         "query "
         "may be a full table scan and thus may have unpredictable performance. Add a bound on the "
         "first key column 'host', create an index: CREATE INDEX t_n ON t (n), or permit it with "
         "the hint /*+ _l_allow_filtering_ */ (mariadb sends it with --comments)"},
        {"select n from t where row_number() over () = 1 and host = 'a'",
         "!1105 misuse of window function row_number()"},
        {"select row_number() from t", "!1105 misuse of window function row_number()"},
        {"select n, rank() over nosuch from t", "!1105 no such window: \"nosuch\""},
        {"select count(distinct n) over () from t",
         "!1105 DISTINCT is not supported for window functions"},
        {"select abs(n) over () from t", "!1105 abs() may not be used as a window function"},
        {"select length(host) over () from t",
         "!1105 wr_length() may not be used as a window function"},
        {"select sum(n) over (order by at range 1 preceding) from t",
         "!9001 RANGE with a distance takes numbers to sort by: for a moment, sort by "
         "UNIX_TIMESTAMP(it)"},
        {"select sum(n) over (order by nosuch) from t",
         "!1054 Unknown column 'nosuch' in 'field list'"},
        {"update t set n2 = n2 + rank() over () where host = 'a' and n = 1",
         "!9001 UPDATE takes no window functions"},
        /* Columns that only a window names. */
        {"select k, row_number() over (partition by colour order by k desc) as r from loose order "
         "by "
         "k",
         "k,r|x,2|y,1|z,1"},
    };
    struct bed *b = *state;

    expect(b,
           "create table t (host varchar, n bigint, n2 bigint, d decimal(10,2), u bigint unsigned, "
           "at timestamp, primary key (host, n))",
           "0");
    expect(b,
           "upsert into t (host, n, n2, d, u, at) values ('a', 1, 0, 1.25, 7, '2024-01-02'), ('a', "
           "2, 0, "
           "100.5, 18446744073709551615, '2024-01-03'), ('b', 1, 0, 99.75, 8, '2024-01-04')",
           "3");
    expect(b,
           "create table words (over bigint, rows bigint, `window` bigint, range bigint, partition "
           "bigint, current bigint, row bigint, primary key (over))",
           "0");
    expect(b, "upsert into words (over, rows, `window`) values (1, 2, 3)", "1");
    expect(b, "create table loose (k varchar, primary key (k)) with (dynamic_columns = 'true')",
           "0");
    expect(b, "upsert into loose (k, colour) values ('x', 'red'), ('y', 'red'), ('z', 'blue')",
           "3");
    for (size_t i = 0; i < PORT_COUNT(cases); i++)
        expect(b, cases[i][0], cases[i][1]);
}

/* SQLite needs minutes to prepare hundreds, and nothing ends that. */
static void test_many(void **state)
{
    struct bed *b = *state;
    struct arena a;
    struct buf sql;

    arena_init(&a, NULL, 0);
    buf_init(&sql, &a, 4096);
    expect(b, "create table t (k bigint, primary key (k))", "0");
    buf_put_bytes(&sql, BYTES_LIT("select rank() over ()"));
    for (int i = 1; i < 65; i++)
        buf_put_bytes(&sql, BYTES_LIT(", rank() over ()"));
    buf_put_bytes(&sql, BYTES_LIT(" from t where k = 1"));
    buf_put_u8(&sql, 0);
    expect(b, (const char *)sql.data, "!9001 A statement has at most 64 window functions");
    arena_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_windows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_many, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
