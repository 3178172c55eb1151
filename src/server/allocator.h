/* allocator.h: how jemalloc is set, where it is linked in: what a server that is free gives back to
 * the system, and how soon. */
#ifndef SERVER_ALLOCATOR_H
#define SERVER_ALLOCATOR_H

#include <stdint.h>

/* A server that may use `memory` bytes keeps freed ones for a time that fits: the less it may use,
 * the shorter. To be called once, before other threads are started. */
void allocator_fit(uint64_t memory);

#endif
