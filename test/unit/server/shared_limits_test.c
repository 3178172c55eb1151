/* Limits of servers that share their data: what is told of differences. */
#include "server/shared_limits.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static char logged[4096];

static void on_log(void *arg, char level, const char *line)
{
    (void)arg;
    (void)level;
    strncat(logged, line, sizeof(logged) - strlen(logged) - 1);
}

static void test_differences(void **state)
{
    struct limits l;
    char out[256];

    (void)state;
    limits_init(&l, false);
    assert_int_equal(shared_limits_differ(&l, "", out, sizeof(out)), 0);
    assert_int_equal(shared_limits_differ(&l, "unknown=7\nkey_columns_max=4\n", out, sizeof(out)),
                     0);
    assert_string_equal(out, "");
    assert_int_equal(shared_limits_differ(&l, "filters_max=9\nkey_columns_max=5", out, sizeof(out)),
                     2);
    assert_string_equal(out, "key_columns_max 4, not 5, filters_max 32, not 9");
    assert_int_equal(shared_limits_differ(&l, "filters_max=9\nkey_columns_max=5", out, 10), 2);
    assert_string_equal(out, "key_colum");
}

static void test_the_last_start_counts(void **state)
{
    struct wr_options o = {.engine = "mem"};
    struct clock clock;
    struct log log = {.level = 'D', .sink = on_log, .clock = &clock};
    struct limits plain, strict;
    struct wr_db *db;

    (void)state;
    clock_real_init(&clock);
    limits_init(&plain, false);
    limits_init(&strict, true);
    assert_int_equal(wr_open(&o, &db, NULL, 0), 0);
    shared_limits_compare(db, &plain, &log);
    shared_limits_compare(db, &plain, &log);
    assert_string_equal(logged, "");
    shared_limits_compare(db, &strict, &log);
    assert_non_null(strstr(logged, "filters_max 10, not 32"));
    logged[0] = 0;
    shared_limits_compare(db, &strict, &log);
    assert_string_equal(logged, "");
    wr_close(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_differences),
        cmocka_unit_test(test_the_last_start_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
