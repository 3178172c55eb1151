/* index_note.h: what the build of an index leaves in the index's location, behind all its entries,
 * until the index is complete: that its table files were taken over, and marks of rows
 * (index/entry.h). Without its own build nothing of it is there.
 *
 * Key: location | bucket 255 | kind 4 | one byte: 0, taken over; 2, a mark, followed by the key
 * columns of the row and those of an entry that it had, if it had one; 1, a mark as older builds
 * left them, followed by the key columns of the entry. Value: a version, 1; of the first 2 if the
 * table had a time to live already when its rows were read. */
#ifndef TABLE_MODEL_INDEX_NOTE_H
#define TABLE_MODEL_INDEX_NOTE_H

#include "engine/engine.h"

/* All in the arena. */
struct kv index_note_taken(struct arena *a, uint32_t location_id, bool expires);
bool index_note_expires(bytes taken_value);
/* `entry_cols` may be empty. */
struct kv index_note_mark(struct arena *a, uint32_t location_id, bytes cols, bytes entry_cols);
/* Where all marks are: those of one row beside each other. */
struct key_range index_note_marks(struct arena *a, uint32_t location_id);

/* What stands in a mark's key behind the byte that says what it is: a view of it. *of_entry: an
 * older build left it, and it begins with the columns of the entry. */
bytes index_note_cols(bytes mark_key, bool *of_entry);

#endif
