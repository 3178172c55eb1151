#include "search/result/collect_memory.h"

void *collect_alloc(struct collect *k, size_t size)
{
    k->bytes += size;
    k->over |= k->bytes > k->bytes_max;
    return arena_zalloc(&k->c->arena, size + 1);
}

void *collect_grow(struct collect *k, void *old, size_t old_bytes, size_t new_bytes)
{
    uint8_t *to = collect_alloc(k, new_bytes);

    if (old_bytes)
        memcpy(to, old, old_bytes);
    return to;
}
