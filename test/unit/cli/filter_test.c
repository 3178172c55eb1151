/* Conditions out of words: their trees, refusals, and that no text brings the parser down. */
#include "cli/filter.h"

#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../context.h"

#define ROUNDS 20000

static struct filter filter;

static const struct wr_filter *parsed(const char *text)
{
    ctx_clear(&c);
    assert_int_equal(filter_parse(&c, text, &filter), 0);
    return filter.root;
}

static void expect_column(const struct wr_filter *f, enum wr_comparator comparator,
                          enum wr_type type)
{
    assert_int_equal(f->type, WR_FILTER_COLUMN);
    assert_int_equal(f->column.comparator, comparator);
    assert_int_equal(f->column.value.type, type);
    assert_true(f->column.filter_if_missing && f->column.latest_version_only);
}

static void test_numbers(void **state)
{
    const struct wr_filter *f = parsed("x > 5");

    (void)state;
    assert_int_equal(f->composite.combinator, WR_OR);
    expect_column(&f->composite.subs[0], WR_GREATER_THAN, WR_BIGINT);
    expect_column(&f->composite.subs[1], WR_GREATER_THAN, WR_DOUBLE);
    /* Between two integers: x < 2.5 is x <= 2, x >= -2.5 is x > -3. */
    f = parsed("x < 2.5");
    expect_column(&f->composite.subs[1], WR_LESS_EQUAL, WR_BIGINT);
    assert_int_equal(f->composite.subs[1].column.value.integer, 2);
    f = parsed("x >= -2.5");
    expect_column(&f->composite.subs[1], WR_GREATER_THAN, WR_BIGINT);
    assert_int_equal(f->composite.subs[1].column.value.integer, -3);
    expect_column(parsed("x = 2.5"), WR_EQUAL, WR_DOUBLE);
    expect_column(parsed("x = 9007199254740993"), WR_EQUAL, WR_BIGINT); /* no double is it */
}

static void test_trees(void **state)
{
    const struct wr_filter *f = parsed("a = x or b = y AND not c != \"z z\"");

    (void)state;
    assert_int_equal(f->composite.combinator, WR_OR);
    expect_column(&f->composite.subs[0], WR_EQUAL, WR_VARCHAR);
    f = &f->composite.subs[1];
    assert_int_equal(f->composite.combinator, WR_AND);
    assert_int_equal(f->composite.subs[1].composite.combinator, WR_NOT);
    expect_column(&f->composite.subs[1].composite.subs[0], WR_NOT_EQUAL, WR_VARCHAR);
    assert_int_equal(filter.column_count, 3);
    expect_column(parsed("`a b` = {\"base64\":\"AQI=\"}"), WR_EQUAL, WR_VARBINARY);
    parsed("a = true and a = false");
    assert_int_equal(filter.column_count, 1);
}

static void test_refusals(void **state)
{
    static const char *const bad[] = {
        "",    "x",          "x >",    "> 5",    "x 5",      "(x = 5", "x = 5)",    "x = 5 y = 6",
        "not", "x = \"open", "`x = 5", "`` = 5", "x = null", "and",    "x = 5 and", "x => 5 6"};

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(bad); i++) {
        ctx_clear(&c);
        if (filter_parse(&c, bad[i], &filter) == 0)
            fail_msg("'%s' was taken", bad[i]);
        assert_non_null(c.text);
    }
}

static void test_any_text(void **state)
{
    static const char *const pieces[] = {
        "x",  " ", "=", "<", ">", "(", ")",     "and ", "or",           "not",  "`", "\"",
        "\\", "{", "}", "5", "-", ".", "1e400", "\xff", "\xe6\xbc\xa2", "null", ":", "!"};
    char text[256];
    struct rng rng;

    (void)state;
    rng_init(&rng, 22);
    for (int i = 0; i < ROUNDS; i++) {
        text[0] = 0;
        for (uint64_t n = rng_below(&rng, 20); n; n--)
            strcat(text, pieces[rng_below(&rng, PORT_COUNT(pieces))]);
        ctx_clear(&c);
        if (filter_parse(&c, text, &filter) == 0)
            assert_true(filter.root && filter.column_count);
        else
            assert_non_null(c.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_numbers), cmocka_unit_test(test_trees),
                                       cmocka_unit_test(test_refusals),
                                       cmocka_unit_test(test_any_text)};

    return cmocka_run_group_tests(tests, setup, teardown);
}
