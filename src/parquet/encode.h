/* encode.h: a run of values in one of Parquet's encodings. */
#ifndef PARQUET_ENCODE_H
#define PARQUET_ENCODE_H

#include "parquet/format.h"
#include "parquet/thrift.h"
#include "widerow.h"

/* Values that stand one behind the other. */
struct value_run {
    enum wr_type type;
    const uint8_t *values;   /* as struct chunk has them */
    const uint8_t *lengths;  /* of texts */
    const uint32_t *numbers; /* of the dictionary; NULL: it has none */
    uint32_t count;
};

struct encoding {
    enum parquet_encoding name;
    /* ENCODING_RLE_DICTIONARY: bits of a number. ENCODING_DELTA_BYTE_ARRAY: the most bytes that a
     * text shares with the one before: what follows begins alike then, which packs better. */
    uint32_t width;
};

#define SHARED_MAX 64 /* longer prefixes are told as this */

static inline bool encode_is_text(enum wr_type type)
{
    return type == WR_VARCHAR || type == WR_VARBINARY;
}

/* Appends them: PLAIN of any type, DELTA_BINARY_PACKED of whole numbers, DELTA_BYTE_ARRAY of texts,
 * or RLE_DICTIONARY. */
void encode_values(struct thrift *page, const struct value_run *run, struct encoding encoding);

/* Adds to counts[n] how many texts share n bytes with the one before. */
void encode_count_shared(const struct value_run *run, uint32_t counts[SHARED_MAX + 1]);

#endif
