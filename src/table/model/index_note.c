#include "table/model/index_note.h"

#include "base/buf.h"
#include "table/model/key.h"

#define NOTES_BUCKET UINT8_MAX
#define VERSION BYTES_LIT("\1")

enum { NOTE_TAKEN, NOTE_MARK };

static bytes note_key(struct arena *a, uint32_t location_id, uint8_t what, bytes cols)
{
    struct buf b;

    buf_init(&b, a, KEY_PREFIX_BYTES + 1 + cols.len);
    key_put_prefix(&b, location_id, NOTES_BUCKET, KIND_CHANGE);
    buf_put_u8(&b, what);
    buf_put_bytes(&b, cols);
    return buf_bytes(&b);
}

struct kv index_note_taken(struct arena *a, uint32_t location_id)
{
    return (struct kv){note_key(a, location_id, NOTE_TAKEN, BYTES_NONE), VERSION};
}

struct kv index_note_mark(struct arena *a, uint32_t location_id, bytes cols)
{
    return (struct kv){note_key(a, location_id, NOTE_MARK, cols), VERSION};
}

struct key_range index_note_marks(struct arena *a, uint32_t location_id)
{
    return (struct key_range){note_key(a, location_id, NOTE_MARK, BYTES_NONE),
                              note_key(a, location_id, NOTE_MARK + 1, BYTES_NONE)};
}

bytes index_note_cols(bytes mark_key)
{
    return bytes_skip(mark_key, KEY_PREFIX_BYTES + 1);
}
