/* The stored forms of the engine on a Ceph pool, against fixed bytes and against order. */
#include "bed.h"

#include "base/rng.h"
#include "engine/rados_omap.h"

/* Of 1,024 times 'x'. */
#define GOLDEN_HASHED "wCV!C8@ZT>2%+:RM&[]J7R0 "

static struct arena a;

static int setup(void **state)
{
    (void)state;
    arena_init(&a, NULL, 0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_release(&a);
    return 0;
}

static void expect(bytes got, const char *want, size_t len)
{
    assert_int_equal(got.len, len);
    assert_memory_equal(got.ptr, want, len);
}

/* Changing any of this makes stored data unreadable. */
static void test_golden(void **state)
{
    static const char key[] = "a\0b\1\2\xff", stored[] = "ka\2\2b\2\3\2\4\xff\1";
    char large[OMAP_HASH_MIN];
    bytes value;

    (void)state;
    expect(omap_key(&a, bytes_of(key, 6)), stored, 11);
    expect(omap_before(&a, bytes_of(key, 6)), stored, 10);
    expect(omap_value(&a, BYTES_LIT("")), "v", 1);
    expect(omap_value(&a, BYTES_LIT("abc")), "vabc", 4);
    memset(large, 'x', sizeof(large));
    value = omap_value(&a, bytes_of(large, sizeof(large)));
    assert_int_equal(value.len, OMAP_HEAD_HASHED + sizeof(large));
    expect(bytes_of(value.ptr, OMAP_HEAD_HASHED), GOLDEN_HASHED, OMAP_HEAD_HASHED);
}

static void test_key_order(void **state)
{
    struct rng rng;

    (void)state;
    rng_init(&rng, 7);
    for (int i = 0; i < 20000; i++) {
        uint8_t x[6], y[6];
        bytes kx = bytes_of(x, rng_below(&rng, 6)), ky = bytes_of(y, rng_below(&rng, 6));
        bytes sx, sy, back;
        int plain, coded;

        for (int k = 0; k < 6; k++) {
            x[k] = (uint8_t)rng_below(&rng, 4);
            y[k] = rng_below(&rng, 5) ? x[k] : (uint8_t)rng_below(&rng, 4);
        }
        sx = omap_key(&a, kx);
        sy = omap_key(&a, ky);
        plain = bytes_compare(kx, ky);
        coded = bytes_compare(sx, sy);
        assert_true((plain < 0) == (coded < 0) && (plain > 0) == (coded > 0));
        assert_null(memchr(sx.ptr, 0, sx.len));
        assert_true(omap_key_decode(&a, sx, &back) && bytes_equal(back, kx));
        /* The bound below x parts all lower keys from x and what is above. */
        assert_true((bytes_compare(sy, omap_before(&a, kx)) > 0) == (plain <= 0));
        if (plain <= 0 && ky.len) {
            bytes prefix = omap_prefix(&a, kx, ky);

            assert_true(bytes_starts(sx, prefix));
        }
    }
}

static void test_damaged(void **state)
{
    static const char *const keys[] = {"", "k", "x\1", "ka", "k\2\1", "k\2\7\1"};
    bytes out;

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(keys); i++)
        assert_false(omap_key_decode(&a, bytes_str(keys[i]), &out));
    assert_false(omap_value_decode(BYTES_LIT(""), &out));
    assert_false(omap_value_decode(BYTES_LIT("z"), &out));
    assert_false(omap_value_decode(BYTES_LIT("w123"), &out));
}

static void test_hash_bounds(void **state)
{
    char one[2000], two[2000];
    bytes low, high, stored;

    (void)state;
    memset(one, 1, sizeof(one));
    memcpy(two, one, sizeof(one));
    two[1999] = 2;
    omap_hash_bounds(&a, bytes_of(one, sizeof(one)), &low, &high);
    stored = omap_value(&a, bytes_of(one, sizeof(one)));
    assert_true(bytes_compare(stored, low) > 0 && bytes_compare(stored, high) < 0);
    stored = omap_value(&a, bytes_of(two, sizeof(two)));
    assert_false(bytes_compare(stored, low) > 0 && bytes_compare(stored, high) < 0);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {T(test_golden), T(test_key_order), T(test_damaged),
                                       T(test_hash_bounds)};
#undef T

    return cmocka_run_group_tests(tests, NULL, NULL);
}
