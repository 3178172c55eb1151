/* rng.h: chance, from a seed when a run must be repeatable (xoshiro256**), from the system when it
 * must not be guessed. */
#ifndef BASE_RNG_H
#define BASE_RNG_H

#include <stddef.h>
#include <stdint.h>

struct rng {
    uint64_t s[4];
};

void rng_init(struct rng *r, uint64_t seed);
uint64_t rng_next(struct rng *r);
/* 0 to n-1, each as likely; n must not be 0. */
uint64_t rng_below(struct rng *r, uint64_t n);
/* [0, 1) */
double rng_unit(struct rng *r);

/* Bytes from the system that nobody can guess. Ends the process if the system has none. */
void rng_secret(void *out, size_t n);

#endif
