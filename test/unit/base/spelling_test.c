/* Which name was meant. */
#include "base/spelling.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static const char *const names[] = {"http", "https", "port", "port_file", "threads"};

static const char *nearest(const char *text)
{
    struct spelling s;

    spelling_init(&s, text);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        spelling_offer(&s, names[i]);
    return s.nearest;
}

static const char *nearest_of_one(const char *text, const char *name)
{
    struct spelling s;

    spelling_init(&s, text);
    spelling_offer(&s, name);
    return s.nearest;
}

static void test_typing_errors(void **state)
{
    (void)state;
    assert_string_equal(nearest("htp"), "http");         /* a letter dropped */
    assert_string_equal(nearest("threeads"), "threads"); /* one too many */
    assert_string_equal(nearest("portfile"), "port_file");
    assert_string_equal(nearest("pork"), "port"); /* another one */
    assert_string_equal(nearest("https"), "https");
    assert_string_equal(nearest("httpx"), "http"); /* as near as "https", but the first */
}

static void test_nothing_is_near(void **state)
{
    char text[201];

    (void)state;
    assert_null(nearest("memory"));
    assert_null(nearest(""));
    assert_null(nearest("thxxxxs"));
    assert_null(nearest_of_one("z", "a"));
    assert_null(nearest_of_one("xy", "abc"));
    assert_string_equal(nearest_of_one("ax", "ab"), "ab");
    memset(text, 'h', 200);
    text[200] = 0;
    assert_null(nearest(text));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_typing_errors),
        cmocka_unit_test(test_nothing_is_near),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
