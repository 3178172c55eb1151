/* chunk.h: a column of a row group: its values as they come, then its pages.
 *
 * The encoding is chosen when all values are there: few different ones as numbers of a dictionary,
 * whole numbers as differences, texts that begin alike as differences from the text before, all
 * else PLAIN; what is not clear is tried with the first SAMPLE values, packed. */
#ifndef PARQUET_CHUNK_H
#define PARQUET_CHUNK_H

#include "parquet/page_index.h"
#include "parquet/thrift.h"
#include "widerow.h"

struct ZSTD_CCtx_s;

struct chunk {
    enum wr_type type;
    bool key;              /* each row has a value */
    struct thrift values;  /* 8 bytes each, a boolean in one; of texts their bytes alone */
    struct thrift lengths; /* of texts, 4 bytes each */
    struct thrift present; /* a bit for each row, unless it is a key's */
    uint32_t rows, stored; /* stored: values */
    /* Once it is packed. */
    struct thrift pages;     /* as they will be written, the dictionary first */
    size_t dictionary;       /* bytes of its page; 0: there is none */
    uint64_t raw_bytes;      /* of the pages before compression, with their headers */
    unsigned encodings;      /* a bit for each that the pages have */
    struct page_notes notes; /* of the pages of values */
};

void chunk_release(struct chunk *k);
void chunk_clear(struct chunk *k);

/* `value` NULL: the row has none. */
void chunk_put(struct chunk *k, const struct wr_value *value);
/* So many rows without a value. */
void chunk_put_absent(struct chunk *k, uint32_t rows);

void chunk_pack(struct chunk *k, struct ZSTD_CCtx_s *zstd);

#endif
