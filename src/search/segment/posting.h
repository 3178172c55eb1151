/* posting.h: the documents of a term, ascending, how one is found in them, and the positions of
 * TEXT. */
#ifndef SEARCH_SEGMENT_POSTING_H
#define SEARCH_SEGMENT_POSTING_H

#include "base/port.h"

#include <stdbool.h>
#include <stdint.h>

/* The first of docs[at..count) that is not below `doc`: near ones are found soon. */
static inline uint32_t postings_seek(const uint32_t *docs, uint32_t at, uint32_t count,
                                     uint32_t doc)
{
    uint32_t step = 1, low, high;

    if (at == count || docs[at] >= doc)
        return at;
    while (step < count - at && docs[at + step] < doc)
        step *= 2;
    low = at + step / 2;
    high = step < count - at ? at + step : count;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;

        if (docs[mid] < doc)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static inline bool postings_have(const uint32_t *docs, uint32_t count, uint32_t doc)
{
    uint32_t low = 0, high = count;

    while (low < high) {
        uint32_t mid = low + (high - low) / 2;

        if (docs[mid] < doc)
            low = mid + 1;
        else
            high = mid;
    }
    return low < count && docs[low] == doc;
}

/* A varint of SECTION_POSITIONS; *p goes behind it. */
static inline uint32_t posting_read_position(const uint8_t **p)
{
    uint32_t v = 0;

    for (int shift = 0;; shift += 7) {
        uint8_t b = *(*p)++;

        v |= (uint32_t)(b & 0x7f) << shift;
        if (!(b & 0x80))
            return v;
    }
}

#endif
