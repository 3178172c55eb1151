/* sketch.h: small summaries of streams that do not fit in memory.
 *
 * Values come as 64-bit hashes whose bits are all good (XXH3). A sketch belongs to one thread. */
#ifndef ADVISOR_SKETCH_H
#define ADVISOR_SKETCH_H

#include "base/bytes.h"

/* ---- how many different values: HyperLogLog ---- */

#define SKETCH_DISTINCT_BITS 12 /* standard error 1.04 / sqrt(2^12) = 1.6 % */

struct sketch_distinct {
    uint8_t ranks[1 << SKETCH_DISTINCT_BITS];
};

static inline void sketch_distinct_add(struct sketch_distinct *s, uint64_t hash)
{
    uint64_t rest = hash << SKETCH_DISTINCT_BITS | 1ull << (SKETCH_DISTINCT_BITS - 1);
    uint8_t rank = (uint8_t)(__builtin_clzll(rest) + 1);
    uint8_t *at = &s->ranks[hash >> (64 - SKETCH_DISTINCT_BITS)];

    if (rank > *at)
        *at = rank;
}

double sketch_distinct_count(const struct sketch_distinct *s);

/* ---- the heaviest values: count-min with the top kept beside it ----
 *
 * An estimate is never below the truth, and above it by more than e * total / SKETCH_WIDTH in fewer
 * than one case in e^SKETCH_DEPTH (it is far better for few values: updates are conservative). */

#define SKETCH_DEPTH 3
#define SKETCH_WIDTH_BITS 15
#define SKETCH_WIDTH (1u << SKETCH_WIDTH_BITS)
#define SKETCH_TOP 8
#define SKETCH_TEXT_BYTES 64

struct sketch_top {
    uint64_t hash;
    uint64_t weight;
    char text[SKETCH_TEXT_BYTES]; /* cut at this length */
    size_t text_len;
};

struct sketch_weights {
    uint64_t cells[SKETCH_DEPTH][SKETCH_WIDTH];
    uint64_t total;
    struct sketch_top top[SKETCH_TOP]; /* in no order until sketch_weights_sort() */
    size_t top_count;
    uint64_t top_least; /* a value that weighs no more is not among the top */
};

static inline uint32_t sketch_weights_cell(uint64_t hash, unsigned row)
{
    return (uint32_t)(hash >> (row * SKETCH_WIDTH_BITS)) & (SKETCH_WIDTH - 1);
}

/* Adds weight to a value. `text` is copied if the value is among the heaviest. */
void sketch_weights_add(struct sketch_weights *s, uint64_t hash, uint64_t weight, bytes text);

/* Has the cells of a value brought near, some time before it is added. */
static inline void sketch_weights_prefetch(const struct sketch_weights *s, uint64_t hash)
{
    for (unsigned row = 0; row < SKETCH_DEPTH; row++)
        __builtin_prefetch(&s->cells[row][sketch_weights_cell(hash, row)], 1);
}

/* What a value weighs, at most. */
uint64_t sketch_weights_of(const struct sketch_weights *s, uint64_t hash);

/* Heaviest first. */
void sketch_weights_sort(struct sketch_weights *s);

#endif
