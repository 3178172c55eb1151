/* index_note.h: what the build of an index leaves in the index's location, behind all its entries,
 * until the index is complete: that its table files were taken over, and marks of entries
 * (index/entry.h). Without its own build nothing of it is there.
 *
 * Key: location | bucket 255 | kind 4 | one byte: 0, taken over; 1, a mark, followed by the key
 * columns of the entry. Value: a version, 1. */
#ifndef TABLE_MODEL_INDEX_NOTE_H
#define TABLE_MODEL_INDEX_NOTE_H

#include "engine/engine.h"

/* All in the arena. */
struct kv index_note_taken(struct arena *a, uint32_t location_id);
struct kv index_note_mark(struct arena *a, uint32_t location_id, bytes cols);
/* Where all marks are. */
struct key_range index_note_marks(struct arena *a, uint32_t location_id);

/* The key columns of the entry that a mark is of: a view into its key. */
bytes index_note_cols(bytes mark_key);

#endif
