#include "advisor/radix.h"

#include "base/port.h"

#include <string.h>

void radix_sort(uint64_t *keys, uint32_t *payload, uint32_t n)
{
    uint64_t *other_keys = mem_alloc(sizeof(*keys) * n), *k = keys, *ok = other_keys;
    uint32_t *other = mem_alloc(sizeof(*payload) * n), *p = payload, *op = other;
    uint64_t differ = 0;

    for (uint32_t i = 1; i < n; i++)
        differ |= keys[i] ^ keys[0];
    for (unsigned shift = 0; shift < 64; shift += 8) {
        uint32_t places[256] = {0}, at = 0;

        if ((differ >> shift & 255) == 0)
            continue; /* all alike in this byte */
        for (uint32_t i = 0; i < n; i++)
            places[k[i] >> shift & 255]++;
        for (size_t d = 0; d < 256; d++) {
            uint32_t here = places[d];

            places[d] = at;
            at += here;
        }
        for (uint32_t i = 0; i < n; i++) {
            uint32_t to = places[k[i] >> shift & 255]++;

            ok[to] = k[i];
            op[to] = p[i];
        }
        { /* what was written is read next */
            uint64_t *swap_keys = k;
            uint32_t *swap = p;

            k = ok;
            ok = swap_keys;
            p = op;
            op = swap;
        }
    }
    if (k != keys) {
        memcpy(keys, k, sizeof(*keys) * n);
        memcpy(payload, p, sizeof(*payload) * n);
    }
    mem_free(other_keys);
    mem_free(other);
}
