/* Random SELECTs, by whatever path they take (plan.h), against SQLite over a plain table with the
 * same rows, while rows change.
 *
 *   SELECTS=20000 SEED=7 build/test/sql/run/differ_test
 */
#include "bed.h"

#include <sqlite3.h>

#define SELECTS 300
#define WRITE_EVERY 3
#define EXPLAIN_EVERY 10

struct differ {
    struct bed *bed;
    sqlite3 *plain;
    uint64_t random;
    char sql[2000]; /* being written */
    size_t len;
};

static unsigned below(struct differ *d, unsigned n)
{
    d->random = d->random * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(d->random >> 33) % n;
}

static void put(struct differ *d, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    d->len += (size_t)vsnprintf(d->sql + d->len, sizeof(d->sql) - d->len, format, args);
    va_end(args);
    assert_true(d->len < sizeof(d->sql));
}

#define PICK(d, ...)                                                                               \
    ((const char *const[]){                                                                        \
        __VA_ARGS__}[below(d, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))])

/* ---- statements ---- */

static void put_value(struct differ *d, char column)
{
    switch (column) {
    case 'k':
        put(d, "'k%u'", below(d, 7));
        break;
    case 'n':
        put(d, "%u", below(d, 11));
        break;
    case 'a':
        put(d, "%d", (int)below(d, 6) - 1);
        break;
    case 'b':
        put(d, "'x%u'", below(d, 5));
        break;
    default:
        put(d, "%u.5", below(d, 10));
    }
}

static void put_list(struct differ *d, char column)
{
    put(d, "%c in (", column);
    for (unsigned i = below(d, 3); i > 0; i--) {
        put_value(d, column);
        put(d, ", ");
    }
    put_value(d, column);
    put(d, ")");
}

static void put_between(struct differ *d, char column)
{
    put(d, "%c between ", column);
    put_value(d, column);
    put(d, " and ");
    put_value(d, column);
}

static void put_tuple(struct differ *d)
{
    put(d, "(k, n) %s (", PICK(d, ">", "<", ">=", "<="));
    put_value(d, 'k');
    put(d, ", ");
    put_value(d, 'n');
    put(d, ")");
}

static void put_condition(struct differ *d)
{
    char column = "knabckab"[below(d, 8)];

    switch (below(d, 10)) {
    case 0:
        put_list(d, column);
        break;
    case 1:
        put_between(d, column);
        break;
    case 2:
        put(d, "%c is %snull", "ab"[below(d, 2)], PICK(d, "", "not "));
        break;
    case 3:
        put_tuple(d);
        break;
    case 4:
        put(d, "%s like '%s'", PICK(d, "k", "b"), PICK(d, "k%", "x%", "k1%", "x2", "%1", "x_"));
        break;
    default:
        put(d, "%c %s ", column, PICK(d, "=", "=", "=", "<", ">", "<=", ">=", "<>"));
        put_value(d, column);
    }
}

static void put_where(struct differ *d, int depth)
{
    unsigned parts = 1 + below(d, 3);

    for (unsigned i = 0; i < parts; i++) {
        if (i)
            put(d, below(d, 4) ? " and " : " or ");
        put(d, "%s(", below(d, 8) ? "" : "not ");
        if (depth && !below(d, 4))
            put_where(d, depth - 1);
        else
            put_condition(d);
        put(d, ")");
    }
}

static void put_plain(struct differ *d)
{
    const char *items = PICK(d, "k, n, a, b, c", "k, n", "c, b, n, k", "a", "distinct b, a",
                             "count(*), min(a), max(b), sum(n)", "b, count(*), sum(n), max(c)");
    bool grouped = items[0] == 'b', one = strchr(items, '*') && !grouped;

    put(d, "%s from r", items);
    if (below(d, 20)) {
        put(d, " where ");
        put_where(d, 2);
    }
    put(d, grouped ? " group by b order by b" : "");
    if (grouped || one)
        return;
    if (strstr(items, "distinct") || items[0] == 'a')
        put(d, " order by a %s%s", PICK(d, "", "desc"), items[0] == 'a' ? "" : ", b");
    else
        put(d, " order by %s k %s, n %s",
            PICK(d, "", "", "a,", "a desc,", "b,", "b desc, a,", "c,"), PICK(d, "", "desc"),
            PICK(d, "", "desc"));
    if (below(d, 2))
        put(d, " limit %u offset %u", below(d, 20), below(d, 5));
}

/* ---- windows ---- */

/* A frame of rows, or of values, has to leave one answer only: rows that sort alike come in any
 * order. */
enum window_order { BY_KEY, BY_NUMBER, BY_VALUE, WINDOW_ORDERS };

static void put_function(struct differ *d, enum window_order order)
{
    if (order == BY_KEY)
        put(d, "%s",
            PICK(d, "row_number()", "ntile(3)", "lag(b)", "lag(a, 2, 7)", "lead(c)",
                 "lead(b, 1, 'none')", "first_value(b)", "last_value(n)", "nth_value(a, 2)",
                 "group_concat(b)", "sum(a)", "count(*)", "max(b)"));
    else
        put(d, "%s",
            PICK(d, "rank()", "dense_rank()", "sum(n)", "count(*)", "count(b)", "min(c)", "max(b)",
                 "sum(a)"));
}

static void put_window(struct differ *d, enum window_order order)
{
    put(d, "%s", PICK(d, "", "", "partition by a ", "partition by b ", "partition by k, a "));
    switch (order) {
    case BY_KEY:
        put(d, "order by %s k %s, n", PICK(d, "", "a desc,", "b,", "c desc,"), PICK(d, "", "desc"));
        put(d, " %s",
            PICK(d, "", "", "rows 1 preceding", "rows between 2 preceding and 1 following",
                 "rows between unbounded preceding and 1 preceding",
                 "rows between current row and unbounded following",
                 "range between unbounded preceding and current row"));
        break;
    case BY_NUMBER:
        put(d, "order by %s %s", PICK(d, "n", "c", "a desc"),
            PICK(d, "", "range 2 preceding", "range between 1 preceding and 1.5 following",
                 "range between current row and 3 following"));
        break;
    default:
        put(d, "order by %s", PICK(d, "a", "b desc", "c", "b, a desc"));
    }
}

static void put_windows(struct differ *d)
{
    enum window_order order = (enum window_order)below(d, WINDOW_ORDERS);
    bool named = !below(d, 3), rounded = order == BY_VALUE && !below(d, 3);
    unsigned functions = 1 + below(d, 2);

    put(d, "k, n");
    for (unsigned i = 0; i < functions; i++) {
        put(d, ", ");
        if (rounded)
            put(d, "cast(round(1000 * %s", PICK(d, "percent_rank()", "cume_dist()", "avg(n)"));
        else
            put_function(d, order);
        put(d, " over %s", named ? "w" : "(");
        if (!named) {
            put_window(d, order);
            put(d, ")");
        }
        put(d, "%s", rounded ? ", 0) as integer)" : "");
    }
    put(d, " from r");
    if (below(d, 5)) {
        put(d, " where ");
        put_where(d, 1);
    }
    if (named) {
        put(d, " window w as (");
        put_window(d, order);
        put(d, ")");
    }
    put(d, " order by k, n");
    if (!below(d, 3))
        put(d, " limit %u offset %u", below(d, 20), below(d, 5));
}

/* Over groups, and around a SELECT: the newest of each, say. */
static void put_window_around(struct differ *d)
{
    if (below(d, 2)) {
        put(d,
            "b, count(*), sum(sum(n)) over (order by b), rank() over (order by count(*) desc) from "
            "r group by b order by b");
        return;
    }
    put(d, "k, n, a from (select k, n, a, row_number() over (partition by ");
    put(d, "%s order by n desc, k) as place from r", PICK(d, "k", "a", "b"));
    if (below(d, 2)) {
        put(d, " where ");
        put_where(d, 1);
    }
    put(d, ") as x where place <= %u order by k, n", 1 + below(d, 3));
}

static void put_select(struct differ *d)
{
    if (!below(d, 5)) {
        (below(d, 5) ? put_windows : put_window_around)(d);
        return;
    }
    put_plain(d);
}

/* ---- both sides ---- */

static int on_plain(void *arg, int count, char **values, char **names)
{
    struct buf *b = arg;

    (void)names;
    buf_put_u8(b, '|');
    for (int i = 0; i < count; i++) {
        buf_put_bytes(b, i ? BYTES_LIT(",") : BYTES_LIT(""));
        buf_put_bytes(b, bytes_str(values[i] ? values[i] : "NULL"));
    }
    return 0;
}

static const char *plain_answer(struct differ *d, struct arena *a, const char *sql)
{
    struct buf b;
    char *error = NULL;

    buf_init(&b, a, 256);
    if (sqlite3_exec(d->plain, sql, on_plain, &b, &error))
        fail_msg("%s: %s", sql, error);
    buf_put_u8(&b, 0);
    return (const char *)b.data;
}

/* Columns' names are not compared. */
static const char *rows_of(const char *text)
{
    return text[0] == '!' ? text : text + strcspn(text, "|");
}

static void compare(struct differ *d)
{
    const char *hints = PICK(d, "_l_allow_filtering_", "_l_allow_filtering_",
                             "_l_allow_filtering_, _l_ignore_index_");
    struct arena a;
    const char *ours, *theirs;
    bytes sql, asked;

    d->len = 0;
    put_select(d);
    arena_init(&a, NULL, 0);
    sql = arena_printf(&a, "select %s", d->sql);
    asked = arena_printf(&a, "select /*+ %s */ %s", hints, d->sql);
    ours = rows_of(answer(d->bed, &a, asked.ptr, NULL, 0));
    theirs = plain_answer(d, &a, sql.ptr);
    if (strcmp(ours, theirs) != 0)
        print_error("%s\n", (const char *)asked.ptr);
    assert_string_equal(ours, theirs);
    arena_release(&a);
}

static bool takes_index(struct differ *d)
{
    struct arena a;
    bool is;

    d->len = 0;
    put_select(d);
    arena_init(&a, NULL, 0);
    is = strstr(answer(d->bed, &a,
                       arena_printf(&a, "explain select /*+ _l_allow_filtering_ */ %s", d->sql).ptr,
                       NULL, 0),
                "|r,index ") != NULL;
    arena_release(&a);
    return is;
}

static void both(struct differ *d, const char *here, const char *there)
{
    struct arena a;

    arena_init(&a, NULL, 0);
    expect(d->bed, here, "1");
    plain_answer(d, &a, there);
    arena_release(&a);
}

static void change_row(struct differ *d)
{
    char row[200], here[400], there[400];
    unsigned k = below(d, 6), n = below(d, 10), a = below(d, 6), b = below(d, 6);

    if (!below(d, 5)) {
        snprintf(here, sizeof(here), "delete from r where k = 'k%u' and n = %u", k, n);
        both(d, here, here);
        return;
    }
    snprintf(
        row, sizeof(row), "(k, n, a, b, c) values ('k%u', %u, %c, %s, %u.5)", k, n, "012340"[a],
        b ? (const char *[]){"'x0'", "'x1'", "'x2'", "'x3'", "'x4'"}[b - 1] : "null", below(d, 9));
    if (!a)
        snprintf(row, sizeof(row), "(k, n, a, b, c) values ('k%u', %u, null, 'x%u', %u.5)", k, n,
                 b % 5, below(d, 9));
    snprintf(here, sizeof(here), "upsert into r %s", row);
    snprintf(there, sizeof(there), "insert or replace into r %s", row);
    both(d, here, there);
}

static long number_of(const char *name, long otherwise)
{
    const char *text = getenv(name);

    return text ? strtol(text, NULL, 10) : otherwise;
}

struct differ_types {
    const char *a, *b, *c;
};

static void differ(struct bed *b, struct differ_types types, const char *indexes)
{
    struct differ d = {.bed = b, .random = (uint64_t)number_of("SEED", 20261123)};
    long count = number_of("SELECTS", SELECTS), by_index = 0;
    struct arena a;

    assert_int_equal(sqlite3_open(":memory:", &d.plain), 0);
    arena_init(&a, NULL, 0);
    plain_answer(&d, &a,
                 "pragma case_sensitive_like = on; create table r (k text, n integer, a integer, b "
                 "text, c real, primary key (k, n))");
    expect(d.bed,
           arena_printf(&a,
                        "create table r (k varchar, n bigint, a %s, b %s, c %s, primary key (k, n "
                        "desc), %s)",
                        types.a, types.b, types.c, indexes)
               .ptr,
           "0");
    arena_release(&a);
    for (int i = 0; i < 60; i++)
        change_row(&d);
    for (long i = 0; i < count; i++) {
        compare(&d);
        if (i % WRITE_EVERY == 0)
            change_row(&d);
        if (i % EXPLAIN_EVERY == 0)
            by_index += takes_index(&d);
    }
    assert_true(by_index > 0);
    print_message("%ld SELECTs, 0 differences; of %ld explained %ld take an index\n", count,
                  (count + EXPLAIN_EVERY - 1) / EXPLAIN_EVERY, by_index);
    sqlite3_close(d.plain);
}

static const struct differ_types tablestore_types = {"bigint", "varchar", "double"};

static void test_differ(void **state)
{
    differ(*state, tablestore_types,
           "index ra (a), index rb (b) include (c), index rba (b, a), index rn (n, a)");
}

/* Keys that descend, the other way round than the table has a column, and hashed. */
static void test_differ_ordered(void **state)
{
    differ(*state, tablestore_types,
           "index ra (a desc), index rb (hash32(b), b desc) include (c), index rba (b desc, "
           "a), index rn (n desc, a desc), index rab (hash8(a, b), a desc, b desc)");
}

/* Keys of the types that SQL alone has. */
static void test_differ_types(void **state)
{
    differ(*state, (struct differ_types){"tinyint", "char(2)", "float"},
           "index ra (a), index rb (b desc) include (c), index rc (c, b), index rac (a, c desc)");
}

static void test_differ_exact_types(void **state)
{
    differ(*state, (struct differ_types){"int", "varchar(9)", "decimal(5, 1)"},
           "index ra (a desc), index rca (hash32(c), c, a), index rc (c desc) include (b)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_differ, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_differ_ordered, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_differ_types, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_differ_exact_types, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
