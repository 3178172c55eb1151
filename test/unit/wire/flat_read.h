/* flat_read.h: reads SQLQuery's FlatBuffers by their rules alone, for tests: every field through its virtual table. */
#ifndef UNIT_WIRE_FLAT_READ_H
#define UNIT_WIRE_FLAT_READ_H

#include "base/buf.h"

struct flat_read {
    bytes all;
};

static inline const uint8_t *flat_at(const struct flat_read *f, size_t at, size_t size)
{
    assert_true(at <= f->all.len && size <= f->all.len - at);
    return bytes_u8(f->all) + at;
}

static inline uint32_t flat_u32(const struct flat_read *f, size_t at)
{
    assert_int_equal(at % 4, 0);
    return load_u32(flat_at(f, at, 4));
}

/* Where a field of a table is; 0: it has its default. */
static inline size_t flat_field(const struct flat_read *f, size_t table, unsigned slot)
{
    size_t vtable = table - (size_t)(int32_t)flat_u32(f, table);
    const uint8_t *v = flat_at(f, vtable, 4);
    unsigned size = v[0] | v[1] << 8, at = 4 + 2 * slot;
    unsigned offset;

    flat_at(f, vtable, size);
    offset = at < size ? v[at] | (unsigned)v[at + 1] << 8 : 0;
    return offset ? table + offset : 0;
}

static inline size_t flat_target(const struct flat_read *f, size_t at)
{
    return at + flat_u32(f, at);
}

static inline size_t flat_child(const struct flat_read *f, size_t table, unsigned slot)
{
    size_t at = flat_field(f, table, slot);

    assert_true(at);
    return flat_target(f, at);
}

static inline uint8_t flat_byte(const struct flat_read *f, size_t table, unsigned slot)
{
    size_t at = flat_field(f, table, slot);

    return at ? *flat_at(f, at, 1) : 0;
}

static inline size_t flat_columns(const struct flat_read *f)
{
    return flat_child(f, flat_target(f, 0), 0);
}

static inline int64_t flat_row_count(const struct flat_read *f)
{
    size_t at = flat_field(f, flat_target(f, 0), 1);

    assert_int_equal(at % 8, 0);
    return at ? (int64_t)load_u64(flat_at(f, at, 8)) : 0;
}

static inline bytes flat_vector(const struct flat_read *f, size_t at, size_t item)
{
    uint32_t n = flat_u32(f, at);

    assert_int_equal((at + 4) % (item < 8 ? 4 : 8), 0);
    return bytes_of(flat_at(f, at + 4, n * item), n * item);
}

/* One value as a text: what a client makes of it. */
static inline const char *flat_value(const struct flat_read *f, struct arena *a, size_t column, size_t row)
{
    uint8_t type = flat_byte(f, column, 1);
    size_t values = flat_child(f, column, 2), info = flat_child(f, column, 3), vector;
    uint8_t is = type == 7 ? flat_byte(f, info, 1) : type;
    double real;
    bytes b;

    b = flat_vector(f, flat_child(f, values, 0), 1);
    assert_int_equal(b.len, flat_row_count(f));
    if (bytes_u8(b)[row])
        return "NULL";
    vector = flat_child(f, values, is);
    assert_int_equal(flat_u32(f, vector), flat_row_count(f));
    switch (is) {
    case 1:
        b = flat_vector(f, vector, 8);
        return arena_printf(a, "%lld", (long long)load_u64(bytes_u8(b) + 8 * row)).ptr;
    case 2:
        b = flat_vector(f, vector, 1);
        return bytes_u8(b)[row] ? "true" : "false";
    case 3:
        b = flat_vector(f, vector, 8);
        memcpy(&real, bytes_u8(b) + 8 * row, 8);
        return arena_printf(a, "%g", real).ptr;
    case 4:
        b = flat_vector(f, flat_target(f, vector + 4 + 4 * row), 1);
        assert_int_equal(*flat_at(f, (size_t)((const uint8_t *)b.ptr - bytes_u8(f->all)) + b.len, 1), 0);
        return arena_printf(a, "'%.*s'", (int)b.len, (const char *)b.ptr).ptr;
    default:
        assert_int_equal(is, 5);
        b = flat_vector(f, flat_child(f, flat_target(f, vector + 4 + 4 * row), 0), 1);
        return arena_printf(a, "x%zu", b.len).ptr;
    }
}

/* "name type/logic/encode: value value; ..." */
static inline const char *flat_text(struct arena *a, bytes in, size_t columns)
{
    struct flat_read f = {in};
    size_t list = flat_columns(&f);
    struct buf out;

    assert_true(flat_u32(&f, list) >= columns);
    buf_init(&out, a, 256);
    for (size_t i = 0; i < columns; i++) {
        size_t column = flat_target(&f, list + 4 + 4 * i), info = flat_child(&f, column, 3);
        bytes name = flat_vector(&f, flat_child(&f, column, 0), 1);

        buf_put_bytes(&out, name);
        buf_put_bytes(&out, arena_printf(a, " %u/%u/%u:", flat_byte(&f, column, 1), flat_byte(&f, info, 0),
                                         flat_byte(&f, info, 1)));
        for (int64_t row = 0; row < flat_row_count(&f); row++)
            buf_put_bytes(&out, arena_printf(a, " %s", flat_value(&f, a, column, (size_t)row)));
        buf_put_bytes(&out, BYTES_LIT("; "));
    }
    buf_put_u8(&out, 0);
    return (const char *)out.data;
}

#endif
