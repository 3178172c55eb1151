#include "parquet/thrift_read.h"

static void spoil(struct reader *r)
{
    r->bad = true;
    r->at = r->end;
}

bool thrift_next(struct reader *r, struct thrift_field *f)
{
    uint8_t head = read_u8(r);
    int64_t id;

    if (r->bad || head == 0)
        return false;
    id = head >> 4 ? f->id + (head >> 4) : unzigzag(read_varint(r));
    if (id <= 0 || id > INT16_MAX) {
        spoil(r);
        return false;
    }
    f->id = (int)id;
    f->type = head & 15;
    return !r->bad;
}

int64_t thrift_read_int(struct reader *r, const struct thrift_field *f)
{
    if (f->type == THRIFT_I8)
        return (int8_t)read_u8(r);
    if (f->type == THRIFT_I16 || f->type == THRIFT_I32 || f->type == THRIFT_I64)
        return unzigzag(read_varint(r));
    spoil(r);
    return 0;
}

int32_t thrift_read_i32(struct reader *r, const struct thrift_field *f)
{
    int64_t v = thrift_read_int(r, f);

    if (v >= INT32_MIN && v <= INT32_MAX)
        return (int32_t)v;
    spoil(r);
    return 0;
}

bool thrift_read_bool(const struct thrift_field *f)
{
    return f->type == THRIFT_TRUE;
}

bytes thrift_read_binary(struct reader *r, const struct thrift_field *f)
{
    if (f->type == THRIFT_BINARY)
        return read_counted(r);
    spoil(r);
    return BYTES_NONE;
}

bool thrift_is_struct(struct reader *r, const struct thrift_field *f)
{
    if (f->type != THRIFT_STRUCT)
        spoil(r);
    return f->type == THRIFT_STRUCT;
}

static size_t list_head(struct reader *r, int *type)
{
    uint8_t head = read_u8(r);
    uint64_t count = head >> 4 == 15 ? read_varint(r) : head >> 4;

    *type = head & 15;
    if (count > reader_left(r)) {
        spoil(r);
        return 0;
    }
    return (size_t)count;
}

size_t thrift_read_list(struct reader *r, const struct thrift_field *f, int type)
{
    int found = 0;
    size_t count = f->type == THRIFT_LIST ? list_head(r, &found) : 0;

    if (f->type != THRIFT_LIST || (count && found != type)) {
        spoil(r);
        return 0;
    }
    return count;
}

static void skip_value(struct reader *r, int type, bool element, int depth);

static void skip_many(struct reader *r, int depth)
{
    int of;
    size_t count = list_head(r, &of);

    for (size_t i = 0; i < count && !r->bad; i++)
        skip_value(r, of, true, depth);
}

static void skip_map(struct reader *r, int depth)
{
    uint64_t count = read_varint(r);
    uint8_t types = count ? read_u8(r) : 0;

    for (uint64_t i = 0; i < count && !r->bad; i++) {
        skip_value(r, types >> 4, true, depth);
        skip_value(r, types & 15, true, depth);
    }
}

static void skip_value(struct reader *r, int type, bool element, int depth)
{
    struct thrift_field f = {0};

    if (depth > 2 * THRIFT_DEPTH_MAX) {
        spoil(r);
        return;
    }
    switch (type) {
    case THRIFT_TRUE:
    case THRIFT_FALSE:
        if (element)
            (void)read_u8(r);
        return;
    case THRIFT_I8:
        (void)read_u8(r);
        return;
    case THRIFT_I16:
    case THRIFT_I32:
    case THRIFT_I64:
        (void)read_varint(r);
        return;
    case THRIFT_DOUBLE:
        (void)read_u64(r);
        return;
    case THRIFT_BINARY:
        (void)read_counted(r);
        return;
    case THRIFT_LIST:
    case THRIFT_SET:
        skip_many(r, depth + 1);
        return;
    case THRIFT_MAP:
        skip_map(r, depth + 1);
        return;
    case THRIFT_STRUCT:
        while (thrift_next(r, &f))
            skip_value(r, f.type, false, depth + 1);
        return;
    default:
        spoil(r);
    }
}

void thrift_skip(struct reader *r, const struct thrift_field *f)
{
    skip_value(r, f->type, false, 0);
}
