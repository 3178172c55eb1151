#include "sql/mysql/row.h"

#include "base/rng.h"
#include "sql/mysql/parameters.h"
#include "sql/mysql/reply.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

static struct arena arena;
static struct buf out;

static int begin(void **state)
{
    (void)state;
    arena_init(&arena, NULL, 0);
    buf_init(&out, &arena, 0);
    return 0;
}

static int end(void **state)
{
    (void)state;
    arena_release(&arena);
    return 0;
}

static const struct wr_value values[] = {
    {.type = WR_NULL},
    {.type = WR_BOOLEAN, .boolean = true},
    {.type = WR_TINYINT, .integer = -7},
    {.type = WR_SMALLINT, .integer = -300},
    {.type = WR_INTEGER, .integer = -70000},
    {.type = WR_BIGINT, .integer = INT64_MIN},
    {.type = WR_UBIGINT, .uinteger = UINT64_MAX},
    {.type = WR_FLOAT, .real = (double)0.1f},
    {.type = WR_DOUBLE, .real = 0.1},
    {.type = WR_DECIMAL, .bytes = BYTES_LIT("-12.50")},
    {.type = WR_VARCHAR, .bytes = BYTES_LIT("gr\xc3\xbc\xc3\x9f")},
    {.type = WR_VARBINARY, .bytes = BYTES_LIT("\x00\xff")},
    {.type = WR_DATE, .integer = -1},
    {.type = WR_TIME, .integer = 1},
    {.type = WR_TIMESTAMP, .integer = 1709175845678},
    {.type = WR_JSON, .bytes = BYTES_LIT("{}")},
};

static void test_text(void **state)
{
    static const bytes texts[PORT_COUNT(values)] = {
        BYTES_NONE,
        BYTES_LIT("1"),
        BYTES_LIT("-7"),
        BYTES_LIT("-300"),
        BYTES_LIT("-70000"),
        BYTES_LIT("-9223372036854775808"),
        BYTES_LIT("18446744073709551615"),
        BYTES_LIT("0.1"),
        BYTES_LIT("0.1"),
        BYTES_LIT("-12.50"),
        BYTES_LIT("gr\xc3\xbc\xc3\x9f"),
        BYTES_LIT("\x00\xff"),
        BYTES_LIT("1969-12-31"),
        BYTES_LIT("00:00:00.001"),
        BYTES_LIT("2024-02-29 03:04:05.678"),
        BYTES_LIT("{}"),
    };
    struct reader r;

    (void)state;
    row_put_text(&out, values, PORT_COUNT(values));
    r = reader_of(buf_bytes(&out));
    assert_int_equal(read_u8(&r), 0xfb);
    for (size_t i = 1; i < PORT_COUNT(values); i++)
        assert_true(bytes_equal(packet_read_counted(&r), texts[i]));
    assert_false(r.bad);
    assert_int_equal(reader_left(&r), 0);
}

/* What a client sends for a parameter has the form of a binary row's value, so each comes back. */
static void test_binary_comes_back(void **state)
{
    struct parameter_type types[PORT_COUNT(values)];
    bytes longs[PORT_COUNT(values)] = {{0}};
    struct wr_value again[PORT_COUNT(values)];
    size_t bitmap = (PORT_COUNT(values) + 7) / 8;
    bool known = false;
    struct reader r;
    struct buf said;

    (void)state;
    row_put_binary(&out, values, PORT_COUNT(values));
    assert_int_equal(out.data[0], 0);
    assert_int_equal(out.data[1], 1 << 2); /* the first value is NULL */
    buf_init(&said, &arena, 0);
    for (size_t i = 0; i < bitmap; i++)
        buf_put_u8(&said, i == 0);
    buf_put_u8(&said, 1);
    for (size_t i = 0; i < PORT_COUNT(values); i++) {
        buf_put_u8(&said, column_code(values[i].type));
        buf_put_u8(&said, values[i].type == WR_UBIGINT ? 0x80 : 0);
    }
    buf_put_bytes(&said, bytes_skip(buf_bytes(&out), 1 + (PORT_COUNT(values) + 2 + 7) / 8));
    r = reader_of(buf_bytes(&said));
    assert_true(parameters_parse(&r, types, &known, longs, PORT_COUNT(values), again));
    assert_true(known);
    assert_int_equal(reader_left(&r), 0);
    assert_int_equal(again[0].type, WR_NULL);
    assert_int_equal(again[1].integer, 1);
    for (size_t i = 2; i < 6; i++) {
        assert_int_equal(again[i].type, WR_BIGINT);
        assert_int_equal(again[i].integer, values[i].integer);
    }
    assert_true(again[6].type == WR_UBIGINT && again[6].uinteger == UINT64_MAX);
    assert_true(again[7].type == WR_DOUBLE && again[7].real == (double)0.1f);
    assert_true(again[8].type == WR_DOUBLE && again[8].real == 0.1);
    for (size_t i = 9; i < 12; i++)
        assert_true(bytes_equal(again[i].bytes, values[i].bytes));
    assert_int_equal(again[12].integer, -86400000); /* a date is a moment for the protocol */
    assert_int_equal(again[13].integer, 1);
    assert_int_equal(again[14].integer, values[14].integer);
    assert_true(bytes_equal(again[15].bytes, values[15].bytes));
}

/* A second time the types may be left out, and long values come beforehand. */
static void test_types_are_kept(void **state)
{
    struct parameter_type types[2] = {{8, false}, {252, false}};
    const bytes longs[2] = {BYTES_NONE, BYTES_LIT("a long one")},
                none[2] = {BYTES_NONE, BYTES_NONE};
    struct wr_value v[2];
    bool known = true, unknown = false;
    struct reader r = reader_of(BYTES_LIT("\0\0\x05\0\0\0\0\0\0\0"));

    (void)state;
    assert_true(parameters_parse(&r, types, &known, longs, 2, v));
    assert_int_equal(v[0].integer, 5);
    assert_true(v[1].type == WR_VARBINARY && bytes_equal(v[1].bytes, longs[1]));
    r = reader_of(BYTES_LIT("\0\0\x05\0\0\0\0\0\0\0"));
    assert_false(parameters_parse(&r, types, &unknown, none, 2, v));
    r = reader_of(BYTES_LIT("\0\0\x05\0\0\0\0\0\0\0"));
    assert_false(parameters_parse(&r, types, &known, none, 2, v)); /* cut */
    r = reader_of(BYTES_LIT(""));
    assert_true(parameters_parse(&r, types, &known, none, 0, v));
}

/* MySQL Connector/Python names the oldest type. */
static void test_old_decimal(void **state)
{
    struct parameter_type types[1] = {{0, false}};
    const bytes none[1] = {BYTES_NONE};
    struct wr_value v[1];
    bool known = false;
    struct reader r = reader_of(BYTES_LIT("\0\x01\0\0\x05"
                                          "3.125"));

    (void)state;
    assert_true(parameters_parse(&r, types, &known, none, 1, v));
    assert_true(v[0].type == WR_VARCHAR && bytes_equal(v[0].bytes, BYTES_LIT("3.125")));
}

static void test_bad_parameters(void **state)
{
    static const bytes bad[] = {
        BYTES_LIT("\0\x01\x0c\0\x04\xe7\x07\x02\x1d"), /* 2023-02-29 */
        BYTES_LIT("\0\x01\x0c\0\x05\xe7\x07\x02\x01\x01"),
        BYTES_LIT("\0\x01\x0b\0\x08\x01\0\0\0\0\x01\x01\x01"), /* below zero */
        BYTES_LIT("\0\x01\x0b\0\x08\0\x01\0\0\0\x01\x01\x01"), /* a day and more */
        BYTES_LIT("\0\x01\x0e\0"),
        BYTES_LIT("\0\x01\xff\0\x01"),
        BYTES_LIT("\0\x01\xfd\0\x05"
                  "abcd"),
        BYTES_LIT("\0\x01"),
        BYTES_LIT("\0"),
    };
    const bytes none = BYTES_NONE;

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(bad); i++) {
        struct parameter_type type = {0};
        struct reader r = reader_of(bad[i]);
        struct wr_value v;
        bool known = false;

        assert_false(parameters_parse(&r, &type, &known, &none, 1, &v));
    }
}

static void test_numbers_read_back(void **state)
{
    struct rng rng;

    (void)state;
    rng_init(&rng, 33060);
    for (int i = 0; i < 100000; i++) {
        uint64_t bits = rng_next(&rng);
        uint32_t single_bits = (uint32_t)bits;
        char text[ROW_NUMBER_TEXT];
        double d;
        float f;

        memcpy(&d, &bits, sizeof(d));
        memcpy(&f, &single_bits, sizeof(f));
        if (d == d) {
            assert_true(row_format_double(d, text) < ROW_NUMBER_TEXT);
            assert_true(strtod(text, NULL) == d);
        }
        if (f == f) {
            assert_true(row_format_float(f, text) < ROW_NUMBER_TEXT);
            assert_true(strtof(text, NULL) == f);
        }
    }
}

static void test_replies(void **state)
{
    struct column c = {.database = BYTES_LIT("inst"),
                       .table = BYTES_LIT("t"),
                       .name = BYTES_LIT("alias"),
                       .stored_name = BYTES_LIT("c"),
                       .type = WR_CHAR,
                       .length = 10,
                       .key = true,
                       .not_null = true};
    struct reader r;

    (void)state;
    column_put(&out, &c);
    r = reader_of(buf_bytes(&out));
    assert_true(bytes_equal(packet_read_counted(&r), BYTES_LIT("def")));
    assert_true(bytes_equal(packet_read_counted(&r), c.database));
    assert_true(bytes_equal(packet_read_counted(&r), c.table));
    assert_true(bytes_equal(packet_read_counted(&r), c.table));
    assert_true(bytes_equal(packet_read_counted(&r), c.name));
    assert_true(bytes_equal(packet_read_counted(&r), c.stored_name));
    assert_int_equal(packet_read_length(&r), 12);
    assert_int_equal(packet_read_u16(&r), 45);
    assert_int_equal(read_u32(&r), 40);
    assert_int_equal(read_u8(&r), 254);
    assert_int_equal(packet_read_u16(&r), 3);
    read_bytes(&r, 3);
    assert_false(r.bad);
    assert_int_equal(reader_left(&r), 0);

    buf_init(&out, &arena, 0);
    reply_error_put(&out, 1064, "42000", BYTES_LIT("here"));
    assert_memory_equal(out.data, "\xff\x28\x04#42000here", out.len);
    buf_init(&out, &arena, 0);
    reply_done_put(&out, &(struct reply_done){.affected = 300, .status = REPLY_AUTOCOMMIT});
    assert_memory_equal(out.data, "\0\xfc\x2c\x01\0\x02\0\0\0", out.len);
    buf_init(&out, &arena, 0);
    reply_end_put(&out, 0, REPLY_AUTOCOMMIT, 0);
    assert_int_equal(out.len, 5);
    buf_init(&out, &arena, 0);
    reply_end_put(&out, CAN_DEPRECATE_EOF, REPLY_AUTOCOMMIT, 3);
    assert_memory_equal(out.data, "\xfe\0\0\x02\0\x03\0", out.len);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_text, begin, end),
        cmocka_unit_test_setup_teardown(test_binary_comes_back, begin, end),
        cmocka_unit_test(test_types_are_kept),
        cmocka_unit_test(test_old_decimal),
        cmocka_unit_test(test_bad_parameters),
        cmocka_unit_test(test_numbers_read_back),
        cmocka_unit_test_setup_teardown(test_replies, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
