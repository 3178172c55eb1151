/* pack.h: the other way of runs.h: numbers in as few bits as they need, appended. */
#ifndef PARQUET_PACK_H
#define PARQUET_PACK_H

#include "parquet/thrift.h"

/* Bits that a number needs. */
unsigned pack_width(uint64_t v);

/* One run of packed numbers, of at most 32 bits each, as RLE_DICTIONARY's pages have it, the width
 * in front. */
void pack_indexes(struct thrift *t, const uint32_t *numbers, size_t count, unsigned width);

/* DELTA_BINARY_PACKED: `values` are little-endian, of 8 bytes each. */
void pack_deltas(struct thrift *t, const uint8_t *values, size_t count);

#endif
