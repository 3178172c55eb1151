/* partition.h: the ranges a table is split into, and what each is asked for.
 *
 * A partition is a half-open range of whole rows, in the order of (bucket, key). Its lower bound is
 * written as
 *     bucket (1 byte) | the partition key's columns, encoded as in keys
 * and is empty for the first partition of a table; the upper bound is the next one's lower bound.
 * So the rows of one partition-key value are in one partition. Only where a partition is an object
 * of its own, and one value has outgrown it, a bound has all key columns of a row, and the
 * value goes on behind it: schema.value_cut then tells that there may be such bounds. Keys of all
 * kinds begin with the whole key of their row, and no key is the beginning of another, so a bound
 * never divides a row from its cells.
 *
 * A map is as unchanging as the table that holds it: a split publishes a new table with a new map.
 * It has two levels, pages of partitions, and shares the pages without a change, and of the others
 * the partitions that stayed; so a split costs one page and the list of pages, however many
 * partitions there are. What a partition counts is sharded, so that counting takes no lock. */
#ifndef TABLE_MODEL_PARTITION_H
#define TABLE_MODEL_PARTITION_H

#include "engine/engine.h"
#include "table/model/schema.h"

#include <pthread.h>
#include <stdatomic.h>

/* What is counted at each access, since the partition was made or the database was opened. */
#define PARTITION_COUNTERS(X)                                                                      \
    X(reads)                                                                                       \
    X(writes)                                                                                      \
    X(read_units)                                                                                  \
    X(write_units)                                                                                 \
    X(read_bytes)                                                                                  \
    X(write_bytes)                                                                                 \
    X(refused)

struct partition_counts {
#define X(name) uint64_t name;
    PARTITION_COUNTERS(X)
#undef X
};

struct partition_shard {
#define X(name) _Alignas(8) atomic_ullong name;
    PARTITION_COUNTERS(X)
#undef X
    atomic_ullong accesses; /* accesses: every so manieth one is sampled */
};

#define PARTITION_SHARDS 4
#define PARTITION_SAMPLES 128

enum { PARTITION_READ, PARTITION_WRITE, PARTITION_WAYS };

/* Against what is reserved, second by second: what went above it, and what was not used, in
 * thousandths of a unit. */
struct partition_balance {
    atomic_ullong additional[PARTITION_WAYS];
    atomic_ullong wasted[PARTITION_WAYS];
    atomic_ullong rate[PARTITION_WAYS]; /* units a second, when last looked at */
};

/* Shared by all maps that hold it, from when it is first published to the end of the last request
 * that looked it up. */
struct partition {
    _Alignas(64) struct partition_shard shards[PARTITION_SHARDS];
    atomic_int refs;
    partition_id id;
    int64_t created_us;
    _Atomic int64_t
        spent_us[PARTITION_WAYS]; /* the allowance is used up to this moment (access.c) */
    atomic_ullong bytes;          /* stored, keys of all kinds, as last measured: */
    _Atomic int64_t measured_us;  /* when, monotonic clock; 0: never by this process */
    atomic_ullong measured_at;    /* write_bytes before */
    struct partition_balance balance;
    _Atomic int64_t idle_us; /* since when nobody asks much of it through this process; 0: is not */

    /* The newest sampled partition keys, as bounds of values. */
    pthread_mutex_t sample_lock; /* only tried, never waited for, by who serves requests */
    struct sample {
        uint8_t *ptr;
        size_t len, capacity;
    } * samples; /* NULL until the first one */
    unsigned sample_next, sample_count;

    /* Only the balancer's thread (balance.c). */
    struct partition_counts seen;  /* at its last look */
    int64_t hot_us;                /* since when; 0: is not */
    uint64_t warned_bytes;         /* the log has named it at this size */
    uint64_t unsplit_bytes;        /* a split was tried in vain at this size; 0: none was */
    int64_t retry_us;              /* a split has failed: none before then */
    struct partition *next_folded; /* in traffic.retired */
    bool retired;                  /* it has been put there. Under the traffic's lock */
};

struct partition_at {
    bytes start;
    struct partition *partition;
};

/* Partitions that follow one another: what one stored page lists (catalog_map.c), or all of a table
 * whose description lists them itself. */
struct map_page {
    atomic_int refs;
    uint64_t id;  /* of the stored page; 0: the description lists them */
    size_t count; /* at least 1 */
    struct partition_at at[];
};

/* Every partition is new. Texts are copied. */
struct map_page *map_page_new(uint64_t id, const struct schema_partition *list, size_t count);
struct map_page *map_page_ref(struct map_page *p);
void map_page_release(struct map_page *p);

struct partition_map {
    size_t count;           /* of partitions, at least 1 */
    struct partition *only; /* if there is but one */
    size_t page_count;
    struct map_slot {
        size_t first; /* index of its first partition */
        struct map_page *page;
    } * slots;
};

/* Takes over one reference to each page. */
void partition_map_init(struct partition_map *m, struct map_page *const *pages, size_t count);
/* The same pages. */
void partition_map_copy(struct partition_map *m, const struct partition_map *from);
void partition_map_release(struct partition_map *m);

/* The page that partition i stands in, as an index of slots. */
size_t partition_page(const struct partition_map *m, size_t i);
static inline const struct partition_at *partition_at(const struct partition_map *m, size_t i)
{
    const struct map_slot *s = &m->slots[partition_page(m, i)];

    return &s->page->at[i - s->first];
}

/* The partition of a row, by binary search; `cols` are its encoded key columns. */
struct partition *partition_search(const struct partition_map *m, uint8_t bucket, bytes cols);
static inline struct partition *partition_find(const struct partition_map *m, uint8_t bucket,
                                               bytes cols)
{
    return m->only ? m->only : partition_search(m, bucket, cols);
}
/* The one that begins at this bound, or NULL. */
struct partition_at *partition_starting(const struct partition_map *m, bytes start);

/* The page of that id and first bound, or NULL. */
struct map_page *partition_map_has(const struct partition_map *m, bytes start, uint64_t id);

/* The upper bound of partition i; empty: open. */
static inline bytes partition_end(const struct partition_map *m, size_t i)
{
    return i + 1 < m->count ? partition_at(m, i + 1)->start : BYTES_NONE;
}

/* Below, at or above zero: the row against a bound. An empty bound is below every row. */
int partition_compare(uint8_t bucket, bytes cols, bytes bound);

struct partition *partition_new(const struct schema_partition *s);
struct partition *partition_ref(struct partition *p);
void partition_release(struct partition *p);

/* The sum over the shards. */
struct partition_counts partition_counts(const struct partition *p);

/* The keys of all kinds in it were measured at `now_us`; `written` is its write_bytes from before.
 */
void partition_measured(struct partition *p, uint64_t stored, uint64_t written, int64_t now_us);

/* What the engine calls partition `id` of table `table`: all keys from bound to bound, of every
 * kind. In the arena. */
struct partition_spec partition_spec(struct arena *a, uint32_t table, partition_id id, bytes start,
                                     bytes end);

/* ---- what a table is asked for, whatever its partitions */

/* One a table, shared by all that were published under one id. */
struct traffic {
    atomic_int refs;
    pthread_rwlock_t route_lock; /* nothing is called under it */
    /* The newest (route.h); NULL, and so for good: an engine that is one map. Whether there is one
     * is asked without the lock. */
    struct partition_map *_Atomic route;
    pthread_mutex_t lock;
    struct partition *retired;      /* referenced: requests may still count there */
    struct partition_counts counts; /* of those that are gone for good */
    struct partition_balance balance;
    atomic_ullong splits, merges;
    atomic_ullong
        repartition_us_max; /* the longest of them, from its turn at the catalog to its end */
    atomic_bool
        notified_out_of_line; /* the other processes were notified that it has data out of line */

    /* Only the balancer's thread (balance.c). */
    struct partition_counts seen; /* at its last look */
    int64_t looked_us;            /* when that was; 0: never */
    int64_t repartition_us;       /* since when the same repartition is under way; 0: none */
    uint64_t repartition_id;      /* the first partition that it makes */
    size_t look_at;               /* the partition at which its next look goes on */
};

struct traffic *traffic_new(void);
struct traffic *traffic_ref(struct traffic *t);
void traffic_release(struct traffic *t);

/* From now on keys lie where `m` says. */
void traffic_reroute(struct traffic *t, const struct partition_map *m);

/* The map that follows `old`: partitions with the same id are taken over from it, the others of
 * `old` retire into `t`. `m` is not published yet, nor are pages of it that `old` has not. */
void partition_map_adopt(struct partition_map *m, const struct partition_map *old,
                         struct traffic *t);

/* The counts of the table, partitions that are no more included; *stored are the bytes in those of
 * `m`, which may be a map that another has followed. */
struct partition_counts traffic_counts(struct traffic *t, const struct partition_map *m,
                                       uint64_t *stored);

#endif
