#include "parquet/runs.h"

uint64_t bits_take(struct bits *b, unsigned width)
{
    uint64_t value = 0;
    unsigned have = 0;

    if (width <= 56 && (uint64_t)(b->end - b->data) >= 8 &&
        b->at / 8 <= (uint64_t)(b->end - b->data) - 8) {
        value = load_u64(b->data + b->at / 8) >> b->at % 8;
        b->at += width;
        return value & ((UINT64_C(1) << width) - 1);
    }
    while (have < width) {
        uint64_t byte = b->at / 8;
        unsigned from = (unsigned)(b->at % 8), n = 8 - from;
        uint64_t part = byte < (uint64_t)(b->end - b->data) ? b->data[byte] >> from : 0;

        if (n > width - have) {
            n = width - have;
            part &= (1u << n) - 1;
        }
        value |= part << have;
        have += n;
        b->at += n;
    }
    return value;
}

struct runs runs_of(bytes in, unsigned width)
{
    struct runs r = {.in = reader_of(in), .width = width};

    r.in.bad |= width > 32;
    return r;
}

/* The next run's head. Its packed bits may be short of what the last eight numbers would take. */
static void begin_run(struct runs *r)
{
    uint64_t head = read_varint(&r->in), size;

    r->packed = head & 1;
    r->left = head >> 1;
    if (!r->packed) {
        r->value = 0;
        for (unsigned i = 0; i < (r->width + 7) / 8; i++)
            r->value |= (uint32_t)read_u8(&r->in) << 8 * i;
    } else if (r->left > UINT32_MAX) {
        r->in.bad = true;
    } else {
        size = r->left * r->width;
        r->left *= 8;
        if (size > reader_left(&r->in) && r->left > 8 && size > reader_left(&r->in) + r->width)
            r->in.bad = true;
        if (size > reader_left(&r->in))
            size = reader_left(&r->in);
        r->bits = (struct bits){r->in.at, r->in.at + size, 0};
        r->in.at += size;
    }
    r->in.bad |= r->left == 0;
}

uint32_t runs_take(struct runs *r)
{
    if (r->left == 0 && !r->in.bad)
        begin_run(r);
    if (r->in.bad)
        return 0;
    r->left--;
    return r->packed ? (uint32_t)bits_take(&r->bits, r->width) : r->value;
}

#define BLOCK_MAX 65536
#define MINIS_MAX 512

struct deltas deltas_of(bytes in)
{
    struct deltas d = {.in = reader_of(in)};

    d.block = read_varint(&d.in);
    d.minis = read_varint(&d.in);
    d.left = read_varint(&d.in);
    d.value = (uint64_t)unzigzag(read_varint(&d.in));
    d.first = true;
    if (d.block == 0 || d.block > BLOCK_MAX || d.minis == 0 || d.minis > MINIS_MAX ||
        d.block % d.minis || d.block / d.minis % 8)
        d.in.bad = true;
    d.mini_at = d.minis;
    return d;
}

/* The next part of a block, of which the last may be left out behind the last number. */
static void begin_mini(struct deltas *d)
{
    uint64_t size;

    if (d->mini_at == d->minis) {
        d->min = (uint64_t)unzigzag(read_varint(&d->in));
        d->widths = read_bytes(&d->in, d->minis);
        d->mini_at = 0;
        if (d->in.bad)
            return;
    }
    d->mini_left = d->block / d->minis;
    d->width = bytes_u8(d->widths)[d->mini_at++];
    size = d->mini_left * d->width / 8;
    if (d->width > 64 || size > reader_left(&d->in)) {
        d->in.bad = true;
        return;
    }
    d->bits = (struct bits){d->in.at, d->in.at + size, 0};
    d->in.at += size;
}

int64_t deltas_take(struct deltas *d)
{
    if (d->in.bad || d->left == 0) {
        d->in.bad = true;
        return 0;
    }
    d->left--;
    if (d->first) {
        d->first = false;
        return (int64_t)d->value;
    }
    if (d->mini_left == 0)
        begin_mini(d);
    if (d->in.bad)
        return 0;
    d->mini_left--;
    d->value += d->min + bits_take(&d->bits, d->width);
    return (int64_t)d->value;
}
