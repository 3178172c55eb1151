/* search_state.h: what is stored of a search index beside its segments: which these are, and how
 * far it has followed its table. Written at one with the bitmaps of what is gone; so a state is
 * what an index was at a moment. Stored (doc/format.md, "Search indexes"). */
#ifndef TABLE_SEARCH_SEARCH_STATE_H
#define TABLE_SEARCH_SEARCH_STATE_H

#include "base/buf.h"
#include "base/ctx.h"

struct search_state_segment {
    uint64_t number;
    uint64_t len; /* of the image */
    uint32_t documents;
    uint32_t gone; /* 0: there is no bitmap */
};

struct search_state {
    uint8_t phase;     /* enum search_phase */
    bool hidden;       /* as of struct search_index */
    uint64_t position; /* in the change log */
    bytes walked;      /* the last key that the walk has seen, encoded; ptr NULL: it begins */
    const struct search_state_segment *segments;
    size_t count;
};

/* The stored value, in the arena; and back, views of it and lists in the arena. E_CORRUPT. `index`:
 * the number of the index, which the checksum has in it. */
bytes search_state_encode(struct arena *a, uint64_t index, const struct search_state *s);
int search_state_decode(struct ctx *c, uint64_t index, bytes stored, struct search_state *out);

#endif
