/* buckets.h: the groups of a group-by: numbers for pairs of the group above and a key. */
#ifndef SEARCH_RESULT_BUCKETS_H
#define SEARCH_RESULT_BUCKETS_H

#include "search/result/collect.h"

struct bucket {
    uint32_t parent;
    int64_t key; /* a number, or the number of a text (texts_number()) */
    int64_t count;
    uint64_t last; /* the document that was counted last: it counts once */
};

struct buckets {
    struct collect *k;
    struct bucket *list;
    uint32_t count, room;
    uint32_t *table; /* number and one; 0: free */
    size_t size;
};

/* The number of the pair, made if need be; UINT32_MAX: there are too many. */
uint32_t buckets_find(struct buckets *b, uint32_t parent, int64_t key);

/* Distinct texts, numbered as they come. */
struct texts {
    struct collect *k;
    bytes *list;
    uint32_t count, room;
    uint32_t *table;
    size_t size;
};

uint32_t texts_number(struct texts *t, bytes text);

#endif
