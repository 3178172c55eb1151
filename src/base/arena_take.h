/* arena_take.h: a large piece of an arena that stays when the arena goes. */
#ifndef BASE_ARENA_TAKE_H
#define BASE_ARENA_TAKE_H

#include "base/bytes.h"

struct arena;

/* What was allocated at once, to be freed by mem_free(). */
struct arena_piece {
    uint8_t *memory;
    size_t size; /* bytes that the arena counted for it */
    size_t at;   /* where the part begins that was asked for */
};

/* Takes out of the arena the memory in which `part` lies, so that it is the caller's. It must be
 * more than a megabyte, which has no other's bytes in it; have `room` bytes in front of the part,
 * which may then be written over; and be half filled by the part. False: it is not, and all stays
 * as it is. No mark of the arena that was made before may be gone back to. */
bool arena_take(struct arena *a, bytes part, size_t room, struct arena_piece *out);

#endif
