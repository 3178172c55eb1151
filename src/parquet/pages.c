#include "parquet/pages.h"

#include "parquet/codec.h"
#include "parquet/thrift_read.h"

#include <stdio.h>
#include <zlib.h>

#define READ_BYTES (64u << 10)       /* at once, at least */
#define HEADER_BYTES_MAX (16u << 20) /* with the statistics that it may hold */

struct header {
    int type, raw, packed, encoding, level_encoding;
    int64_t values, repetition_bytes, definition_bytes;
    uint32_t crc;
    bool has_crc, is_packed;
};

void pages_begin(struct pages *p, const struct parquet_chunk *chunk)
{
    p->codec = chunk->codec;
    p->at = chunk->offset;
    p->end = chunk->offset + chunk->size;
    p->from = p->to = 0;
}

void pages_release(struct pages *p)
{
    mem_free(p->window);
    mem_free(p->data);
    p->window = p->data = NULL;
    p->window_size = p->data_size = 0;
}

bool pages_fault(struct pages *p, const char *what)
{
    snprintf(p->message, p->message_size, "column %.*s: %s", BYTES_FMT(p->leaf->name), what);
    return false;
}

/* At least n bytes into the window, or all that there are. */
static bool fill(struct pages *p, size_t n)
{
    size_t have = p->to - p->from, more;
    size_t least = p->source->read_bytes ? p->source->read_bytes : READ_BYTES;
    char why[160];

    if (n > have && n - have > p->end - p->at)
        n = have + (size_t)(p->end - p->at);
    if (have >= n || p->at == p->end)
        return true;
    if (p->window_size < n || p->window_size == 0) {
        size_t size = n > least ? n : least;
        uint8_t *window = mem_alloc(size);

        if (have)
            memcpy(window, p->window + p->from, have);
        mem_free(p->window);
        p->window = window;
        p->window_size = size;
    } else if (have) {
        memmove(p->window, p->window + p->from, have);
    }
    p->from = 0;
    p->to = have;
    more = n > least ? n - have : least - have;
    if (more > p->window_size - have)
        more = p->window_size - have;
    if (more > p->end - p->at)
        more = (size_t)(p->end - p->at);
    if (!p->source->read(p->source->arg, p->at, p->window + have, more, why, sizeof(why)))
        return pages_fault(p, why);
    p->to += more;
    p->at += more;
    return true;
}

/* ---- headers */

static void read_data_header(struct reader *r, const struct thrift_field *of, struct header *h)
{
    struct thrift_field f = {0};

    if (!thrift_is_struct(r, of))
        return;
    while (thrift_next(r, &f)) {
        if (f.id == 1)
            h->values = thrift_read_i32(r, &f);
        else if (f.id == 2)
            h->encoding = thrift_read_i32(r, &f);
        else if (f.id == 3 && of->id == 5)
            h->level_encoding = thrift_read_i32(r, &f);
        else
            thrift_skip(r, &f);
    }
}

static void read_v2_header(struct reader *r, const struct thrift_field *of, struct header *h)
{
    struct thrift_field f = {0};

    if (!thrift_is_struct(r, of))
        return;
    h->level_encoding = ENCODING_RLE;
    while (thrift_next(r, &f)) {
        if (f.id == 1)
            h->values = thrift_read_i32(r, &f);
        else if (f.id == 4)
            h->encoding = thrift_read_i32(r, &f);
        else if (f.id == 5)
            h->definition_bytes = thrift_read_i32(r, &f);
        else if (f.id == 6)
            h->repetition_bytes = thrift_read_i32(r, &f);
        else if (f.id == 7)
            h->is_packed = thrift_read_bool(&f);
        else
            thrift_skip(r, &f);
    }
}

static void parse_header(struct reader *r, struct header *h)
{
    struct thrift_field f = {0};

    *h = (struct header){.type = -1, .raw = -1, .packed = -1, .values = -1, .is_packed = true};
    while (thrift_next(r, &f)) {
        if (f.id == 1) {
            h->type = thrift_read_i32(r, &f);
        } else if (f.id == 2) {
            h->raw = thrift_read_i32(r, &f);
        } else if (f.id == 3) {
            h->packed = thrift_read_i32(r, &f);
        } else if (f.id == 4) {
            h->crc = (uint32_t)thrift_read_i32(r, &f);
            h->has_crc = true;
        } else if (f.id == 5 || f.id == 7) {
            read_data_header(r, &f, h);
        } else if (f.id == 8) {
            read_v2_header(r, &f, h);
        } else {
            thrift_skip(r, &f);
        }
    }
}

/* False: it is none; *found tells whether there was one at all. */
static bool take_header(struct pages *p, struct header *h, bool *found)
{
    *found = false;
    for (size_t n = 256;; n *= 2) {
        struct reader r;

        if (!fill(p, n))
            return false;
        if (p->from == p->to)
            return true;
        r = reader_of(bytes_of(p->window + p->from, p->to - p->from));
        parse_header(&r, h);
        if (!r.bad) {
            p->from = (size_t)(r.at - p->window);
            *found = true;
            return true;
        }
        if (p->at == p->end || n > HEADER_BYTES_MAX)
            return pages_fault(p, "the head of a page is damaged");
    }
}

static bool check_header(struct pages *p, const struct header *h)
{
    bool values = h->type == PAGE_DATA || h->type == PAGE_DATA_V2 || h->type == PAGE_DICTIONARY;

    if (h->raw < 0 || h->packed < 0 || (values && h->values < 0))
        return pages_fault(p, "the head of a page is damaged");
    if ((size_t)h->raw > p->page_bytes_max || (size_t)h->packed > p->page_bytes_max)
        return pages_fault(p, "its pages are too large; write the file with smaller ones");
    if (h->type == PAGE_DATA_V2 &&
        (h->definition_bytes < 0 || h->repetition_bytes < 0 ||
         h->definition_bytes + h->repetition_bytes > (h->raw < h->packed ? h->raw : h->packed)))
        return pages_fault(p, "the head of a page is damaged");
    return true;
}

/* ---- pages */

static bool unpack(struct pages *p, const struct header *h, bytes packed, struct page *out)
{
    size_t raw = (size_t)h->raw, levels = 0;
    int codec = h->is_packed ? p->codec : CODEC_NONE;

    if (h->type == PAGE_DATA_V2)
        levels = (size_t)(h->definition_bytes + h->repetition_bytes);
    if (h->has_crc && (uint32_t)crc32(0, packed.ptr, (uInt)packed.len) != h->crc)
        return pages_fault(p, "a page is damaged: its checksum is another one");
    if (p->data_size < raw || !p->data) {
        mem_free(p->data);
        p->data = mem_alloc(raw + 1);
        p->data_size = raw;
    }
    if (levels)
        memcpy(p->data, packed.ptr, levels);
    /* Nothing at all, where all values are missing, some writers do not pack. */
    if (!(raw == levels && packed.len == levels) &&
        !codec_unpack(codec, bytes_skip(packed, levels), p->data + levels, raw - levels))
        return pages_fault(p, "a page is damaged: it cannot be unpacked");
    *out = (struct page){.type = (enum parquet_page)h->type,
                         .values = (uint32_t)h->values,
                         .encoding = h->encoding,
                         .level_encoding = h->level_encoding,
                         .repetition_bytes = (uint32_t)h->repetition_bytes,
                         .definition_bytes = (uint32_t)h->definition_bytes,
                         .data = bytes_of(p->data, raw)};
    return true;
}

bool pages_next(struct pages *p, struct page *out)
{
    struct header h;
    bool found;

    for (;;) {
        if (!take_header(p, &h, &found) || !found || !check_header(p, &h) ||
            !fill(p, (size_t)h.packed))
            return false;
        if (p->to - p->from < (size_t)h.packed)
            return pages_fault(p, "a page goes on behind the end of its column");
        p->from += (size_t)h.packed;
        if (h.type != PAGE_DATA && h.type != PAGE_DATA_V2 && h.type != PAGE_DICTIONARY)
            continue;
        return unpack(p, &h, bytes_of(p->window + p->from - (size_t)h.packed, (size_t)h.packed),
                      out);
    }
}
