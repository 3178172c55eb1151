/* runs.h: numbers as Parquet packs them: runs of equal ones and of packed bits by turns (RLE), and
 * differences in blocks (DELTA_BINARY_PACKED). They are taken one by one; bytes that end too early
 * set `bad`. */
#ifndef PARQUET_RUNS_H
#define PARQUET_RUNS_H

#include "base/buf.h"

/* Bits, the lowest of a byte first. */
struct bits {
    const uint8_t *data, *end;
    uint64_t at; /* in bits */
};

/* The next number of `width` bits, at most 64; what is behind the end is zeros. */
uint64_t bits_take(struct bits *b, unsigned width);

struct runs {
    struct reader in;
    unsigned width; /* in bits, at most 32 */
    uint64_t left;  /* of the run */
    bool packed;
    uint32_t value; /* that repeats */
    struct bits bits;
};

struct runs runs_of(bytes in, unsigned width);
uint32_t runs_take(struct runs *r);

struct deltas {
    struct reader in; /* behind the last one, once it was taken: what follows the deltas */
    uint64_t left;    /* numbers that are still to come */
    uint64_t block, minis, mini_left, mini_at;
    uint64_t value, min;
    bool first;
    bytes widths; /* of the block's parts */
    unsigned width;
    struct bits bits;
};

struct deltas deltas_of(bytes in);
int64_t deltas_take(struct deltas *d);

#endif
