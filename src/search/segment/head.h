/* head.h: what has to be known of a stored segment before any of its sections is read. Stored
 * (doc/format.md, "Search indexes"). */
#ifndef SEARCH_SEGMENT_HEAD_H
#define SEARCH_SEGMENT_HEAD_H

#include "base/arena.h"
#include "search/segment/segment.h"

struct segment_head {
    uint64_t len; /* of the image */
    uint32_t documents;
    uint32_t sections;
    const uint8_t *table; /* the image's table of sections, a row each */
    uint32_t fields;
    const uint8_t *stats; /* struct segment_stats of each field, as in SECTION_STATS */
    bytes first, last;    /* the keys of the first and the last document; none: empty */
};

/* The head of a segment whose image is whole and in memory, in the arena. */
bytes segment_head_make(struct arena *a, const struct segment *s);

/* Views of the bytes, which are not aligned. False: they are no head. */
bool segment_head_read(bytes stored, struct segment_head *out);

#endif
