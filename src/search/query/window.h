/* window.h: so many documents of a segment, one after the other, as bits; windows are asked in
 * ascending order. */
#ifndef SEARCH_QUERY_WINDOW_H
#define SEARCH_QUERY_WINDOW_H

#include "base/port.h"

#include <stdbool.h>
#include <stdint.h>

#define WINDOW_DOCS 4096
#define WINDOW_WORDS (WINDOW_DOCS / 64)

static inline bool window_empty(const uint64_t *bits)
{
    uint64_t any = 0;

    for (int i = 0; i < WINDOW_WORDS; i++)
        any |= bits[i];
    return !any;
}

/* For each set bit: `i` is the document's place in the window. */
#define WINDOW_EACH(bits, i)                                                                       \
    for (uint32_t word_ = 0; word_ < WINDOW_WORDS; word_++)                                        \
        for (uint64_t rest_ = (bits)[word_], i = 0;                                                \
             rest_ && (i = word_ * 64 + (uint32_t)__builtin_ctzll(rest_), 1); rest_ &= rest_ - 1)

static inline void window_fill_scores(const uint64_t *bits, float *scores, float value)
{
    WINDOW_EACH(bits, i)
    scores[i] = value;
}

/* How many bits are set. Without the instruction that x86 has since 2008, which builds for all of
 * its processors do not use, the compiler's own is a call. */
static inline uint32_t word_count(uint64_t w)
{
    w -= w >> 1 & 0x5555555555555555;
    w = (w & 0x3333333333333333) + (w >> 2 & 0x3333333333333333);
    w = (w + (w >> 4)) & 0x0f0f0f0f0f0f0f0f;
    return (uint32_t)(w * 0x0101010101010101 >> 56);
}

static inline uint32_t window_count(const uint64_t *bits)
{
    uint32_t count = 0;

    for (int i = 0; i < WINDOW_WORDS; i++)
        count += word_count(bits[i]);
    return count;
}

#endif
