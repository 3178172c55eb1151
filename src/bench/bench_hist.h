/* bench_hist.h: counts of times, in buckets whose width grows with the time: any percentile within
 * 1 % of the truth, in fixed memory. */
#ifndef BENCH_BENCH_HIST_H
#define BENCH_BENCH_HIST_H

#include <stdint.h>

#define BENCH_HIST_BITS 7 /* buckets to a power of two, as a power of two */
#define BENCH_HIST_BUCKETS (40 << BENCH_HIST_BITS)

struct bench_hist {
    uint64_t count;
    uint64_t sum_us;
    uint64_t max_us;
    uint64_t buckets[BENCH_HIST_BUCKETS];
};

/* A time in microseconds; a negative one counts as 0. */
void bench_hist_add(struct bench_hist *h, int64_t us);
void bench_hist_merge(struct bench_hist *into, const struct bench_hist *from);

/* The time that `part` (0 to 1) of all did not exceed; 0 if there were none. */
uint64_t bench_hist_at(const struct bench_hist *h, double part);

#endif
