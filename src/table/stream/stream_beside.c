#include "table/stream/stream_beside.h"

#include "table/index/outbox.h"
#include "table/model/lock_key.h"
#include "table/stream/stream_record.h"

#define BEHIND_BYTES (1 + 4 + NUMBER_BYTES)

void stream_beside_record(const struct row_observer *o, const struct row_change *change,
                          struct batch_builder *e)
{
    const struct schema *s = &change->table->schema;
    bytes key = beside_key(e->arena, &s->location, change->cols, BESIDE_CHANGE);
    struct buf b;

    if (change->kind == ROW_EXPIRE)
        return;
    buf_init(&b, e->arena, key.len + 4);
    buf_put_bytes(&b, key);
    store_u32_be(buf_reserve(&b, 4), s->stream.location);
    buf_commit(&b, 4);
    batch_add(e, EDIT_PUT_NUMBERED, buf_bytes(&b),
              stream_record_encode(e->arena, change, o->columns, o->column_count));
}

bool stream_beside_read(const struct schema *s, bytes key, struct stream_beside *out)
{
    bytes rest = bytes_skip(key, KEY_PREFIX_BYTES);
    size_t length = key_columns_length(s->location.key, rest, s->location.key_count);
    const uint8_t *behind = bytes_u8(rest) + length;

    if (key_is_of_lock(&s->location, key))
        return false;
    if (rest.len != length + BEHIND_BYTES || behind[0] != BESIDE_CHANGE)
        return false;
    *out = (struct stream_beside){.cols = bytes_of(rest.ptr, length),
                                  .stream = load_u32_be(behind + 1),
                                  .number = load_u64_be(behind + 5)};
    return true;
}
