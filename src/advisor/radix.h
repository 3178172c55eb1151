/* radix.h: sorting numbers by their bytes, lowest byte first. */
#ifndef ADVISOR_RADIX_H
#define ADVISOR_RADIX_H

#include <stdint.h>

/* Sorts n keys with a 32-bit payload each, lowest first; stable. */
void radix_sort(uint64_t *keys, uint32_t *payload, uint32_t n);

#endif
