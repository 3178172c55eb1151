#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#undef fail /* ctx.h has one of another meaning */

#include "base/limit.h"
#include "base/turn.h"
#include "table/model/filter.h"

#include <math.h>

static struct clock clock_;
static struct limits limits;

static int setup(void **state)
{
    (void)state;
    clock_real_init(&clock_);
    limits_init(&limits, false);
    return 0;
}

static struct wr_value integer(int64_t v)
{
    return (struct wr_value){.type = WR_BIGINT, .integer = v};
}

static struct wr_value real(double v)
{
    return (struct wr_value){.type = WR_DOUBLE, .real = v};
}

static struct wr_value text(const char *s)
{
    return (struct wr_value){.type = WR_VARCHAR, .bytes = bytes_str(s)};
}

static struct wr_value blob(const char *s)
{
    return (struct wr_value){.type = WR_VARBINARY, .bytes = bytes_str(s)};
}

static struct wr_value yes(bool v)
{
    return (struct wr_value){.type = WR_BOOLEAN, .boolean = v};
}

static struct wr_filter column(const char *name, enum wr_comparator comparator, struct wr_value v)
{
    struct wr_filter f = {.type = WR_FILTER_COLUMN};

    f.column.comparator = comparator;
    f.column.column = bytes_str(name);
    f.column.value = v;
    f.column.filter_if_missing = true;
    f.column.latest_version_only = true;
    return f;
}

static struct wr_filter regex(const char *name, const char *pattern, enum wr_type cast,
                              enum wr_comparator comparator, struct wr_value v)
{
    struct wr_filter f = column(name, comparator, v);

    f.column.regex = bytes_str(pattern);
    f.column.cast_type = cast;
    return f;
}

static struct wr_filter composite(enum wr_combinator combinator, const struct wr_filter *subs,
                                  size_t count)
{
    return (struct wr_filter){
        .type = WR_FILTER_COMPOSITE,
        .composite = {.combinator = combinator, .subs = subs, .sub_count = count}};
}

static struct wr_filter page(int32_t offset, int32_t limit)
{
    return (struct wr_filter){.type = WR_FILTER_PAGE, .page = {.offset = offset, .limit = limit}};
}

/* ---- a row to filter */

static struct wr_cell cell(const char *name, struct wr_value v, int64_t timestamp_ms)
{
    return (struct wr_cell){.name = bytes_str(name), .value = v, .timestamp_ms = timestamp_ms};
}

static size_t make_cells(struct wr_cell *cells)
{
    size_t n = 0;

    cells[n++] = cell("age", integer(20), 3);
    cells[n++] = cell("age", integer(10), 2);
    cells[n++] = cell("age", text("old"), 1);
    cells[n++] = cell("blob", blob("\x80"), 1);
    cells[n++] = cell("flag", yes(true), 1);
    cells[n++] = cell("log", text("x t1:41, t2:7,"), 2);
    cells[n++] = cell("log", text("t1:43,"), 1);
    cells[n++] = cell("name", text("bob"), 1);
    cells[n++] = cell("num", text("n=-1.50e1;"), 1);
    cells[n++] = cell("real", real(1.5), 1);
    return n;
}

static bool match(struct wr_filter f)
{
    struct wr_key_column k = {.name = BYTES_LIT("id"), .value = integer(7)};
    struct wr_key key = {&k, 1};
    struct wr_cell cells[16];
    struct filter *compiled;
    struct ctx c;
    bool matched;

    ctx_init(&c, &clock_, NULL, NULL, 0);
    assert_int_equal(filter_compile(&c, &limits, &f, FILTER_READ, &compiled), 0);
    matched = filter_match(&c, compiled, &key, cells, make_cells(cells));
    assert_int_equal(c.code, 0);
    ctx_release(&c);
    return matched;
}

static void refuse_as(struct wr_filter f, enum filter_use use, const char *wanted)
{
    struct filter *compiled;
    struct ctx c;

    ctx_init(&c, &clock_, NULL, NULL, 0);
    assert_int_equal(filter_compile(&c, &limits, &f, use, &compiled), E_PARAMETER);
    assert_string_equal(c.text, wanted);
    assert_null(compiled);
    ctx_release(&c);
}

static void refuse(struct wr_filter f, const char *wanted)
{
    refuse_as(f, FILTER_READ, wanted);
}

/* ---- columns */

static void test_comparators(void **state)
{
    static const struct {
        enum wr_comparator comparator;
        bool below, same, above; /* outcome when the stored value is so */
    } rows[] = {
        {WR_EQUAL, false, true, false},        {WR_NOT_EQUAL, true, false, true},
        {WR_GREATER_THAN, false, false, true}, {WR_GREATER_EQUAL, false, true, true},
        {WR_LESS_THAN, true, false, false},    {WR_LESS_EQUAL, true, true, false},
    };

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(rows); i++) {
        assert_int_equal(match(column("age", rows[i].comparator, integer(21))), rows[i].below);
        assert_int_equal(match(column("age", rows[i].comparator, integer(20))), rows[i].same);
        assert_int_equal(match(column("age", rows[i].comparator, integer(-19))), rows[i].above);
        assert_int_equal(match(column("name", rows[i].comparator, text("bobby"))), rows[i].below);
        assert_int_equal(match(column("real", rows[i].comparator, real(1.25))), rows[i].above);
        assert_int_equal(match(column("blob", rows[i].comparator, blob("\x7F"))), rows[i].above);
        assert_int_equal(match(column("flag", rows[i].comparator, yes(false))), rows[i].above);
        assert_int_equal(match(column("id", rows[i].comparator, integer(7))), rows[i].same);
    }
}

static void test_other_types_never_match(void **state)
{
    (void)state;
    for (int comparator = WR_EQUAL; comparator <= WR_LESS_EQUAL; comparator++) {
        struct wr_filter f = column("age", (enum wr_comparator)comparator, real(20));

        assert_false(match(f));
        f.column.filter_if_missing = false;
        assert_false(match(f));
        assert_true(match(composite(WR_NOT, &f, 1)));
        assert_false(match(column("name", (enum wr_comparator)comparator, blob("bob"))));
        assert_false(match(column("id", (enum wr_comparator)comparator, text("7"))));
    }
}

static void test_missing(void **state)
{
    (void)state;
    for (int comparator = WR_EQUAL; comparator <= WR_LESS_EQUAL; comparator++) {
        struct wr_filter f = column("none", (enum wr_comparator)comparator, integer(1));

        assert_false(match(f));
        assert_true(match(composite(WR_NOT, &f, 1)));
        f.column.filter_if_missing = false;
        assert_true(match(f));
    }
}

static void test_versions(void **state)
{
    struct wr_filter f = column("age", WR_EQUAL, integer(10));

    (void)state;
    assert_false(match(f));
    f.column.latest_version_only = false;
    assert_true(match(f));
    f.column.value = text("old");
    assert_true(match(f));
    f.column.value = integer(30);
    f.column.filter_if_missing = false;
    assert_false(match(f));
}

static void test_existence(void **state)
{
    struct wr_value none = {.type = WR_NULL};

    (void)state;
    for (int if_missing = 0; if_missing < 2; if_missing++) {
        struct wr_filter f = column("age", WR_EXIST, none);

        f.column.filter_if_missing = if_missing;
        assert_true(match(f));
        f.column.comparator = WR_NOT_EXIST;
        assert_false(match(f));
        f.column.column = BYTES_LIT("none");
        assert_true(match(f));
        f.column.comparator = WR_EXIST;
        assert_false(match(f));
        f.column.column = BYTES_LIT("id");
        assert_true(match(f));
    }
}

static void test_absent_row(void **state)
{
    struct wr_filter f = column("age", WR_EQUAL, integer(1));
    struct filter *compiled;
    struct ctx c;

    (void)state;
    ctx_init(&c, &clock_, NULL, NULL, 0);
    assert_int_equal(filter_compile(&c, &limits, &f, FILTER_CONDITION, &compiled), 0);
    assert_false(filter_match(&c, compiled, NULL, NULL, 0));
    f.column.filter_if_missing = false; /* the compiled filter points into f */
    assert_true(filter_match(&c, compiled, NULL, NULL, 0));
    assert_int_equal(filter_compile(&c, &limits, NULL, FILTER_READ, &compiled), 0);
    assert_null(compiled);
    assert_true(filter_match(&c, NULL, NULL, NULL, 0));
    ctx_release(&c);
}

static void test_composites(void **state)
{
    struct wr_filter good = column("age", WR_EQUAL, integer(20));
    struct wr_filter bad = column("name", WR_EQUAL, text("x"));

    (void)state;
    for (int i = 0; i < 8; i++) {
        struct wr_filter subs[3] = {i & 1 ? good : bad, i & 2 ? good : bad, i & 4 ? good : bad};

        assert_int_equal(match(composite(WR_AND, subs, 3)), i == 7);
        assert_int_equal(match(composite(WR_OR, subs, 3)), i != 0);
        assert_int_equal(match(composite(WR_NOT, subs, 1)), !(i & 1));
    }
}

/* ---- regular expressions */

static void test_regex(void **state)
{
    struct wr_filter f = regex("log", "t1:([0-9]+),", WR_BIGINT, WR_EQUAL, integer(41));

    (void)state;
    assert_true(match(f));
    f.column.value = integer(43);
    assert_false(match(f));
    f.column.latest_version_only = false;
    assert_true(match(f));
    assert_true(match(regex("log", "t([0-9]):([0-9]+),$", WR_VARCHAR, WR_EQUAL, text("2"))));
    assert_true(match(regex("num", "n=([^;]*);", WR_DOUBLE, WR_LESS_THAN, real(-14.9))));
    assert_true(match(regex("name", "^b.b$", WR_VARCHAR, WR_EQUAL, text("bob"))));
    assert_true(match(regex("name", "(?<=b)(o)(?=b)", WR_VARCHAR, WR_EQUAL, text("o"))));
    /* The value extracted is of another type than the filter's. */
    assert_false(match(regex("log", "t1:([0-9]+),", WR_VARCHAR, WR_EQUAL, integer(41))));
}

static void test_regex_without_value_is_missing(void **state)
{
    static const struct {
        const char *column, *pattern;
        enum wr_type cast;
    } rows[] = {
        {"log", "t3:([0-9]+),", WR_BIGINT}, /* no match */
        {"name", "(.*)", WR_BIGINT},        /* no number */
        {"name", "(q)|b", WR_VARCHAR},      /* the group took no part */
        {"num", "=(-1.50)", WR_BIGINT},     /* no whole number */
        {"log", "(x) ", WR_DOUBLE},         /* no number */
        {"age", "([0-9]+)", WR_BIGINT},     /* not a text */
        {"none", "(.*)", WR_VARCHAR},       /* no column */
        {"name", "b()", WR_BIGINT},         /* an empty text is no number */
    };

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(rows); i++) {
        struct wr_filter f =
            regex(rows[i].column, rows[i].pattern, rows[i].cast, WR_NOT_EQUAL, integer(0));

        assert_false(match(f));
        f.column.filter_if_missing = false;
        assert_true(match(f));
        f.column.comparator = WR_EXIST;
        assert_false(match(f));
        f.column.comparator = WR_NOT_EXIST;
        assert_true(match(f));
    }
    assert_true(match(regex("log", "t1:([0-9]+),", WR_BIGINT, WR_EXIST, integer(0))));
    assert_false(match(regex("log", "t1:([0-9]+),", WR_BIGINT, WR_NOT_EXIST, integer(0))));
}

static bool match_text(const char *pattern, enum wr_type cast, const char *subject, size_t len,
                       struct wr_value v, int *code)
{
    struct wr_filter f = regex("a", pattern, cast, WR_EQUAL, v);
    struct wr_cell one = {.name = BYTES_LIT("a"), .value = {.type = WR_VARCHAR}};
    struct filter *compiled;
    struct ctx c;
    bool matched;

    one.value.bytes = bytes_of(subject, len);
    ctx_init(&c, &clock_, NULL, NULL, 0);
    assert_int_equal(filter_compile(&c, &limits, &f, FILTER_READ, &compiled), 0);
    assert_true(filter_has_regex(compiled));
    matched = filter_match(&c, compiled, NULL, &one, 1);
    *code = c.code;
    ctx_release(&c);
    return matched;
}

static void test_regex_casts(void **state)
{
    static const struct {
        const char *text;
        enum wr_type cast;
        struct wr_value wanted;
        bool good;
    } rows[] = {
        {"9223372036854775807", WR_BIGINT, {.type = WR_BIGINT, .integer = INT64_MAX}, true},
        {"-9223372036854775808", WR_BIGINT, {.type = WR_BIGINT, .integer = INT64_MIN}, true},
        {"9223372036854775808", WR_BIGINT, {.type = WR_BIGINT, .integer = INT64_MAX}, false},
        {"+12", WR_BIGINT, {.type = WR_BIGINT, .integer = 12}, true},
        {" 12", WR_BIGINT, {.type = WR_BIGINT, .integer = 12}, false},
        {"12x", WR_BIGINT, {.type = WR_BIGINT, .integer = 12}, false},
        {"1-2", WR_BIGINT, {.type = WR_BIGINT, .integer = 1}, false},
        {"1.5", WR_DOUBLE, {.type = WR_DOUBLE, .real = 1.5}, true},
        {"-1e3", WR_DOUBLE, {.type = WR_DOUBLE, .real = -1000}, true},
        {"7", WR_DOUBLE, {.type = WR_DOUBLE, .real = 7}, true},
        {"0x10", WR_DOUBLE, {.type = WR_DOUBLE, .real = 16}, false},
        {"1e999", WR_DOUBLE, {.type = WR_DOUBLE, .real = INFINITY}, false},
        {"1e", WR_DOUBLE, {.type = WR_DOUBLE, .real = 1}, false},
    };
    int code;

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(rows); i++) {
        if (isfinite(rows[i].wanted.real) || rows[i].cast == WR_BIGINT)
            assert_int_equal(match_text("^(.*)$", rows[i].cast, rows[i].text, strlen(rows[i].text),
                                        rows[i].wanted, &code),
                             rows[i].good);
        assert_int_equal(match_text("^(.*)$", rows[i].cast, rows[i].text, strlen(rows[i].text),
                                    rows[i].wanted.type == WR_BIGINT ? integer(-77) : real(-77),
                                    &code),
                         false);
    }
}

/* A match may lie in any window of a long text, and anchors mean the ends of the whole text. */
static void test_regex_in_long_texts(void **state)
{
    static const size_t places[] = {0, 1, 1022, 1023, 1024, 1025, 2047, 2048, 99990};
    size_t len = 100000;
    char *p = malloc(len);
    int code;

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(places); i++) {
        memset(p, '.', len);
        memcpy(p + places[i], "a:42;", 5);
        assert_true(match_text("a:([0-9]+);", WR_BIGINT, p, len, integer(42), &code));
        assert_int_equal(match_text("^a:([0-9]+);", WR_BIGINT, p, len, integer(42), &code),
                         places[i] == 0);
    }
    memset(p, '.', len);
    p[len - 1] = '7';
    assert_true(match_text("([0-9])$", WR_BIGINT, p, len, integer(7), &code));
    assert_false(match_text("z", WR_VARCHAR, p, len, text("z"), &code));
    assert_int_equal(code, 0);
    free(p);
}

/* An expression that would try for ever gives up, and a request full of them is ended. */
static void test_regex_has_a_time_limit(void **state)
{
    size_t len = 2 << 20;
    char *p = malloc(len);
    int code;

    (void)state;
    memset(p, 'a', len);
    assert_false(match_text("(a+)+$b", WR_VARCHAR, p, 64, text("a"), &code));
    assert_int_equal(code, 0);
    /* Here no single starting place takes long, but all together would take minutes. */
    for (size_t i = 0; i < len; i += 12)
        p[i] = ' ';
    assert_false(match_text("(a+)+[bc]", WR_VARCHAR, p, len, text("a"), &code));
    assert_int_equal(code, E_PARAMETER);
    free(p);
}

/* All filters of one request share the time that its expressions may take. */
static void test_regex_time_is_the_requests(void **state)
{
    struct wr_filter f = regex("c", "b(x)", WR_VARCHAR, WR_EXIST, text(""));
    struct wr_cell cells[] = {cell("c", text("abx"), 1)};
    struct turn turn = {.matched_us = 0};
    struct filter *one, *other, *condition;
    struct ctx c;

    (void)state;
    ctx_init(&c, &clock_, NULL, NULL, 0);
    c.turn = &turn;
    assert_int_equal(filter_compile(&c, &limits, &f, FILTER_READ, &one), 0);
    assert_int_equal(filter_compile(&c, &limits, &f, FILTER_READ, &other), 0);
    assert_int_equal(filter_compile(&c, &limits, &f, FILTER_CONDITION, &condition), 0);
    assert_true(filter_match(&c, one, NULL, cells, 1));
    turn.matched_us = 300000; /* of a second, or of a quarter of one under a row lock */
    assert_true(filter_match(&c, other, NULL, cells, 1));
    assert_false(filter_match(&c, condition, NULL, cells, 1));
    assert_int_equal(c.code, E_PARAMETER);
    ctx_clear(&c);
    turn.matched_us = 1000001;
    for (int i = 0; i < 2; i++) { /* and each row that is not matched any more says so */
        assert_false(filter_match(&c, i ? one : other, NULL, cells, 1));
        assert_int_equal(c.code, E_PARAMETER);
        assert_string_equal(c.text, "The regex of column 'c' takes too long.");
        ctx_clear(&c);
    }
    ctx_release(&c);
}

/* A single starting place that takes minutes: each step runs through the rest of the text. The
 * deadline ends it. */
static void test_regex_ends_with_the_deadline(void **state)
{
    struct wr_filter f = regex("c", "^.*?.*+[xy]", WR_VARCHAR, WR_EXIST, text(""));
    struct wr_value long_text = {.type = WR_VARCHAR};
    struct wr_cell cells[1];
    struct filter *compiled;
    struct ctx c;

    (void)state;
    ctx_init(&c, &clock_, NULL, NULL, 0);
    long_text.bytes = bytes_of(memset(arena_alloc(&c.arena, 2 << 20), 'a', 2 << 20), 2 << 20);
    cells[0] = cell("c", long_text, 1);
    c.deadline_ms = clock_mono_ms(&clock_) + 30;
    assert_int_equal(filter_compile(&c, &limits, &f, FILTER_READ, &compiled), 0);
    assert_false(filter_match(&c, compiled, NULL, cells, 1));
    assert_int_equal(c.code, E_BUSY);
    ctx_release(&c);
}

/* A few characters that stand for 64 KiB of code each. */
static void test_regex_code_is_bounded(void **state)
{
    struct wr_filter subs[400], f = composite(WR_AND, subs, 400);
    struct limits many;
    struct filter *compiled;
    struct ctx c;

    (void)state;
    limits_init(&many, false);
    many.filters_max = 1000;
    for (size_t i = 0; i < 400; i++)
        subs[i] = regex("c", "(?:(?:(?:a{1,9}b){9}c){9}d){9}", WR_VARCHAR, WR_EXIST, text(""));
    ctx_init(&c, &clock_, NULL, NULL, 0);
    assert_int_equal(filter_compile(&c, &many, &f, FILTER_READ, &compiled), E_MEMORY);
    ctx_release(&c);
}

static void test_bad_regex(void **state)
{
    char *long_pattern = malloc(258);

    (void)state;
    memset(long_pattern, 'a', 257);
    long_pattern[257] = 0;
    refuse(regex("c", "a(b", WR_BIGINT, WR_EQUAL, integer(1)),
           "Invalid regex at offset 3: missing closing parenthesis.");
    refuse(regex("c", "(a)", WR_BOOLEAN, WR_EQUAL, integer(1)),
           "VT_BOOLEAN is an invalid type to cast the regex of column 'c' to.");
    refuse(regex("c", long_pattern, WR_BIGINT, WR_EQUAL, integer(1)),
           "The length of regex of column: 'c' exceeds the MaxLength:256 with CurrentLength:257.");
    refuse(regex("c", "(*UTF)(a)", WR_BIGINT, WR_EQUAL, integer(1)),
           "Invalid regex at offset 6: using UTF is disabled by the application.");
    free(long_pattern);
}

/* ---- checks */

static void test_checks_of_columns(void **state)
{
    char *big = malloc(2097154);
    struct wr_filter f;

    (void)state;
    memset(big, 'a', 2097153);
    big[2097153] = 0;
    refuse(column("attr", WR_EQUAL, text(big)),
           "The length of attribute column: 'attr' exceeds the MaxLength:2097152 with "
           "CurrentLength:2097153.");
    big[2097152] = 0;
    assert_false(match(column("attr", WR_EQUAL, blob(big))));
    refuse(column("#a", WR_EQUAL, integer(1)), "Invalid column name: '#a'.");
    refuse(column("", WR_EQUAL, integer(1)), "Invalid column name: ''.");
    refuse(column("c", (enum wr_comparator)9, integer(1)), "Invalid comparator: 9.");
    refuse(column("c", WR_EQUAL, (struct wr_value){.type = WR_INF_MIN}),
           "VT_INF_MIN is an invalid type for the filter of column 'c'.");
    refuse(column("c", WR_EQUAL, text("\xFF")), "Value of column 'c' must be UTF8 encoding.");
    refuse(column("c", WR_EQUAL, real(NAN)), "Value of column 'c' is out of range for VT_DOUBLE.");
    f = column("c", WR_EQUAL, integer(1));
    f.type = (enum wr_filter_type)7;
    refuse(f, "Invalid filter type: 7.");
    free(big);
}

static void test_checks_of_composites(void **state)
{
    struct wr_filter subs[33];

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(subs); i++)
        subs[i] = column("age", WR_EQUAL, integer(20));
    assert_true(match(composite(WR_OR, subs, 31)));
    refuse(composite(WR_OR, subs, 32), "The count of filter exceeds the max: 32.");
    refuse(composite(WR_NOT, subs, 2),
           "Invalid NOT operator: the number of sub-filters must be 1.");
    refuse(composite(WR_NOT, subs, 0),
           "Invalid NOT operator: the number of sub-filters must be 1.");
    refuse(composite(WR_AND, subs, 1),
           "Invalid AND/OR operator: the number of sub-filters must be more than 1.");
    refuse(composite(WR_OR, subs, 0),
           "Invalid AND/OR operator: the number of sub-filters must be more than 1.");
    refuse(composite((enum wr_combinator)4, subs, 2), "Invalid logical operator: 4.");
}

/* A chain as deep as a request body can make it. */
static void test_deep_trees(void **state)
{
    size_t depth = 1000000;
    struct wr_filter *chain = calloc(depth, sizeof(*chain));

    (void)state;
    for (size_t i = 0; i + 1 < depth; i++)
        chain[i] = composite(WR_NOT, &chain[i + 1], 1);
    chain[depth - 1] = column("age", WR_EQUAL, integer(20));
    refuse(chain[0], "The count of filter exceeds the max: 32.");
    assert_false(match(chain[depth - 32]));
    refuse(chain[depth - 33], "The count of filter exceeds the max: 32.");
    free(chain);
}

/* ---- pages */

static size_t paged(struct wr_filter f, struct wr_cell *cells)
{
    struct filter *compiled;
    struct ctx c;
    size_t count = make_cells(cells);

    ctx_init(&c, &clock_, NULL, NULL, 0);
    assert_int_equal(filter_compile(&c, &limits, &f, FILTER_READ, &compiled), 0);
    count = filter_page(compiled, cells, count);
    ctx_release(&c);
    return count;
}

static void test_page(void **state)
{
    struct wr_cell cells[16];
    struct wr_filter subs[2] = {column("age", WR_EQUAL, integer(20)), page(5, 1)};

    (void)state;
    assert_true(match(page(0, 1)));
    assert_int_equal(paged(page(0, 1), cells), 3);
    assert_true(bytes_equal(cells[2].name, BYTES_LIT("age")));
    assert_int_equal(paged(page(3, 2), cells), 3);
    assert_true(bytes_equal(cells[0].name, BYTES_LIT("log")));
    assert_true(bytes_equal(cells[2].name, BYTES_LIT("name")));
    assert_int_equal(paged(page(0, INT32_MAX), cells), 10);
    assert_int_equal(paged(page(INT32_MAX, INT32_MAX), cells), 0);
    assert_int_equal(paged(page(6, 5), cells), 1);
    assert_true(bytes_equal(cells[0].name, BYTES_LIT("real")));
    assert_int_equal(paged(subs[0], cells), 10);
    assert_int_equal(paged(composite(WR_AND, subs, 2), cells), 1);
    assert_true(bytes_equal(cells[0].name, BYTES_LIT("num")));
    assert_true(match(composite(WR_AND, subs, 2)));
    assert_int_equal(filter_page(NULL, cells, 4), 4);
}

static void test_checks_of_pages(void **state)
{
    struct wr_filter subs[3] = {page(0, 1), column("age", WR_EQUAL, integer(20)), page(0, 1)};

    (void)state;
    refuse(page(-1, 1), "The offset of ColumnPaginationFilter must not be less than 0.");
    refuse(page(0, 0), "The limit of ColumnPaginationFilter must be greater than 0.");
    refuse_as(page(0, 1), FILTER_CONDITION,
              "ColumnPaginationFilter cannot be used in a condition.");
    refuse_as(composite(WR_AND, subs, 2), FILTER_CONDITION,
              "ColumnPaginationFilter cannot be used in a condition.");
    refuse(composite(WR_OR, subs, 2),
           "ColumnPaginationFilter can only be used once, alone or under AND.");
    refuse(composite(WR_NOT, subs, 1),
           "ColumnPaginationFilter can only be used once, alone or under AND.");
    refuse(composite(WR_AND, subs, 3),
           "ColumnPaginationFilter can only be used once, alone or under AND.");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_comparators),
        cmocka_unit_test(test_other_types_never_match),
        cmocka_unit_test(test_missing),
        cmocka_unit_test(test_versions),
        cmocka_unit_test(test_existence),
        cmocka_unit_test(test_absent_row),
        cmocka_unit_test(test_composites),
        cmocka_unit_test(test_regex),
        cmocka_unit_test(test_regex_without_value_is_missing),
        cmocka_unit_test(test_regex_casts),
        cmocka_unit_test(test_regex_in_long_texts),
        cmocka_unit_test(test_regex_has_a_time_limit),
        cmocka_unit_test(test_regex_time_is_the_requests),
        cmocka_unit_test(test_regex_ends_with_the_deadline),
        cmocka_unit_test(test_regex_code_is_bounded),
        cmocka_unit_test(test_bad_regex),
        cmocka_unit_test(test_checks_of_columns),
        cmocka_unit_test(test_checks_of_composites),
        cmocka_unit_test(test_deep_trees),
        cmocka_unit_test(test_page),
        cmocka_unit_test(test_checks_of_pages),
    };

    return cmocka_run_group_tests_name("filter", tests, setup, NULL);
}
