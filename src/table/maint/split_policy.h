/* split_policy.h: when partitions are split, and where, and when they are merged. Only decisions:
 * nothing here touches storage, clocks or locks. */
#ifndef TABLE_MAINT_SPLIT_POLICY_H
#define TABLE_MAINT_SPLIT_POLICY_H

#include "base/limit.h"
#include "table/model/partition.h"

/* What is known of a partition. Times are how long it has been so, microseconds. */
struct split_view {
    uint64_t bytes;
    uint64_t rate[PARTITION_WAYS]; /* units a second */
    int64_t hot_us, idle_us;
    uint64_t unsplit_bytes; /* a split was tried in vain at this size; 0: none was */
};

/* Above four fifths of what one partition is good for, in either way. */
bool split_policy_is_hot(const struct limits *limits, const uint64_t rate[PARTITION_WAYS]);

/* Below a tenth of it in both. */
bool split_policy_is_idle(const struct limits *limits, const uint64_t rate[PARTITION_WAYS]);

/* Is it to be split because of what it stores? A split that failed (one partition-key value alone
 * or, where that is split too, one row) is tried again when it has grown by a quarter. */
bool split_policy_by_size(const struct limits *limits, const struct split_view *v);

/* Is it to be split because of what it is asked for? */
bool split_policy_by_load(const struct limits *limits, const struct split_view *v);

/* Are neighbours to be merged? Both have been idle for long, and together they are small. */
bool split_policy_merge(const struct limits *limits, const struct split_view *a,
                        const struct split_view *b);

/* The bound that divides sampled partition keys (bounds; sorted here) best. False: none leaves a
 * fifth of them on either side, as when one value is all the traffic, or there are too few. */
bool split_policy_key(bytes *samples, size_t count, bytes *out);

#endif
