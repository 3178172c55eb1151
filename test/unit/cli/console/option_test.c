#include "cli/console/option.h"

#include "base/port.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

struct target {
    const char *table;
    uint64_t workers;
    bool shuffle;
    struct option_list layouts;
};

static const struct option_row rows[] = {
    {"table", "T", "", OPTION_TEXT, offsetof(struct target, table), 0, 0},
    {"workers", "N", "", OPTION_COUNT, offsetof(struct target, workers), 1, 16},
    {"shuffle", NULL, "", OPTION_FLAG, offsetof(struct target, shuffle), 0, 0},
    {"layout", "L", "", OPTION_LIST, offsetof(struct target, layouts), 0, 0},
    {0},
};

static struct target target;
static char message[200];
static int left;
static bool help;
static char *argv[8];

static int parse(const char *a, const char *b, const char *c, const char *d)
{
    const char *words[] = {a, b, c, d};
    struct option_set set = {rows, &target};
    int argc = 0;

    target = (struct target){0};
    message[0] = 0;
    for (size_t i = 0; i < PORT_COUNT(words) && words[i]; i++)
        argv[argc++] = (char *)words[i];
    return option_parse(argc, argv, &set, 1, &left, &help, message, sizeof(message));
}

static void test_good(void **state)
{
    (void)state;
    assert_int_equal(parse("file", "--table", "t", "--shuffle"), 0);
    assert_int_equal(left, 1);
    assert_string_equal(argv[0], "file");
    assert_string_equal(target.table, "t");
    assert_true(target.shuffle);
    assert_int_equal(parse("--workers=16", "-", "-5", NULL), 0);
    assert_int_equal(target.workers, 16);
    assert_int_equal(left, 2);
    assert_int_equal(parse("--", "--table", "-x", NULL), 0);
    assert_int_equal(left, 2);
    assert_int_equal(parse("-h", NULL, NULL, NULL), 0);
    assert_true(help);
}

static void test_list(void **state)
{
    (void)state;
    assert_int_equal(parse("--layout", "plain", "--layout=hash:16", "file"), 0);
    assert_int_equal(target.layouts.count, 2);
    assert_string_equal(target.layouts.texts[0], "plain");
    assert_string_equal(target.layouts.texts[1], "hash:16");
    assert_int_equal(left, 1);
    assert_int_equal(parse("--layout", NULL, NULL, NULL), -1);
}

static void test_bad(void **state)
{
    (void)state;
    assert_int_equal(parse("--wokers", "3", NULL, NULL), -1);
    assert_string_equal(message, "unknown flag --wokers; did you mean --workers?");
    assert_int_equal(parse("--wokers=3", NULL, NULL, NULL), -1);
    assert_string_equal(message, "unknown flag --wokers; did you mean --workers?");
    assert_int_equal(parse("--zzzzzz", NULL, NULL, NULL), -1);
    assert_string_equal(message, "unknown flag --zzzzzz");
    assert_int_equal(parse("--workers", "17", NULL, NULL), -1);
    assert_string_equal(message, "--workers takes a whole number from 1 to 16, not '17'");
    assert_int_equal(parse("--workers", "-1", NULL, NULL), -1);
    assert_int_equal(parse("--workers", "3x", NULL, NULL), -1);
    assert_int_equal(parse("--workers", "99999999999999999999", NULL, NULL), -1);
    assert_int_equal(parse("--table", NULL, NULL, NULL), -1);
    assert_string_equal(message, "--table needs a value: --table T");
    assert_int_equal(parse("--shuffle=yes", NULL, NULL, NULL), -1);
    assert_int_equal(parse("--help=yes", NULL, NULL, NULL), -1);
    assert_string_equal(message, "--help takes no value");
    assert_int_equal(parse("-w", NULL, NULL, NULL), -1);
}

static void test_nearest(void **state)
{
    static const char *const names[] = {"import", "scan", "get", "describe"};

    (void)state;
    assert_string_equal(option_nearest("imprt", names, 4), "import");
    assert_string_equal(option_nearest("scna", names, 4), "scan");
    assert_string_equal(option_nearest("desribe", names, 4), "describe");
    assert_null(option_nearest("backup", names, 4));
    assert_null(option_nearest("", names, 4));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_bad),
        cmocka_unit_test(test_nearest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
