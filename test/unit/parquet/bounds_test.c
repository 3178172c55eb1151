/* Bounds of values as Parquet's statistics have them: long texts are cut to what is below and above
 * all of them, and UTF-8 stays UTF-8. */
#include "base/buf.h"
#include "parquet/bounds.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static struct bounds of_text(enum wr_type type, bytes text)
{
    uint8_t len[4];
    struct value_run run = {.type = type, .values = text.ptr, .lengths = len, .count = 1};
    struct bounds b;

    store_u32(len, (uint32_t)text.len);
    bounds_of(&run, &b);
    return b;
}

static bytes view(const struct bound *b)
{
    return bytes_of(b->data, b->len);
}

/* `unit` as often as it takes to be longer than a bound. */
static void check_long(enum wr_type type, bytes unit, bool known)
{
    uint8_t text[3 * BOUND_BYTES];
    size_t n = 0;
    struct bounds b;

    for (; n < 2 * BOUND_BYTES; n += unit.len)
        memcpy(text + n, unit.ptr, unit.len);
    b = of_text(type, bytes_of(text, n));
    assert_int_equal(b.known, known);
    assert_false(b.min.exact);
    assert_true(b.min.len > BOUND_BYTES - unit.len && b.min.len <= BOUND_BYTES);
    assert_memory_equal(b.min.data, text, b.min.len);
    if (!known)
        return;
    assert_true(bytes_compare(view(&b.max), bytes_of(text, n)) > 0);
    if (type != WR_VARCHAR)
        return;
    assert_true(bytes_is_utf8(view(&b.min)));
    assert_true(bytes_is_utf8(view(&b.max)));
}

static void test_long_texts(void **state)
{
    (void)state;
    check_long(WR_VARCHAR, BYTES_LIT("a"), true);
    check_long(WR_VARCHAR, BYTES_LIT("a\x7F"), true);
    check_long(WR_VARCHAR, BYTES_LIT("\xC5\x82"), true);
    check_long(WR_VARCHAR, BYTES_LIT("\xE7\xBF\xBF"), false); /* as is all above the last byte */
    check_long(WR_VARCHAR, BYTES_LIT("x\xF4\x8F\xBF\xBF"), true);
    check_long(WR_VARCHAR, BYTES_LIT("\xF4\x8F\xBF\xBF"), false);
    check_long(WR_VARBINARY, BYTES_LIT("\x01\xFF"), true);
    check_long(WR_VARBINARY, BYTES_LIT("\xFF"), false);
}

static void test_short_texts(void **state)
{
    struct bounds b = of_text(WR_VARCHAR, BYTES_LIT("abc"));

    (void)state;
    assert_true(b.known && b.min.exact && b.max.exact);
    assert_true(bytes_equal(view(&b.max), BYTES_LIT("abc")));
    b = of_text(WR_VARBINARY, BYTES_LIT(""));
    assert_true(b.known && b.min.exact && b.min.len == 0 && b.max.len == 0);
}

/* Which of several is the least and the greatest, also where the first bytes are alike. */
static void test_many_texts(void **state)
{
    static const char *const words[] = {"prefix--m", "prefix--",   "prefix--z", "q",
                                        "p",         "prefix--zz", "pre",       "\xC3\xA9"};
    uint8_t values[200], lengths[4 * PORT_COUNT(words)];
    struct value_run run = {
        .type = WR_VARCHAR, .values = values, .lengths = lengths, .count = PORT_COUNT(words)};
    struct bounds b;
    size_t n = 0;

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(words); i++) {
        store_u32(lengths + 4 * i, (uint32_t)strlen(words[i]));
        memcpy(values + n, words[i], strlen(words[i]));
        n += strlen(words[i]);
    }
    bounds_of(&run, &b);
    assert_true(bytes_equal(view(&b.min), BYTES_LIT("p")));
    assert_true(bytes_equal(view(&b.max), BYTES_LIT("\xC3\xA9")));
}

static void put_real(uint8_t *to, double v)
{
    uint64_t bits;

    memcpy(&bits, &v, sizeof(bits));
    store_u64(to, bits);
}

static void test_numbers(void **state)
{
    uint8_t values[16];
    struct value_run run = {.type = WR_BIGINT, .values = values, .count = 2};
    struct bounds b, zero;

    (void)state;
    store_u64(values, (uint64_t)INT64_MIN);
    store_u64(values + 8, 5);
    bounds_of(&run, &b);
    assert_true(b.known && (int64_t)load_u64(b.min.data) == INT64_MIN);
    assert_int_equal(load_u64(b.max.data), 5);
    assert_true(bound_compare(WR_BIGINT, &b.min, &b.max) < 0);
    run.type = WR_DOUBLE;
    put_real(values, 0.0);
    put_real(values + 8, -0.0);
    bounds_of(&run, &zero);
    assert_true(zero.known && load_u64(zero.min.data) == UINT64_C(1) << 63);
    assert_int_equal(load_u64(zero.max.data), 0);
    run.count = 0;
    bounds_of(&run, &b);
    assert_false(b.known);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_long_texts), cmocka_unit_test(test_short_texts),
        cmocka_unit_test(test_many_texts), cmocka_unit_test(test_numbers)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
