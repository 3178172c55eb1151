/* vector.h: an array that grows, of any plain type, while a segment is made. */
#ifndef SEARCH_SEGMENT_VECTOR_H
#define SEARCH_SEGMENT_VECTOR_H

#include "base/bytes.h"
#include "base/port.h"

/* Begins as zeros; vector_free() ends it. */
struct vector {
    uint8_t *data;
    size_t len, capacity; /* bytes */
};

/* Room for n more bytes; they count at once. The array may move. */
static inline void *vector_grow(struct vector *v, size_t n)
{
    void *at;

    if (v->len + n > v->capacity) {
        size_t capacity = v->capacity ? v->capacity : 256;

        while (capacity < v->len + n)
            capacity += capacity / 2 + 256;
        v->data = mem_realloc(v->data, capacity);
        v->capacity = capacity;
    }
    at = v->data + v->len;
    v->len += n;
    return at;
}

static inline void vector_put(struct vector *v, const void *from, size_t n)
{
    if (n)
        memcpy(vector_grow(v, n), from, n);
}

static inline void vector_put_u32(struct vector *v, uint32_t n)
{
    vector_put(v, &n, sizeof(n));
}

static inline void vector_put_u64(struct vector *v, uint64_t n)
{
    vector_put(v, &n, sizeof(n));
}

static inline void vector_put_varint(struct vector *v, uint32_t n)
{
    uint8_t *at = vector_grow(v, 5), *from = at;

    while (n >= 0x80) {
        *at++ = (uint8_t)(n | 0x80);
        n >>= 7;
    }
    *at++ = (uint8_t)n;
    v->len -= 5 - (size_t)(at - from);
}

static inline void vector_free(struct vector *v)
{
    mem_free(v->data);
    *v = (struct vector){0};
}

#endif
