/* Cells beside the columns of an exported file: the bytes that doc/format.md describes, there and
 * back, and what is none of them. */
#include "archive/cells.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#define COUNT 5

static const struct wr_cell cells[COUNT] = {
    {.name = {"a", 1}, .value = {.type = WR_BIGINT, .integer = -2}, .timestamp_ms = 150},
    {.name = {"b", 1}, .value = {.type = WR_DOUBLE, .real = 1.5}, .timestamp_ms = -1},
    {.name = {"c", 1}, .value = {.type = WR_BOOLEAN, .boolean = true}, .timestamp_ms = 0},
    {.name = {"d", 1}, .value = {.type = WR_VARCHAR, .bytes = {"xy", 2}}, .timestamp_ms = 1},
    {.name = {"e", 1}, .value = {.type = WR_VARBINARY, .bytes = {"\xFF", 1}}, .timestamp_ms = 1}};

/* Changed only together with the form's number. */
static const uint8_t golden[] = "\x01"
                                "\x85\x01"
                                "a\xAC\x02\x03"
                                "\x88\x01"
                                "b\x01\x00\x00\x00\x00\x00\x00\xF8\x3F"
                                "\x81\x01"
                                "c\x00\x01"
                                "\x8A\x01"
                                "d\x02\x02xy"
                                "\x0D\x01"
                                "e\x01\xFF";

static void test_golden(void **state)
{
    struct wr_cell read[COUNT];
    struct arena a;
    struct buf b;

    (void)state;
    arena_init(&a, NULL, 0);
    buf_init(&b, &a, 0);
    cells_begin(&b);
    for (size_t i = 0; i < COUNT; i++)
        cells_put(&b, &cells[i], i + 1 < COUNT);
    assert_int_equal(b.len, sizeof(golden) - 1);
    assert_memory_equal(b.data, golden, b.len);
    assert_int_equal(cells_read(buf_bytes(&b), NULL), COUNT);
    assert_int_equal(cells_read(buf_bytes(&b), read), COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(read[i].value.type, cells[i].value.type);
        assert_true(bytes_equal(read[i].name, cells[i].name));
        assert_int_equal(read[i].timestamp_ms,
                         i + 1 < COUNT ? cells[i].timestamp_ms : WR_TIMESTAMP_NONE);
    }
    assert_int_equal(read[0].value.integer, -2);
    assert_true(bytes_equal(read[3].value.bytes, BYTES_LIT("xy")));
    arena_release(&a);
}

/* Each cut and each flipped bit: some number of cells, or none. */
static void test_damage(void **state)
{
    (void)state;
    for (size_t n = 0; n < sizeof(golden) - 1; n++) {
        size_t count = cells_read(bytes_of(golden, n), NULL);

        assert_true(count == SIZE_MAX || count < COUNT);
    }
    for (size_t i = 0; i < (sizeof(golden) - 1) * 8; i++) {
        uint8_t copy[sizeof(golden) - 1];
        struct wr_cell read[sizeof(golden)];
        size_t count;

        memcpy(copy, golden, sizeof(copy));
        copy[i / 8] ^= (uint8_t)(1u << i % 8);
        count = cells_read(bytes_of(copy, sizeof(copy)), NULL);
        if (count != SIZE_MAX)
            assert_int_equal(cells_read(bytes_of(copy, sizeof(copy)), read), count);
    }
    assert_int_equal(cells_read(BYTES_NONE, NULL), SIZE_MAX);
    assert_int_equal(cells_read(BYTES_LIT("\x02"), NULL), SIZE_MAX);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {cmocka_unit_test(test_golden),
                                              cmocka_unit_test(test_damage)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
