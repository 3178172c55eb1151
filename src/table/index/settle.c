#include "table/index/settle.h"

#define NUMBER_VALUE_BYTES 9 /* of marks and fences: a version, and a number */
#define NUMBER_VERSION 1

static bytes number_encode(struct arena *a, uint64_t number)
{
    struct buf b;

    buf_init(&b, a, NUMBER_VALUE_BYTES);
    buf_put_u8(&b, NUMBER_VERSION);
    buf_put_u64(&b, number);
    return buf_bytes(&b);
}

/* Nothing is 0. */
static int number_decode(struct ctx *c, bytes value, const char *what, uint64_t *out)
{
    struct reader r = reader_of(value);
    uint8_t version = read_u8(&r);

    *out = 0;
    if (!value.ptr)
        return E_OK;
    if (version > NUMBER_VERSION)
        return fail(c, E_FORMAT, "%s of an index is of a newer build: use that", what);
    *out = read_u64(&r);
    if (r.bad || version != NUMBER_VERSION || reader_left(&r))
        return fail(c, E_CORRUPT, "%s of an index is damaged (%zu bytes)", what, value.len);
    return E_OK;
}

static void guard(struct batch_builder *e, bytes key, bytes seen)
{
    batch_add_guard(e, (struct guard){.key = key, .value = seen, .absent = !seen.ptr});
}

static bytes record_key(struct arena *a, const struct location *p, bytes cols)
{
    struct buf b;

    buf_init(&b, a, KEY_PREFIX_BYTES + cols.len);
    layout_put_key(&b, p, KIND_RECORD, cols);
    return buf_bytes(&b);
}

bytes settle_fence_key(struct arena *a, uint32_t index, bytes start)
{
    struct buf b;

    buf_init(&b, a, KEY_PREFIX_BYTES + start.len + 1);
    key_put_prefix(&b, index, start.len ? bytes_u8(start)[0] : 0, KIND_CHANGE);
    buf_put_bytes(&b, start.len ? bytes_skip(start, 1) : BYTES_NONE);
    buf_put_u8(&b, BESIDE_FENCE);
    return buf_bytes(&b);
}

/* The last stamp that the key was settled at. */
static int seen_stamp(struct ctx *c, const struct settle_seen *seen, uint64_t *out)
{
    struct row row = {.stamp = 0};

    TRY(number_decode(c, seen->mark, "a mark", out));
    if (seen->record.ptr)
        TRY(row_decode(c, seen->record, &row));
    if (row.stamp > *out)
        *out = row.stamp;
    return E_OK;
}

int settle_key(struct ctx *c, struct batch_builder *e, const struct location *p, bytes cols,
               uint64_t stamp, bytes value, const struct settle_seen *seen, bool *needed)
{
    bytes record = record_key(e->arena, p, cols);
    bytes mark = beside_key(e->arena, p, cols, BESIDE_MARK);
    uint64_t last;

    TRY(seen_stamp(c, seen, &last));
    *needed = last < stamp;
    if (!*needed)
        return E_OK;
    guard(e, record, seen->record);
    guard(e, mark, seen->mark);
    if (value.len) {
        batch_add(e, EDIT_PUT, record, value);
        if (seen->mark.ptr)
            batch_add(e, EDIT_DELETE, mark, BYTES_NONE);
        return E_OK;
    }
    batch_add(e, EDIT_PUT, mark, number_encode(e->arena, stamp));
    if (seen->record.ptr)
        batch_add(e, EDIT_DELETE, record, BYTES_NONE);
    return E_OK;
}

void settle_guard_fence(struct batch_builder *e, const struct settle_fence *fence)
{
    guard(e, fence->key, fence->value);
}

int settle_unmark(struct ctx *c, struct batch_builder *e, const struct location *p, bytes cols,
                  uint64_t stamp, bytes mark)
{
    uint64_t marked;
    bytes key;

    TRY(number_decode(c, mark, "a mark", &marked));
    if (!mark.ptr || marked > stamp)
        return E_OK;
    key = beside_key(e->arena, p, cols, BESIDE_MARK);
    guard(e, key, mark);
    batch_add(e, EDIT_DELETE, key, BYTES_NONE);
    return E_OK;
}

int settle_move_fence(struct ctx *c, struct batch_builder *e, const struct settle_fence *fence)
{
    uint64_t number;

    TRY(number_decode(c, fence->value, "a fence", &number));
    settle_guard_fence(e, fence);
    batch_add(e, EDIT_PUT, fence->key, number_encode(e->arena, number + 1));
    return E_OK;
}
