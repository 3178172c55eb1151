/* posting.h: the documents of a term, ascending, and how one is found in them. */
#ifndef SEARCH_QUERY_POSTING_H
#define SEARCH_QUERY_POSTING_H

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

#endif
