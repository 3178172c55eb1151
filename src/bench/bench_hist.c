#include "bench/bench_hist.h"

#define WIDTH (1u << BENCH_HIST_BITS)

/* Times below WIDTH have a bucket each; above, each power of two has WIDTH buckets. */
static unsigned bucket_of(uint64_t us)
{
    unsigned shift, index;

    if (us < WIDTH)
        return (unsigned)us;
    shift = 63 - (unsigned)__builtin_clzll(us) - BENCH_HIST_BITS;
    index = (shift + 1) * WIDTH + (unsigned)(us >> shift) - WIDTH;
    return index < BENCH_HIST_BUCKETS ? index : BENCH_HIST_BUCKETS - 1;
}

/* The largest time of a bucket. */
static uint64_t bucket_end(unsigned index)
{
    unsigned shift;

    if (index < WIDTH)
        return index;
    shift = index / WIDTH - 1;
    return ((uint64_t)(index % WIDTH + WIDTH + 1) << shift) - 1;
}

void bench_hist_add(struct bench_hist *h, int64_t us)
{
    uint64_t time = us > 0 ? (uint64_t)us : 0;

    h->count++;
    h->sum_us += time;
    if (time > h->max_us)
        h->max_us = time;
    h->buckets[bucket_of(time)]++;
}

void bench_hist_merge(struct bench_hist *into, const struct bench_hist *from)
{
    into->count += from->count;
    into->sum_us += from->sum_us;
    if (from->max_us > into->max_us)
        into->max_us = from->max_us;
    for (unsigned i = 0; i < BENCH_HIST_BUCKETS; i++)
        into->buckets[i] += from->buckets[i];
}

uint64_t bench_hist_at(const struct bench_hist *h, double part)
{
    uint64_t wanted = (uint64_t)(part * (double)h->count + 0.5), seen = 0;

    for (unsigned i = 0; i < BENCH_HIST_BUCKETS && h->count; i++) {
        seen += h->buckets[i];
        if (seen >= wanted && seen)
            return bucket_end(i) < h->max_us ? bucket_end(i) : h->max_us;
    }
    return h->max_us;
}
