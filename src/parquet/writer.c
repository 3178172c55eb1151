#include "parquet/writer.h"

#include "base/port.h"
#include "parquet/dictionary.h"
#include "parquet/format.h"
#include "parquet/pack.h"
#include "parquet/thrift.h"

#include <zlib.h>
#include <zstd.h>

#define PAGE_BYTES (1u << 20)
#define PAGE_VALUES_MAX (128u << 10)
#define GROUP_BYTES (64u << 20)
#define ZSTD_LEVEL 3

/* A column of the row group that is being filled. */
struct chunk {
    /* The page. */
    struct thrift values;
    struct thrift present; /* a bit for each row; of optional columns only */
    uint32_t rows, stored; /* of the page; values that are there */
    /* As numbers of the dictionary, too, as long as that is open. */
    struct dictionary dictionary;
    bool closed;       /* it is full, or not worth it: no page of numbers follows */
    bool numbered;     /* there are pages of numbers */
    uint32_t *numbers; /* of the page's values */
    size_t numbers_size;
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

/* The last value, which begins at `from`, to its number. */
static void put_number(struct chunk *k, size_t from)
{
    uint32_t number;

    if (k->closed)
        return;
    number =
        dictionary_number(&k->dictionary, bytes_of(k->values.data + from, k->values.len - from));
    if (number == DICTIONARY_FULL) {
        k->closed = true;
        return;
    }
    if (k->stored >= k->numbers_size) {
        k->numbers_size = k->numbers_size ? k->numbers_size * 2 : 1024;
        k->numbers = mem_realloc(k->numbers, sizeof(*k->numbers) * k->numbers_size);
    }
    k->numbers[k->stored] = number;
}

static void put_value(struct chunk *k, const struct wr_value *v)
{
    size_t from = k->values.len;
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
    if (v->type != WR_BOOLEAN)
        put_number(k, from);
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

/* In front of a page: of values, or (rows are values then) of a dictionary. */
static void put_page_header(struct thrift *t, enum parquet_page type, int encoding, uint32_t rows,
                            size_t raw, bytes packed)
{
    thrift_begin(t, 0);
    thrift_i32(t, 1, type);
    thrift_i32(t, 2, (int32_t)raw);
    thrift_i32(t, 3, (int32_t)packed.len);
    thrift_i32(t, 4, (int32_t)(uint32_t)crc32(0, packed.ptr, (uInt)packed.len));
    thrift_begin(t, type == PAGE_DATA ? 5 : 7);
    thrift_i32(t, 1, (int32_t)rows);
    thrift_i32(t, 2, encoding);
    if (type == PAGE_DATA) {
        thrift_i32(t, 3, ENCODING_RLE);
        thrift_i32(t, 4, ENCODING_RLE);
    }
    thrift_end(t);
    thrift_end(t);
}

/* Packs a page and appends it to `to`. */
static void put_page(struct parquet *p, struct thrift *to, enum parquet_page type, int encoding,
                     uint32_t rows, const struct thrift *page)
{
    size_t bound = ZSTD_compressBound(page->len);
    uint8_t *out = mem_alloc(bound);
    size_t packed = ZSTD_compressCCtx(p->zstd, out, bound, page->data, page->len, ZSTD_LEVEL);

    put_page_header(to, type, encoding, rows, page->len, bytes_of(out, packed));
    thrift_put(to, out, packed);
    mem_free(out);
}

/* Is a page of numbers smaller than what it would be else? The first one pays for the dictionary so
 * far; a chunk whose first page does not like it has none. */
static bool wants_numbers(struct chunk *k, size_t otherwise)
{
    size_t size = (size_t)k->stored * pack_width(k->dictionary.count) / 8;

    if (k->closed || !k->stored || !k->dictionary.count)
        return false;
    size += k->numbered ? 0 : k->dictionary.values.len;
    return size < otherwise;
}

/* The values, in the encoding that takes the fewest bytes before compression. */
static int put_values(struct parquet *p, size_t column, struct thrift *page)
{
    struct chunk *k = &p->chunks[column];
    bool whole = p->columns[column].type == WR_BIGINT;
    struct thrift deltas = {0};
    size_t otherwise = k->values.len;
    int encoding = ENCODING_PLAIN;

    if (whole) {
        pack_deltas(&deltas, k->values.data, k->stored);
        otherwise = deltas.len;
        encoding = ENCODING_DELTA_BINARY_PACKED;
    }
    if (wants_numbers(k, otherwise)) {
        pack_indexes(page, k->numbers, k->stored,
                     pack_width(k->dictionary.count - 1 ? k->dictionary.count - 1 : 1));
        k->numbered = true;
        encoding = ENCODING_RLE_DICTIONARY;
    } else {
        thrift_put(page, whole ? deltas.data : k->values.data, otherwise);
        k->closed |= k->stored != 0;
    }
    thrift_release(&deltas);
    return encoding;
}

static void end_page(struct parquet *p, size_t column)
{
    struct chunk *k = &p->chunks[column];
    struct thrift page = {0};
    size_t before = k->done.len;
    int encoding;

    if (k->rows == 0)
        return;
    if (!p->columns[column].key)
        put_levels(&page, k);
    encoding = put_values(p, column, &page);
    put_page(p, &k->done, PAGE_DATA, encoding, k->rows, &page);
    k->raw_bytes += k->done.len - before + page.len;
    k->done_rows += k->rows;
    k->rows = k->stored = 0;
    k->values.len = k->present.len = 0;
    thrift_release(&page);
}

/* ---- row groups */

/* `dictionary`: bytes of its page, in front of the others; 0: there is none. */
static void put_chunk_meta(struct parquet *p, size_t column, size_t dictionary)
{
    static const int encodings[] = {ENCODING_PLAIN, ENCODING_RLE, ENCODING_DELTA_BINARY_PACKED,
                                    ENCODING_RLE_DICTIONARY};
    const struct parquet_column *of = &p->columns[column];
    const struct chunk *k = &p->chunks[column];
    struct thrift *t = &p->groups;

    thrift_begin(t, 0);
    thrift_i64(t, 2, (int64_t)p->offset);
    thrift_begin(t, 3);
    thrift_i32(t, 1, physical_type(of->type));
    thrift_list(t, 2, THRIFT_I32, PORT_COUNT(encodings));
    for (size_t i = 0; i < PORT_COUNT(encodings); i++)
        thrift_element_i32(t, encodings[i]);
    thrift_list(t, 3, THRIFT_BINARY, 1);
    thrift_element_binary(t, of->name);
    thrift_i32(t, 4, CODEC_ZSTD);
    thrift_i64(t, 5, (int64_t)k->done_rows);
    thrift_i64(t, 6, (int64_t)k->raw_bytes);
    thrift_i64(t, 7, (int64_t)(dictionary + k->done.len));
    thrift_i64(t, 9, (int64_t)(p->offset + dictionary));
    if (dictionary)
        thrift_i64(t, 11, (int64_t)p->offset);
    thrift_end(t);
    thrift_end(t);
}

/* Writes a column's pages, the dictionary first, and begins it anew. */
static void end_chunk(struct parquet *p, size_t column)
{
    struct chunk *k = &p->chunks[column];
    struct thrift first = {0};

    if (k->numbered) {
        put_page(p, &first, PAGE_DICTIONARY, ENCODING_PLAIN, k->dictionary.count,
                 &k->dictionary.values);
        k->raw_bytes += first.len + k->dictionary.values.len;
    }
    put_chunk_meta(p, column, first.len);
    put_out(p, first.data, first.len);
    put_out(p, k->done.data, k->done.len);
    thrift_release(&first);
    dictionary_clear(&k->dictionary);
    k->closed = k->numbered = false;
    k->done.len = 0;
    k->done_rows = 0;
}

static void end_group(struct parquet *p)
{
    struct thrift *t = &p->groups;
    uint64_t raw_bytes = 0;

    if (p->group_rows == 0)
        return;
    for (size_t i = 0; i < p->count; i++)
        end_page(p, i);
    thrift_begin(t, 0);
    thrift_list(t, 1, THRIFT_STRUCT, p->count);
    for (size_t i = 0; i < p->count; i++) {
        end_chunk(p, i);
        raw_bytes += p->chunks[i].raw_bytes;
        p->chunks[i].raw_bytes = 0;
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
        dictionary_release(&p->chunks[i].dictionary);
        mem_free(p->chunks[i].numbers);
    }
    thrift_release(&p->groups);
    ZSTD_freeCCtx(p->zstd);
    mem_free(p->chunks);
    mem_free(p->columns);
    mem_free(p);
}
