/* Parquet files: whatever they are, they are read to their end or refused. */
#include "fuzz.h"

#include "parquet/reader.h"

#include <stdio.h>

#define ROWS_READ 5000 /* a few bytes may say that there are millions of equal rows */
#define PAGE_BYTES (1u << 20)

static bool read_bytes_of(void *arg, uint64_t offset, void *to, size_t n, char *why, size_t size)
{
    const bytes *file = arg;

    CHECK(offset <= file->len && n <= file->len - offset);
    if (n)
        memcpy(to, bytes_u8(*file) + offset, n);
    (void)why;
    (void)size;
    return true;
}

static void check_value(const struct parquet_leaf *leaf, const struct wr_value *v)
{
    volatile uint8_t sum = 0;

    if (v->type != WR_VARCHAR && v->type != WR_VARBINARY) {
        CHECK(v->type == WR_NULL || v->type == leaf->type);
        return;
    }
    for (size_t i = 0; i < v->bytes.len; i++)
        sum = (uint8_t)(sum + bytes_u8(v->bytes)[i]);
}

static void read_rows(struct parquet_reader *r)
{
    const struct parquet_footer *footer = parquet_reader_footer(r);
    const struct wr_value *values;
    enum parquet_result result = PARQUET_ROW;

    for (size_t i = 0; i < footer->leaf_count; i++)
        if (footer->leaves[i].name.len % 2)
            parquet_reader_as_text(r, i);
    for (int n = 0; n < ROWS_READ && result != PARQUET_END && result != PARQUET_FAILED; n++) {
        result = parquet_reader_next(r, &values);
        for (size_t i = 0; result == PARQUET_ROW && i < footer->leaf_count; i++)
            check_value(&footer->leaves[i], &values[i]);
        CHECK((result != PARQUET_BAD && result != PARQUET_FAILED) || parquet_reader_message(r)[0]);
    }
}

void fuzz_parquet(bytes in)
{
    struct parquet_source source = {.read = read_bytes_of, .arg = &in, .size = in.len};
    struct parquet_reader *r;
    struct ctx c;

    fuzz_ctx(&c);
    if (fuzz_decoded(&c, parquet_reader_open(&c, &source, "file", PAGE_BYTES, &r)))
        read_rows(r);
    parquet_reader_close(r);
    ctx_release(&c);
}
