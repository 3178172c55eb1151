#include "wire/pb_read.h"

#include <math.h>

enum { TYPE_VARINT = 0, TYPE_FIXED64 = 1, TYPE_BYTES = 2, TYPE_FIXED32 = 5 };

static bool read_field(struct pb_reader *r)
{
    switch (r->type) {
    case TYPE_VARINT:
        r->number = read_varint(&r->in);
        return true;
    case TYPE_FIXED64:
        r->view = read_bytes(&r->in, 8);
        return true;
    case TYPE_BYTES:
        r->view = read_counted(&r->in);
        return true;
    case TYPE_FIXED32:
        r->view = read_bytes(&r->in, 4);
        return true;
    default:
        return false;
    }
}

bool pb_next(struct pb_reader *r)
{
    uint64_t tag;

    if (r->bad || !reader_left(&r->in))
        return false;
    tag = read_varint(&r->in);
    r->type = tag & 7;
    r->field = (unsigned)(tag >> 3);
    r->bad = tag >> 3 == 0 || tag >> 3 > UINT32_MAX >> 3 || !read_field(r) || r->in.bad;
    return !r->bad;
}

/* Is the current field of this type? Else it is bad. */
static bool is_type(struct pb_reader *r, unsigned type)
{
    r->bad |= r->type != type;
    return r->type == type;
}

int64_t pb_int64(struct pb_reader *r)
{
    return is_type(r, TYPE_VARINT) ? (int64_t)r->number : 0;
}

int32_t pb_int32(struct pb_reader *r)
{
    return (int32_t)(uint32_t)pb_int64(r);
}

bool pb_bool(struct pb_reader *r)
{
    return pb_int64(r) != 0;
}

double pb_double(struct pb_reader *r)
{
    uint64_t bits = is_type(r, TYPE_FIXED64) ? load_u64(r->view.ptr) : 0;
    double v;

    memcpy(&v, &bits, sizeof(v));
    return v;
}

double pb_finite(struct pb_reader *r)
{
    double v = pb_double(r);

    r->bad |= !isfinite(v);
    return v;
}

double pb_finite_float(struct pb_reader *r)
{
    uint32_t bits = is_type(r, TYPE_FIXED32) ? load_u32(r->view.ptr) : 0;
    float v;

    memcpy(&v, &bits, sizeof(v));
    r->bad |= !isfinite(v);
    return (double)v;
}

bytes pb_bytes(struct pb_reader *r)
{
    return is_type(r, TYPE_BYTES) ? r->view : BYTES_LIT("");
}

size_t pb_count(bytes in, unsigned field)
{
    struct pb_reader r = pb_reader_of(in);
    size_t n = 0;

    while (pb_next(&r))
        n += r.field == field;
    return n;
}

bytes pb_fixed(struct pb_reader *r, size_t size)
{
    unsigned single = size == 8 ? TYPE_FIXED64 : TYPE_FIXED32;

    r->bad |= (r->type != single && r->type != TYPE_BYTES) || r->view.len % size;
    return r->bad ? BYTES_LIT("") : r->view;
}

size_t pb_count_fixed(bytes in, unsigned field, size_t size)
{
    struct pb_reader r = pb_reader_of(in);
    size_t n = 0;

    while (pb_next(&r))
        if (r.field == field)
            n += pb_fixed(&r, size).len / size;
    return n;
}
