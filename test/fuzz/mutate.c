/* An input is read as a tree of spans: protobuf fields, inside them further messages or PlainBuffer
 * rows, inside those cells, names and values. One span is then changed, doubled, dropped or
 * replaced by another, and the lengths of all spans around it are written anew, from the inside
 * out. At the end the tree is read once more to set the checksums right. Now and then a step is
 * left out, so that wrong lengths and wrong checksums are tried too. */
#include "mutate.h"

#include "base/buf.h"
#include "base/crc8.h"
#include "base/rng.h"

#include <stdbool.h>

#define SPANS_MAX 512
#define DEPTH_MAX 12
#define LENGTHS_MAX 128 /* all bytes by which rewritten lengths can grow an input */

enum span_kind {
    SPAN_COUNTED, /* a protobuf length stands in front */
    SPAN_SIZED,   /* a 32-bit length stands in front */
    SPAN_NUMBER,  /* a varint */
    SPAN_BARE,    /* nothing stands in front: a cell, a fixed number */
};

struct span {
    enum span_kind kind;
    size_t start;  /* of the whole element, its tag included */
    size_t length; /* where the length stands */
    size_t at, end;
    int parent; /* -1: none */
};

struct tree {
    uint8_t *data;
    struct span spans[SPANS_MAX];
    int count;
    bool fix; /* set checksums while reading */
};

static int span_add(struct tree *t, struct span s)
{
    if (t->count == SPANS_MAX)
        return -1;
    t->spans[t->count] = s;
    return t->count++;
}

/* ---- reading PlainBuffer; each function returns where it stopped, or 0 if it was not at home */

/* A 32-bit length and its bytes. */
static size_t read_sized(struct tree *t, size_t start, size_t at, size_t end, int parent, int *span)
{
    size_t n;

    if (end - at < 4)
        return 0;
    n = load_u32(t->data + at);
    if (n > end - at - 4)
        return 0;
    *span = span_add(t, (struct span){SPAN_SIZED, start, at, at + 4, at + 4 + n, parent});
    return at + 4 + n;
}

/* What stands in a cell between its name and its checksum. */
static size_t read_cell_rest(struct tree *t, size_t at, size_t end, int parent, uint8_t *crc)
{
    int span;
    size_t inner;

    if (at < end && t->data[at] == 5) {
        size_t next = read_sized(t, at, at + 1, end, parent, &span);

        if (!next)
            return 0;
        *crc = crc8(*crc, t->data + at + 5, next - at - 5);
        if (next - at - 5 > 5 && (t->data[at + 5] == 3 || t->data[at + 5] == 7) && span >= 0)
            read_sized(t, at + 5, at + 6, next, span, &span);
        at = next;
    }
    inner = at;
    if (end - at >= 2 && t->data[at] == 6)
        at += 2;
    if (end - at >= 9 && t->data[at] == 7) {
        *crc = crc8(*crc, t->data + at + 1, 8);
        span_add(t, (struct span){SPAN_BARE, at, at, at + 1, at + 9, parent});
        at += 9;
    }
    if (at > inner && t->data[inner] == 6)
        *crc = crc8_byte(*crc, t->data[inner + 1]);
    return at;
}

static size_t read_cell(struct tree *t, size_t start, size_t end, int parent, uint8_t *row_crc)
{
    int cell = span_add(t, (struct span){SPAN_BARE, start, start, start, start, parent}), span;
    size_t at;
    uint8_t crc;

    if (cell < 0 || end - start < 2 || t->data[start + 1] != 4)
        return 0;
    at = read_sized(t, start + 1, start + 2, end, cell, &span);
    if (!at)
        return 0;
    crc = crc8(0, t->data + start + 6, at - start - 6);
    at = read_cell_rest(t, at, end, cell, &crc);
    if (!at || end - at < 2 || t->data[at] != 10)
        return 0;
    if (t->fix)
        t->data[at + 1] = crc;
    *row_crc = crc8_byte(*row_crc, t->data[at + 1]);
    t->spans[cell].end = at + 2;
    return at + 2;
}

static size_t read_cells(struct tree *t, size_t at, size_t end, int parent, uint8_t *crc)
{
    while (at && at < end && t->data[at] == 3)
        at = read_cell(t, at, end, parent, crc);
    return at;
}

static size_t read_row(struct tree *t, size_t start, size_t end, int parent)
{
    int row = span_add(t, (struct span){SPAN_BARE, start, start, start, start, parent});
    size_t at = start;
    uint8_t crc = 0;
    bool deleted;

    if (row < 0)
        return 0;
    for (uint8_t tag = 1; tag <= 2; tag++)
        if (at && at < end && t->data[at] == tag)
            at = read_cells(t, at + 1, end, row, &crc);
    if (!at)
        return 0;
    deleted = at < end && t->data[at] == 8;
    at += deleted;
    if (end - at < 2 || t->data[at] != 9)
        return 0;
    if (t->fix)
        t->data[at + 1] = crc8_byte(crc, deleted);
    t->spans[row].end = at + 2;
    return at + 2;
}

static void read_plain(struct tree *t, size_t at, size_t end, int parent)
{
    for (at += 4; at && at < end;)
        at = read_row(t, at, end, parent);
}

/* ---- reading protobuf */

static bool is_plain(const struct tree *t, size_t at, size_t end)
{
    return end - at >= 4 && load_u32(t->data + at) == 0x75;
}

/* Reads one field; returns where it ends, 0 if it is none. */
static size_t read_field(struct tree *t, size_t start, size_t end, int parent, int *span)
{
    struct reader r = {t->data + start, t->data + end, false};
    uint64_t tag = read_varint(&r), n = 0;
    size_t length = (size_t)(r.at - t->data), at;
    struct span s = {SPAN_BARE, start, length, length, length, parent};

    *span = -1;
    if (r.bad || tag < 8)
        return 0;
    switch (tag & 7) {
    case 0:
        read_varint(&r);
        s.kind = SPAN_NUMBER;
        n = (size_t)(r.at - t->data) - length;
        break;
    case 1:
        n = 8;
        break;
    case 2:
        s.kind = SPAN_COUNTED;
        n = read_varint(&r);
        s.at = (size_t)(r.at - t->data);
        break;
    case 5:
        n = 4;
        break;
    default:
        return 0;
    }
    at = s.at;
    if (r.bad || n > end - at)
        return 0;
    s.end = at + n;
    *span = span_add(t, s);
    return s.end;
}

/* Fields to the very end, or nothing is kept. */
static void read_message(struct tree *t, size_t at, size_t end, int parent, int depth)
{
    int first = t->count, span;

    if (is_plain(t, at, end)) {
        read_plain(t, at, end, parent);
        return;
    }
    if (depth == DEPTH_MAX)
        return;
    while (at && at < end) {
        at = read_field(t, at, end, parent, &span);
        if (at && span >= 0 && t->spans[span].kind == SPAN_COUNTED)
            read_message(t, t->spans[span].at, at, span, depth + 1);
    }
    if (!at && parent >= 0)
        t->count = first;
}

static void tree_read(struct tree *t, uint8_t *data, size_t size, bool fix)
{
    t->data = data;
    t->count = 0;
    t->fix = fix;
    read_message(t, 0, size, -1, 0);
}

/* ---- changing */

static size_t varint_put(uint8_t *p, uint64_t v)
{
    size_t n = 0;

    for (; v >= 0x80; v >>= 7)
        p[n++] = (uint8_t)v | 0x80;
    p[n++] = (uint8_t)v;
    return n;
}

/* Puts `with` in the place of [from, to) and mends the lengths of `inside` and all around it.
 * Returns the new size; what does not fit is left as it is. */
static size_t splice(struct tree *t, size_t size, size_t max, int inside, size_t from, size_t to,
                     bytes with)
{
    uint8_t *d = t->data, length[10];
    size_t grown = with.len - (to - from); /* may wrap, as may all sums with it */

    if (size - (to - from) + with.len + LENGTHS_MAX > max)
        return size;
    memmove(d + from + with.len, d + to, size - to);
    if (with.len)
        memcpy(d + from, with.ptr, with.len);
    size += grown;
    for (; inside >= 0; inside = t->spans[inside].parent) {
        const struct span *s = &t->spans[inside];
        size_t n = s->end - s->at + grown, had = s->at - s->length, want;

        if (s->kind == SPAN_SIZED)
            store_u32(d + s->length, (uint32_t)n);
        if (s->kind != SPAN_COUNTED)
            continue;
        want = varint_put(length, n);
        memmove(d + s->at + want - had, d + s->at, size - s->at);
        memcpy(d + s->length, length, want);
        size += want - had;
        grown += want - had;
    }
    return size;
}

/* Numbers at the ends of something. */
static uint64_t number_pick(struct rng *rng)
{
    static const uint64_t edges[] = {0,          1,          2,         10,         127,
                                     128,        1024,       86400,     1700000000, INT32_MAX,
                                     1ull << 31, UINT32_MAX, INT64_MAX, 1ull << 63, UINT64_MAX};

    if (rng_below(rng, 4) == 0)
        return rng_below(rng, 16);
    return edges[rng_below(rng, sizeof(edges) / sizeof(edges[0]))] + rng_below(rng, 3) - 1;
}

static size_t change_content(struct tree *t, size_t size, size_t max, int i, struct rng *rng)
{
    const struct span *s = &t->spans[i];
    size_t n = s->end - s->at, room = max - size < LENGTHS_MAX ? 0 : max - size - LENGTHS_MAX;
    static uint8_t copy[1 << 20];

    if (s->kind == SPAN_NUMBER)
        return splice(t, size, max, s->parent, s->at, s->end,
                      bytes_of(copy, varint_put(copy, number_pick(rng))));
    if (n + room > sizeof(copy))
        room = n > sizeof(copy) ? 0 : sizeof(copy) - n;
    if (n > sizeof(copy) || n + room == 0)
        return size;
    memcpy(copy, t->data + s->at, n);
    n = LLVMFuzzerMutate(copy, n, n + room);
    return splice(t, size, max, i, s->at, s->end, bytes_of(copy, n));
}

/* Doubles, drops or replaces one element. */
static size_t change_element(struct tree *t, size_t size, size_t max, int i, struct rng *rng)
{
    const struct span *s = &t->spans[i], *other = &t->spans[rng_below(rng, (uint64_t)t->count)];
    static uint8_t copy[1 << 20];
    size_t n;

    switch (rng_below(rng, 4)) {
    case 0:
        return splice(t, size, max, s->parent, s->start, s->end, BYTES_NONE);
    case 1:
        n = s->end - s->start;
        if (n > sizeof(copy))
            return size;
        memcpy(copy, t->data + s->start, n);
        return splice(t, size, max, s->parent, s->end, s->end, bytes_of(copy, n));
    default:
        n = other->end - other->at;
        if (n > sizeof(copy))
            return size;
        memcpy(copy, t->data + other->at, n);
        return splice(t, size, max,
                      s->kind == SPAN_COUNTED || s->kind == SPAN_SIZED ? i : s->parent, s->at,
                      s->end, bytes_of(copy, n));
    }
}

size_t mutate_parts(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    static struct tree t;
    struct rng rng;
    int i;

    rng_init(&rng, seed);
    tree_read(&t, data, size, false);
    if (t.count == 0 || rng_below(&rng, 8) == 0) {
        size = LLVMFuzzerMutate(data, size, max);
    } else {
        for (uint64_t n = rng_below(&rng, 3) + 1; n && t.count; n--) {
            i = (int)rng_below(&rng, (uint64_t)t.count);
            size = rng_below(&rng, 3) ? change_content(&t, size, max, i, &rng)
                                      : change_element(&t, size, max, i, &rng);
            tree_read(&t, data, size, false);
        }
    }
    if (rng_below(&rng, 16))
        tree_read(&t, data, size, true);
    return size;
}
