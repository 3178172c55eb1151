/* rados_omap.h: how a partition's keys and values stand in the omap of its object.
 *
 * Bounds of a listing are C strings there and a listing begins behind a key, never at one; an empty
 * value cannot be told from an absent key in a comparison. So
 *
 *   key     'k', the bytes with 0x00, 0x01, 0x02 written as 0x02 0x02, 0x02 0x03, 0x02 0x04, and
 *           0x01 at the end: no NUL, in the order of the plain keys, and the form without its last
 *           byte sorts behind every lower key and before this one.
 *   value   'v' and the bytes, or, from OMAP_HASH_MIN bytes on, 'w', 22 characters that hash them,
 *           ' ', and the bytes: two short comparisons guard a long value.
 *
 * Other first bytes than 'k' are free for marks. doc/format.md describes the same for readers. */
#ifndef ENGINE_RADOS_OMAP_H
#define ENGINE_RADOS_OMAP_H

#include "base/arena.h"

#define OMAP_FIRST "k"
#define OMAP_BEHIND "l" /* above all keys */
#define OMAP_END 0x01
#define OMAP_HASH_MIN 1024
#define OMAP_HASH_CHARS 22
#define OMAP_HEAD_HASHED (1 + OMAP_HASH_CHARS + 1)

/* In the arena, with a NUL behind it that is not counted. */
bytes omap_key(struct arena *a, bytes key);
/* The greatest bound below `key`: a listing that starts behind it begins with key. */
bytes omap_before(struct arena *a, bytes key);
/* The bound that [start, end) share: every key in between begins with it. `end` empty: none. */
bytes omap_prefix(struct arena *a, bytes start, bytes end);
/* False: not such a key. */
bool omap_key_decode(struct arena *a, bytes stored, bytes *key);

bytes omap_value(struct arena *a, bytes value);
/* A view into `stored`. False: not such a value. */
bool omap_value_decode(bytes stored, bytes *value);
/* Gives the bounds of a hashed value (len >= OMAP_HASH_MIN): its stored form is above `low` and
 * below `high`, and no other value's is. */
void omap_hash_bounds(struct arena *a, bytes value, bytes *low, bytes *high);

#endif
