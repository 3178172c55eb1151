/* column.h: the values of one column in one row group, one by one: levels, dictionary and encodings
 * undone, and turned into the type that the column has with us.
 *
 *   signed whole numbers, dates and times    BIGINT; a date is days, a time of day or a timestamp
 *                                            units of the file (of INT96 nanoseconds), since
 *                                            1970-01-01 UTC; as texts, if wanted: 2024-02-29,
 *                                            12:30:00.5, 2024-02-29 12:30:00.5
 *   FLOAT, DOUBLE, half floats               DOUBLE
 *   texts, enums, JSON, decimals, UUIDs      VARCHAR
 *   other bytes                              VARBINARY */
#ifndef PARQUET_COLUMN_H
#define PARQUET_COLUMN_H

#include "parquet/pages.h"
#include "parquet/runs.h"

#define COLUMN_TEXT_BYTES 64 /* of a number as a text */

struct column {
    struct pages pages; /* its source, leaf and message are set by the caller */
    bool as_text;       /* dates and times are wanted as texts; set by the caller */
    uint64_t rows_left; /* of the chunk */
    uint32_t page_left; /* rows of the page */
    int encoding;
    bool has_levels;
    struct runs levels, indexes;
    struct reader plain;
    uint64_t bit; /* of PLAIN booleans, of BYTE_STREAM_SPLIT the value's number */
    struct deltas deltas, prefixes;
    bytes texts; /* behind the lengths of DELTA_LENGTH_BYTE_ARRAY */
    size_t text_at;
    uint32_t *lengths; /* of a page's texts, where they stand in front of them */
    size_t length_count, length_at, lengths_size;
    uint8_t *last; /* DELTA_BYTE_ARRAY: the value before */
    size_t last_len, last_size;
    struct wr_value *dictionary;
    size_t dictionary_count, dictionary_bytes; /* of both */
    uint8_t *dictionary_data;                  /* that its values point into */
    char text[COLUMN_TEXT_BYTES];
};

/* Begins with a chunk; memory of an earlier one is used again. */
void column_begin(struct column *k, const struct parquet_chunk *chunk);
void column_release(struct column *k);

/* Bytes that it holds. */
size_t column_memory(const struct column *k);

enum column_result {
    COLUMN_VALUE,
    COLUMN_BEYOND, /* this value cannot be had in its type; the others can */
    COLUMN_FAULT   /* the file is damaged: message says why; nothing else follows */
};

/* The value of the next row, WR_NULL if there is none; a view until the next one is taken. */
enum column_result column_next(struct column *k, struct wr_value *out);

#endif
