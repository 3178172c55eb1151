#include "net/range.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

static void test_parse(void **state)
{
    static const struct {
        const char *header;
        uint64_t size;
        int status;
        uint64_t from, length;
    } cases[] = {
        {NULL, 10, 200, 0, 10},
        {"bytes=0-0", 10, 206, 0, 1},
        {"bytes=0-9", 10, 206, 0, 10},
        {"bytes=3-", 10, 206, 3, 7},
        {"bytes=3-99999999999", 10, 206, 3, 7},
        {"bytes=-4", 10, 206, 6, 4},
        {"bytes=-40", 10, 206, 0, 10},
        {"bytes=4294967296-4294967297", 5000000000, 206, 4294967296, 2},
        {"bytes=10-", 10, 416, 0, 0},
        {"bytes=-0", 10, 416, 0, 0},
        {"bytes=0-", 0, 416, 0, 0},
        {"bytes=-1", 0, 416, 0, 0},
        /* Anything else is as if it were not there. */
        {"bytes=5-4", 10, 200, 0, 10},
        {"bytes=-", 10, 200, 0, 10},
        {"bytes=", 10, 200, 0, 10},
        {"bytes=1-2,4-5", 10, 200, 0, 10},
        {"bytes=x-2", 10, 200, 0, 10},
        {"bytes=1-2x", 10, 200, 0, 10},
        {"bytes= 1-2", 10, 200, 0, 10},
        {"lines=1-2", 10, 200, 0, 10},
        {"bytes=99999999999999999999-", 10, 200, 0, 10},
        {"", 10, 200, 0, 10},
    };

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(cases); i++) {
        struct range r;
        bytes header = cases[i].header ? bytes_str(cases[i].header) : BYTES_NONE;

        assert_int_equal(range_parse(header, cases[i].size, &r), cases[i].status);
        if (cases[i].status == 416)
            continue;
        assert_int_equal(r.from, cases[i].from);
        assert_int_equal(r.length, cases[i].length);
    }
}

static void test_format(void **state)
{
    struct range r = {3, 7};
    struct arena a;

    (void)state;
    arena_init(&a, NULL, 0);
    assert_string_equal(range_format(&a, &r, 12).ptr, "bytes 3-9/12");
    assert_string_equal(range_format(&a, NULL, 12).ptr, "bytes */12");
    arena_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_format),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
