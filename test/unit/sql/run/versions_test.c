/* Versions and timestamps in SELECT (span.h): random ones, against SQLite over a plain table that
 * the test fills with what each hint shows of its own record of all cells.
 *
 *   SELECTS=20000 SEED=7 build/test/sql/run/versions_test
 */
#include "bed.h"

#include <sqlite3.h>

#define SELECTS 300
#define WRITE_EVERY 2
#define KEYS 4
#define NUMBERS 5
#define VERSIONS 3
#define TIMES 12 /* 1000, 2000, ... */

/* A column's cells, newest first. */
struct cells {
    int count, time[VERSIONS], value[VERSIONS];
};

struct kept {
    bool exists;             /* without cells, too */
    struct cells columns[2]; /* a, b */
};

struct versions {
    struct bed *bed;
    sqlite3 *plain;
    uint64_t random;
    struct kept rows[KEYS][NUMBERS];
};

/* What the hints of a statement say. */
struct seen {
    int versions, from, to;
    bool timed;
};

static unsigned below(struct versions *d, unsigned n)
{
    d->random = d->random * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(d->random >> 33) % n;
}

/* ---- the record ---- */

static void cell_put(struct cells *c, int time, int value)
{
    int i = 0;

    while (i < c->count && c->time[i] > time)
        i++;
    if (i == VERSIONS)
        return;
    if (i == c->count || c->time[i] != time) {
        c->count += c->count < VERSIONS;
        for (int j = c->count - 1; j > i; j--) {
            c->time[j] = c->time[j - 1];
            c->value[j] = c->value[j - 1];
        }
    }
    c->time[i] = time;
    c->value[i] = value;
}

static void change_row(struct versions *d)
{
    unsigned k = below(d, KEYS), n = below(d, NUMBERS), what = below(d, 12);
    int time = 1000 * (1 + (int)below(d, TIMES)), value = (int)below(d, 9);
    struct kept *row = &d->rows[k][n];
    char sql[200];

    if (what == 0) {
        snprintf(sql, sizeof(sql), "delete from r where k = 'k%u' and n = %u", k, n);
        *row = (struct kept){0};
    } else if (what == 1) {
        snprintf(sql, sizeof(sql), "upsert into r (k, n, b) values ('k%u', %u, null)", k, n);
        row->columns[1] = (struct cells){0};
    } else {
        const char *names[] = {"a", "b", "a, b"};
        const char *name = names[what % 3];

        snprintf(sql, sizeof(sql),
                 "upsert /*+ _l_ts_(%d) */ into r (k, n, %s) values ('k%u', %u, %d%s)", time, name,
                 k, n, value, what % 3 == 2 ? ", 7" : "");
        if (what % 3 != 1)
            cell_put(&row->columns[0], time, value);
        if (what % 3)
            cell_put(&row->columns[1], time, what % 3 == 2 ? 7 : value);
    }
    row->exists = what > 1 || (what == 1 && row->exists); /* what only removes makes no row */
    expect(d->bed, sql, what == 1 && !row->exists ? "0" : "1");
}

/* ---- what the hints show of it ---- */

static struct cells cells_seen(const struct cells *c, const struct seen *s)
{
    struct cells out = {0};

    for (int i = 0; i < c->count && out.count < s->versions; i++)
        if (!s->timed || (c->time[i] >= s->from && c->time[i] < s->to)) {
            out.time[out.count] = c->time[i];
            out.value[out.count++] = c->value[i];
        }
    return out;
}

static void plain_run(struct versions *d, const char *sql)
{
    char *error = NULL;

    if (sqlite3_exec(d->plain, sql, NULL, NULL, &error))
        fail_msg("%s: %s", sql, error);
}

static const char *number_text(const struct cells *c, const int *of, int i, char *to)
{
    if (i >= c->count)
        return "null";
    snprintf(to, 12, "%d", of[i]);
    return to;
}

static void row_fill(struct versions *d, const struct seen *s, unsigned k, unsigned n,
                     const char *named)
{
    struct cells a = cells_seen(&d->rows[k][n].columns[0], s);
    struct cells b = cells_seen(&d->rows[k][n].columns[1], s);
    int count = 1;

    if (!d->rows[k][n].exists || (s->timed && !a.count && !b.count))
        return;
    if (strchr(named, 'a') && a.count > count)
        count = a.count;
    if (strchr(named, 'b') && b.count > count)
        count = b.count;
    for (int i = 0; i < count; i++) {
        char sql[200], texts[4][12];

        snprintf(sql, sizeof(sql), "insert into r values ('k%u', %u, %d, %s, %s, %s, %s)", k, n, i,
                 number_text(&a, a.value, i, texts[0]), number_text(&b, b.value, i, texts[1]),
                 number_text(&a, a.time, i, texts[2]), number_text(&b, b.time, i, texts[3]));
        plain_run(d, sql);
    }
}

static void plain_fill(struct versions *d, const struct seen *s, const char *named)
{
    plain_run(d, "delete from r");
    for (unsigned k = 0; k < KEYS; k++)
        for (unsigned n = 0; n < NUMBERS; n++)
            row_fill(d, s, k, n, named);
}

/* ---- statements ---- */

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

static bytes hints_pick(struct versions *d, struct arena *a, struct seen *s)
{
    bytes hints = BYTES_LIT("_l_allow_filtering_");

    *s = (struct seen){.versions = 1, .to = 1 << 30};
    if (below(d, 4)) {
        s->versions = 1 + (int)below(d, 4);
        hints = arena_printf(a, "%.*s, _l_versions_(%d)", (int)hints.len, (const char *)hints.ptr,
                             s->versions);
    }
    s->timed = below(d, 3) > 0;
    if (!s->timed)
        return hints;
    s->from = 1000 * (int)below(d, TIMES);
    if (below(d, 2)) {
        s->to = s->from + 1;
        return arena_printf(a, "%.*s, _l_ts_(%d)", (int)hints.len, (const char *)hints.ptr,
                            s->from);
    }
    hints =
        arena_printf(a, "%.*s, _l_ts_min_(%d)", (int)hints.len, (const char *)hints.ptr, s->from);
    if (below(d, 2))
        return hints;
    s->to = s->from + 1 + (int)below(d, 5000);
    return arena_printf(a, "%.*s, _l_ts_max_(%d)", (int)hints.len, (const char *)hints.ptr, s->to);
}

static bytes condition_pick(struct versions *d, struct arena *a, bool *a_named, bool *b_named)
{
    const char *sign = (const char *[]){"=", "<", ">", "<>"}[below(d, 4)];

    switch (below(d, 6)) {
    case 0:
        return arena_printf(a, "k %s 'k%u'", sign, below(d, KEYS));
    case 1:
        return arena_printf(a, "n %s %u", sign, below(d, NUMBERS));
    case 2:
        *a_named = true;
        return arena_printf(a, "a %s %u", sign, below(d, 9));
    case 3:
        *b_named = true;
        return arena_printf(a, "b_l_ts %s %u", sign, 1000 * below(d, TIMES));
    case 4:
        *b_named = true;
        return BYTES_LIT("b is null");
    default:
        return arena_printf(a, "k = 'k%u' and n = %u", below(d, KEYS), below(d, NUMBERS));
    }
}

/* The statement without SELECT and hints, and the columns that it names, as a text of their
 * letters. `plain` is the part behind ORDER BY that SQLite needs besides. */
static bytes select_pick(struct versions *d, struct arena *a, bytes *named, const char **plain)
{
    static const struct {
        const char *items, *named, *order, *plain;
    } forms[] = {{"k, n, a, a_l_ts, b, b_l_ts", "ab", "k, n desc", ", v"},
                 {"k, n, b", "b", "k, n desc", ", v"},
                 {"k, n, a_l_ts", "a", "k, n desc", ", v"},
                 {"k, n", "", "k, n desc", ", v"},
                 {"b, n, k", "b", "b, k, n", ""},
                 {"*", "ab", "k, n, a, b", ""},
                 {"distinct k, n", "", "k, n", ""},
                 {"distinct k, a", "a", "k, a", ""},
                 {"count(*), min(a), max(b_l_ts), sum(n)", "ab", NULL, ""},
                 {"count(*)", "", NULL, ""}};
    size_t form = below(d, PORT_COUNT(forms));
    bool a_named = strchr(forms[form].named, 'a'), b_named = strchr(forms[form].named, 'b');
    bytes out = arena_printf(a, "%s from r", forms[form].items);

    for (unsigned i = 0, n = below(d, 4); i < n; i++) {
        bytes one = condition_pick(d, a, &a_named, &b_named);

        out = arena_printf(a, "%.*s %s (%.*s)", (int)out.len, (const char *)out.ptr,
                           i == 0            ? "where"
                           : below(d, 4) > 0 ? "and"
                                             : "or",
                           (int)one.len, (const char *)one.ptr);
    }
    *named = arena_printf(a, "%s%s", a_named ? "a" : "", b_named ? "b" : "");
    *plain = forms[form].plain;
    if (!forms[form].order)
        return out;
    return arena_printf(a, "%.*s order by %s", (int)out.len, (const char *)out.ptr,
                        forms[form].order);
}

static void compare(struct versions *d)
{
    struct seen seen;
    struct arena a;
    const char *ours, *plain, *star;
    bytes hints, select, named, asked, sql;
    struct buf theirs;
    char *error = NULL;

    arena_init(&a, NULL, 0);
    hints = hints_pick(d, &a, &seen);
    select = select_pick(d, &a, &named, &plain);
    plain_fill(d, &seen, named.ptr);
    asked = arena_printf(&a, "select /*+ %.*s */ %.*s", (int)hints.len, (const char *)hints.ptr,
                         (int)select.len, (const char *)select.ptr);
    star = strstr(select.ptr, "* from") == select.ptr ? "k, n, a, b" : "";
    sql = arena_printf(&a, "select %s%s%s", star, (const char *)select.ptr + (*star != 0), plain);
    ours = answer(d->bed, &a, asked.ptr, NULL, 0);
    ours = ours[0] == '!' ? ours : ours + strcspn(ours, "|");
    buf_init(&theirs, &a, 256);
    if (sqlite3_exec(d->plain, sql.ptr, on_plain, &theirs, &error))
        fail_msg("%s: %s", (const char *)sql.ptr, error);
    buf_put_u8(&theirs, 0);
    if (strcmp(ours, (const char *)theirs.data) != 0)
        print_error("%s\n", (const char *)asked.ptr);
    assert_string_equal(ours, (const char *)theirs.data);
    arena_release(&a);
}

static long number_of(const char *name, long otherwise)
{
    const char *text = getenv(name);

    return text ? strtol(text, NULL, 10) : otherwise;
}

static void test_random(void **state)
{
    struct versions d = {.bed = *state, .random = (uint64_t)number_of("SEED", 20261123)};
    long count = number_of("SELECTS", SELECTS);

    assert_int_equal(sqlite3_open(":memory:", &d.plain), 0);
    plain_run(&d, "create table r (k text, n integer, v integer, a integer, b integer, a_l_ts "
                  "integer, b_l_ts integer, primary key (k, n, v))");
    expect(d.bed,
           "create table r (k varchar, n bigint, a bigint, b bigint, primary key (k, n desc)) with "
           "(versions = '3')",
           "0");
    for (int i = 0; i < 60; i++)
        change_row(&d);
    for (long i = 0; i < count; i++) {
        compare(&d);
        if (i % WRITE_EVERY == 0)
            change_row(&d);
    }
    print_message("%ld SELECTs, 0 differences\n", count);
    sqlite3_close(d.plain);
}

/* ---- by name ---- */

static void test_cases(void **state)
{
    struct bed *b = *state;

    expect(b,
           "create table s (id varchar, temp bigint, note varchar, primary key (id)) with "
           "(versions = 3)",
           "0");
    expect(b, "upsert /*+ _l_ts_(1000) */ into s (id, temp, note) values ('d', 1, 'x')", "1");
    expect(b, "upsert /*+ _l_ts_(3000) */ into s (id, temp) values ('d', 3)", "1");
    expect(b, "upsert /*+ _l_ts_(2000) */ into s (id, temp) values ('d', 2)", "1");
    expect(b, "select id, temp, temp_l_ts from s where id = 'd'", "id,temp,temp_l_ts|d,3,3000");
    expect(b,
           "select /*+ _l_versions_(3) */ id, temp, temp_l_ts, note_l_ts t from s where id = 'd'",
           "id,temp,temp_l_ts,t|d,3,3000,1000|d,2,2000,NULL|d,1,1000,NULL");
    expect(b, "select /*+ _l_versions_(2) */ * from s where id = 'd'",
           "id,temp,note|d,3,x|d,2,NULL");
    expect(b, "select /*+ _l_ts_(2000) */ * from s where id = 'd'", "id,temp,note|d,2,NULL");
    expect(b, "select /*+ _l_ts_(2500) */ * from s where id = 'd'", "id,temp,note");
    expect(b, "select /*+ _l_ts_min_(1000), _l_ts_max_(3000) */ temp, note from s where id = 'd'",
           "temp,note|2,x");
    expect(b, "select /*+ _l_versions_(9) */ max(temp_l_ts), count(*) from s where id = 'd'",
           "max(temp_l_ts),count(*)|3000,3");
    expect(b, "select s.temp_l_ts from s where id = 'd'", "temp_l_ts|3000");
    expect(b, "select id_l_ts from s where id = 'd'",
           "!1054 Unknown column 'id_l_ts' in 'field list'");
    expect(b, "upsert into s (id, temp_l_ts) values ('d', 1)",
           "!1054 Unknown column 'temp_l_ts' in 'field list'");
    expect(b, "select /*+ _l_versions_(0) */ * from s",
           "!9001 The hint _l_versions_ takes how many versions of a column are shown, from 1 on: "
           "_l_versions_(3)");
    expect(b, "select /*+ _l_ts_(1), _l_ts_min_(0) */ * from s",
           "!9001 _l_ts_ is one moment: leave it out beside _l_ts_min_ and _l_ts_max_");
    expect(b, "select /*+ _l_ts_min_(5), _l_ts_max_(5) */ * from s",
           "!9001 _l_ts_min_ has to be less than _l_ts_max_: cells from the one to in front of the "
           "other are seen");
    expect(b, "create table c (k bigint, a bigint, a_l_ts bigint, primary key (k))", "0");
    expect(b, "upsert into c (k, a, a_l_ts) values (1, 2, 3)", "1");
    expect(b, "select a_l_ts from c where k = 1", "a_l_ts|3");
}

/* An index has no times of its rows, so they are read behind it. */
static void test_index(void **state)
{
    struct bed *b = *state;

    expect(b,
           "create table i (k bigint, a bigint, c bigint, primary key (k), index ia (a) include "
           "(c))",
           "0");
    expect(b, "upsert into i (k, a, c) values (1, 5, 6)", "1");
    expect(b, "select k, c from i where a = 5 and a_l_ts > 1000 and c_l_ts >= a_l_ts", "k,c|1,6");
    expect(b, "select /*+ _l_versions_(2) */ k, c from i where a = 5", "k,c|1,6");
    expect(b, "select /*+ _l_ts_max_(1000) */ k, c from i where a = 5", "k,c");
    expect(b, "select /*+ _l_ts_min_(1000) */ k, c from i where a = 5", "k,c|1,6");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_cases, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_index, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_random, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
