/* kept_range.h: a range whose keys it owns. All bytes zero is none. */
#ifndef ENGINE_KEPT_RANGE_H
#define ENGINE_KEPT_RANGE_H

#include "base/port.h"
#include "engine/engine.h"

#include <string.h>

struct kept_range {
    bool is; /* false: none */
    struct key_range range;
};

static inline bytes kept_key(bytes key)
{
    return bytes_of(memcpy(mem_alloc(key.len + 1), key.len ? key.ptr : "", key.len), key.len);
}

static inline void kept_range_free(struct kept_range *k)
{
    mem_free((void *)k->range.start.ptr);
    mem_free((void *)k->range.end.ptr);
    *k = (struct kept_range){0};
}

/* It is around both now: what it was, if it was any, and this one. Neither goes to the end of the
 * map. */
static inline void kept_range_widen(struct kept_range *k, const struct key_range *range)
{
    struct key_range both = *range;

    if (k->is && bytes_compare(k->range.start, both.start) < 0)
        both.start = k->range.start;
    if (k->is && bytes_compare(k->range.end, both.end) > 0)
        both.end = k->range.end;
    both = (struct key_range){kept_key(both.start), kept_key(both.end)};
    kept_range_free(k);
    *k = (struct kept_range){true, both};
}

#endif
