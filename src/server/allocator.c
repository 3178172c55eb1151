#include "server/allocator.h"

#include <stddef.h>
#include <sys/types.h>

#define DECAY_MS_MIN 100
#define DECAY_MS_MAX 500

/* Read by jemalloc when it starts: the memory that a burst took goes back to the system although no
 * request may follow that would give it back in passing (background_thread). That of more than 8 MB
 * in one piece would go back at once, and every large cell would be given its pages anew, one by
 * one: it goes as all other does (oversize_threshold), within half a second or one
 * (dirty_decay_ms), so that the next burst does not come on top of it. One arena a processor
 * (narenas_ratio) instead of four: a large cell is taken by one thread and given back by another,
 * and each arena keeps what was given back to it for itself. Threads keep no pieces of more than
 * 8 kB (lg_tcache_max): there may be some sixty of them, and most wait. */
extern const char *malloc_conf;
__attribute__((visibility("default"))) const char *malloc_conf =
    "background_thread:true,oversize_threshold:0,dirty_decay_ms:500,muzzy_decay_ms:0,narenas_"
    "ratio:1,lg_tcache_max:13";

/* Not there in builds with sanitizers. */
extern int mallctl(const char *name, void *old, size_t *old_size, void *new, size_t new_size)
    __attribute__((weak));

void allocator_fit(uint64_t memory)
{
    ssize_t decay_ms = (ssize_t)(memory >> 20) * 3 / 2;

    if (!mallctl)
        return;
    if (decay_ms < DECAY_MS_MIN)
        decay_ms = DECAY_MS_MIN;
    if (decay_ms > DECAY_MS_MAX)
        decay_ms = DECAY_MS_MAX;
    mallctl("arenas.dirty_decay_ms", NULL, NULL, &decay_ms, sizeof(decay_ms)); /* of new arenas */
    mallctl("arena.0.dirty_decay_ms", NULL, NULL, &decay_ms, sizeof(decay_ms));
}
