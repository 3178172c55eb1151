/* Which statements are one request, and so are served by a loop that does not wait. */
#include "bed.h"

static enum session_begun begun(struct bed *b, const char *sql, const struct wr_value *values,
                                size_t n)
{
    struct shown w = {.sink = {on_columns, on_row}};
    enum session_begun was;
    struct outcome out;
    struct arena a;

    arena_init(&a, NULL, 0);
    arena_init(&w.arena, NULL, 0);
    buf_init(&w.out, &w.arena, 0);
    was = bed_run(b, &a, sql, NULL, values, n, &w.sink, &out);
    /* By which a thread knows what to hand to a loop. */
    assert_true(was != SESSION_REQUEST || out.single);
    arena_release(&w.arena);
    arena_release(&a);
    return was;
}

static void make(struct bed *b)
{
    expect(b, "create table t (k varchar, n bigint, v double, w varchar, primary key (k, n))", "0");
    expect(b, "create table d (k varchar, v bigint, w bigint default 7, primary key (k))", "0");
    expect(b, "upsert into t (k, n, v) values ('a', 1, 2)", "1");
    expect(b, "upsert into d (k, v) values ('a', 1)", "1");
}

static void test_kinds(void **state)
{
    static const struct {
        const char *sql;
        enum session_begun as;
    } cases[] = {
        {"select * from t where k = 'a' and n = 1", SESSION_REQUEST},
        {"select v from t where n = 1 and k = 'a'", SESSION_REQUEST},
        {"select /*+ _l_ts_max_(9) */ v from t where k = 'a' and n = 1", SESSION_REQUEST},
        {"upsert into t (k, n, v) values ('b', 1, 2)", SESSION_REQUEST},
        {"insert into t (k, n, w) values ('b', -1, NULL)", SESSION_REQUEST},
        {"update t set v = 3, w = 'x' where k = 'b' and n = 1", SESSION_REQUEST},
        {"update t set v = 3 where k = 'none' and n = 1", SESSION_REQUEST},
        {"delete from t where k = 'b' and n = 1", SESSION_REQUEST},
        {"upsert into d (k, v, w) values ('b', 1, 2)", SESSION_REQUEST},
        /* Nothing is asked for. */
        {"select v from t where k = 'a' and n = 'x'", SESSION_ENDED},
        {"update t set v = 3 where k = 'a' and n = NULL", SESSION_ENDED},
        {"selec 1", SESSION_ENDED},
        {"upsert into t (k, n) values ('a', 1)", SESSION_ENDED},
        {"upsert into t (k, n, v) values (NULL, 1, 2)", SESSION_ENDED},
        {"update t set n = 2 where k = 'a' and n = 1", SESSION_ENDED},
        {"update t set v = 1 where k = 'a'", SESSION_ENDED},
        /* More than a request. */
        {"select * from t where k = 'a'", SESSION_WHOLE},
        {"select v + 1 from t where k = 'a' and n = 1", SESSION_WHOLE},
        {"select count(*) from t where k = 'a' and n = 1", SESSION_WHOLE},
        {"upsert into t (k, n, v) values ('a', 1, 2), ('a', 2, 2)", SESSION_WHOLE},
        {"upsert into t (k, n, v) values (concat('a', 'b'), 1, 2)", SESSION_WHOLE},
        {"update t set v = v * 2 where k = 'a' and n = 1", SESSION_WHOLE},
        {"upsert into d (k, v) values ('b', 1)", SESSION_WHOLE},
        {"show tables", SESSION_WHOLE},
        {"select 1", SESSION_WHOLE},
        {"select TABLE_NAME from information_schema.TABLES where TABLE_NAME = 't'", SESSION_WHOLE},
    };
    struct bed *b = *state;

    make(b);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        enum session_begun was = begun(b, cases[i].sql, NULL, 0);

        if (was != cases[i].as)
            print_error("%s\n", cases[i].sql);
        assert_int_equal(was, cases[i].as);
    }
    expect(b, "select * from t where k = 'a'", "k,n,v,w|a,1,4,NULL|a,2,2,NULL");
}

/* A description that is not known any more is asked for where one may wait. */
static void test_changed_tables(void **state)
{
    const char *sql = "select * from t where k = 'a' and n = 1";
    struct bed *b = *state;
    struct session *other;

    make(b);
    assert_int_equal(begun(b, sql, NULL, 0), SESSION_REQUEST);
    other = b->session;
    b->session = bed_session(b);
    expect(b, "alter table t add column x bigint", "0");
    session_free(b->session);
    b->session = other;
    assert_int_equal(begun(b, sql, NULL, 0), SESSION_WHOLE);
    assert_int_equal(begun(b, sql, NULL, 0), SESSION_REQUEST);
    expect(b, sql, "k,n,v,w,x|a,1,2,NULL,NULL");
    expect(b, "drop table t", "0");
    assert_int_equal(begun(b, sql, NULL, 0), SESSION_WHOLE);
    expect(b, sql, "!1146 Table 'inst.t' doesn't exist");
}

/* What belongs to a transaction, or waits for one. */
static void test_transactions(void **state)
{
    const char *sql = "upsert into x (k, v) values ('a', 2)";
    struct bed *b = *state;
    struct session *other;
    struct deferred *d;
    struct wr_reply *locked;
    struct outcome out;
    struct shown w = {.sink = {on_columns, on_row}};
    struct arena a;

    expect(b, "create table x (k varchar, v bigint, primary key (k)) with (transactions = 'true')",
           "0");
    expect(b, "upsert into x (k, v) values ('a', 1)", "1");
    assert_int_equal(begun(b, sql, NULL, 0), SESSION_REQUEST);
    expect(b, "begin", "0");
    assert_int_equal(begun(b, sql, NULL, 0), SESSION_WHOLE);
    other = b->session;
    b->session = bed_session(b);
    arena_init(&a, NULL, 0);
    expect(b, "select v from x where k = 'a'", "v|2");
    assert_int_equal(
        session_begin(b->session, &a, bytes_str(sql), NULL, NULL, 0, &w.sink, &out, &d),
        SESSION_REQUEST);
    assert_false(session_end(d, wr_exec(b->db, deferred_request(d))));
    /* One that was killed meanwhile is not begun anew. */
    assert_int_equal(
        session_begin(b->session, &a, bytes_str(sql), NULL, NULL, 0, &w.sink, &out, &d),
        SESSION_REQUEST);
    locked = wr_exec(b->db, deferred_request(d));
    b->gone = 1;
    assert_true(session_end(d, locked));
    assert_int_equal(out.fault.number, 1317);
    b->gone = 0;
    arena_release(&a);
    session_free(b->session);
    b->session = other;
    expect(b, "rollback", "0");
    expect(b, "set autocommit = 0", "0");
    assert_int_equal(begun(b, sql, NULL, 0), SESSION_WHOLE);
}

/* As often as question marks are bound: each time as if it had been said anew. */
static void test_parameters(void **state)
{
    struct wr_value values[] = {{.type = WR_VARCHAR, .bytes = BYTES_LIT("p")},
                                {.type = WR_BIGINT, .integer = 5},
                                {.type = WR_DOUBLE, .real = 1.5}};
    struct bed *b = *state;

    make(b);
    assert_int_equal(begun(b, "upsert into t (k, n, v) values (?, ?, ?)", values, 3),
                     SESSION_REQUEST);
    expect_with(b, "select v from t where k = ? and n = ?", values, 2, "v|1.5");
    assert_int_equal(begun(b, "select v from t where k = ? and n = ?", values, 1), SESSION_WHOLE);
}

/* ---- planning ---- */

#define PLANNED 100 /* sub-selects */

/* A clock that goes a millisecond on whenever it is asked. */
static int64_t tick(struct clock *c)
{
    return c->set_us += 1000;
}

static int64_t asked(struct bed *b, const char *select, bool runs)
{
    int64_t start = clock_mono_ms(&b->clock) * 1000;
    struct clock real = b->clock;
    struct prepared_shape shape;
    struct fault fault;
    struct arena a;
    struct buf sql;

    arena_init(&a, NULL, 0);
    buf_init(&sql, &a, 0);
    buf_put_bytes(&sql, BYTES_LIT("select 1"));
    for (int i = 0; i < PLANNED; i++)
        buf_put_bytes(&sql, arena_printf(&a, ", (%s) as c%d", select, i));
    b->clock.set_us = start;
    b->clock.mono_us = tick;
    buf_put_u8(&sql, 0);
    if (runs)
        assert_true(answer(b, &a, (const char *)sql.data, NULL, 0)[0] != '!');
    else
        assert_true(
            session_prepare(b->session, &a, &a, bytes_str((const char *)sql.data), &shape, &fault));
    start = (b->clock.set_us - start) / 1000;
    b->clock = real;
    arena_release(&a);
    return start;
}

/* Planning asks whether the statement may go on: for each sub-select when it is written out, which
 * is all that is done for who prepares, and for each path to its rows. SQLite asks only while a
 * statement runs, and of so few steps not at all. */
static void test_planning(void **state)
{
    struct bed *b = *state;
    int64_t bare, rows;

    make(b);
    bare = asked(b, "select 1", false);
    rows = asked(b, "select max(v) from t where k > 'zz'", true);
    assert_true(bare >= PLANNED);
    assert_true(rows >= bare + PLANNED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_kinds, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_changed_tables, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_transactions, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_parameters, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_planning, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
