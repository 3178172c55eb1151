/* Where statements end. */
#include "cli/sql_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static void test_ends(void **state)
{
    static const struct {
        const char *text, *statement;
        size_t end; /* 0: it goes on */
        bool vertical;
    } cases[] = {
        {"select 1;", "select 1", 9, false},
        {" select 1 ; select 2;", "select 1", 11, false},
        {"select 1\\G", "select 1", 10, true},
        {"select ';';", "select ';'", 11, false},
        {"select 'it''s;' ;", "select 'it''s;'", 17, false},
        {"select '\\';' ;", "select '\\';'", 14, false},
        {"select `a;`, \"b;\";", "select `a;`, \"b;\"", 18, false},
        {"-- no;\nselect 1;", "-- no;\nselect 1", 16, false},
        {"# no;\nselect 1;", "# no;\nselect 1", 15, false},
        {"select 2--1;", "select 2--1", 12, false},
        {"/* ; */ select /*+ h */ 1;", "/* ; */ select /*+ h */ 1", 26, false},
        {"select 1", "select 1", 0, false},
        {"select ';", "select ';", 0, false},
        {"select 1 /* ;", "select 1 /* ;", 0, false},
        {";", "", 1, false},
        {"", "", 0, false},
    };

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(cases); i++) {
        struct sql_text t;
        bool ends = sql_text_next(bytes_str(cases[i].text), &t);

        assert_int_equal(ends, cases[i].end > 0);
        if (ends)
            assert_int_equal(t.end, cases[i].end);
        assert_int_equal(t.vertical, cases[i].vertical);
        assert_true(bytes_equal(t.statement, bytes_str(cases[i].statement)));
    }
}

static void test_empty(void **state)
{
    (void)state;
    assert_true(sql_text_is_empty(bytes_str(" \n-- select 1\n/* x */ # y")));
    assert_true(sql_text_is_empty(bytes_str("/* open")));
    assert_false(sql_text_is_empty(bytes_str("-- x\n1")));
    assert_false(sql_text_is_empty(bytes_str("'")));
}

static void test_lines_of_the_shell(void **state)
{
    (void)state;
    assert_true(sql_text_is_statement("SELECT 1", false));
    assert_true(sql_text_is_statement("  select * from t;", false));
    assert_false(sql_text_is_statement("selection", false));
    assert_false(sql_text_is_statement("scan t", true));
    assert_false(sql_text_is_statement("scan t;", true));
    assert_false(sql_text_is_statement("drop t", true));
    assert_true(sql_text_is_statement("drop table t;", true));
    assert_true(sql_text_is_statement("describe t\\G", true));
    assert_false(sql_text_is_statement("", false));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_lines_of_the_shell),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
