/* How much a page of a column chunk takes: 1 MiB of values; of texts that share much with the one
 * before more of them, up to 2 MiB. */
#include "parquet/chunk.h"

#include "base/rng.h"
#include "parquet/format.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <zstd.h>

#include <cmocka.h>

#define MIB (1u << 20)
#define TEXT 40 /* bytes of each value */
#define ROWS (8 * MIB / TEXT)

/* Texts whose first `shared` bytes rise slowly, as those of times do, and whose rest is chance. */
static void fill(struct chunk *k, size_t shared)
{
    static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+-";
    struct rng rng;

    rng_init(&rng, 7);
    *k = (struct chunk){.type = WR_VARCHAR, .key = true};
    for (uint32_t i = 0; i < ROWS; i++) {
        char text[TEXT + 1];
        struct wr_value v = {.type = WR_VARCHAR, .bytes = {text, TEXT}};

        snprintf(text, sizeof(text), "%0*u", TEXT, i / 64);
        memmove(text, text + TEXT - shared, shared);
        for (size_t at = shared; at < TEXT; at++)
            text[at] = digits[rng_below(&rng, 64)];
        chunk_put(k, &v);
    }
}

/* The bytes of values in the pages, each but the last one, are from `least` to `most`. */
static void expect_pages(size_t shared, enum parquet_encoding encoding, uint32_t least,
                         uint32_t most)
{
    ZSTD_CCtx *zstd = ZSTD_createCCtx();
    uint64_t rows = 0;
    struct chunk k;

    fill(&k, shared);
    chunk_pack(&k, zstd);
    assert_true(k.encodings >> encoding & 1);
    assert_true(k.notes.count > 2);
    for (size_t i = 0; i < k.notes.count; i++) {
        const struct page_note *note = &k.notes.list[i];

        assert_int_equal(note->row, rows);
        rows += note->rows;
        if (i + 1 < k.notes.count)
            assert_in_range(note->rows * TEXT, least, most);
        else
            assert_in_range(note->rows * TEXT, 1, most);
    }
    assert_int_equal(rows, ROWS);
    chunk_release(&k);
    ZSTD_freeCCtx(zstd);
}

static void test_nothing_shared(void **state)
{
    (void)state;
    expect_pages(0, ENCODING_PLAIN, MIB, MIB + TEXT);
}

static void test_some_shared(void **state)
{
    (void)state;
    expect_pages(TEXT / 4, ENCODING_DELTA_BYTE_ARRAY, MIB + MIB / 8, 2 * MIB - MIB / 8);
}

static void test_much_shared(void **state)
{
    (void)state;
    expect_pages(TEXT - 4, ENCODING_DELTA_BYTE_ARRAY, 2 * MIB, 2 * MIB + TEXT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_shared),
        cmocka_unit_test(test_some_shared),
        cmocka_unit_test(test_much_shared),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
