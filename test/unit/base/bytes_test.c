#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#undef fail /* ctx.h has one of another meaning */

#include "base/bytes.h"
#include "base/bytes_short.h"
#include "base/rng.h"

static void test_order(void **state)
{
    static const bytes sorted[] = {{NULL, 0},   {"\0", 1},   {"\0\0", 2}, {"\0a", 2},
                                   {"a", 1},    {"a\0", 2},  {"aa", 2},   {"b", 1},
                                   {"\x7F", 1}, {"\x80", 1}, {"\xFF", 1}};
    size_t n = sizeof(sorted) / sizeof(sorted[0]);

    (void)state;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++) {
            int r = bytes_compare(sorted[i], sorted[k]);

            assert_true(i < k ? r < 0 : i > k ? r > 0 : r == 0);
            assert_int_equal(bytes_equal(sorted[i], sorted[k]), i == k);
        }
}

/* Of each length, with each byte another one. */
static void test_short(void **state)
{
    uint8_t a[20], b[20];

    (void)state;
    memset(a, 'x', sizeof(a));
    memset(b, 'x', sizeof(b));
    assert_true(bytes_equal_short(BYTES_NONE, BYTES_NONE));
    for (size_t n = 0; n <= sizeof(a); n++) {
        assert_true(bytes_equal_short(bytes_of(a, n), bytes_of(b, n)));
        assert_false(n && bytes_equal_short(bytes_of(a, n), bytes_of(b, n - 1)));
        for (size_t i = 0; i < n; i++) {
            b[i] = 'y';
            assert_false(bytes_equal_short(bytes_of(a, n), bytes_of(b, n)));
            b[i] = 'x';
        }
    }
}

/* Of each length, and nothing beside it. */
static void test_copy(void **state)
{
    uint8_t from[150], to[sizeof(from) + 2];

    (void)state;
    for (size_t i = 0; i < sizeof(from); i++)
        from[i] = (uint8_t)(i + 1);
    for (size_t n = 0; n <= sizeof(from); n++) {
        memset(to, 0xEE, sizeof(to));
        bytes_copy(to + 1, from + sizeof(from) - n, n);
        assert_int_equal(to[0], 0xEE);
        assert_memory_equal(to + 1, from + sizeof(from) - n, n);
        for (size_t i = n + 1; i < sizeof(to); i++)
            assert_int_equal(to[i], 0xEE);
    }
}

static void test_parts(void **state)
{
    (void)state;
    assert_true(bytes_starts(BYTES_LIT("abc"), BYTES_LIT("ab")));
    assert_true(bytes_starts(BYTES_LIT("abc"), BYTES_NONE));
    assert_false(bytes_starts(BYTES_LIT("ab"), BYTES_LIT("abc")));
    assert_false(bytes_starts(BYTES_LIT("abc"), BYTES_LIT("b")));
    assert_true(bytes_equal(bytes_skip(BYTES_LIT("abc"), 2), BYTES_LIT("c")));
    assert_int_equal(bytes_skip(BYTES_LIT("abc"), 3).len, 0);
}

/* Writes one code point the plain way; returns its length. */
static size_t put_point(uint8_t *p, uint32_t point, size_t len)
{
    static const uint8_t lead[] = {0, 0, 0xC0, 0xE0, 0xF0};

    for (size_t i = len; i > 1; i--, point >>= 6)
        p[i - 1] = (uint8_t)(0x80 | (point & 0x3F));
    p[0] = (uint8_t)(len == 1 ? point : lead[len] | point);
    return len;
}

/* Every code point in every length that can hold it, at different places of a word. */
static void test_utf8_of_every_code_point(void **state)
{
    (void)state;
    for (uint32_t point = 0; point < 0x110400; point += point < 0x11000 ? 1 : 37)
        for (size_t len = 1; len <= 4; len++) {
            static const uint32_t above[] = {0, 0x80, 0x800, 0x10000, 0x200000};
            bool good = point < above[len] && point >= (len > 1 ? above[len - 1] : 0) &&
                        !(point >= 0xD800 && point < 0xE000) && point <= 0x10FFFF;
            uint8_t text[24];
            size_t n = point % 9;

            if (point >= above[len])
                continue;
            memset(text, 'a', sizeof(text));
            n += put_point(text + n, point, len);
            assert_int_equal(bytes_is_utf8(bytes_of(text, n)), good);
            assert_int_equal(bytes_is_utf8(bytes_of(text, n + 9)), good);
            if (len > 1)
                assert_false(bytes_is_utf8(bytes_of(text, n - 1)));
        }
}

static void test_not_utf8(void **state)
{
    static const char *const bad[] = {"\x80",
                                      "\xBF",
                                      "\xC0\x80",
                                      "\xC1\xBF",
                                      "\xE0\x9F\xBF",
                                      "\xED\xA0\x80",
                                      "\xF0\x8F\xBF\xBF",
                                      "\xF4\x90\x80\x80",
                                      "\xF5\x80\x80\x80",
                                      "\xFE",
                                      "\xFF",
                                      "\xC3(",
                                      "\xE4\xB8(",
                                      "abcdefgh\xFF",
                                      "abcdefg\xC3"};

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(bytes_is_utf8(bytes_str(bad[i])));
    assert_true(bytes_is_utf8(BYTES_NONE));
    assert_true(bytes_is_utf8(BYTES_LIT("a\0b")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_short),
        cmocka_unit_test(test_copy),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_utf8_of_every_code_point),
        cmocka_unit_test(test_not_utf8),
    };

    return cmocka_run_group_tests_name("bytes", tests, NULL, NULL);
}
