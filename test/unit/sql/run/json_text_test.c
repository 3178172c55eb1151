#include "sql/run/json_text.h"

#include "base/port.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static void test_valid(void **state)
{
    static const char *const texts[] = {
        "0",    "-1.5e+3", "\"\"",         "\"\\u00e4\\n\"", "true",
        "null", " [ ] ",   "{\"a\" : []}", "[1, {}, \"x\"]", "{\"a\":{\"b\":null},\"c\":[[]]}",
    };
    size_t at;

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(texts); i++) {
        assert_true(json_text_valid(bytes_str(texts[i]), &at));
        assert_int_equal(at, strlen(texts[i]));
    }
}

static void test_wrong(void **state)
{
    static const struct {
        const char *text;
        size_t at;
    } cases[] = {
        {"", 0},           {"{", 1},       {"[1,]", 3},   {"word", 0},
        {"[1] 2", 4},      {"01", 1},      {"-", 1},      {"1.", 2},
        {"1e", 2},         {"\"a", 2},     {"{a}", 1},    {"{\"a\"}", 4},
        {"[1}", 2},        {"\"\\x\"", 2}, {"\"\n\"", 1}, {"\"\\u00g0\"", 5},
        {"{\"a\":1,}", 7}, {"]", 0},       {"nul", 0},
    };
    size_t at;

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(cases); i++) {
        assert_false(json_text_valid(bytes_str(cases[i].text), &at));
        if (at != cases[i].at)
            fail_msg("%s: wrong at %zu, not %zu", cases[i].text, at, cases[i].at);
    }
}

static void test_depth(void **state)
{
    char text[2002];
    size_t at;

    (void)state;
    memset(text, '[', 1001);
    memset(text + 1001, ']', 1001);
    assert_true(json_text_valid(bytes_of(text + 1, 2000), &at));
    assert_false(json_text_valid(bytes_of(text, 2002), &at));
    assert_int_equal(at, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_valid),
        cmocka_unit_test(test_wrong),
        cmocka_unit_test(test_depth),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
