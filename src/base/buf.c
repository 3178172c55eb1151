#include "base/buf.h"

void buf_init(struct buf *b, struct arena *arena, size_t capacity)
{
    *b = (struct buf){.arena = arena};
    if (capacity) {
        b->data = arena_alloc(arena, capacity);
        b->capacity = capacity;
    }
}

uint8_t *buf_reserve(struct buf *b, size_t n)
{
    if (PORT_UNLIKELY(b->capacity - b->len < n)) {
        size_t want = b->capacity * 2;
        uint8_t *data;

        if (want < b->len + n)
            want = b->len + n;
        if (want < 64)
            want = 64;
        data = arena_alloc(b->arena, want);
        if (b->len)
            memcpy(data, b->data, b->len);
        b->data = data;
        b->capacity = want;
    }
    return b->data + b->len;
}

void buf_put_varint(struct buf *b, uint64_t v)
{
    uint8_t *p = buf_reserve(b, 10);
    size_t n = 0;

    while (v >= 0x80) {
        p[n++] = (uint8_t)v | 0x80;
        v >>= 7;
    }
    p[n++] = (uint8_t)v;
    b->len += n;
}

uint64_t read_varint(struct reader *r)
{
    uint64_t v = 0;

    for (int shift = 0; shift < 64; shift += 7) {
        uint8_t c = read_u8(r);

        v |= (uint64_t)(c & 0x7F) << shift;
        if (!(c & 0x80))
            return v;
    }
    r->bad = true;
    return 0;
}
