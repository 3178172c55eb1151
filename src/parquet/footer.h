/* footer.h: what stands at the end of a Parquet file: its columns, and where their values are.
 *
 * Only flat files: a column that is a list, a map or a struct is refused by its name. */
#ifndef PARQUET_FOOTER_H
#define PARQUET_FOOTER_H

#include "base/ctx.h"
#include "parquet/format.h"
#include "widerow.h"

#define PARQUET_COLUMNS_MAX 2048

enum parquet_meaning {
    MEANS_ITSELF,
    MEANS_UNSIGNED, /* of 32 or 64 bits */
    MEANS_DECIMAL,
    MEANS_DATE,
    MEANS_TIME,
    MEANS_TIMESTAMP,
    MEANS_UUID,
    MEANS_HALF_FLOAT,
};

struct parquet_leaf {
    bytes name;
    enum parquet_physical physical;
    uint32_t length; /* of PHYSICAL_FIXED */
    bool optional;
    enum parquet_meaning meaning;
    uint32_t scale;    /* of decimals: digits behind the point */
    uint64_t units_s;  /* of times: units in a second */
    enum wr_type type; /* BIGINT, DOUBLE, BOOLEAN, VARCHAR or VARBINARY */
};

struct parquet_chunk {
    int codec;
    uint64_t values;
    uint64_t offset, size; /* of its pages in the file, within it */
};

struct parquet_group {
    uint64_t rows;
    const struct parquet_chunk *chunks; /* one a leaf */
};

struct parquet_footer {
    const struct parquet_leaf *leaves;
    size_t leaf_count;
    const struct parquet_group *groups;
    size_t group_count;
    uint64_t rows;
    bytes key_note; /* of our own writer (writer.h); empty: none */
};

/* Reads the footer's bytes, all between its beginning and its length, of a file of `file_size`
 * bytes. What is found lives in the arena of c, and points into `text`. E_PARAMETER: says why. */
int parquet_footer_read(struct ctx *c, bytes text, uint64_t file_size, struct parquet_footer *out);

#endif
