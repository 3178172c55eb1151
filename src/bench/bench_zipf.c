/* bench_zipf.c: Gray and others, "Quickly Generating Billion-Record Synthetic Databases" (1994). */
#include "bench/bench_zipf.h"

#include <math.h>

void bench_zipf_init(struct bench_zipf *z, uint64_t n)
{
    double zeta_2 = 1 + pow(0.5, BENCH_ZIPF_THETA);

    *z = (struct bench_zipf){.n = n, .alpha = 1 / (1 - BENCH_ZIPF_THETA)};
    for (uint64_t i = 1; i <= n; i++)
        z->zeta_n += 1 / pow((double)i, BENCH_ZIPF_THETA);
    z->eta = (1 - pow(2.0 / (double)n, 1 - BENCH_ZIPF_THETA)) / (1 - zeta_2 / z->zeta_n);
}

uint64_t bench_zipf_next(const struct bench_zipf *z, struct rng *r)
{
    double u = rng_unit(r), uz = u * z->zeta_n;
    uint64_t i;

    if (uz < 1)
        return 0;
    if (uz < 1 + pow(0.5, BENCH_ZIPF_THETA))
        return z->n > 1;
    i = (uint64_t)((double)z->n * pow(z->eta * u - z->eta + 1, z->alpha));
    return i < z->n ? i : z->n - 1;
}

uint64_t bench_zipf_scatter(uint64_t x)
{
    x = (x ^ x >> 33) * 0xff51afd7ed558ccdu;
    x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53u;
    return x ^ x >> 33;
}
