/* A FlatBuffer is written from its front to its end here: a table before what it points to, so that
 * each offset is put in its place when its target begins. The virtual tables, which say where the
 * fields of a table are, stand in front of all and are shared. */
#include "wire/flat.h"

#include "base/buf.h"

enum flat_type {
    FLAT_NONE,
    FLAT_LONG,
    FLAT_BOOLEAN,
    FLAT_DOUBLE,
    FLAT_STRING,
    FLAT_BINARY,
    FLAT_COMPLEX = 7,
};
#define FLAT_VALUE_TYPES 6 /* that have values of their own, FLAT_NONE among them */

enum flat_logic { LOGIC_NONE, LOGIC_DATETIME, LOGIC_DATE, LOGIC_TIME };

/* Bytes that a virtual table takes at most, and a column without its name and values: its tables,
 * heads of vectors and what aligns them. */
#define VTABLE_BYTES 32
#define COLUMN_BYTES 128

struct flat {
    uint8_t *p;
    size_t at;
    size_t columns, column, complex, blob, values[FLAT_VALUE_TYPES]; /* virtual tables */
};

static enum flat_type type_of(enum wr_type type)
{
    switch (type) {
    case WR_BIGINT:
        return FLAT_LONG;
    case WR_BOOLEAN:
        return FLAT_BOOLEAN;
    case WR_DOUBLE:
        return FLAT_DOUBLE;
    case WR_VARBINARY:
        return FLAT_BINARY;
    case WR_TIMESTAMP:
    case WR_DATE:
    case WR_TIME:
        return FLAT_COMPLEX;
    default:
        return FLAT_STRING;
    }
}

static enum flat_type stored_type(enum wr_type type)
{
    return type_of(type) == FLAT_COMPLEX ? FLAT_LONG : type_of(type);
}

static enum flat_logic logic_of(enum wr_type type)
{
    return type == WR_TIMESTAMP ? LOGIC_DATETIME
           : type == WR_DATE    ? LOGIC_DATE
           : type == WR_TIME    ? LOGIC_TIME
                                : LOGIC_NONE;
}

/* ---- writing ---- */

static void put_u8(struct flat *f, uint8_t v)
{
    f->p[f->at++] = v;
}

static void put_u16(struct flat *f, uint16_t v)
{
    put_u8(f, (uint8_t)v);
    put_u8(f, (uint8_t)(v >> 8));
}

static void put_u32(struct flat *f, uint32_t v)
{
    store_u32(f->p + f->at, v);
    f->at += 4;
}

static void put_u64(struct flat *f, uint64_t v)
{
    store_u64(f->p + f->at, v);
    f->at += 8;
}

/* Zeros, until `at` + `ahead` is divisible by `by`. */
static void align(struct flat *f, size_t by, size_t ahead)
{
    while ((f->at + ahead) % by)
        put_u8(f, 0);
}

/* Room for an offset; target_here() sets it. */
static size_t put_offset(struct flat *f)
{
    put_u32(f, 0);
    return f->at - 4;
}

static void target_here(struct flat *f, size_t offset)
{
    store_u32(f->p + offset, (uint32_t)(f->at - offset));
}

static size_t put_vtable(struct flat *f, uint16_t table_bytes, const uint16_t *fields, size_t n)
{
    size_t start;

    align(f, 4, 0);
    start = f->at;
    put_u16(f, (uint16_t)(4 + 2 * n));
    put_u16(f, table_bytes);
    for (size_t i = 0; i < n; i++)
        put_u16(f, fields[i]);
    return start;
}

/* A table begins with how far its virtual table is in front of it. */
static void put_table(struct flat *f, size_t vtable)
{
    put_u32(f, (uint32_t)(f->at - vtable));
}

static void put_vtables(struct flat *f)
{
    static const uint16_t columns[] = {4, 8}, column[] = {4, 16, 8, 12}, complex[] = {4, 5};
    static const uint16_t blob[] = {4};

    f->columns = put_vtable(f, 16, columns, PORT_COUNT(columns));
    f->column = put_vtable(f, 20, column, PORT_COUNT(column));
    f->complex = put_vtable(f, 8, complex, PORT_COUNT(complex));
    f->blob = put_vtable(f, 8, blob, PORT_COUNT(blob));
    for (size_t i = FLAT_LONG; i < FLAT_VALUE_TYPES; i++) {
        uint16_t values[FLAT_VALUE_TYPES] = {4};

        values[i] = 8;
        f->values[i] = put_vtable(f, 12, values, i + 1);
    }
}

static void put_bytes(struct flat *f, bytes b)
{
    align(f, 4, 0);
    put_u32(f, (uint32_t)b.len);
    if (b.len)
        memcpy(f->p + f->at, b.ptr, b.len);
    f->at += b.len;
}

static void put_text(struct flat *f, bytes text)
{
    put_bytes(f, text);
    put_u8(f, 0);
}

/* ---- values ---- */

static bytes bytes_at(const struct flat_rows *rows, size_t i, size_t column)
{
    const struct wr_value *v = &rows->rows[i][column];

    return v->type == WR_NULL ? BYTES_LIT("") : v->bytes;
}

/* Of a column whose values have 8 bytes. */
static void put_numbers(struct flat *f, const struct flat_rows *rows, size_t column, bool real)
{
    align(f, 8, 4);
    put_u32(f, (uint32_t)rows->row_count);
    for (size_t i = 0; i < rows->row_count; i++) {
        const struct wr_value *v = &rows->rows[i][column];
        uint64_t bits = (uint64_t)v->integer;

        if (real)
            memcpy(&bits, &v->real, sizeof(bits));
        put_u64(f, v->type == WR_NULL ? 0 : bits);
    }
}

static void put_booleans(struct flat *f, const struct flat_rows *rows, size_t column, bool nulls)
{
    align(f, 4, 0);
    put_u32(f, (uint32_t)rows->row_count);
    for (size_t i = 0; i < rows->row_count; i++) {
        const struct wr_value *v = &rows->rows[i][column];

        put_u8(f, nulls ? v->type == WR_NULL : v->type != WR_NULL && v->boolean);
    }
}

/* Of texts, or of tables with a blob each: offsets, and then what they lead to. */
static void put_strings(struct flat *f, const struct flat_rows *rows, size_t column, bool blobs)
{
    size_t offsets;

    align(f, 4, 0);
    put_u32(f, (uint32_t)rows->row_count);
    offsets = f->at;
    memset(f->p + f->at, 0, 4 * rows->row_count);
    f->at += 4 * rows->row_count;
    for (size_t i = 0; i < rows->row_count; i++) {
        align(f, 4, 0);
        target_here(f, offsets + 4 * i);
        if (blobs) {
            size_t value;

            put_table(f, f->blob);
            value = put_offset(f);
            target_here(f, value);
            put_bytes(f, bytes_at(rows, i, column));
        } else {
            put_text(f, bytes_at(rows, i, column));
        }
    }
}

static void put_values(struct flat *f, const struct flat_rows *rows, size_t column)
{
    enum flat_type type = stored_type(rows->columns[column].type);
    size_t nulls, values;

    put_table(f, f->values[type]);
    nulls = put_offset(f);
    values = put_offset(f);
    target_here(f, nulls);
    put_booleans(f, rows, column, true);
    align(f, type == FLAT_LONG || type == FLAT_DOUBLE ? 8 : 4,
          type == FLAT_LONG || type == FLAT_DOUBLE ? 4 : 0);
    target_here(f, values);
    if (type == FLAT_BOOLEAN)
        put_booleans(f, rows, column, false);
    else if (type == FLAT_LONG || type == FLAT_DOUBLE)
        put_numbers(f, rows, column, type == FLAT_DOUBLE);
    else
        put_strings(f, rows, column, type == FLAT_BINARY);
}

/* The last member is there in plain columns as well: some clients read it without a look. */
static void put_column(struct flat *f, const struct flat_rows *rows, size_t column)
{
    const struct flat_column *c = &rows->columns[column];
    bool complex = type_of(c->type) == FLAT_COMPLEX;
    size_t name, values, info;

    put_table(f, f->column);
    name = put_offset(f);
    values = put_offset(f);
    info = put_offset(f);
    put_u8(f, (uint8_t)type_of(c->type));
    align(f, 4, 0);
    target_here(f, info);
    put_table(f, f->complex);
    put_u8(f, (uint8_t)logic_of(c->type));
    put_u8(f, complex ? FLAT_LONG : FLAT_NONE);
    align(f, 4, 0);
    target_here(f, name);
    put_text(f, c->name);
    align(f, 4, 0);
    target_here(f, values);
    put_values(f, rows, column);
}

size_t flat_size_max(const struct flat_rows *rows)
{
    size_t n = (4 + FLAT_VALUE_TYPES) * VTABLE_BYTES + 64;

    for (size_t k = 0; k < rows->column_count; k++) {
        enum flat_type type = stored_type(rows->columns[k].type);

        n += COLUMN_BYTES + rows->columns[k].name.len + rows->row_count;
        n += rows->row_count * (type == FLAT_BOOLEAN ? 1 : type == FLAT_BINARY ? 20 : 12);
        if (type == FLAT_STRING || type == FLAT_BINARY)
            for (size_t i = 0; i < rows->row_count; i++)
                n += bytes_at(rows, i, k).len;
    }
    return n;
}

size_t flat_put(uint8_t *to, const struct flat_rows *rows)
{
    struct flat f = {.p = to};
    size_t root = put_offset(&f), columns, offsets;

    put_vtables(&f);
    align(&f, 8, 0);
    target_here(&f, root);
    put_table(&f, f.columns);
    columns = put_offset(&f);
    put_u64(&f, rows->row_count);
    target_here(&f, columns);
    put_u32(&f, (uint32_t)rows->column_count);
    offsets = f.at;
    for (size_t i = 0; i < rows->column_count; i++)
        put_offset(&f);
    for (size_t i = 0; i < rows->column_count; i++) {
        align(&f, 4, 0);
        target_here(&f, offsets + 4 * i);
        put_column(&f, rows, i);
    }
    align(&f, 4, 0);
    return f.at;
}
