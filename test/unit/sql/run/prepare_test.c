/* What is told of statements before they run: question marks, and the columns of their rows. */
#include "bed.h"

static const char *const type_names[] = {
    [WR_NULL] = "null",      [WR_BOOLEAN] = "boolean",     [WR_INTEGER] = "integer",
    [WR_BIGINT] = "bigint",  [WR_DOUBLE] = "double",       [WR_DECIMAL] = "decimal",
    [WR_VARCHAR] = "string", [WR_VARBINARY] = "varbinary", [WR_TIMESTAMP] = "timestamp",
    [WR_DATE] = "date"};

/* "2: a string, b bigint", or the fault. */
static const char *shape(struct bed *b, struct arena *a, const char *sql)
{
    struct prepared_shape s;
    struct fault fault;
    struct buf out;

    if (!session_prepare(b->session, a, a, bytes_str(sql), &s, &fault))
        return arena_printf(a, "!%u", fault.number).ptr;
    buf_init(&out, a, 64);
    buf_put_bytes(&out, arena_printf(a, "%zu:", s.parameters));
    for (size_t i = 0; i < s.column_count; i++)
        buf_put_bytes(&out, arena_printf(a, "%s %.*s %s", i ? "," : "", (int)s.columns[i].name.len,
                                         (const char *)s.columns[i].name.ptr,
                                         type_names[s.columns[i].type]));
    buf_put_u8(&out, 0);
    return (const char *)out.data;
}

#define EXPLAINED                                                                                  \
    " TABLE string, ACCESS string, BOUNDS string, WALKS string, PARTITIONS string, ROWS string, "  \
    "READ_CU string, REFUSED string"

static void test_shapes(void **state)
{
    static const char *const cases[][2] = {
        /* A get, a range, an aggregate below SQLite, and one of its own. */
        {"select v, k from t where k = ? and n = ?", "2: v double, k string"},
        {"select * from t where k = ?", "1: k string, n bigint, v double, d decimal, at timestamp"},
        {"select count(*), max(v), sum(n) from t where k > ?",
         "1: count(*) bigint, max(v) double, sum(n) bigint"},
        {"select k, sum(v) as total, avg(n), min(d) from t where k > ? group by k having "
         "count(*) > ? order by k limit ? offset ?",
         "4: k string, total double, avg(n) double, min(d) decimal"},
        {"select v as x from (select v from t where k = ?) as y", "1: x double"},
        {"select (select v from t where k = 'a' and n = 1) as x", "0: x string"},
        /* What is computed. */
        {"select n + 1, n / 2, n + v, -n, n > 1, concat(k, ?), length(k), n in (1, ?) from t",
         "2: n + 1 bigint, n / 2 double, n + v double, -n bigint, n > 1 bigint, concat(k, ?) "
         "string, length(k) bigint, n in (1, ?) bigint"},
        {"select case when n > 1 then v else 0 end as c, if(n > 1, 'a', 'b') as i, cast(k as "
         "signed) "
         "as s, x'00', 1.5, now(), date(at), ifnull(v, 0) from t",
         "0: c double, i string, s bigint, x'00' varbinary, 1.5 double, now() timestamp, date(at) "
         "date, ifnull(v, 0) double"},
        {"select ?, 1, 'a', null", "1: ? string, 1 bigint, 'a' string, null string"},
        {"select TABLE_NAME from information_schema.TABLES where TABLE_NAME like ?",
         "1: TABLE_NAME string"},
        /* Other answers. */
        {"explain select v from t where k = ?", "1:" EXPLAINED},
        {"show tables", "0: Tables_in_inst string"},
        {"show databases", "0: Database string"},
        {"show create table t", "0: Table string, Create Table string"},
        {"describe t", "0: TABLE_SCHEMA string, TABLE_NAME string, COLUMN_NAME string, TYPE "
                       "string, IS_PRIMARY_KEY string, SORT_ORDER string"},
        {"upsert into t (k, n, v) values (?, ?, ?)", "3:"},
        {"update t set v = ? where k = ? and n = ?", "3:"},
        {"delete from t where k = ? and n = ?", "2:"},
        {"drop table t", "0:"},
        {"commit", "0:"},
        /* Which columns there are shows when it runs. */
        {"select * from loose where k = ?", "1:"},
        {"select a, k from loose where k = ?", "1: a string, k string"},
        /* So does what is wrong with it, for then it may no longer be. */
        {"select * from nosuch where k = ?", "1:"},
        {"select nosuch from t", "0:"},
        {"show create table nosuch", "0:"},
        {"selec 1", "!1064"},
        {"select ? from", "!1064"},
    };
    struct bed *b = *state;

    expect(b,
           "create table t (k varchar, n bigint, v double, d decimal(10,2), at timestamp, primary "
           "key (k, n))",
           "0");
    expect(b, "create table loose (k varchar, primary key (k)) with (dynamic_columns = 'true')",
           "0");
    for (size_t i = 0; i < PORT_COUNT(cases); i++) {
        struct arena a;
        const char *was;

        arena_init(&a, NULL, 0);
        was = shape(b, &a, cases[i][0]);
        if (strcmp(was, cases[i][1]) != 0)
            print_error("%s\n", cases[i][0]);
        assert_string_equal(was, cases[i][1]);
        arena_release(&a);
    }
}

/* Nothing is begun, committed or locked by it. */
static void test_transactions(void **state)
{
    struct bed *b = *state;
    struct arena a;

    expect(b,
           "create table tx (k varchar, n bigint, v bigint, primary key (k, n)) with (transactions "
           "= 'true')",
           "0");
    expect(b, "start transaction", "0");
    expect(b, "upsert into tx (k, n, v) values ('a', 1, 7)", "1");
    arena_init(&a, NULL, 0);
    assert_string_equal(shape(b, &a, "select v from tx where k = 'b' and n = 1 for update"),
                        "0: v bigint");
    assert_string_equal(shape(b, &a, "create table other (k varchar primary key, v bigint)"), "0:");
    arena_release(&a);
    assert_true(session_in_transaction(b->session));
    expect(b, "rollback", "0");
    expect(b, "select v from tx where k = 'a'", "v");
}

/* Statements that are understood once. */
struct kept {
    const char *sql;
    struct arena arena;
    const struct statement *tree;
};

static void keep(struct bed *b, struct kept *k, const char *sql)
{
    struct prepared_shape shape;
    struct fault fault;
    struct arena a;

    k->sql = sql;
    arena_init(&k->arena, NULL, 0);
    arena_init(&a, NULL, 0);
    assert_true(session_prepare(b->session, &a, &k->arena, bytes_str(sql), &shape, &fault));
    k->tree = shape.tree;
    arena_release(&a);
}

static void expect_kept(struct bed *b, const struct kept *k, const char *text, const char *expected)
{
    struct wr_value value = {.type = WR_VARCHAR, .bytes = bytes_str(text)};
    struct arena a;

    arena_init(&a, NULL, 0);
    assert_string_equal(answer_tree(b, &a, k->sql, k->tree, &value, 1), expected);
    arena_release(&a);
}

/* What another session does to the table counts from the next run on, and that it is another table
 * of the same name. */
static void test_again(void **state)
{
    static const char *const statements[] = {
        "select * from t where k = ?",
        "select k, v from t where k = ?",
        "select v from t where k in (select k from t where k = ?)",
        "select count(v) from t where k >= ?",
        "upsert into t (k, v) values (?, 7)",
        "update t set v = v + 1 where k = ?",
        "delete from t where k = ?"};
    enum { ALL, SOME, TWICE, COUNT, UPSERT, UPDATE, DELETE };
    struct bed *b = *state, other = *b;
    struct kept kept[PORT_COUNT(statements)];

    other.session = bed_session(b);
    expect(b, "create table t (k varchar primary key, v bigint)", "0");
    for (size_t i = 0; i < PORT_COUNT(statements); i++)
        keep(b, &kept[i], statements[i]);
    for (int round = 0; round < 2; round++) {
        expect_kept(b, &kept[UPSERT], "a", "1");
        expect_kept(b, &kept[UPSERT], "b", "1");
        expect_kept(b, &kept[UPDATE], "b", "1");
        expect_kept(b, &kept[ALL], "b", "k,v|b,8");
        expect_kept(b, &kept[SOME], "a", "k,v|a,7");
        expect_kept(b, &kept[TWICE], "a", "v|7");
        expect_kept(b, &kept[COUNT], "a", "count(v)|2");
        expect_kept(b, &kept[DELETE], "b", "1");
        expect_kept(b, &kept[ALL], "b", "k,v");
    }
    expect(&other, "alter table t add column w varchar", "0");
    expect_kept(b, &kept[ALL], "a", "k,v,w|a,7,NULL");
    expect(&other, "upsert into t (k, w) values ('a', 'x')", "1");
    expect_kept(b, &kept[ALL], "a", "k,v,w|a,7,x");
    expect(&other, "drop table t", "0");
    expect_kept(b, &kept[ALL], "a", "!1146 Table 'inst.t' doesn't exist");
    expect_kept(b, &kept[UPSERT], "a", "!1146 Table 'inst.t' doesn't exist");
    expect(&other, "create table t (k varchar primary key, v varchar)", "0");
    expect_kept(b, &kept[UPSERT], "a", "1");
    expect_kept(b, &kept[ALL], "a", "k,v|a,7");
    expect_kept(b, &kept[SOME], "c", "k,v");
    for (size_t i = 0; i < PORT_COUNT(statements); i++)
        arena_release(&kept[i].arena);
    session_free(other.session);
}

/* More tables than a session remembers, some of them changed meanwhile. */
static void test_many_tables(void **state)
{
    struct bed *b = *state;
    char sql[200], answer[20];

    for (int round = 0; round < 3; round++)
        for (int i = 0; i < 7; i++) {
            snprintf(sql, sizeof(sql), "create table t%d (k bigint primary key, v%d bigint)", i, i);
            if (!round)
                expect(b, sql, "0");
            if (round == 2 && i == 3)
                expect(b, "alter table t3 add column w bigint", "0");
            snprintf(sql, sizeof(sql), "select * from t%d where k = 1", i);
            snprintf(answer, sizeof(answer), "k,v%d%s", i, round == 2 && i == 3 ? ",w" : "");
            expect(b, sql, answer);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_shapes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_transactions, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_many_tables, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
