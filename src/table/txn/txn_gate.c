#include "table/txn/txn_gate.h"

#include "base/port.h"

#include <string.h>
#include <xxhash.h>

static struct txn_gate **gate_at(struct txn_gates *all, bytes key, uint64_t hash)
{
    struct txn_gate **at = &all->buckets[hash % TXN_GATE_BUCKETS];

    while (*at && !((*at)->hash == hash && bytes_equal((*at)->key, key)))
        at = &(*at)->chain;
    return at;
}

struct txn_gate *txn_gate_get(struct txn_gates *all, bytes key)
{
    uint64_t hash = XXH3_64bits(key.ptr, key.len);
    struct txn_gate **at = gate_at(all, key, hash), *g = *at;

    if (g)
        return g;
    g = mem_zalloc(sizeof(*g) + key.len);
    memcpy(g + 1, key.ptr, key.len);
    g->key = (bytes){(const char *)(g + 1), key.len};
    g->hash = hash;
    *at = g;
    return g;
}

void txn_gate_put(struct txn_gates *all, struct txn_gate *g)
{
    if (g->inside || g->owner)
        return;
    *gate_at(all, g->key, g->hash) = g->chain;
    mem_free(g);
}
