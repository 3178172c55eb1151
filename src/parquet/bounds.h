/* bounds.h: between which values those of a page or a chunk lie, as Parquet's statistics tell it:
 * bytes of a value as PLAIN has them, texts without their length. Long texts are told by their
 * beginning, which for the greatest is the next one above. */
#ifndef PARQUET_BOUNDS_H
#define PARQUET_BOUNDS_H

#include "parquet/encode.h"

#define BOUND_BYTES 64

struct bound {
    uint8_t len;
    bool exact; /* a value is as it stands here */
    uint8_t data[BOUND_BYTES];
};

struct bounds {
    bool known; /* false: there is no value, or no bound above it that is short enough */
    struct bound min, max;
};

/* Those of a run; `out` of none is not known. */
void bounds_of(const struct value_run *run, struct bounds *out);

/* The order of two bounds of one type, as memcmp() tells it. */
int bound_compare(enum wr_type type, const struct bound *a, const struct bound *b);

#endif
