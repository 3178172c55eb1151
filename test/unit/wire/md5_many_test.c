/* MD5 of several texts side by side is what OpenSSL says of each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/rng.h"
#include "wire/md5_many.h"

#include <openssl/evp.h>

static uint8_t text[MD5_MANY][5000];

static void check(const bytes *texts, size_t count)
{
    uint8_t fast[MD5_MANY][MD5_BYTES], plain[MD5_MANY][MD5_BYTES], expected[MD5_BYTES];

    md5_many(texts, count, fast);
    md5_many_anywhere(texts, count, plain);
    for (size_t i = 0; i < count; i++) {
        EVP_Digest(texts[i].ptr, texts[i].len, expected, NULL, EVP_md5(), NULL);
        assert_memory_equal(fast[i], expected, MD5_BYTES);
        assert_memory_equal(plain[i], expected, MD5_BYTES);
    }
}

static void test_each_number_of_texts(void **state)
{
    (void)state;
    for (size_t count = 1; count <= MD5_MANY; count++)
        for (size_t len = 0; len < 300; len++) {
            bytes texts[MD5_MANY];

            for (size_t i = 0; i < count; i++)
                texts[i] = bytes_of(text[i], len);
            check(texts, count);
        }
}

/* Each ends in a step of its own, some have no whole block, two end together. */
static void test_one_after_the_other(void **state)
{
    static const size_t ends[MD5_MANY] = {0, 63, 64, 640, 640, 641, 1000, 5000};
    bytes texts[MD5_MANY];

    (void)state;
    for (size_t turn = 0; turn < MD5_MANY; turn++)
        for (size_t count = 1; count <= MD5_MANY; count++) {
            for (size_t i = 0; i < count; i++)
                texts[i] = bytes_of(text[i], ends[(i + turn) % MD5_MANY]);
            check(texts, count);
        }
}

/* Of any lengths, from any byte on. */
static void test_texts_that_differ(void **state)
{
    struct rng rng;

    (void)state;
    rng_init(&rng, 1);
    for (int round = 0; round < 500; round++) {
        size_t count = 1 + rng_below(&rng, MD5_MANY);
        bytes texts[MD5_MANY];

        for (size_t i = 0; i < count; i++) {
            size_t from = rng_below(&rng, 64);

            texts[i] = bytes_of(text[i] + from, rng_below(&rng, sizeof(text[i]) - from));
        }
        check(texts, count);
    }
}

/* As long as pages and bodies are, each of another length. */
static void test_long_texts(void **state)
{
    static uint8_t page[3 << 20];
    bytes texts[MD5_MANY];
    struct rng rng;

    (void)state;
    rng_init(&rng, 3);
    for (size_t i = 0; i < sizeof(page); i++)
        page[i] = (uint8_t)rng_next(&rng);
    for (size_t i = 0; i < MD5_MANY; i++)
        texts[i] = bytes_of(page + i, (2 << 20) + rng_below(&rng, 1 << 19));
    check(texts, MD5_MANY);
    check(texts, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_number_of_texts), cmocka_unit_test(test_one_after_the_other),
        cmocka_unit_test(test_texts_that_differ), cmocka_unit_test(test_long_texts)};
    struct rng rng;

    rng_init(&rng, 2);
    for (size_t i = 0; i < MD5_MANY; i++)
        for (size_t k = 0; k < sizeof(text[i]); k++)
            text[i][k] = (uint8_t)rng_next(&rng);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
