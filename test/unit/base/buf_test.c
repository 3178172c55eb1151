#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#undef fail /* ctx.h has one of another meaning */

#include "base/buf.h"
#include "base/rng.h"

static void test_grows(void **state)
{
    struct arena a;
    struct buf b;

    (void)state;
    arena_init(&a, NULL, 0);
    for (size_t capacity = 0; capacity < 200; capacity += 99) {
        buf_init(&b, &a, capacity);
        for (int i = 0; i < 1000; i++)
            buf_put_u8(&b, (uint8_t)i);
        buf_put(&b, NULL, 0);
        buf_put_bytes(&b, BYTES_LIT("end"));
        assert_int_equal(b.len, 1003);
        for (int i = 0; i < 1000; i++)
            assert_int_equal(b.data[i], (uint8_t)i);
        assert_true(bytes_equal(bytes_skip(buf_bytes(&b), 1000), BYTES_LIT("end")));
    }
    arena_release(&a);
}

static void test_reserve(void **state)
{
    struct arena a;
    struct buf b;

    (void)state;
    arena_init(&a, NULL, 0);
    buf_init(&b, &a, 0);
    memset(buf_reserve(&b, 5000), 'x', 5000);
    assert_int_equal(b.len, 0);
    buf_commit(&b, 5000);
    assert_int_equal(b.len, 5000);
    assert_true(b.capacity >= 5000);
    arena_release(&a);
}

static void test_byte_order(void **state)
{
    static const uint8_t little[8] = {8, 7, 6, 5, 4, 3, 2, 1}, big[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    uint8_t out[8];

    (void)state;
    store_u64(out, 0x0102030405060708);
    assert_memory_equal(out, little, 8);
    store_u64_be(out, 0x0102030405060708);
    assert_memory_equal(out, big, 8);
    assert_true(load_u64(little) == 0x0102030405060708);
    assert_true(load_u64_be(big) == 0x0102030405060708);
    assert_true(load_u32(little) == 0x05060708);
    assert_true(load_u32_be(big) == 0x01020304);
    store_u32(out, 0x01020304);
    assert_memory_equal(out, little + 4, 4);
    store_u32_be(out, 0x01020304);
    assert_memory_equal(out, big, 4);
}

static void test_varints(void **state)
{
    static const uint64_t edges[] = {0, 1, 127, 128, 16383, 16384, INT64_MAX, UINT64_MAX};
    struct arena a;
    struct buf b;
    struct rng rng;

    (void)state;
    rng_init(&rng, 1);
    arena_init(&a, NULL, 0);
    for (size_t i = 0; i < 1000; i++) {
        uint64_t v = i < PORT_COUNT(edges) ? edges[i] : rng_next(&rng) >> rng_below(&rng, 64);
        struct reader r;

        buf_init(&b, &a, 0);
        buf_put_varint(&b, v);
        r = reader_of(buf_bytes(&b));
        assert_true(read_varint(&r) == v);
        assert_false(r.bad);
        assert_int_equal(reader_left(&r), 0);
        r = reader_of(bytes_of(b.data, b.len - 1));
        read_varint(&r);
        assert_true(r.bad);
    }
    arena_release(&a);
}

/* More than ten bytes are no number. */
static void test_endless_varint(void **state)
{
    uint8_t raw[16];
    struct reader r = reader_of(bytes_of(raw, sizeof(raw)));

    (void)state;
    memset(raw, 0xFF, sizeof(raw));
    assert_true(read_varint(&r) == 0);
    assert_true(r.bad);
}

static void test_reading_past_the_end(void **state)
{
    struct reader r = reader_of(BYTES_LIT("\1\2\3\4\5"));

    (void)state;
    assert_int_equal(read_u8(&r), 1);
    assert_true(read_u32(&r) == 0x05040302);
    assert_false(r.bad);
    assert_int_equal(read_u8(&r), 0);
    assert_true(r.bad);
    r = reader_of(BYTES_LIT("abc"));
    assert_true(read_u64(&r) == 0);
    assert_true(r.bad);
    assert_int_equal(reader_left(&r), 0);
    r = reader_of(BYTES_LIT("abc"));
    assert_null(read_bytes(&r, SIZE_MAX).ptr);
    assert_true(r.bad);
    r = reader_of(BYTES_NONE);
    assert_int_equal(read_u8(&r), 0);
    assert_true(r.bad);
}

static void test_zigzag(void **state)
{
    static const int64_t edges[] = {0, -1, 1, -2, 2, INT64_MAX, INT64_MIN};

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(edges); i++)
        assert_true(unzigzag(zigzag(edges[i])) == edges[i]);
    assert_true(zigzag(0) == 0 && zigzag(-1) == 1 && zigzag(1) == 2 && zigzag(-64) == 127);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_grows),          cmocka_unit_test(test_reserve),
        cmocka_unit_test(test_byte_order),     cmocka_unit_test(test_varints),
        cmocka_unit_test(test_endless_varint), cmocka_unit_test(test_reading_past_the_end),
        cmocka_unit_test(test_zigzag),
    };

    return cmocka_run_group_tests_name("buf", tests, NULL, NULL);
}
