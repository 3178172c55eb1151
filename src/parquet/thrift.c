#include "parquet/thrift.h"

#include "base/buf.h"
#include "base/invariant.h"
#include "base/port.h"

#include <string.h>

void thrift_release(struct thrift *t)
{
    mem_free(t->data);
    *t = (struct thrift){0};
}

void thrift_grow(struct thrift *t, size_t n)
{
    t->capacity = (t->len + n) + (t->len + n) / 2;
    t->data = mem_realloc(t->data, t->capacity);
}

void thrift_put_varint(struct thrift *t, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        thrift_put_u8(t, (uint8_t)(v | 0x80));
    thrift_put_u8(t, (uint8_t)v);
}

static void put_head(struct thrift *t, int field, enum thrift_type type)
{
    int *last = &t->last[t->depth - 1], step = field - *last;

    invariant(t->depth > 0 && step > 0);
    if (step <= 15) {
        thrift_put_u8(t, (uint8_t)((unsigned)step << 4 | type));
    } else {
        thrift_put_u8(t, (uint8_t)type);
        thrift_put_varint(t, zigzag(field));
    }
    *last = field;
}

void thrift_i32(struct thrift *t, int field, int32_t v)
{
    put_head(t, field, THRIFT_I32);
    thrift_put_varint(t, zigzag(v));
}

void thrift_i64(struct thrift *t, int field, int64_t v)
{
    put_head(t, field, THRIFT_I64);
    thrift_put_varint(t, zigzag(v));
}

void thrift_bool(struct thrift *t, int field, bool v)
{
    put_head(t, field, v ? THRIFT_TRUE : THRIFT_FALSE);
}

void thrift_binary(struct thrift *t, int field, bytes v)
{
    put_head(t, field, THRIFT_BINARY);
    thrift_element_binary(t, v);
}

void thrift_list(struct thrift *t, int field, enum thrift_type of, size_t count)
{
    put_head(t, field, THRIFT_LIST);
    if (count < 15) {
        thrift_put_u8(t, (uint8_t)(count << 4 | of));
    } else {
        thrift_put_u8(t, (uint8_t)(0xF0 | of));
        thrift_put_varint(t, count);
    }
}

void thrift_begin(struct thrift *t, int field)
{
    if (field)
        put_head(t, field, THRIFT_STRUCT);
    invariant(t->depth < THRIFT_DEPTH_MAX);
    t->last[t->depth++] = 0;
}

void thrift_end(struct thrift *t)
{
    invariant(t->depth > 0);
    t->depth--;
    thrift_put_u8(t, 0);
}

void thrift_struct(struct thrift *t, int field, bytes written)
{
    put_head(t, field, THRIFT_STRUCT);
    thrift_put(t, written.ptr, written.len);
}

void thrift_element_i64(struct thrift *t, int64_t v)
{
    thrift_put_varint(t, zigzag(v));
}

void thrift_element_i32(struct thrift *t, int32_t v)
{
    thrift_put_varint(t, zigzag(v));
}

void thrift_element_binary(struct thrift *t, bytes v)
{
    thrift_put_varint(t, v.len);
    thrift_put(t, v.ptr, v.len);
}
