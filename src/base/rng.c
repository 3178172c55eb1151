#include "base/rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

static uint64_t splitmix(uint64_t *x)
{
    uint64_t z = *x += 0x9E3779B97F4A7C15ull;

    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ z >> 27) * 0x94D049BB133111EBull;
    return z ^ z >> 31;
}

static uint64_t rotl(uint64_t x, int k)
{
    return x << k | x >> (64 - k);
}

void rng_init(struct rng *r, uint64_t seed)
{
    for (int i = 0; i < 4; i++)
        r->s[i] = splitmix(&seed);
}

uint64_t rng_next(struct rng *r)
{
    uint64_t *s = r->s, out = rotl(s[1] * 5, 7) * 9, t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotl(s[3], 45);
    return out;
}

uint64_t rng_below(struct rng *r, uint64_t n)
{
    uint64_t limit = -n % n, x; /* values under it would make small results likelier */

    do
        x = rng_next(r);
    while (x < limit);
    return x % n;
}

double rng_unit(struct rng *r)
{
    return (double)(rng_next(r) >> 11) * 0x1p-53;
}

void rng_secret(void *out, size_t n)
{
    uint8_t *p = out;

    while (n) {
        ssize_t got = getrandom(p, n, 0);

        if (got <= 0) {
            perror("widerow: getrandom");
            abort();
        }
        p += got;
        n -= (size_t)got;
    }
}
