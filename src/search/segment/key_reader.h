/* key_reader.h: some keys of a stored segment, without all of them: blocks of keys come as they are
 * asked for. One thread. */
#ifndef SEARCH_SEGMENT_KEY_READER_H
#define SEARCH_SEGMENT_KEY_READER_H

#include "search/segment/parts.h"

struct key_reader {
    struct ctx *c;
    bool whole; /* PART_KEYS of each segment that is asked for is held */
    int rc;     /* keys that could not be read are empty, and this says why */
    /* The block: keys [first, end) of `segment`. */
    const struct segment *segment;
    uint32_t first, end;
    const uint32_t *ends; /* key_ends from `first` on */
    const uint8_t *keys;  /* from the first of the block on */
    struct held_parts held;
};

/* There until the next call, or of a segment in memory as long as that. A reader that is NULL is
 * one of whole parts. */
bytes key_reader_get(struct key_reader *r, const struct segment *s, uint32_t doc);
/* As segment_find(). */
uint32_t key_reader_find(struct key_reader *r, const struct segment *s, bytes key);
/* Holds nothing any more. */
void key_reader_end(struct key_reader *r);

#endif
