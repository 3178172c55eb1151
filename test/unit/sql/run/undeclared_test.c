/* Columns that are in rows and nobody declared. */
#include "bed.h"

/* A table as the HTTP door makes it: a key, and rows of any columns. */
static void table_make(struct bed *b, const char *name)
{
    struct wr_key_schema key[] = {{.name = BYTES_LIT("k"), .type = WR_VARCHAR}};
    struct wr_request create = {WR_REQUEST(CREATE_TABLE), .instance = BYTES_LIT("inst")};
    struct wr_reply *reply;

    create.create_table = (struct wr_create_table){
        .table = bytes_str(name),
        .key = key,
        .key_count = 1,
        .options = {.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS, .ttl_s = -1, .max_versions = 2}};
    reply = wr_exec(b->db, &create);
    assert_int_equal(reply->code, 0);
    wr_reply_free(reply);
}

static void put(struct bed *b, const char *table, const char *k, const struct wr_cell *cells,
                size_t count)
{
    struct wr_key_column key = {BYTES_LIT("k"), {.type = WR_VARCHAR, .bytes = bytes_str(k)}};
    struct wr_request request = {WR_REQUEST(UPDATE_ROW), .instance = BYTES_LIT("inst")};
    struct wr_reply *reply;

    request.update_row = (struct wr_row_change){
        .type = WR_UPDATE, .table = bytes_str(table), .row = {{&key, 1}, cells, count}};
    reply = wr_exec(b->db, &request);
    assert_int_equal(reply->code, 0);
    wr_reply_free(reply);
}

static struct wr_cell text(const char *name, const char *v)
{
    return (struct wr_cell){.name = bytes_str(name),
                            .value = {.type = WR_VARCHAR, .bytes = bytes_str(v)},
                            .timestamp_ms = WR_TIMESTAMP_NONE};
}

static struct wr_cell number(const char *name, int64_t v)
{
    return (struct wr_cell){.name = bytes_str(name),
                            .value = {.type = WR_BIGINT, .integer = v},
                            .timestamp_ms = WR_TIMESTAMP_NONE};
}

static void fill(struct bed *b)
{
    table_make(b, "people");
    put(b, "people", "ada", (struct wr_cell[]){text("city", "London"), number("balance", 12)}, 2);
    put(b, "people", "bob", (struct wr_cell[]){number("City", 7), text("balance", "none")}, 2);
    put(b, "people", "eve", (struct wr_cell[]){text("city", "Paris")}, 1);
}

static void test_star(void **state)
{
    struct bed *b = *state;

    fill(b);
    expect(b, "select * from people",
           "k,City,balance,city|ada,NULL,12,London|bob,7,none,NULL|eve,NULL,NULL,Paris");
    expect(b, "select * from people where k = 'eve'", "k,city|eve,Paris");
    expect(b, "select * from people where k > 'b' limit 1", "k,City,balance|bob,7,none");
    expect(b, "select *, city from people where k = 'ada'",
           "k,balance,city,city|ada,12,London,London");
    expect(b, "select p.* from people as p where city = 'Paris' allow filtering",
           "k,city|eve,Paris");
    expect(b, "select * from people where k = 'nobody'", "k");
    expect(b, "select * from (select * from people) as p where k = 'ada'", "k|ada");
}

static void test_names(void **state)
{
    struct bed *b = *state;

    fill(b);
    expect(b, "select k, balance, nosuch from people",
           "k,balance,nosuch|ada,12,NULL|bob,none,NULL|eve,NULL,NULL");
    expect(b, "select City, city from people where k = 'ada'", "City,city|NULL,London");
    expect(b, "select City, city from people where k = 'bob'", "City,city|7,NULL");
    expect(b, "select k from people where balance = 12 allow filtering", "k|ada");
    expect(b, "select k from people where balance = 'none' allow filtering", "k|bob");
    expect(b, "select k from people where balance = 12",
           "!9001 Detect inefficient query: select k from people where balance = 12 This query may "
           "be a full table scan and thus may have unpredictable performance. Add a bound on the "
           "first key column 'k', or permit it with the hint /*+ _l_allow_filtering_ */ (mariadb "
           "sends it with --comments)");
    expect(b,
           "select city as where_from, count(*) as n from people group by where_from order by n "
           "desc, where_from",
           "where_from,n|NULL,1|London,1|Paris,1");
    expect(b, "select sum(balance + 1) from people where k = 'ada'", "sum(balance + 1)|13");
    expect(b,
           "select k from people as p where exists (select 1 from people as q where q.k = 'ada' "
           "and q.city = p.city) allow filtering",
           "k|ada");
    expect(b, "select city_l_ts > 1000 from people where k = 'ada'", "city_l_ts > 1000|1");
}

static void test_writes(void **state)
{
    struct bed *b = *state;

    fill(b);
    expect(b, "insert into people (k, n, r, t, b, x) values ('joe', 1, 1.5, 't', true, x'00ff')",
           "1");
    expect(b, "select hex(x), n + 1, r * 2, t, b from people where k = 'joe'",
           "hex(x),n + 1,r * 2,t,b|00FF,2,3,t,1");
    expect(b, "update people set city = 'Rome' where k = 'joe'", "1");
    expect(b, "select city from people where k = 'joe'", "city|Rome");
    /* One that SQL made has the columns that it declares, unless it says otherwise. */
    expect(b, "create table fixed (k varchar, c bigint, primary key (k))", "0");
    expect(b, "insert into fixed (k, d) values ('a', 1)",
           "!1054 Unknown column 'd' in 'field list'");
    put(b, "fixed", "a", (struct wr_cell[]){number("d", 1), number("c", 2)}, 2);
    expect(b, "select * from fixed", "k,c|a,2");
    expect(b, "select d from fixed", "!1054 Unknown column 'd' in 'field list'");
    expect(b, "alter table fixed set dynamic_columns = 'true'", "0");
    expect(b, "select * from fixed", "k,c,d|a,2,1");
    expect(b, "insert into fixed (k, e) values ('b', 'x')", "1");
    expect(b, "select * from fixed", "k,c,d,e|a,2,1,NULL|b,NULL,NULL,x");
    expect(b, "alter table fixed set dynamic_columns = 'false'", "0");
    expect(b, "select * from fixed", "k,c|a,2|b,NULL");
}

static void test_bounds(void **state)
{
    struct bed *b = *state;
    static char big[1 << 20];

    table_make(b, "big");
    memset(big, 'x', sizeof(big) - 1);
    for (char k[] = "a"; *k < 'k'; ++*k)
        put(b, "big", k, (struct wr_cell[]){text("v", big)}, 1);
    expect(
        b, "select * from big",
        "!8008 SELECT * of columns that are not declared holds its rows until it knows them all, "
        "and these have more than 8388608 bytes: add LIMIT, or name the columns");
    expect(b, "select k, length(v) from big limit 1", "k,length(v)|a,1048575");
}

/* Names that differ in case alone, of declared columns. */
static void test_case(void **state)
{
    struct bed *b = *state;

    expect(b, "create table t (a bigint, A bigint, b varchar, B varchar, primary key (a, A))", "0");
    expect(b, "insert into t (a, A, b, B) values (1, 2, 'x', 'y'), (1, 1, 'v', 'w')", "2");
    expect(b, "select a, A, b, B from t where a = 1 and A = 2", "a,A,b,B|1,2,x,y");
    expect(b, "select A, B from t where a = 1 order by A", "A,B|1,w|2,y");
    expect(b, "select * from t where B > 'w' and a = 1", "a,A,b,B|1,2,x,y");
    expect(b, "create index by_b on t (B) include (b) sync", "0");
    expect(b, "select A, b from t where B = 'w'", "A,b|1,v");
    expect(b, "select u.A from t as u where u.a = 1 and u.B = 'w'", "A|1");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_star, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_names, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_writes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bounds, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_case, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
