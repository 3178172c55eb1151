/* bench_zipf.h: numbers of which few come often and most seldom, as YCSB draws records. */
#ifndef BENCH_BENCH_ZIPF_H
#define BENCH_BENCH_ZIPF_H

#include "base/rng.h"

#define BENCH_ZIPF_THETA 0.99 /* YCSB's */

struct bench_zipf {
    uint64_t n;
    double alpha, zeta_n, eta;
};

/* For numbers from 0 to n-1; n is not 0. Takes some 50 ns times n. */
void bench_zipf_init(struct bench_zipf *z, uint64_t n);

/* Number i with a chance in proportion to 1 / (i + 1)^BENCH_ZIPF_THETA. */
uint64_t bench_zipf_next(const struct bench_zipf *z, struct rng *r);

/* Spreads neighbours over all of 64 bits, so that the popular records are not all in one place. */
uint64_t bench_zipf_scatter(uint64_t x);

#endif
