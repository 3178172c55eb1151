#include "search/result/buckets.h"
#include "search/result/collect_memory.h"

#include <xxhash.h>

static uint64_t hash_pair(uint32_t parent, int64_t key)
{
    uint64_t h = (uint64_t)key * 0x9e3779b97f4a7c15ull ^ (uint64_t)parent * 0xc2b2ae3d27d4eb4full;

    return h ^ h >> 29;
}

static void buckets_grow(struct buckets *b)
{
    uint32_t room = b->room ? b->room * 2 : 64;

    b->list = collect_grow(b->k, b->list, b->room * sizeof(b->list[0]), room * sizeof(b->list[0]));
    b->room = room;
    b->size = room * 2ull;
    b->table = collect_alloc(b->k, b->size * sizeof(b->table[0]));
    for (uint32_t i = 0; i < b->count; i++) {
        size_t at = hash_pair(b->list[i].parent, b->list[i].key) & (b->size - 1);

        while (b->table[at])
            at = (at + 1) & (b->size - 1);
        b->table[at] = i + 1;
    }
}

uint32_t buckets_find(struct buckets *b, uint32_t parent, int64_t key)
{
    size_t at;

    if (b->count == b->room) {
        if (b->k->over)
            return UINT32_MAX;
        buckets_grow(b);
    }
    at = hash_pair(parent, key) & (b->size - 1);
    for (; b->table[at]; at = (at + 1) & (b->size - 1)) {
        const struct bucket *found = &b->list[b->table[at] - 1];

        if (found->parent == parent && found->key == key)
            return b->table[at] - 1;
    }
    if (b->k->over || b->k->buckets++ > BUCKETS_MAX) {
        b->k->over = true;
        return UINT32_MAX;
    }
    b->list[b->count] = (struct bucket){.parent = parent, .key = key};
    b->table[at] = ++b->count;
    return b->count - 1;
}

static void texts_grow(struct texts *t)
{
    uint32_t room = t->room ? t->room * 2 : 64;

    t->list = collect_grow(t->k, t->list, t->room * sizeof(t->list[0]), room * sizeof(t->list[0]));
    t->room = room;
    t->size = room * 2ull;
    t->table = collect_alloc(t->k, t->size * sizeof(t->table[0]));
    for (uint32_t i = 0; i < t->count; i++) {
        size_t at = XXH3_64bits(t->list[i].ptr, t->list[i].len) & (t->size - 1);

        while (t->table[at])
            at = (at + 1) & (t->size - 1);
        t->table[at] = i + 1;
    }
}

uint32_t texts_number(struct texts *t, bytes text)
{
    size_t at;

    if (t->count == t->room) {
        if (t->k->over)
            return 0;
        texts_grow(t);
    }
    at = XXH3_64bits(text.ptr, text.len) & (t->size - 1);
    for (; t->table[at]; at = (at + 1) & (t->size - 1))
        if (bytes_equal(t->list[t->table[at] - 1], text))
            return t->table[at] - 1;
    t->k->bytes += text.len;
    t->list[t->count] = arena_copy(&t->k->c->arena, text);
    t->table[at] = ++t->count;
    return t->count - 1;
}
