#include "parquet/writer.h"

#include "base/port.h"
#include "parquet/format.h"
#include "parquet/thrift.h"

#include <zstd.h>

#define PAGE_BYTES (1u << 20)
#define PAGE_VALUES_MAX (1u << 20)
#define GROUP_BYTES (64u << 20)
#define ZSTD_LEVEL 3

/* A column of the row group that is being filled. */
struct chunk {
    /* The page. */
    struct thrift values;
    struct thrift present; /* a bit for each row; of optional columns only */
    uint32_t rows, stored; /* of the page; values that are there */
    /* Pages that are done, as they will be written. */
    struct thrift done;
    uint64_t raw_bytes; /* of `done` before compression, with its headers */
    uint64_t done_rows;
};

struct parquet {
    FILE *out;
    struct parquet_column *columns;
    struct chunk *chunks;
    size_t count;
    ZSTD_CCtx *zstd;
    uint64_t offset; /* in the file */
    uint64_t rows, group_rows, group_bytes;
    bytes key_note;
    struct thrift groups; /* the footer's, one behind the other */
    size_t group_count;
};

bool parquet_takes(enum wr_type type)
{
    return type == WR_BIGINT || type == WR_DOUBLE || type == WR_BOOLEAN || type == WR_VARCHAR ||
           type == WR_VARBINARY;
}

static int32_t physical_type(enum wr_type type)
{
    switch (type) {
    case WR_BIGINT:
        return PHYSICAL_INT64;
    case WR_DOUBLE:
        return PHYSICAL_DOUBLE;
    case WR_BOOLEAN:
        return PHYSICAL_BOOLEAN;
    default:
        return PHYSICAL_BYTE_ARRAY;
    }
}

static void put_out(struct parquet *p, const void *data, size_t n)
{
    if (n)
        fwrite(data, 1, n, p->out);
    p->offset += n;
}

struct parquet *parquet_open(FILE *out, const struct parquet_column *columns, size_t count,
                             struct wr_bytes key_note)
{
    struct parquet *p = mem_zalloc(sizeof(*p));

    p->out = out;
    p->count = count;
    p->key_note = key_note;
    p->columns = mem_alloc(sizeof(*columns) * count);
    memcpy(p->columns, columns, sizeof(*columns) * count);
    p->chunks = mem_zalloc(sizeof(*p->chunks) * count);
    p->zstd = ZSTD_createCCtx();
    put_out(p, PARQUET_MAGIC, 4);
    return p;
}

/* ---- pages */

/* Bit number `at`, the lowest of a byte first. */
static void put_bit(struct thrift *t, uint32_t at, bool bit)
{
    if (at % 8 == 0)
        thrift_put_u8(t, 0);
    if (bit)
        t->data[at / 8] |= (uint8_t)(1u << at % 8);
}

static void put_value(struct chunk *k, const struct wr_value *v)
{
    uint64_t bits;

    switch (v->type) {
    case WR_BIGINT:
        thrift_put_u64(&k->values, (uint64_t)v->integer);
        break;
    case WR_DOUBLE:
        memcpy(&bits, &v->real, sizeof(bits));
        thrift_put_u64(&k->values, bits);
        break;
    case WR_BOOLEAN:
        put_bit(&k->values, k->stored, v->boolean);
        break;
    default:
        thrift_put_u32(&k->values, (uint32_t)v->bytes.len);
        thrift_put(&k->values, v->bytes.ptr, v->bytes.len);
    }
    k->stored++;
}

/* Which rows have a value: one run of packed bits, and in front of it its length. */
static void put_levels(struct thrift *page, const struct chunk *k)
{
    struct thrift run = {0};

    thrift_put_varint(&run, (uint64_t)k->present.len << 1 | 1);
    thrift_put(&run, k->present.data, k->present.len);
    thrift_put_u32(page, (uint32_t)run.len);
    thrift_put(page, run.data, run.len);
    thrift_release(&run);
}

static void put_page_header(struct thrift *t, uint32_t rows, size_t raw, size_t packed)
{
    thrift_begin(t, 0);
    thrift_i32(t, 1, 0); /* a data page */
    thrift_i32(t, 2, (int32_t)raw);
    thrift_i32(t, 3, (int32_t)packed);
    thrift_begin(t, 5);
    thrift_i32(t, 1, (int32_t)rows);
    thrift_i32(t, 2, ENCODING_PLAIN);
    thrift_i32(t, 3, ENCODING_RLE);
    thrift_i32(t, 4, ENCODING_RLE);
    thrift_end(t);
    thrift_end(t);
}

static void end_page(struct parquet *p, size_t column)
{
    struct chunk *k = &p->chunks[column];
    struct thrift page = {0};
    size_t bound, packed, before = k->done.len;
    uint8_t *out;

    if (k->rows == 0)
        return;
    if (!p->columns[column].key)
        put_levels(&page, k);
    thrift_put(&page, k->values.data, k->values.len);
    bound = ZSTD_compressBound(page.len);
    out = mem_alloc(bound);
    packed = ZSTD_compressCCtx(p->zstd, out, bound, page.data, page.len, ZSTD_LEVEL);
    put_page_header(&k->done, k->rows, page.len, packed);
    k->raw_bytes += k->done.len - before + page.len;
    thrift_put(&k->done, out, packed);
    k->done_rows += k->rows;
    k->rows = k->stored = 0;
    k->values.len = k->present.len = 0;
    mem_free(out);
    thrift_release(&page);
}

/* ---- row groups */

static void put_chunk_meta(struct parquet *p, size_t column)
{
    const struct parquet_column *of = &p->columns[column];
    const struct chunk *k = &p->chunks[column];
    struct thrift *t = &p->groups;

    thrift_begin(t, 0);
    thrift_i64(t, 2, (int64_t)p->offset);
    thrift_begin(t, 3);
    thrift_i32(t, 1, physical_type(of->type));
    thrift_list(t, 2, THRIFT_I32, 2);
    thrift_element_i32(t, ENCODING_PLAIN);
    thrift_element_i32(t, ENCODING_RLE);
    thrift_list(t, 3, THRIFT_BINARY, 1);
    thrift_element_binary(t, of->name);
    thrift_i32(t, 4, CODEC_ZSTD);
    thrift_i64(t, 5, (int64_t)k->done_rows);
    thrift_i64(t, 6, (int64_t)k->raw_bytes);
    thrift_i64(t, 7, (int64_t)k->done.len);
    thrift_i64(t, 9, (int64_t)p->offset);
    thrift_end(t);
    thrift_end(t);
}

static void end_group(struct parquet *p)
{
    struct thrift *t = &p->groups;
    uint64_t raw_bytes = 0;

    if (p->group_rows == 0)
        return;
    for (size_t i = 0; i < p->count; i++) {
        end_page(p, i);
        raw_bytes += p->chunks[i].raw_bytes;
    }
    thrift_begin(t, 0);
    thrift_list(t, 1, THRIFT_STRUCT, p->count);
    for (size_t i = 0; i < p->count; i++) {
        struct chunk *k = &p->chunks[i];

        put_chunk_meta(p, i);
        put_out(p, k->done.data, k->done.len);
        k->done.len = 0;
        k->raw_bytes = k->done_rows = 0;
    }
    thrift_i64(t, 2, (int64_t)raw_bytes);
    thrift_i64(t, 3, (int64_t)p->group_rows);
    thrift_end(t);
    p->group_count++;
    p->group_rows = p->group_bytes = 0;
}

void parquet_put(struct parquet *p, const struct wr_value *const *values)
{
    for (size_t i = 0; i < p->count; i++) {
        struct chunk *k = &p->chunks[i];
        size_t before = k->values.len;

        if (!p->columns[i].key)
            put_bit(&k->present, k->rows, values[i] != NULL);
        if (values[i])
            put_value(k, values[i]);
        k->rows++;
        p->group_bytes += k->values.len - before + 1;
        if (k->values.len >= PAGE_BYTES || k->rows == PAGE_VALUES_MAX)
            end_page(p, i);
    }
    p->rows++;
    if (++p->group_rows && p->group_bytes >= GROUP_BYTES)
        end_group(p);
}

/* ---- the footer */

static void put_schema(struct parquet *p, struct thrift *t)
{
    thrift_list(t, 2, THRIFT_STRUCT, p->count + 1);
    thrift_begin(t, 0);
    thrift_binary(t, 4, BYTES_LIT("row"));
    thrift_i32(t, 5, (int32_t)p->count);
    thrift_end(t);
    for (size_t i = 0; i < p->count; i++) {
        thrift_begin(t, 0);
        thrift_i32(t, 1, physical_type(p->columns[i].type));
        thrift_i32(t, 3, p->columns[i].key ? REPETITION_REQUIRED : REPETITION_OPTIONAL);
        thrift_binary(t, 4, p->columns[i].name);
        if (p->columns[i].type == WR_VARCHAR) {
            thrift_i32(t, 6, CONVERTED_UTF8);
            thrift_begin(t, 10);
            thrift_begin(t, 1); /* a string */
            thrift_end(t);
            thrift_end(t);
        }
        thrift_end(t);
    }
}

static void put_key_note(struct parquet *p, struct thrift *t)
{
    thrift_list(t, 5, THRIFT_STRUCT, 1);
    thrift_begin(t, 0);
    thrift_binary(t, 1, BYTES_LIT("widerow.key"));
    thrift_binary(t, 2, p->key_note);
    thrift_end(t);
}

static void put_footer(struct parquet *p)
{
    struct thrift t = {0};
    uint32_t len;

    thrift_begin(&t, 0);
    thrift_i32(&t, 1, 1);
    put_schema(p, &t);
    thrift_i64(&t, 3, (int64_t)p->rows);
    thrift_list(&t, 4, THRIFT_STRUCT, p->group_count);
    thrift_put(&t, p->groups.data, p->groups.len);
    put_key_note(p, &t);
    thrift_binary(&t, 6, BYTES_LIT("widerow"));
    thrift_end(&t);
    len = (uint32_t)t.len;
    thrift_put_u32(&t, len);
    thrift_put(&t, PARQUET_MAGIC, 4);
    put_out(p, t.data, t.len);
    thrift_release(&t);
}

void parquet_close(struct parquet *p, bool whole)
{
    if (whole) {
        end_group(p);
        put_footer(p);
    }
    for (size_t i = 0; i < p->count; i++) {
        thrift_release(&p->chunks[i].values);
        thrift_release(&p->chunks[i].present);
        thrift_release(&p->chunks[i].done);
    }
    thrift_release(&p->groups);
    ZSTD_freeCCtx(p->zstd);
    mem_free(p->chunks);
    mem_free(p->columns);
    mem_free(p);
}
