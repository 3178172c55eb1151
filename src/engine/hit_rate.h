/* hit_rate.h: how often gets find what they ask for in memory, so that memory is not asked in vain.
 *
 * A get whose block is not cached costs two lookups: memory is asked first, by the thread that
 * serves the request, and the reader begins anew. Where hardly anything is found the first one is
 * left out, but for one of HIT_RATE_TRY, which tell when that changes.
 *
 * Kept by client and partition, so that who reads what is in memory is answered at once, whatever
 * others read. Two of one hash share a rate. Any thread may call; of two that count at the same
 * time one may be lost. */
#ifndef ENGINE_HIT_RATE_H
#define ENGINE_HIT_RATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define HIT_RATE_SLOTS 256
#define HIT_RATE_TRY 16
/* Handing a get over costs some three times what asking memory does, so that three misses to a hit
 * are even. */
#define HIT_RATE_COLD (HIT_RATE_ONE / 4 * 3)
#define HIT_RATE_ONE 65536
#define HIT_RATE_WEIGHT 32 /* of so many asked lately the share is taken */

/* All zero: everything is taken to be in memory. */
struct hit_rate {
    atomic_uint misses[HIT_RATE_SLOTS]; /* share of those that were asked, of HIT_RATE_ONE */
    atomic_uint left_out[HIT_RATE_SLOTS];
};

static inline unsigned hit_rate_slot(uint64_t client, uint64_t partition)
{
    return (unsigned)((client ^ partition * 0xD1342543DE82EF95ull) * 0x9E3779B97F4A7C15ull >> 56);
}

_Static_assert(HIT_RATE_SLOTS == 256, "hit_rate_slot() takes eight bits");

/* True: memory is to be asked, and hit_rate_add() told what came of it. */
static inline bool hit_rate_asks(struct hit_rate *h, unsigned slot)
{
    unsigned n;

    if (atomic_load_explicit(&h->misses[slot], memory_order_relaxed) < HIT_RATE_COLD)
        return true;
    n = atomic_load_explicit(&h->left_out[slot], memory_order_relaxed) + 1;
    atomic_store_explicit(&h->left_out[slot], n, memory_order_relaxed);
    return n % HIT_RATE_TRY == 0;
}

static inline void hit_rate_add(struct hit_rate *h, unsigned slot, bool hit)
{
    unsigned misses = atomic_load_explicit(&h->misses[slot], memory_order_relaxed), was = misses;

    misses -= misses / HIT_RATE_WEIGHT;
    if (!hit)
        misses += HIT_RATE_ONE / HIT_RATE_WEIGHT;
    if (misses != was)
        atomic_store_explicit(&h->misses[slot], misses, memory_order_relaxed);
}

#endif
