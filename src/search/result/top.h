/* top.h: the first hits of an order, out of all that come. */
#ifndef SEARCH_RESULT_TOP_H
#define SEARCH_RESULT_TOP_H

#include "search/query/window.h"
#include "search/result/sort.h"
#include "search/segment/key_reader.h"

/* Key and texts among the values are views of the segment if all of it is in memory; else they are
 * copied to `own`, which is used again for the hit that comes in its place. */
struct hit {
    bytes key;
    float score;
    struct sort_value *values;
    uint8_t *own;
    size_t own_size;
};

struct top {
    struct arena *arena;
    const struct sort *sort;
    struct key_reader *keys; /* NULL: all keys of the segments are in memory */
    size_t room;
    struct hit *hits; /* a heap, the last one in order at its root; sorted by top_finish() */
    size_t count, capacity;
    const struct sort_value *after; /* NULL: from the beginning; else what follows that hit */
    bytes after_key;
    struct sort_value *spare;
    /* Of this segment no more hits with that first value come in: their keys are behind. */
    const struct segment *tied;
    int64_t tied_number;
    const struct segment *closed; /* by key: no more hits of this segment come in */
};

void top_init(struct top *t, struct arena *a, const struct sort *sort, size_t room);
void top_add(struct top *t, const struct segment *s, uint32_t doc, float score);
/* top_add() where the order has one sorter, of the number that is given. */
void top_add_number(struct top *t, const struct segment *s, uint32_t doc, int64_t number);
/* top_add() of each document of a window, `scores` by their places in it (NULL: the order needs
 * none). What the first value tells to be behind is left out before its tuple is made. */
void top_window(struct top *t, const struct segment *s, uint32_t base, const uint64_t *bits,
                const float *scores);
/* top_add() of one document where the order is by scores first, the best in front. */
void top_add_scored(struct top *t, const struct segment *s, uint32_t doc, float score);
/* Stands a hit whose first value is this number behind all that are kept? Its first sorter is of
 * numbers. */
bool top_ends_before(const struct top *t, int64_t number);
/* Where the order is by scores first, the best in front, and all places are taken: documents of the
 * segment behind those that were added do not come in if they score `most` or less. */
bool top_most(const struct top *t, const struct segment *s, float *most);
void top_finish(struct top *t);

#endif
