#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#undef fail /* ctx.h has one of another meaning */

#include "table/model/name.h"

static char long_name[4096];

static int setup(void **state)
{
    (void)state;
    memset(long_name, 'a', sizeof(long_name));
    return 0;
}

/* Checks one name; `wanted` is the error text, NULL if the name is legal. */
static void check(int (*check_name)(struct ctx *c, bytes name), bytes name, const char *wanted)
{
    struct ctx c;
    int code;

    ctx_init(&c, NULL, NULL, NULL, 0);
    code = check_name(&c, name);
    assert_int_equal(code, wanted ? E_PARAMETER : 0);
    if (wanted)
        assert_string_equal(c.text, wanted);
    ctx_release(&c);
}

static void test_table_names(void **state)
{
    static const char *const good[] = {"_0", "_T", "A0", "a", "_", "Z9_z"};

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(good); i++)
        check(name_check_table, bytes_str(good[i]), NULL);
    check(name_check_table, bytes_of(long_name, 255), NULL);
    check(name_check_table, BYTES_NONE, "Invalid table name: ''.");
    check(name_check_table, BYTES_LIT("0"), "Invalid table name: '0'.");
    check(name_check_table, BYTES_LIT("#"), "Invalid table name: '#'.");
    check(name_check_table, BYTES_LIT("T#"), "Invalid table name: 'T#'.");
    check(name_check_table, BYTES_LIT("3t"), "Invalid table name: '3t'.");
    check(name_check_table, BYTES_LIT("-"), "Invalid table name: '-'.");
    check(name_check_table, BYTES_LIT("\xE4\xB8\xAD\xE6\x96\x87"),
          "Invalid table name: '\xE4\xB8\xAD\xE6\x96\x87'.");
    check(name_check_table, BYTES_LIT("T\xE4\xB8"), "Invalid table name: 'T\?\?'.");
}

static void test_column_names(void **state)
{
    static const char *const good[] = {"0",  "\xE5\x85\xAC\xE5\x8F\xB8",
                                       ".",  "a:",
                                       "'",  "\"",
                                       "$x", "&",
                                       "*",  "()",
                                       "/",  "\\",
                                       "\n", "\r",
                                       " ",  "a#",
                                       "-"};

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(good); i++)
        check(name_check_column, bytes_str(good[i]), NULL);
    check(name_check_column, bytes_of("a\0b", 3), NULL);
    check(name_check_column, bytes_of(long_name, 255), NULL);
    check(name_check_column, BYTES_NONE, "Invalid column name: ''.");
    check(name_check_column, BYTES_LIT("#"), "Invalid column name: '#'.");
    check(name_check_column, BYTES_LIT("#abc"), "Invalid column name: '#abc'.");
    check(name_check_column, BYTES_LIT("# "), "Invalid column name: '# '.");
    check(name_check_column, BYTES_LIT("a\xFF"), "Invalid column name: 'a?'.");
}

/* 256 bytes are shown in full, a megabyte is not. */
static void test_long_names(void **state)
{
    struct ctx c;
    bytes text;

    (void)state;
    ctx_init(&c, NULL, NULL, NULL, 0);
    assert_int_equal(name_check_table(&c, bytes_of(long_name, 256)), E_PARAMETER);
    assert_int_equal(strlen(c.text), 256 + strlen("Invalid table name: ''."));
    assert_int_equal(name_text(&c, bytes_of(long_name, sizeof(long_name))).len, 1024);
    memcpy(long_name + 1023, "\xE4\xB8\xAD", 3);
    text = name_text(&c, bytes_of(long_name, sizeof(long_name)));
    assert_int_equal(text.len, 1023);
    ctx_release(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table_names),
        cmocka_unit_test(test_column_names),
        cmocka_unit_test(test_long_names),
    };

    return cmocka_run_group_tests_name("name", tests, setup, NULL);
}
