/* arena_full.h: bounds of arenas, for who makes many small things of what a client says. */
#ifndef BASE_ARENA_FULL_H
#define BASE_ARENA_FULL_H

#include "base/arena.h"

/* Are `size` bytes more too much for all arenas together (arena.full)? To be asked now and then;
 * unlike arena_try_alloc() it lets nobody off. */
static inline bool arena_is_full(const struct arena *a, size_t size)
{
    return a->full && a->full(a->full_arg, a->used, size);
}

#endif
