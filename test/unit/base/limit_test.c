#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#undef fail /* ctx.h has one of another meaning */

#include "base/limit.h"
#include "base/port.h"

static void test_defaults_lie_within_their_bounds(void **state)
{
    static const struct {
        const char *name;
        int64_t def, strict, min, max;
    } rows[] = {
#define LIMIT(name, def, strict, min, max, whose, text) {#name, def, strict, min, max},
#include "base/limit.def"
#undef LIMIT
    };

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(rows); i++) {
        assert_string_equal(limits_name(i), rows[i].name);
        assert_true(rows[i].def >= rows[i].min && rows[i].def <= rows[i].max);
        assert_true(rows[i].strict >= rows[i].min && rows[i].strict <= rows[i].max);
    }
    assert_null(limits_name(PORT_COUNT(rows)));
}

static void test_two_sets(void **state)
{
    struct limits l;

    (void)state;
    limits_init(&l, false);
    assert_true(l.filters_max == 32 && l.columns_to_get_max == 1024);
    limits_init(&l, true);
    assert_true(l.filters_max == 10 && l.columns_to_get_max == 128);
}

static void test_setting(void **state)
{
    static const char *const bad[] = {"",   " ", "x", "1x", "-1", "0", "99999999999999999999999",
                                      "1.5"};
    char message[200];
    struct limits l;

    (void)state;
    limits_init(&l, false);
    assert_null(limits_set(&l, "filters_max", "64", message, sizeof(message)));
    assert_true(l.filters_max == 64);
    assert_null(limits_set(&l, "ttl_seconds_min", "1", message, sizeof(message)));
    assert_true(l.ttl_seconds_min == 1);
    for (size_t i = 0; i < PORT_COUNT(bad); i++)
        assert_ptr_equal(limits_set(&l, "filters_max", bad[i], message, sizeof(message)), message);
    assert_true(l.filters_max == 64);
    assert_non_null(limits_set(&l, "filters_max", "1025", message, sizeof(message)));
    assert_string_equal(message, "filters_max: '1025' is not a whole number from 1 to 1024");
    assert_non_null(limits_set(&l, "enforce_throughput", "on", message, sizeof(message)));
    assert_string_equal(message, "enforce_throughput: 'on' is none of off, reserved, partition");
    assert_non_null(limits_set(&l, "filter_max", "1", message, sizeof(message)));
    assert_string_equal(message, "filter_max: no such setting");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults_lie_within_their_bounds),
        cmocka_unit_test(test_two_sets),
        cmocka_unit_test(test_setting),
    };

    return cmocka_run_group_tests_name("limit", tests, NULL, NULL);
}
