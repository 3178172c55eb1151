/* pages.h: the pages of one column in one row group, one after the other, unpacked.
 *
 * Memory is the page's size twice, as it is packed and unpacked; one of more than page_bytes_max is
 * refused. */
#ifndef PARQUET_PAGES_H
#define PARQUET_PAGES_H

#include "parquet/footer.h"
#include "parquet/source.h"

struct page {
    enum parquet_page type;
    uint32_t values;                             /* with those that are not there */
    int encoding, level_encoding;                /* enum parquet_encoding */
    uint32_t repetition_bytes, definition_bytes; /* of PAGE_DATA_V2: levels in front */
    bytes data;                                  /* unpacked, until the next page */
};

struct pages {
    const struct parquet_source *source;
    const struct parquet_leaf *leaf;
    size_t page_bytes_max;
    int codec;
    uint64_t at, end; /* in the file: what is not in the window yet */
    uint8_t *window;  /* window[from..to) was read and not taken */
    size_t from, to, window_size;
    uint8_t *data;
    size_t data_size;
    char *message; /* of message_size bytes: what was wrong */
    size_t message_size;
};

/* Begins with a chunk's first page; memory of an earlier one is used again. Begin with {0} and the
 * members source, leaf, page_bytes_max and message. */
void pages_begin(struct pages *p, const struct parquet_chunk *chunk);
void pages_release(struct pages *p);

/* The next page; those that are neither of values nor dictionaries are passed over. False: there is
 * none, and if something is wrong, message says what. */
bool pages_next(struct pages *p, struct page *out);

/* Says what is wrong with this column; returns false. */
bool pages_fault(struct pages *p, const char *what);

#endif
