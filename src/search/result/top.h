/* top.h: the first hits of an order, out of all that come. */
#ifndef SEARCH_RESULT_TOP_H
#define SEARCH_RESULT_TOP_H

#include "search/result/sort.h"

struct hit {
    bytes key; /* a view of the segment */
    float score;
    struct sort_value *values;
};

struct top {
    struct arena *arena;
    const struct sort *sort;
    size_t room;
    struct hit *hits; /* a heap, the last one in order at its root; sorted by top_finish() */
    size_t count, capacity;
    const struct sort_value *after; /* NULL: from the beginning; else what follows that hit */
    bytes after_key;
    struct sort_value *spare;
};

void top_init(struct top *t, struct arena *a, const struct sort *sort, size_t room);
void top_add(struct top *t, const struct segment *s, uint32_t doc, float score);
void top_finish(struct top *t);

#endif
