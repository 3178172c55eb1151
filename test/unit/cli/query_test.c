#include "cli/query.h"

#include "base/port.h"

#include <setjmp.h>
#include <stdarg.h>

#undef fail /* cmocka has its own */
#include <cmocka.h>

enum { CARD, SELLER, DEVICE, TIME, COLUMNS };
static const bytes names[COLUMNS] = {{"CardID", 6}, {"SellerID", 8}, {"DeviceID", 8}, {"time", 4}};

static struct query queries[QUERIES_MAX];
static size_t count;

static void parse(const char *text, const char *refused)
{
    struct clock clock;
    struct ctx c;
    int code;

    clock_real_init(&clock);
    ctx_init(&c, &clock, NULL, NULL, 0);
    count = 0;
    code = query_parse(&c, text, names, COLUMNS, queries, &count);
    if (!refused)
        assert_int_equal(code, 0);
    else if (code == 0 || !strstr(c.text, refused))
        fail_msg("'%s' gave '%s', not '%s'", text, code ? c.text : "no error", refused);
    ctx_release(&c);
}

static void test_parse(void **state)
{
    (void)state;
    parse("CardID=, Time range; DeviceID = 7 ,SellerID=;time desc;", NULL);
    assert_int_equal(count, 3);
    assert_int_equal(queries[0].equal_count, 1);
    assert_int_equal(queries[0].equal[0], CARD);
    assert_int_equal(queries[0].range, TIME);
    assert_int_equal(queries[1].equal_count, 2);
    assert_int_equal(queries[1].equal[1], SELLER);
    assert_true(queries[1].range == SIZE_MAX);
    assert_int_equal(queries[2].equal_count, 0);
    assert_int_equal(queries[2].range, TIME);
}

static void test_refused(void **state)
{
    (void)state;
    parse("Card=", "no column 'Card'; there are CardID, SellerID, DeviceID, time");
    parse("CardID", "neither");
    parse("CardID between", "neither");
    parse("CardID range, time range", "two ranges");
}

static enum reach reach(const char *text, struct layout_form layout, size_t partition,
                        const size_t *key, size_t key_count)
{
    parse(text, NULL);
    return query_reach(&queries[0], key, key_count, partition, layout);
}

static void test_reach(void **state)
{
    (void)state;
    const struct layout_form plain = {LAYOUT_FORM_PLAIN, 0}, hash = {LAYOUT_FORM_HASH, 16},
                             splice = {LAYOUT_FORM_SPLICE, 2}, random = {LAYOUT_FORM_RANDOM, 16};
    const size_t key[] = {CARD, TIME, DEVICE}, by_time[] = {TIME, CARD};

    assert_int_equal(reach("CardID=, time range", plain, 1, key, 3), REACH_RANGE);
    assert_int_equal(reach("CardID=", plain, 1, key, 3), REACH_RANGE);
    assert_int_equal(reach("CardID=, DeviceID=", plain, 1, key, 3), REACH_PARTITION);
    assert_int_equal(reach("DeviceID=", plain, 1, key, 3), REACH_LOST);
    assert_int_equal(reach("time range", plain, 1, key, 3), REACH_LOST);
    assert_int_equal(reach("time range", plain, 1, by_time, 2), REACH_ORDER);
    assert_int_equal(reach("time range", hash, 1, by_time, 2), REACH_MERGE);
    assert_int_equal(reach("time=", hash, 1, by_time, 2), REACH_RANGE);
    assert_int_equal(reach("time=", random, 1, by_time, 2), REACH_MERGE);
    assert_int_equal(reach("time=, CardID=", random, 1, by_time, 2), REACH_RANGE);
    assert_int_equal(reach("CardID=, time range", splice, 2, key, 3), REACH_ORDER);
    assert_int_equal(reach("CardID=, time=, DeviceID range", splice, 2, key, 3), REACH_RANGE);
    assert_int_equal(reach("CardID=, time range", hash, 1, key, 3), REACH_RANGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_reach),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
