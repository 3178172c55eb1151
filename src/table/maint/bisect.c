/* bisect.c
 *
 * Each round halves the numbers that tell low and high apart: the eight bytes behind what the two
 * have in common. When eight bytes do not tell any more, the next eight do. */
#include "table/maint/bisect.h"

#include "base/buf.h"

#define ROUNDS 256
#define ROUNDS_MAX 8192

/* The eight bytes of `key` behind n bytes, as a number; missing bytes count as zero. */
static uint64_t bisect_number_at(bytes key, size_t n)
{
    uint64_t v = 0;

    for (size_t i = 0; i < 8; i++)
        v = v << 8 | (n + i < key.len ? bytes_u8(key)[n + i] : 0);
    return v;
}

static bytes bisect_key_of(struct arena *a, bytes like, size_t prefix, uint64_t number)
{
    uint8_t *p = arena_alloc(a, prefix + 8);

    memcpy(p, like.ptr, prefix);
    store_u64_be(p + prefix, number);
    return bytes_of(p, prefix + 8);
}

static size_t common_prefix(bytes a, bytes b)
{
    size_t n = 0;

    while (n < a.len && n < b.len && bytes_u8(a)[n] == bytes_u8(b)[n])
        n++;
    return n;
}

bool bisect_midpoint(struct arena *a, bytes low, bytes high, bytes *out)
{
    size_t prefix = common_prefix(low, high);
    uint64_t l = bisect_number_at(low, prefix), h = bisect_number_at(high, prefix);

    if (h <= l || h - l < 2)
        return false;
    *out = bisect_key_of(a, low, prefix, l + (h - l) / 2);
    return true;
}

static int bisect(struct arena *a, bytes low, bytes high, uint64_t target, uint64_t slack,
                  int rounds, bisect_size_fn *below, void *arg, bytes *out)
{
    bytes key;

    for (int round = 0; round < rounds && bisect_midpoint(a, low, high, &key); round++) {
        uint64_t size;

        TRY(below(arg, key, &size));
        if (size < target)
            low = key;
        else
            high = key;
        if ((size < target ? target - size : size - target) < slack) {
            *out = key;
            return E_OK;
        }
    }
    *out = high;
    return E_OK;
}

int bisect_find(struct arena *a, bytes low, bytes high, uint64_t target, uint64_t slack,
                bisect_size_fn *below, void *arg, bytes *out)
{
    return bisect(a, low, high, target, slack, ROUNDS, below, arg, out);
}

int bisect_find_about(struct arena *a, bytes low, bytes high, uint64_t target, uint64_t slack,
                      bisect_size_fn *below, void *arg, bytes *out)
{
    return bisect(a, low, high, target, slack, ROUNDS_MAX, below, arg, out);
}
