/* thrift.h: bytes as Thrift's compact protocol writes them, which Parquet's headers are made of.
 * The bytes grow on the heap; fields of a struct are put in ascending order of their numbers. */
#ifndef PARQUET_THRIFT_H
#define PARQUET_THRIFT_H

#include "base/buf.h"
#include "base/port.h"

#define THRIFT_DEPTH_MAX 8

enum thrift_type {
    THRIFT_TRUE = 1,
    THRIFT_FALSE = 2,
    THRIFT_I32 = 5,
    THRIFT_I64 = 6,
    THRIFT_BINARY = 8,
    THRIFT_LIST = 9,
    THRIFT_STRUCT = 12
};

struct thrift {
    uint8_t *data;
    size_t len, capacity;
    int last[THRIFT_DEPTH_MAX]; /* the last field of each struct that is open */
    int depth;
};

void thrift_release(struct thrift *t);

/* Makes room for n more bytes, of which there is none: for thrift_reserve(). */
void thrift_grow(struct thrift *t, size_t n);

/* Room for n more bytes; the caller fills them and adds to t->len. */
static inline uint8_t *thrift_reserve(struct thrift *t, size_t n)
{
    if (PORT_UNLIKELY(t->capacity - t->len < n))
        thrift_grow(t, n);
    return t->data + t->len;
}

/* Bytes as they are. Numbers are little-endian. */
static inline void thrift_put(struct thrift *t, const void *data, size_t n)
{
    if (n == 0)
        return;
    bytes_copy(thrift_reserve(t, n), data, n);
    t->len += n;
}

static inline void thrift_put_u8(struct thrift *t, uint8_t v)
{
    *thrift_reserve(t, 1) = v;
    t->len++;
}

static inline void thrift_put_u32(struct thrift *t, uint32_t v)
{
    store_u32(thrift_reserve(t, 4), v);
    t->len += 4;
}

static inline void thrift_put_u64(struct thrift *t, uint64_t v)
{
    store_u64(thrift_reserve(t, 8), v);
    t->len += 8;
}

void thrift_put_varint(struct thrift *t, uint64_t v);

/* Fields of the struct that is open. */
void thrift_i32(struct thrift *t, int field, int32_t v);
void thrift_i64(struct thrift *t, int field, int64_t v);
void thrift_bool(struct thrift *t, int field, bool v);
void thrift_binary(struct thrift *t, int field, bytes v);
void thrift_list(struct thrift *t, int field, enum thrift_type of, size_t count);

/* A struct that is a field, or, with field 0, an element of a list or what stands alone. */
void thrift_begin(struct thrift *t, int field);
void thrift_end(struct thrift *t);

/* A field whose struct was written apart, with its end. */
void thrift_struct(struct thrift *t, int field, bytes written);

/* Elements of a list. */
void thrift_element_i32(struct thrift *t, int32_t v);
void thrift_element_i64(struct thrift *t, int64_t v);
void thrift_element_binary(struct thrift *t, bytes v);

#endif
