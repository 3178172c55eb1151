/* Compressed bodies: sizes that are not to be believed, and damage. */
#include "show.h"
#include "../context.h"

#include "wire/zip.h"

static bytes sample(size_t n, bool noise)
{
    uint8_t *p = arena_alloc(&c.arena, n + 1);
    uint32_t x = 1;

    for (size_t i = 0; i < n; i++) {
        x = x * 1664525 + 1013904223;
        p[i] = noise ? (uint8_t)(x >> 24) : 'a';
    }
    return bytes_of(p, n);
}

static void test_there_and_back(void **state)
{
    const size_t sizes[] = {0, 1, 100, 4096, 4097, 300000};

    (void)state;
    for (size_t i = 0; i < 2 * PORT_COUNT(sizes); i++) {
        bytes in = sample(sizes[i / 2], i % 2), packed, out;

        assert_int_equal(zip_deflate(&c, in, &packed), 0);
        for (size_t hint = 0; hint < 3; hint++) {
            assert_int_equal(zip_inflate(&c, packed, hint * in.len / 2, in.len, &out), 0);
            assert_true(bytes_equal(in, out));
        }
    }
}

static void test_bound(void **state)
{
    bytes in = sample(1 << 20, false), packed, out;

    (void)state;
    assert_int_equal(zip_deflate(&c, in, &packed), 0);
    assert_true(packed.len < 2000);
    assert_int_equal(zip_inflate(&c, packed, 0, in.len - 1, &out), E_BODY_TOO_LARGE);
    ctx_clear(&c);
    assert_int_equal(zip_inflate(&c, packed, 0, 100, &out), E_BODY_TOO_LARGE);
    ctx_clear(&c);
    /* A hint that lies either way changes nothing. */
    assert_int_equal(zip_inflate(&c, packed, SIZE_MAX, 100, &out), E_BODY_TOO_LARGE);
    ctx_clear(&c);
    assert_int_equal(zip_inflate(&c, packed, 1, in.len, &out), 0);
    assert_int_equal(out.len, in.len);
}

static void test_memory_cap(void **state)
{
    bytes in = sample(1 << 20, false), packed, out;

    (void)state;
    assert_int_equal(zip_deflate(&c, in, &packed), 0);
    c.arena.cap = c.arena.used + 100000;
    assert_int_equal(zip_inflate(&c, packed, 0, in.len, &out), E_MEMORY);
}

static void test_damage(void **state)
{
    bytes in = sample(1000, true), packed, out;
    uint8_t *copy;

    (void)state;
    assert_int_equal(zip_deflate(&c, in, &packed), 0);
    for (size_t n = 0; n < packed.len; n++) {
        assert_int_equal(zip_inflate(&c, bytes_of(packed.ptr, n), 0, 1 << 20, &out), E_PARAMETER);
        ctx_clear(&c);
    }
    copy = arena_alloc(&c.arena, packed.len + 1);
    memcpy(copy, packed.ptr, packed.len);
    copy[packed.len] = 0;
    assert_int_equal(zip_inflate(&c, bytes_of(copy, packed.len + 1), 0, 1 << 20, &out),
                     E_PARAMETER);
    ctx_clear(&c);
    copy[packed.len - 1] ^= 1;
    assert_int_equal(zip_inflate(&c, bytes_of(copy, packed.len), 0, 1 << 20, &out), E_PARAMETER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_there_and_back),
        TEST(test_bound),
        TEST(test_memory_cap),
        TEST(test_damage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
