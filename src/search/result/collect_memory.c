#include "search/result/collect_memory.h"

#include "base/late.h"

void *collect_alloc(struct collect *k, size_t size)
{
    void *room;

    k->bytes += size;
    k->over |= k->bytes > k->bytes_max;
    room = arena_try_alloc(&k->c->arena, size + 1);
    if (!room) { /* who asks needs it all the same, and stops then */
        k->over = true;
        room = arena_alloc(&k->c->arena, size + 1);
    }
    return memset(room, 0, size + 1);
}

void *collect_grow(struct collect *k, void *old, size_t old_bytes, size_t new_bytes)
{
    uint8_t *to = collect_alloc(k, new_bytes);

    if (old_bytes)
        memcpy(to, old, old_bytes);
    return to;
}

int collect_go_on(const struct collect *k)
{
    if (k->over)
        return fail(k->c, E_MEMORY,
                    "The aggregations of a search take more than %zu MiB of memory: ask for fewer "
                    "groups, or for fewer rows.",
                    k->bytes_max >> 20);
    return ctx_late(k->c) ? fail(k->c, E_BUSY, "The search took too long.") : E_OK;
}
