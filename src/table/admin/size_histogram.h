/* size_histogram.h: how what a table stores is spread over the order of its keys, where partitions
 * are objects (engine_one_key_space() is false). */
#ifndef TABLE_ADMIN_SIZE_HISTOGRAM_H
#define TABLE_ADMIN_SIZE_HISTOGRAM_H

#include "table/core/call.h"
#include "table/model/key.h"

/* Rows of one bucket. */
struct size_bin {
    bytes from, to; /* encoded key columns, or the beginning of some; empty: open */
    uint64_t bytes; /* stored for them, about: keys of all kinds */
    size_t partition;
    uint8_t bucket;
    bool fine; /* divided as finely as matters, or as can be */
};

struct size_histogram {
    struct size_bin *list; /* none is empty; in the order of `to` */
    size_t count;
    uint64_t total;
};

/* Bins of all of t between its first row and its last one, so small around the ends of the first
 * `max` pieces of `piece` bytes that the bins which go over such an end make up a sixteenth of a
 * piece, all buckets together. Only a partition in which such an end may lie is listed, or one of
 * which nobody knows what it holds; and once, unless writes or others' questions take the engine's
 * survey of it away meanwhile. After SIZE_HISTOGRAM_MS bins stay as they are: then a piece may be
 * wrong by a partition a bucket. Blocks; in the arena of the call, whose deadline it minds. */
#define SIZE_HISTOGRAM_MS 5000
int size_histogram_find(struct call *call, const struct table *t, bytes low, bytes high,
                        uint64_t piece, size_t max, struct size_histogram *out);

/* The keys, of kinds up to `last`, of the rows in [from, to) of one bucket, in the arena: how many
 * ranges. */
#define SIZE_BIN_KINDS KIND_LAST
size_t size_bin_ranges(struct arena *a, uint32_t table, uint8_t bucket, bytes from, bytes to,
                       enum key_kind last, struct key_range ranges[SIZE_BIN_KINDS]);

#endif
