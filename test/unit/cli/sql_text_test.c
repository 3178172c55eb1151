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

static void test_cursor(void **state)
{
    static const struct {
        const char *text, *word, *table;
        enum sql_place place;
    } cases[] = {
        {"", "", NULL, SQL_PLACE_STATEMENT},
        {"sel", "sel", NULL, SQL_PLACE_STATEMENT},
        {"select 1; up", "up", NULL, SQL_PLACE_STATEMENT},
        {"-- a note\n", "", NULL, SQL_PLACE_STATEMENT},
        {"-- a note", "", NULL, SQL_PLACE_NONE},
        {"select ", "", NULL, SQL_PLACE_COLUMN},
        {"select a, b", "b", NULL, SQL_PLACE_COLUMN},
        {"select o.na", "na", "o", SQL_PLACE_COLUMN},
        {"select * from ", "", NULL, SQL_PLACE_TABLE},
        {"select * from\n or", "or", NULL, SQL_PLACE_TABLE},
        {"INSERT INTO t (", "", NULL, SQL_PLACE_COLUMN},
        {"select * from t where k = 'a", "", NULL, SQL_PLACE_NONE},
        {"select * from t where k = 'a' an", "an", NULL, SQL_PLACE_COLUMN},
        {"select /* fr", "", NULL, SQL_PLACE_NONE},
    };

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(cases); i++) {
        struct sql_cursor at = sql_text_cursor(bytes_str(cases[i].text));

        if (at.place != cases[i].place)
            print_error("%s\n", cases[i].text);
        assert_int_equal(at.place, cases[i].place);
        assert_true(bytes_equal(at.word, bytes_str(cases[i].word)));
        assert_int_equal(at.table.ptr != NULL, cases[i].table != NULL);
        if (cases[i].table)
            assert_true(bytes_equal(at.table, bytes_str(cases[i].table)));
    }
    assert_true(sql_text_names(BYTES_LIT("from orders o"), BYTES_LIT("orders")));
    assert_false(sql_text_names(BYTES_LIT("from orders2, my_orders"), BYTES_LIT("orders")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_lines_of_the_shell),
        cmocka_unit_test(test_cursor),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
