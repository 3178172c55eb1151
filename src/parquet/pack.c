#include "parquet/pack.h"

#include "base/buf.h"

#define BLOCK 128
#define MINIS 4
#define MINI (BLOCK / MINIS)

unsigned pack_width(uint64_t v)
{
    return v ? 64 - (unsigned)__builtin_clzll(v) : 0;
}

/* Bits on their way into bytes, the lowest first. */
struct packer {
    uint8_t *to;
    unsigned __int128 bits;
    unsigned have;
};

static inline void put(struct packer *p, uint64_t v, unsigned width)
{
    p->bits |= (unsigned __int128)v << p->have;
    p->have += width;
    if (p->have < 64)
        return;
    store_u64(p->to, (uint64_t)p->bits);
    p->to += 8;
    p->bits >>= 64;
    p->have -= 64;
}

/* What is left, which is whole bytes. */
static void put_rest(struct packer *p)
{
    for (; p->have; p->have -= 8, p->bits >>= 8)
        *p->to++ = (uint8_t)p->bits;
}

void pack_indexes(struct thrift *t, const uint32_t *numbers, size_t count, unsigned width)
{
    struct packer p = {0};
    size_t groups = (count + 7) / 8;

    thrift_put_u8(t, (uint8_t)width);
    thrift_put_varint(t, (uint64_t)groups << 1 | 1);
    p.to = thrift_reserve(t, groups * width);
    for (size_t i = 0; i < count; i++)
        put(&p, numbers[i], width);
    for (size_t i = count; i < groups * 8; i++)
        put(&p, 0, width);
    put_rest(&p);
    t->len += groups * width;
}

/* Differences of a block, above the lowest one; behind the last number there are zeros. */
static void put_block(struct thrift *t, const uint64_t *deltas, size_t count)
{
    int64_t least = INT64_MAX;
    uint8_t widths[MINIS] = {0};
    struct packer p = {0};

    for (size_t i = 0; i < count; i++)
        least = (int64_t)deltas[i] < least ? (int64_t)deltas[i] : least;
    for (size_t mini = 0; mini * MINI < count; mini++) {
        uint64_t all = 0;

        for (size_t i = mini * MINI; i < count && i < (mini + 1) * MINI; i++)
            all |= deltas[i] - (uint64_t)least;
        widths[mini] = (uint8_t)pack_width(all);
    }
    thrift_put_varint(t, zigzag(least));
    thrift_put(t, widths, MINIS);
    p.to = thrift_reserve(t, (size_t)BLOCK * 8);
    for (size_t i = 0; i < (count + MINI - 1) / MINI * MINI; i++) {
        put(&p, i < count ? deltas[i] - (uint64_t)least : 0, widths[i / MINI]);
        if (i % MINI == MINI - 1)
            put_rest(&p);
    }
    t->len = (size_t)(p.to - t->data);
}

void pack_deltas(struct thrift *t, const uint8_t *values, size_t count)
{
    uint64_t deltas[BLOCK], last = count ? load_u64(values) : 0;

    thrift_put_varint(t, BLOCK);
    thrift_put_varint(t, MINIS);
    thrift_put_varint(t, count);
    thrift_put_varint(t, zigzag((int64_t)last));
    for (size_t from = 1; from < count; from += BLOCK) {
        size_t n = count - from < BLOCK ? count - from : BLOCK;

        for (size_t i = 0; i < n; i++) {
            uint64_t v = load_u64(values + 8 * (from + i));

            deltas[i] = v - last;
            last = v;
        }
        put_block(t, deltas, n);
    }
}
