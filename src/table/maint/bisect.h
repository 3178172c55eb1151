/* bisect.h: a key among others, found by bisecting them as numbers. */
#ifndef TABLE_MAINT_BISECT_H
#define TABLE_MAINT_BISECT_H

#include "base/ctx.h"

/* How much is stored below `key`, counted from wherever the caller likes, in *out. */
typedef int bisect_size_fn(void *arg, bytes key, uint64_t *out);

/* The key in the middle between low and high as numbers, in the arena; false: they are too near
 * each other, or not in order. */
bool bisect_midpoint(struct arena *a, bytes low, bytes high, bytes *out);

/* A key in [low, high], in the arena, below which about `target` bytes lie; the search ends as soon
 * as what lies below is less than `slack` bytes from that. The key need not be one of a row, nor be
 * well formed. Asks `below` some dozens of times. */
int bisect_find(struct arena *a, bytes low, bytes high, uint64_t target, uint64_t slack,
                bisect_size_fn *below, void *arg, bytes *out);

/* The same, but tells apart keys that have up to some 1,000 bytes in common, for which it asks
 * thousands of times. */
int bisect_find_about(struct arena *a, bytes low, bytes high, uint64_t target, uint64_t slack,
                      bisect_size_fn *below, void *arg, bytes *out);

#endif
