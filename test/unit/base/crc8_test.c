#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#undef fail /* ctx.h has one of another meaning */

#include "base/crc8.h"
#include "base/rng.h"

/* One bit after the other, as the polynomial says. */
static uint8_t slow_crc8(uint8_t crc, const uint8_t *p, size_t n)
{
    for (; n; n--, p++) {
        crc ^= *p;
        for (int i = 0; i < 8; i++)
            crc = (uint8_t)(crc << 1 ^ (crc & 0x80 ? 0x07 : 0));
    }
    return crc;
}

static void test_known_values(void **state)
{
    uint8_t text[300];

    (void)state;
    assert_int_equal(crc8(0, NULL, 0), 0);
    assert_int_equal(crc8(0, "123456789", 9), 0xF4);
    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = (uint8_t)(i * 7);
    assert_int_equal(crc8(0, text, sizeof(text)), 0x56);
}

static void test_against_the_slow_way(void **state)
{
    uint8_t text[400]; /* long ones go another way than short ones */
    struct rng r;

    (void)state;
    rng_init(&r, 1);
    for (int round = 0; round < 5000; round++) {
        size_t n = rng_below(&r, sizeof(text) + 1), cut = rng_below(&r, n + 1);
        uint8_t start = (uint8_t)rng_next(&r), wanted;

        for (size_t i = 0; i < n; i++)
            text[i] = (uint8_t)rng_next(&r);
        wanted = slow_crc8(start, text, n);
        assert_int_equal(crc8(start, text, n), wanted);
        assert_int_equal(crc8_short(start, text, n), wanted);
        assert_int_equal(crc8(crc8(start, text, cut), text + cut, n - cut), wanted);
    }
}

/* Memory that ends with the text, so that a sanitizer sees a byte too many. */
static void test_nothing_behind_is_read(void **state)
{
    (void)state;
    for (size_t n = 1; n <= 300; n++) {
        uint8_t *text = malloc(n);

        for (size_t i = 0; i < n; i++)
            text[i] = (uint8_t)(i * 11 + n);
        assert_int_equal(crc8(3, text, n), slow_crc8(3, text, n));
        free(text);
    }
}

/* A processor that multiplies no polynomials has the tables alone. */
static void test_tables(void **state)
{
    static const uint8_t zeros[8];

    (void)state;
    for (int k = 0; k < 8; k++)
        for (int b = 0; b < 256; b++) {
            uint8_t first = (uint8_t)b;

            assert_int_equal(crc8_tables[k][b],
                             slow_crc8(slow_crc8(0, &first, 1), zeros, (size_t)k));
        }
}

static void test_numbers(void **state)
{
    static const uint8_t raw[8] = {1, 2, 3, 4, 5, 6, 7, 8};

    (void)state;
    assert_int_equal(crc8_byte(9, 1), slow_crc8(9, raw, 1));
    assert_int_equal(crc8_u32(9, 0x04030201), slow_crc8(9, raw, 4));
    assert_int_equal(crc8_u64(9, 0x0807060504030201), slow_crc8(9, raw, 8));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_values),
        cmocka_unit_test(test_against_the_slow_way),
        cmocka_unit_test(test_nothing_behind_is_read),
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_numbers),
    };

    return cmocka_run_group_tests_name("crc8", tests, NULL, NULL);
}
