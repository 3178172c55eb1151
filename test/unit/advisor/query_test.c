#include "advisor/query.h"

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
    parse("cardid='a b', SellerID=\"x\"; CardID=OR", NULL);
    assert_int_equal(count, 2);
    assert_int_equal(queries[0].equal_count, 2);
}

static void test_refused(void **state)
{
    (void)state;
    parse("Card=", "no column 'Card'; there are CardID, SellerID, DeviceID, time");
    parse("CardID", "neither");
    parse("CardID between", "neither");
    parse("CardID range, time range", "two ranges");
    /* What is not understood is named with its place, and never taken for a value. */
    parse("CardID= AND time>5", "at character 9: 'AND' is not understood");
    parse("CardID=7 and time range", "at character 10: 'and' is not understood");
    parse("CardID=7 OR CardID=8", "'OR'");
    parse("CardID=, time>5", "at character 14: ");
    parse("CardID==5", "at character 8: '=' is not understood");
    parse("CardID=<5", "'<'");
    parse("CardID='a' b", "'b' is not understood");
    parse("CardID='a", "a quote is opened and not closed");
    parse("CardID=, CardID range", "named twice");
    parse("CardID=,, time range", "a condition is missing");
    parse("CardID=,", "a condition is missing");
    parse("CardID= time range", "'range' is not understood");
    parse("CardID range 5", "neither");
    parse("", "there is no query");
    parse(" ; ", "there is no query");
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
                             splice = {LAYOUT_FORM_COMPOSITE, 2}, random = {LAYOUT_FORM_RANDOM, 16};
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
    /* Dates as text that do not sort: no range of them is what is asked for. */
    parse("CardID=, time range; time range", NULL);
    queries[0].unordered = queries[1].unordered = true;
    assert_int_equal(query_reach(&queries[0], key, 3, 1, plain), REACH_PARTITION);
    assert_int_equal(query_reach(&queries[1], by_time, 2, 1, plain), REACH_LOST);
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
