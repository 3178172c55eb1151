/* buf.h: output bytes that grow, in an arena.
 *
 * The bytes move when the buffer grows; take buf_bytes() only when writing is done. Integers are
 * little-endian unless the name says otherwise. A buffer is not released on its own: it goes with
 * its arena. */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include "base/arena.h"

struct buf {
    struct arena *arena;
    uint8_t *data;
    size_t len;
    size_t capacity;
};

/* `capacity` is a guess; 0 is fine. */
void buf_init(struct buf *b, struct arena *arena, size_t capacity);

/* Room for n more bytes; returns where they go. The caller fills them and calls buf_commit(). */
uint8_t *buf_reserve(struct buf *b, size_t n);

static inline void buf_commit(struct buf *b, size_t n)
{
    b->len += n;
}

static inline bytes buf_bytes(const struct buf *b)
{
    return bytes_of(b->data, b->len);
}

static inline void buf_put(struct buf *b, const void *ptr, size_t n)
{
    if (n)
        memcpy(buf_reserve(b, n), ptr, n);
    b->len += n;
}

static inline void buf_put_bytes(struct buf *b, bytes s)
{
    buf_put(b, s.ptr, s.len);
}

static inline void buf_put_u8(struct buf *b, uint8_t v)
{
    *buf_reserve(b, 1) = v;
    b->len++;
}

static inline void store_u32(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
    p[2] = (uint8_t)(v >> 16);
    p[3] = (uint8_t)(v >> 24);
}

static inline void store_u64(uint8_t *p, uint64_t v)
{
    store_u32(p, (uint32_t)v);
    store_u32(p + 4, (uint32_t)(v >> 32));
}

static inline uint32_t load_u32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t load_u64(const uint8_t *p)
{
    return (uint64_t)load_u32(p) | (uint64_t)load_u32(p + 4) << 32;
}

/* Big-endian, as keys need it. */
static inline void store_u32_be(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)(v >> 24);
    p[1] = (uint8_t)(v >> 16);
    p[2] = (uint8_t)(v >> 8);
    p[3] = (uint8_t)v;
}

static inline void store_u64_be(uint8_t *p, uint64_t v)
{
    store_u32_be(p, (uint32_t)(v >> 32));
    store_u32_be(p + 4, (uint32_t)v);
}

static inline uint32_t load_u32_be(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | (uint32_t)p[3];
}

static inline uint64_t load_u64_be(const uint8_t *p)
{
    return (uint64_t)load_u32_be(p) << 32 | load_u32_be(p + 4);
}

static inline void buf_put_u32(struct buf *b, uint32_t v)
{
    store_u32(buf_reserve(b, 4), v);
    b->len += 4;
}

static inline void buf_put_u64(struct buf *b, uint64_t v)
{
    store_u64(buf_reserve(b, 8), v);
    b->len += 8;
}

/* LEB128: seven bits a byte, lowest first. At most 10 bytes. */
void buf_put_varint(struct buf *b, uint64_t v);

/* With the length in front, as a varint. */
static inline void buf_put_counted(struct buf *b, bytes s)
{
    buf_put_varint(b, s.len);
    buf_put_bytes(b, s);
}

/* A cursor over bytes that came from disk or net. A read past the end sets `bad` and gives zeros,
 * so a decoder may check once at the end of a group. */
struct reader {
    const uint8_t *at, *end;
    bool bad;
};

static inline struct reader reader_of(bytes b)
{
    const uint8_t *at =
        b.ptr ? b.ptr : (const void *)""; /* nothing may be added to NULL, not even 0 */

    return (struct reader){at, at + b.len, false};
}

static inline size_t reader_left(const struct reader *r)
{
    return (size_t)(r->end - r->at);
}

static inline bytes read_bytes(struct reader *r, size_t n)
{
    bytes b = {r->at, n};

    if (PORT_UNLIKELY(reader_left(r) < n)) {
        r->bad = true;
        r->at = r->end;
        return BYTES_NONE;
    }
    r->at += n;
    return b;
}

static inline uint8_t read_u8(struct reader *r)
{
    if (PORT_UNLIKELY(r->at == r->end)) {
        r->bad = true;
        return 0;
    }
    return *r->at++;
}

static inline uint32_t read_u32(struct reader *r)
{
    bytes b = read_bytes(r, 4);

    return b.ptr ? load_u32(b.ptr) : 0;
}

static inline uint64_t read_u64(struct reader *r)
{
    bytes b = read_bytes(r, 8);

    return b.ptr ? load_u64(b.ptr) : 0;
}

uint64_t read_varint(struct reader *r);

/* What buf_put_counted() has written; a view. */
static inline bytes read_counted(struct reader *r)
{
    uint64_t n = read_varint(r);

    return read_bytes(r, n < SIZE_MAX ? (size_t)n : SIZE_MAX);
}

/* Signed numbers near zero as small varints. */
static inline uint64_t zigzag(int64_t v)
{
    return (uint64_t)v << 1 ^ (uint64_t)(v >> 63);
}

static inline int64_t unzigzag(uint64_t v)
{
    return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

#endif
