/* source.h: a file of known size that is read at any place, for the reader. */
#ifndef PARQUET_SOURCE_H
#define PARQUET_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct parquet_source {
    /* Reads n bytes, all of them, which are within the size. False: it could not, and has put why
     * into `why` (a text of why_size bytes). */
    bool (*read)(void *arg, uint64_t offset, void *buf, size_t n, char *why, size_t why_size);
    void *arg;
    uint64_t size;
    size_t read_bytes; /* at once, at least; 0: as for a file */
};

#endif
