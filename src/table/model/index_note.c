#include "table/model/index_note.h"

#include "base/buf.h"
#include "table/model/key.h"

#define NOTES_BUCKET UINT8_MAX
#define VERSION BYTES_LIT("\1")
#define VERSION_EXPIRES BYTES_LIT("\2")

enum { NOTE_TAKEN, NOTE_MARK_OF_ENTRY, NOTE_MARK };

static bytes note_key(struct arena *a, uint32_t location_id, uint8_t what, bytes cols,
                      bytes entry_cols)
{
    struct buf b;

    buf_init(&b, a, KEY_PREFIX_BYTES + 1 + cols.len + entry_cols.len);
    key_put_prefix(&b, location_id, NOTES_BUCKET, KIND_CHANGE);
    buf_put_u8(&b, what);
    buf_put_bytes(&b, cols);
    buf_put_bytes(&b, entry_cols);
    return buf_bytes(&b);
}

struct kv index_note_taken(struct arena *a, uint32_t location_id, bool expires)
{
    return (struct kv){note_key(a, location_id, NOTE_TAKEN, BYTES_NONE, BYTES_NONE),
                       expires ? VERSION_EXPIRES : VERSION};
}

bool index_note_expires(bytes taken_value)
{
    return bytes_equal(taken_value, VERSION_EXPIRES);
}

struct kv index_note_mark(struct arena *a, uint32_t location_id, bytes cols, bytes entry_cols)
{
    return (struct kv){note_key(a, location_id, NOTE_MARK, cols, entry_cols), VERSION};
}

struct key_range index_note_marks(struct arena *a, uint32_t location_id)
{
    return (struct key_range){note_key(a, location_id, NOTE_MARK_OF_ENTRY, BYTES_NONE, BYTES_NONE),
                              note_key(a, location_id, NOTE_MARK + 1, BYTES_NONE, BYTES_NONE)};
}

bytes index_note_cols(bytes mark_key, bool *of_entry)
{
    *of_entry = bytes_u8(mark_key)[KEY_PREFIX_BYTES] == NOTE_MARK_OF_ENTRY;
    return bytes_skip(mark_key, KEY_PREFIX_BYTES + 1);
}
