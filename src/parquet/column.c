#include "parquet/column.h"

#include "base/invariant.h"
#include "parquet/codec.h"
#include "parquet/convert.h"

#include <stdio.h>

#define VALUE_BYTES_MAX (64u << 20) /* of a text that its differences make */
#define LENGTHS_MAX (16u << 20)     /* of a page */

void column_begin(struct column *k, const struct parquet_chunk *chunk)
{
    pages_begin(&k->pages, chunk);
    k->rows_left = chunk->values;
    k->page_left = 0;
    k->dictionary_count = 0;
}

void column_release(struct column *k)
{
    pages_release(&k->pages);
    mem_free(k->lengths);
    mem_free(k->last);
    mem_free(k->dictionary);
    mem_free(k->dictionary_data);
}

size_t column_memory(const struct column *k)
{
    return k->pages.window_size + k->pages.data_size + k->dictionary_bytes + k->last_size +
           k->lengths_size * sizeof(*k->lengths);
}

/* ---- plain values */

static bytes take_fixed(struct column *k, struct reader *r)
{
    return read_bytes(r, convert_width(k->pages.leaf));
}

static bytes take_plain(struct column *k, struct reader *r)
{
    uint32_t n;

    if (k->pages.leaf->physical != PHYSICAL_BYTE_ARRAY)
        return take_fixed(k, r);
    n = read_u32(r);
    return read_bytes(r, n);
}

/* ---- the dictionary */

/* Texts that are made of what is none stand behind the page's bytes. */
static bool read_dictionary(struct column *k, const struct page *page)
{
    const struct parquet_leaf *leaf = k->pages.leaf;
    bool makes_text = convert_makes_text(leaf, k->as_text);
    size_t least = leaf->physical == PHYSICAL_BYTE_ARRAY ? 4 : convert_width(leaf);
    size_t text_bytes = makes_text ? CONVERT_TEXT_BYTES : 0;
    struct reader r;
    char *text;

    if (leaf->physical == PHYSICAL_BOOLEAN || page->values > page->data.len / least ||
        (page->encoding != ENCODING_PLAIN && page->encoding != ENCODING_PLAIN_DICTIONARY))
        return pages_fault(&k->pages, "its dictionary is damaged");
    mem_free(k->dictionary);
    mem_free(k->dictionary_data);
    k->dictionary = mem_alloc(sizeof(*k->dictionary) * page->values + 1);
    k->dictionary_data = mem_alloc(page->data.len + text_bytes * page->values + 1);
    k->dictionary_bytes =
        page->data.len + (text_bytes + sizeof(*k->dictionary)) * (size_t)page->values;
    if (page->data.len)
        memcpy(k->dictionary_data, page->data.ptr, page->data.len);
    r = reader_of(bytes_of(k->dictionary_data, page->data.len));
    text = (char *)k->dictionary_data + page->data.len;
    for (size_t i = 0; i < page->values; i++, text += text_bytes) {
        bytes raw = take_plain(k, &r);

        if (r.bad)
            return pages_fault(&k->pages, "its dictionary is damaged");
        if (!convert_raw(leaf, k->as_text, raw, makes_text ? text : k->text, &k->dictionary[i]))
            k->dictionary[i].type = WR_INF_MAX; /* beyond the type */
    }
    k->dictionary_count = page->values;
    return true;
}

/* ---- encodings of a page */

static bool begin_lengths(struct column *k, struct deltas *d)
{
    if (d->in.bad || d->left > LENGTHS_MAX)
        return pages_fault(&k->pages, "a page is damaged: its lengths are none");
    k->length_count = (size_t)d->left;
    k->length_at = 0;
    if (k->lengths_size < k->length_count) {
        mem_free(k->lengths);
        k->lengths = mem_alloc(sizeof(*k->lengths) * k->length_count);
        k->lengths_size = k->length_count;
    }
    for (size_t i = 0; i < k->length_count; i++) {
        int64_t n = deltas_take(d);

        if (d->in.bad || n < 0 || n > INT32_MAX)
            return pages_fault(&k->pages, "a page is damaged: its lengths are none");
        k->lengths[i] = (uint32_t)n;
    }
    k->texts = bytes_of(d->in.at, reader_left(&d->in));
    k->text_at = 0;
    return true;
}

static bool begin_delta_texts(struct column *k, bytes values)
{
    struct deltas d = deltas_of(values), prefixes;

    k->last_len = 0;
    if (k->encoding == ENCODING_DELTA_LENGTH_BYTE_ARRAY)
        return begin_lengths(k, &d);
    /* The prefixes' lengths are passed over once, to find what is behind them. */
    prefixes = d;
    if (d.in.bad || d.left > LENGTHS_MAX)
        return pages_fault(&k->pages, "a page is damaged: its lengths are none");
    while (d.left && !d.in.bad)
        (void)deltas_take(&d);
    k->prefixes = prefixes;
    d = deltas_of(bytes_of(d.in.at, reader_left(&d.in)));
    return begin_lengths(k, &d);
}

static bool is_bytes(const struct parquet_leaf *leaf)
{
    return leaf->physical == PHYSICAL_BYTE_ARRAY || leaf->physical == PHYSICAL_FIXED;
}

static bool begin_values(struct column *k, bytes values)
{
    const struct parquet_leaf *leaf = k->pages.leaf;
    bool whole = leaf->physical == PHYSICAL_INT32 || leaf->physical == PHYSICAL_INT64;
    char message[64];

    k->bit = 0;
    k->plain = reader_of(values);
    k->length_count = k->length_at = 0;
    k->texts = BYTES_NONE;
    k->prefixes = (struct deltas){0};
    switch (k->encoding) {
    case ENCODING_PLAIN:
        return true;
    case ENCODING_PLAIN_DICTIONARY:
    case ENCODING_RLE_DICTIONARY:
        if (values.len) {
            k->indexes = runs_of(bytes_skip(values, 1), bytes_u8(values)[0]);
            return true;
        }
        k->indexes = runs_of(values, 0); /* where no row has a value */
        return true;
    case ENCODING_RLE:
        if (leaf->physical != PHYSICAL_BOOLEAN)
            break;
        k->indexes = runs_of(read_bytes(&k->plain, read_u32(&k->plain)), 1);
        return true;
    case ENCODING_DELTA_BINARY_PACKED:
        if (!whole)
            break;
        k->deltas = deltas_of(values);
        return true;
    case ENCODING_DELTA_LENGTH_BYTE_ARRAY:
    case ENCODING_DELTA_BYTE_ARRAY:
        if (!is_bytes(leaf))
            break;
        return values.len == 0 || begin_delta_texts(k, values);
    case ENCODING_BYTE_STREAM_SPLIT:
        if (leaf->physical == PHYSICAL_BYTE_ARRAY || leaf->physical == PHYSICAL_BOOLEAN ||
            convert_width(leaf) > COLUMN_TEXT_BYTES)
            break;
        return true;
    default:
        break;
    }
    snprintf(message, sizeof(message), "encoding %d is not known for its type", k->encoding);
    return pages_fault(&k->pages, message);
}

/* A page of the first form has the levels' length in front of them. */
static bool begin_page(struct column *k, const struct page *page)
{
    bool optional = k->pages.leaf->optional;
    struct reader r = reader_of(page->data);
    bytes levels = BYTES_NONE;

    if (page->type == PAGE_DATA_V2) {
        (void)read_bytes(&r, page->repetition_bytes);
        levels = read_bytes(&r, page->definition_bytes);
    } else if (optional && page->level_encoding != ENCODING_RLE) {
        return pages_fault(&k->pages, "its levels have an encoding that is not known");
    } else if (optional) {
        levels = read_bytes(&r, read_u32(&r));
    }
    if (r.bad || page->values > k->rows_left)
        return pages_fault(&k->pages, "a page is damaged: its values are none");
    k->has_levels = optional;
    k->levels = runs_of(levels, 1);
    k->page_left = page->values;
    k->encoding = page->encoding;
    return begin_values(k, bytes_of(r.at, reader_left(&r)));
}

static bool next_page(struct column *k)
{
    struct page page;

    k->pages.message[0] = 0;
    while (k->page_left == 0) {
        if (!pages_next(&k->pages, &page))
            return k->pages.message[0] ? false : pages_fault(&k->pages, "its values end too early");
        if (page.type == PAGE_DICTIONARY ? !read_dictionary(k, &page) : !begin_page(k, &page))
            return false;
    }
    return true;
}

/* ---- values */

static enum column_result fault(struct column *k)
{
    pages_fault(&k->pages, "a page is damaged: its values end too early, or are none");
    return COLUMN_FAULT;
}

static enum column_result of_raw(struct column *k, bytes raw, struct wr_value *out)
{
    return convert_raw(k->pages.leaf, k->as_text, raw, k->text, out) ? COLUMN_VALUE : COLUMN_BEYOND;
}

static enum column_result take_boolean(struct column *k, struct wr_value *out)
{
    uint64_t at = k->bit++;
    bool value;

    if (at / 8 >= reader_left(&k->plain))
        return fault(k);
    value = k->plain.at[at / 8] >> at % 8 & 1;
    *out = (struct wr_value){.type = WR_BOOLEAN, .boolean = value};
    return COLUMN_VALUE;
}

static enum column_result take_indexed(struct column *k, struct wr_value *out)
{
    uint32_t at = runs_take(&k->indexes);

    if (k->indexes.in.bad || at >= k->dictionary_count)
        return fault(k);
    *out = k->dictionary[at];
    return out->type == WR_INF_MAX ? COLUMN_BEYOND : COLUMN_VALUE;
}

static enum column_result take_delta(struct column *k, struct wr_value *out)
{
    int64_t v = deltas_take(&k->deltas);

    if (k->deltas.in.bad)
        return fault(k);
    if (k->pages.leaf->physical == PHYSICAL_INT32)
        v = (int32_t)(uint32_t)(uint64_t)v; /* differences wrap at 32 bits */
    return convert_number(k->pages.leaf, k->as_text, v, k->text, out) ? COLUMN_VALUE
                                                                      : COLUMN_BEYOND;
}

/* The next text behind the lengths. */
static bool take_text(struct column *k, bytes *out)
{
    uint32_t n;

    if (k->length_at == k->length_count)
        return false;
    n = k->lengths[k->length_at++];
    if (n > k->texts.len - k->text_at)
        return false;
    *out = bytes_of(bytes_u8(k->texts) + k->text_at, n);
    k->text_at += n;
    return true;
}

/* The value before up to its prefix, and then the text. */
static bool take_behind_prefix(struct column *k, bytes *out)
{
    int64_t prefix = deltas_take(&k->prefixes);
    size_t len;

    if (k->prefixes.in.bad || !take_text(k, out) || prefix < 0 || (uint64_t)prefix > k->last_len ||
        (size_t)prefix + out->len > VALUE_BYTES_MAX)
        return false;
    len = (size_t)prefix + out->len;
    if (k->last_size < len || !k->last) {
        k->last_size = len * 2 + 64;
        k->last = mem_realloc(k->last, k->last_size);
    }
    if (out->len)
        memcpy(k->last + prefix, out->ptr, out->len);
    k->last_len = len;
    *out = bytes_of(k->last, len);
    return true;
}

static enum column_result take_delta_text(struct column *k, struct wr_value *out)
{
    bool prefixed = k->encoding == ENCODING_DELTA_BYTE_ARRAY;
    const struct parquet_leaf *leaf = k->pages.leaf;
    bytes raw;

    if (!(prefixed ? take_behind_prefix(k, &raw) : take_text(k, &raw)) ||
        (leaf->physical == PHYSICAL_FIXED && raw.len != leaf->length))
        return fault(k);
    return of_raw(k, raw, out);
}

/* Byte i of all values stands together. */
static enum column_result take_split(struct column *k, struct wr_value *out)
{
    size_t width = convert_width(k->pages.leaf), count = reader_left(&k->plain) / width;
    uint8_t raw[COLUMN_TEXT_BYTES];

    if (k->bit >= count)
        return fault(k);
    for (size_t i = 0; i < width; i++)
        raw[i] = k->plain.at[i * count + k->bit];
    k->bit++;
    if (k->pages.leaf->physical != PHYSICAL_FIXED || convert_makes_text(k->pages.leaf, k->as_text))
        return of_raw(k, bytes_of(raw, width), out);
    memcpy(k->text, raw, width); /* which must stay there */
    return of_raw(k, bytes_of(k->text, width), out);
}

static enum column_result take_value(struct column *k, struct wr_value *out)
{
    bytes raw;

    switch (k->encoding) {
    case ENCODING_PLAIN:
        if (k->pages.leaf->physical == PHYSICAL_BOOLEAN)
            return take_boolean(k, out);
        raw = take_plain(k, &k->plain);
        return k->plain.bad ? fault(k) : of_raw(k, raw, out);
    case ENCODING_PLAIN_DICTIONARY:
    case ENCODING_RLE_DICTIONARY:
        return take_indexed(k, out);
    case ENCODING_RLE:
        *out = (struct wr_value){.type = WR_BOOLEAN, .boolean = runs_take(&k->indexes)};
        return k->indexes.in.bad ? fault(k) : COLUMN_VALUE;
    case ENCODING_DELTA_BINARY_PACKED:
        return take_delta(k, out);
    case ENCODING_BYTE_STREAM_SPLIT:
        return take_split(k, out);
    default:
        return take_delta_text(k, out);
    }
}

enum column_result column_next(struct column *k, struct wr_value *out)
{
    invariant(k->rows_left > 0);
    if (k->page_left == 0 && !next_page(k))
        return COLUMN_FAULT;
    k->page_left--;
    k->rows_left--;
    *out = (struct wr_value){.type = WR_NULL};
    if (k->has_levels && runs_take(&k->levels) == 0)
        return k->levels.in.bad ? fault(k) : COLUMN_VALUE;
    return take_value(k, out);
}
