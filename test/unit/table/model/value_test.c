#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#undef fail /* ctx.h has one of another meaning */

#include "base/rng.h"
#include "table/model/decimal.h"
#include "table/model/value.h"

#include <math.h>
#include <stdio.h>

static struct wr_value integer(enum wr_type type, int64_t v)
{
    return (struct wr_value){.type = type, .integer = v};
}

static struct wr_value real(enum wr_type type, double v)
{
    return (struct wr_value){.type = type, .real = v};
}

static struct wr_value text(enum wr_type type, const char *s)
{
    return (struct wr_value){.type = type, .bytes = bytes_str(s)};
}

static void test_names(void **state)
{
    (void)state;
    assert_string_equal(value_type_name(WR_BIGINT), "VT_INTEGER");
    assert_string_equal(value_type_name(WR_VARCHAR), "VT_STRING");
    assert_string_equal(value_type_name(WR_VARBINARY), "VT_BLOB");
    assert_string_equal(value_type_name(WR_DOUBLE), "VT_DOUBLE");
    assert_string_equal(value_type_name(WR_BOOLEAN), "VT_BOOLEAN");
    assert_string_equal(value_type_name(WR_INF_MIN), "VT_INF_MIN");
    assert_string_equal(value_type_name(WR_AUTO_INCREMENT), "VT_AUTO_INCREMENT");
    assert_string_equal(value_type_name(WR_TINYINT), "VT_TINYINT");
    assert_string_equal(value_type_name((enum wr_type)20), "VT_UNKNOWN");
    assert_string_equal(value_type_name((enum wr_type) - 1), "VT_UNKNOWN");
}

static void test_kinds(void **state)
{
    (void)state;
    for (int i = -1; i < 40; i++) {
        enum wr_type type = (enum wr_type)i;
        bool stored = i >= WR_BOOLEAN && i <= WR_JSON;

        assert_int_equal(value_is_stored(type), stored);
        assert_int_equal(value_is_key_type(type), stored && type != WR_JSON);
        assert_int_equal(stored, value_is_bytes(type) || value_width(type));
        assert_true(!value_is_text(type) || value_is_bytes(type));
    }
}

static void assert_ordered(struct wr_value a, struct wr_value b)
{
    assert_true(value_compare(&a, &b) < 0);
    assert_true(value_compare(&b, &a) > 0);
    assert_int_equal(value_compare(&a, &a), 0);
}

static void assert_same(struct wr_value a, struct wr_value b)
{
    assert_int_equal(value_compare(&a, &b), 0);
    assert_int_equal(value_compare(&b, &a), 0);
}

static void test_compare(void **state)
{
    (void)state;
    assert_ordered(integer(WR_BIGINT, INT64_MIN), integer(WR_BIGINT, INT64_MAX));
    assert_ordered((struct wr_value){.type = WR_UBIGINT, .uinteger = 1},
                   (struct wr_value){.type = WR_UBIGINT, .uinteger = UINT64_MAX});
    assert_ordered((struct wr_value){.type = WR_BOOLEAN, .boolean = false},
                   (struct wr_value){.type = WR_BOOLEAN, .boolean = true});
    assert_ordered(real(WR_DOUBLE, -INFINITY), real(WR_DOUBLE, 0));
    assert_ordered(real(WR_DOUBLE, INFINITY), real(WR_DOUBLE, NAN));
    assert_same(real(WR_DOUBLE, NAN), real(WR_DOUBLE, -NAN));
    assert_same(real(WR_DOUBLE, 0.0), real(WR_DOUBLE, -0.0));
    assert_same(real(WR_FLOAT, 0.1), real(WR_FLOAT, (double)0.1f));
    assert_ordered(text(WR_VARCHAR, ""), text(WR_VARCHAR, "a"));
    assert_ordered(text(WR_VARCHAR, "a"), text(WR_VARCHAR, "a "));
    assert_ordered(text(WR_VARBINARY, "z"), text(WR_VARBINARY, "\x80"));
    assert_same(text(WR_CHAR, "a"), text(WR_CHAR, "a  "));
    assert_ordered(text(WR_CHAR, "a\x1F"), text(WR_CHAR, "a"));
    assert_ordered(text(WR_CHAR, "a"), text(WR_CHAR, "a!"));
    assert_ordered(text(WR_CHAR, "a   "), text(WR_CHAR, "a!"));
    assert_ordered(text(WR_BINARY, "a"), text(WR_BINARY, "a\x1"));
    assert_ordered(text(WR_DECIMAL, "-3"), text(WR_DECIMAL, "2.999"));
    assert_ordered(text(WR_DECIMAL, "not a number"), text(WR_DECIMAL, "-3"));
    assert_same(text(WR_DECIMAL, "10.0"), text(WR_DECIMAL, "10"));
}

static void test_bits(void **state)
{
    static const struct {
        enum wr_type type;
        int64_t integer;
        uint64_t bits;
    } rows[] = {{WR_TINYINT, -1, 0xFF},         {WR_SMALLINT, -2, 0xFFFE},
                {WR_INTEGER, -3, 0xFFFFFFFD},   {WR_BIGINT, -4, 0xFFFFFFFFFFFFFFFC},
                {WR_DATE, 20000, 20000},        {WR_TIME, 86399999, 86399999},
                {WR_TIMESTAMP, -1, UINT64_MAX}, {WR_BIGINT, INT64_MIN, 1ull << 63}};
    struct wr_value v, back;

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(rows); i++) {
        v = integer(rows[i].type, rows[i].integer);
        assert_true(value_bits(&v) == rows[i].bits);
        assert_true(value_from_bits(v.type, rows[i].bits, &back));
        assert_true(back.type == v.type && back.integer == v.integer);
    }
    v = real(WR_FLOAT, 1.5);
    assert_true(value_bits(&v) == 0x3FC00000);
    assert_true(value_from_bits(WR_FLOAT, 0x3FC00000, &back) && back.real == 1.5);
    v = real(WR_DOUBLE, -1.5);
    assert_true(value_bits(&v) == 0xBFF8000000000000);
    assert_true(value_from_bits(WR_BOOLEAN, 1, &back) && back.boolean);
    assert_false(value_from_bits(WR_BOOLEAN, 2, &back));
    assert_false(value_from_bits(WR_VARCHAR, 0, &back));
}

static void test_range(void **state)
{
    static const struct {
        enum wr_type type;
        int64_t last;
    } rows[] = {{WR_TINYINT, INT8_MAX},
                {WR_SMALLINT, INT16_MAX},
                {WR_INTEGER, INT32_MAX},
                {WR_DATE, INT32_MAX}};
    struct wr_value v;

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(rows); i++) {
        v = integer(rows[i].type, rows[i].last);
        assert_true(value_in_range(&v));
        v.integer++;
        assert_false(value_in_range(&v));
        v.integer = -rows[i].last - 1;
        assert_true(value_in_range(&v));
        v.integer--;
        assert_false(value_in_range(&v));
    }
    v = real(WR_FLOAT, 1e39);
    assert_false(value_in_range(&v));
    v.type = WR_DOUBLE;
    assert_true(value_in_range(&v));
    v = real(WR_DOUBLE, NAN);
    assert_false(value_in_range(&v));
    v = real(WR_DOUBLE, -INFINITY);
    assert_false(value_in_range(&v));
}

static void test_size(void **state)
{
    static const struct {
        enum wr_type type;
        size_t size;
    } rows[] = {{WR_BIGINT, 8},    {WR_DOUBLE, 8},    {WR_BOOLEAN, 1}, {WR_VARCHAR, 3},
                {WR_VARBINARY, 3}, {WR_TINYINT, 1},   {WR_INTEGER, 4}, {WR_DATE, 4},
                {WR_DECIMAL, 3},   {WR_TIMESTAMP, 8}, {WR_INF_MIN, 0}};

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(rows); i++) {
        struct wr_value v = text(rows[i].type, "1.5");

        assert_int_equal(value_size(&v), rows[i].size);
    }
}

/* Cells of the wire vectors and of the worked example (doc/wire.md, "Example"). */
static void test_crc8(void **state)
{
    struct wr_value one = integer(WR_BIGINT, 1), v = text(WR_VARCHAR, "v");
    struct wr_value v3 = text(WR_VARCHAR, "v3"), i = integer(WR_BIGINT, 123);
    struct wr_value d = real(WR_DOUBLE, -0.0), empty = text(WR_VARBINARY, "");
    struct wr_value yes = {.type = WR_BOOLEAN, .boolean = true};
    bytes c = BYTES_LIT("c");

    (void)state;
    assert_int_equal(value_crc8(BYTES_LIT("pk0"), &one, WR_TIMESTAMP_NONE), 0x38);
    assert_int_equal(value_crc8(c, &v, WR_TIMESTAMP_NONE), 0xDE);
    assert_int_equal(value_crc8(c, &v3, 3000), 0xA2);
    assert_int_equal(value_crc8(BYTES_LIT("i"), &i, 1700000000123), 0xD3);
    assert_int_equal(value_crc8(BYTES_LIT("a"), &d, WR_TIMESTAMP_NONE), 0xFD);
    assert_int_equal(value_crc8(BYTES_LIT("b"), &empty, WR_TIMESTAMP_NONE), 0x36);
    assert_int_equal(value_crc8_stamp(value_crc8(c, &v3, WR_TIMESTAMP_NONE), 3000), 0xA2);
    assert_int_not_equal(value_crc8(c, &yes, WR_TIMESTAMP_NONE),
                         value_crc8(c, &v, WR_TIMESTAMP_NONE));
}

static void test_copy(void **state)
{
    char s[] = "abc";
    struct wr_value v = text(WR_VARCHAR, s), copy;
    struct arena a;

    (void)state;
    arena_init(&a, NULL, 0);
    copy = value_copy(&a, &v);
    s[0] = 'x';
    assert_true(bytes_equal(copy.bytes, BYTES_LIT("abc")));
    v = integer(WR_BIGINT, 7);
    assert_true(value_copy(&a, &v).integer == 7);
    arena_release(&a);
}

/* ---- decimals */

static void test_decimal_text(void **state)
{
    static const struct {
        const char *text, *canonical; /* NULL: no decimal */
        int scale;
    } rows[] = {
        {"0", "0", 0},
        {"-0.00", "0", 0},
        {"0", "0.00", 2},
        {"007.50", "7.5", 0},
        {"-12.5", "-12.500", 3},
        {"0.001", "0.001", 1},
        {"100", "100", 0},
        {"120.00", "120.0", 1},
        {"0.00000000000000000000000000000000000001", "0.00000000000000000000000000000000000001", 0},
        {"99999999999999999999999999999999999999", "99999999999999999999999999999999999999", 0},
        {"000000000000000000000000000000000000000000000001.000000000000000000000000000000000000",
         "1", 0},
        {"999999999999999999999999999999999999999", NULL, 0},
        {"0.000000000000000000000000000000000000001", NULL, 0},
        {"1.00000000000000000000000000000000000001", NULL, 0},
        {"", NULL, 0},
        {"-", NULL, 0},
        {"+1", NULL, 0},
        {".5", NULL, 0},
        {"5.", NULL, 0},
        {"1e5", NULL, 0},
        {" 1", NULL, 0},
        {"1 ", NULL, 0},
        {"1.2.3", NULL, 0},
        {"--1", NULL, 0},
    };
    struct arena a;

    (void)state;
    arena_init(&a, NULL, 0);
    for (size_t i = 0; i < PORT_COUNT(rows); i++) {
        struct decimal d;

        assert_int_equal(decimal_parse(bytes_str(rows[i].text), &d), rows[i].canonical != NULL);
        if (rows[i].canonical)
            assert_true(
                bytes_equal(decimal_format(&a, &d, rows[i].scale), bytes_str(rows[i].canonical)));
    }
    arena_release(&a);
}

/* Against 64-bit numbers of millionths. */
static void test_decimal_order(void **state)
{
    struct rng r;
    int64_t last = 0;
    char last_text[40] = "0";

    (void)state;
    rng_init(&r, 4);
    for (int i = 0; i < 20000; i++) {
        int64_t v = (int64_t)rng_next(&r) >> rng_below(&r, 63);
        uint64_t size = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
        char now[40];
        struct wr_value a, b;

        snprintf(now, sizeof(now), "%s%llu.%06llu", v < 0 ? "-" : "",
                 (unsigned long long)(size / 1000000), (unsigned long long)(size % 1000000));
        a = text(WR_DECIMAL, last_text);
        b = text(WR_DECIMAL, now);
        if (last == v)
            assert_same(a, b);
        else if (last < v)
            assert_ordered(a, b);
        else
            assert_ordered(b, a);
        last = v;
        memcpy(last_text, now, sizeof(now));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_compare),      cmocka_unit_test(test_bits),
        cmocka_unit_test(test_range),        cmocka_unit_test(test_size),
        cmocka_unit_test(test_crc8),         cmocka_unit_test(test_copy),
        cmocka_unit_test(test_decimal_text), cmocka_unit_test(test_decimal_order),
    };

    return cmocka_run_group_tests_name("value", tests, NULL, NULL);
}
