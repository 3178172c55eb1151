#include "parquet/chunk.h"

#include "base/buf.h"
#include "base/port.h"
#include "parquet/dictionary.h"
#include "parquet/encode.h"
#include "parquet/pack.h"

#include <zlib.h>
#include <zstd.h>

#define PAGE_BYTES (1u << 20)
#define PAGE_BYTES_MOST (2u << 20) /* where a text shares much with the one before */
#define PAGE_ROWS (128u << 10)
#define SHARED_TRIED 3            /* lengths of what texts share */
#define SAMPLE 8192u              /* values that encodings are tried with, */
#define SAMPLE_BYTES (256u << 10) /* or about so many bytes */
#define DICTIONARY_LOOK 4096u     /* values after which a dictionary must be worth it */

void chunk_release(struct chunk *k)
{
    thrift_release(&k->values);
    thrift_release(&k->lengths);
    thrift_release(&k->present);
    thrift_release(&k->pages);
    page_notes_release(&k->notes);
}

void chunk_clear(struct chunk *k)
{
    k->values.len = k->lengths.len = k->present.len = k->pages.len = 0;
    k->rows = k->stored = 0;
    k->dictionary = 0;
    k->notes.count = 0;
    k->raw_bytes = 0;
    k->encodings = 0;
}

/* ---- filling */

/* The lowest bit of a byte is the first. */
static void put_bit(struct thrift *t, uint32_t at, bool bit)
{
    if (at % 8 == 0)
        thrift_put_u8(t, 0);
    if (bit)
        t->data[at / 8] |= (uint8_t)(1u << at % 8);
}

static bool get_bit(const struct thrift *t, uint32_t at)
{
    return t->data[at / 8] >> at % 8 & 1;
}

void chunk_put_absent(struct chunk *k, uint32_t rows)
{
    for (; rows; rows--)
        put_bit(&k->present, k->rows++, false);
}

void chunk_put(struct chunk *k, const struct wr_value *value)
{
    uint64_t bits;

    if (!k->key)
        put_bit(&k->present, k->rows, value != NULL);
    k->rows++;
    if (!value)
        return;
    k->stored++;
    switch (k->type) {
    case WR_BIGINT:
        thrift_put_u64(&k->values, (uint64_t)value->integer);
        break;
    case WR_DOUBLE:
        memcpy(&bits, &value->real, sizeof(bits));
        thrift_put_u64(&k->values, bits);
        break;
    case WR_BOOLEAN:
        thrift_put_u8(&k->values, value->boolean);
        break;
    default:
        thrift_put_u32(&k->lengths, (uint32_t)value->bytes.len);
        thrift_put(&k->values, value->bytes.ptr, value->bytes.len);
    }
}

/* ---- packing */

struct packing {
    struct chunk *k;
    ZSTD_CCtx *zstd;
    struct dictionary dictionary;
    uint32_t *numbers; /* of the values; NULL: there is no dictionary */
    struct encoding encoding;
    const struct effort *effort;
    size_t page_bytes; /* of values, which a page takes */
    struct thrift page, packed;
};

/* How long zstd searches; 0: as its level says. More takes its time: it must give at least so many
 * percent. The last one is for texts that have much in common, but not with what is near, such as
 * times: it looks at fewer places and less far ahead than it could. On the campus sample that costs
 * 0.2 percent of the file and saves a fifth of the time that all of an export takes. */
static const struct effort {
    int level, strategy, hash_log, search_log, min_match;
    unsigned percent;
} efforts[] = {{.level = 1},
               {.level = 3, .percent = 4},
               {.level = 6, .percent = 10},
               {.level = 9,
                .strategy = ZSTD_lazy,
                .hash_log = 19,
                .search_log = 4,
                .min_match = 6,
                .percent = 5}};

static inline size_t value_bytes(const struct chunk *k, uint32_t at)
{
    return encode_is_text(k->type) ? load_u32(k->lengths.data + 4 * (size_t)at)
           : k->type == WR_BOOLEAN ? 1
                                   : 8;
}

/* `count` values from number `at` on, which begin at `offset`. */
static struct value_run run_of(const struct packing *p, uint32_t at, size_t offset, uint32_t count)
{
    const struct chunk *k = p->k;

    return (struct value_run){.type = k->type,
                              .values = k->values.data + offset,
                              .lengths =
                                  encode_is_text(k->type) ? k->lengths.data + 4 * (size_t)at : NULL,
                              .numbers = p->numbers ? p->numbers + at : NULL,
                              .count = count};
}

/* Numbers all values, unless it turns out that they are too different. */
static void number_values(struct packing *p)
{
    const struct chunk *k = p->k;
    const uint8_t *at = k->values.data;

    if (k->type == WR_BOOLEAN || !k->stored)
        return;
    p->dictionary.counted = encode_is_text(k->type);
    p->numbers = mem_alloc(sizeof(*p->numbers) * k->stored);
    for (uint32_t i = 0; i < k->stored; i++) {
        size_t n = value_bytes(k, i);
        uint32_t number = dictionary_number(&p->dictionary, bytes_of(at, n));

        if (number == DICTIONARY_FULL ||
            (i % DICTIONARY_LOOK == DICTIONARY_LOOK - 1 && p->dictionary.count > i / 2)) {
            mem_free(p->numbers);
            p->numbers = NULL;
            return;
        }
        p->numbers[i] = number;
        at += n;
    }
}

static void set_effort(struct packing *p, const struct effort *effort)
{
    p->effort = effort;
    ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_compressionLevel, effort->level);
    ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_strategy, effort->strategy);
    ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_hashLog, effort->hash_log);
    ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_searchLog, effort->search_log);
    ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_minMatch, effort->min_match);
}

/* Packs p->page into p->packed. */
static void pack_page(struct packing *p)
{
    size_t bound = ZSTD_compressBound(p->page.len);

    p->packed.len = 0;
    p->packed.len = ZSTD_compress2(p->zstd, thrift_reserve(&p->packed, bound), bound, p->page.data,
                                   p->page.len);
}

/* Bytes of the whole chunk, about, as the sample tells. */
static uint64_t try_encoding(struct packing *p, const struct value_run *sample,
                             struct encoding encoding)
{
    uint64_t size = encoding.name == ENCODING_RLE_DICTIONARY ? p->dictionary.values.len : 0;

    p->page.len = 0;
    encode_values(&p->page, sample, encoding);
    pack_page(p);
    return size + (uint64_t)p->packed.len * p->k->stored / sample->count;
}

static void try_better(struct packing *p, const struct value_run *sample, struct encoding encoding,
                       uint64_t *least)
{
    uint64_t size = try_encoding(p, sample, encoding);

    if (size >= *least)
        return;
    *least = size;
    p->encoding = encoding;
}

/* Values from the middle. */
static struct value_run sample_of(const struct packing *p)
{
    const struct chunk *k = p->k;
    uint32_t most = k->stored < SAMPLE ? k->stored : SAMPLE, at = (k->stored - most) / 2, n = 0;
    size_t offset = 0, size = 0;

    for (uint32_t i = 0; i < at; i++)
        offset += value_bytes(k, i);
    while (n < most && size < SAMPLE_BYTES)
        size += value_bytes(k, at + n++);
    return run_of(p, at, offset, n);
}

/* Whole bytes of a number may be packed better than fewer bits: what repeats is then seen. */
static void try_dictionary(struct packing *p, const struct value_run *sample, uint64_t *least)
{
    unsigned width = pack_width(p->dictionary.count - 1), whole = (width + 7) / 8 * 8;

    width = width ? width : 1;
    whole = whole ? whole : 8;
    try_better(p, sample, (struct encoding){ENCODING_RLE_DICTIONARY, width}, least);
    if (whole != width)
        try_better(p, sample, (struct encoding){ENCODING_RLE_DICTIONARY, whole}, least);
}

/* Prefixes of all lengths, and as long as the most frequent ones. */
static void try_delta_texts(struct packing *p, const struct value_run *sample, uint64_t *least)
{
    uint32_t counts[SHARED_MAX + 1] = {0};

    encode_count_shared(sample, counts);
    if (counts[0] > sample->count / 2)
        return;
    try_better(p, sample, (struct encoding){ENCODING_DELTA_BYTE_ARRAY, UINT32_MAX}, least);
    counts[0] = 0;
    for (int i = 0; i < SHARED_TRIED; i++) {
        uint32_t most = 0;

        for (uint32_t n = 1; n <= SHARED_MAX; n++)
            most = counts[n] > counts[most] ? n : most;
        if (!counts[most])
            return;
        try_better(p, sample, (struct encoding){ENCODING_DELTA_BYTE_ARRAY, most}, least);
        counts[most] = 0;
    }
}

static void choose_effort(struct packing *p, const struct value_run *sample, uint64_t least)
{
    for (size_t i = 1; i < PORT_COUNT(efforts); i++) {
        const struct effort *before = p->effort;
        uint64_t size;

        set_effort(p, &efforts[i]);
        size = try_encoding(p, sample, p->encoding);
        if (size * 100 <= least * (100 - efforts[i].percent))
            least = size;
        else
            set_effort(p, before);
    }
}

/* A page is as large as what stands in it: of texts that share much with the one before it takes
 * more of them. */
static void choose_page_bytes(struct packing *p, const struct value_run *sample)
{
    uint64_t raw = 0;

    if (p->encoding.name != ENCODING_DELTA_BYTE_ARRAY)
        return;
    for (uint32_t i = 0; i < sample->count; i++)
        raw += load_u32(sample->lengths + 4 * (size_t)i);
    p->page.len = 0;
    encode_values(&p->page, sample, p->encoding);
    raw = raw * PAGE_BYTES / p->page.len;
    p->page_bytes = raw < PAGE_BYTES        ? PAGE_BYTES
                    : raw < PAGE_BYTES_MOST ? (size_t)raw
                                            : PAGE_BYTES_MOST;
}

static void choose_encoding(struct packing *p)
{
    enum wr_type type = p->k->type;
    struct value_run sample;
    uint64_t least = UINT64_MAX;

    p->encoding = (struct encoding){ENCODING_PLAIN, 0};
    p->page_bytes = PAGE_BYTES;
    set_effort(p, &efforts[0]);
    if (type == WR_BOOLEAN || !p->k->stored)
        return;
    sample = sample_of(p);
    if (type == WR_BIGINT)
        try_better(p, &sample, (struct encoding){ENCODING_DELTA_BINARY_PACKED, 0}, &least);
    else
        try_better(p, &sample, (struct encoding){ENCODING_PLAIN, 0}, &least);
    if (encode_is_text(type))
        try_delta_texts(p, &sample, &least);
    if (p->numbers)
        try_dictionary(p, &sample, &least);
    choose_effort(p, &sample, least);
    choose_page_bytes(p, &sample);
}

/* ---- pages */

/* In front of a page: of values, or (rows are values then) of a dictionary. */
static void put_page_header(struct thrift *t, enum parquet_page type, enum parquet_encoding name,
                            uint32_t rows, size_t raw, bytes packed)
{
    thrift_begin(t, 0);
    thrift_i32(t, 1, type);
    thrift_i32(t, 2, (int32_t)raw);
    thrift_i32(t, 3, (int32_t)packed.len);
    thrift_i32(t, 4, (int32_t)(uint32_t)crc32(0, packed.ptr, (uInt)packed.len));
    thrift_begin(t, type == PAGE_DATA ? 5 : 7);
    thrift_i32(t, 1, (int32_t)rows);
    thrift_i32(t, 2, (int32_t)name);
    if (type == PAGE_DATA) {
        thrift_i32(t, 3, ENCODING_RLE);
        thrift_i32(t, 4, ENCODING_RLE);
    }
    thrift_end(t);
    thrift_end(t);
}

/* Packs p->page and appends it to the chunk. */
static void put_page(struct packing *p, enum parquet_page type, enum parquet_encoding name,
                     uint32_t rows)
{
    struct thrift *to = &p->k->pages;
    size_t before = to->len;

    pack_page(p);
    put_page_header(to, type, name, rows, p->page.len, bytes_of(p->packed.data, p->packed.len));
    p->k->raw_bytes += to->len - before + p->page.len;
    thrift_put(to, p->packed.data, p->packed.len);
}

/* Which rows have a value: one run, of equal or of packed bits; and in front of it its length. */
static void put_levels(struct thrift *page, const struct chunk *k, uint32_t row, uint32_t rows,
                       uint32_t values)
{
    struct thrift run = {0}, bits = {0};

    if (values == 0 || values == rows) {
        thrift_put_varint(&run, (uint64_t)rows << 1);
        thrift_put_u8(&run, values != 0);
    } else {
        for (uint32_t i = 0; i < rows; i++)
            put_bit(&bits, i, get_bit(&k->present, row + i));
        thrift_put_varint(&run, (uint64_t)bits.len << 1 | 1);
        thrift_put(&run, bits.data, bits.len);
    }
    thrift_put_u32(page, (uint32_t)run.len);
    thrift_put(page, run.data, run.len);
    thrift_release(&run);
    thrift_release(&bits);
}

/* The next page begins at row `row`, value `value`, which is at `offset`; moves them behind it. */
static void put_data_page(struct packing *p, uint32_t *row, uint32_t *value, size_t *offset)
{
    const struct chunk *k = p->k;
    struct page_note note = {.at = k->pages.len};
    uint32_t rows = 0, values = 0;
    size_t size = 0;
    struct value_run run;

    while (*row + rows < k->rows && rows < PAGE_ROWS && size < p->page_bytes) {
        if (k->key || get_bit(&k->present, *row + rows))
            size += value_bytes(k, *value + values++);
        rows++;
    }
    p->page.len = 0;
    if (!k->key)
        put_levels(&p->page, k, *row, rows, values);
    run = run_of(p, *value, *offset, values);
    encode_values(&p->page, &run, p->encoding);
    note.row = *row;
    note.rows = rows;
    note.values = values;
    bounds_of(&run, &note.bounds);
    put_page(p, PAGE_DATA, p->encoding.name, rows);
    note.size = (uint32_t)(k->pages.len - note.at);
    page_notes_put(&p->k->notes, &note);
    *row += rows;
    *value += values;
    *offset += size;
}

void chunk_pack(struct chunk *k, struct ZSTD_CCtx_s *zstd)
{
    struct packing p = {.k = k, .zstd = zstd};
    uint32_t row = 0, value = 0;
    size_t offset = 0;

    number_values(&p);
    choose_encoding(&p);
    k->encodings = 1u << ENCODING_RLE | 1u << p.encoding.name;
    if (p.encoding.name == ENCODING_RLE_DICTIONARY) {
        k->encodings |= 1u << ENCODING_PLAIN;
        p.page.len = 0;
        thrift_put(&p.page, p.dictionary.values.data, p.dictionary.values.len);
        put_page(&p, PAGE_DICTIONARY, ENCODING_PLAIN, p.dictionary.count);
        k->dictionary = k->pages.len;
    }
    while (row < k->rows)
        put_data_page(&p, &row, &value, &offset);
    dictionary_release(&p.dictionary);
    mem_free(p.numbers);
    thrift_release(&p.page);
    thrift_release(&p.packed);
}
