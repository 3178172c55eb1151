/* page_index.h: where the pages of a chunk begin and between which values theirs lie, so that who
 * looks for a few rows reads a few pages: Parquet's statistics of a chunk, its column index and its
 * offset index. */
#ifndef PARQUET_PAGE_INDEX_H
#define PARQUET_PAGE_INDEX_H

#include "parquet/bounds.h"

/* A page of values. */
struct page_note {
    size_t at;     /* in the chunk */
    uint32_t size; /* with its header, as it is written */
    uint32_t row;  /* its first one, of the row group's */
    uint32_t rows, values;
    struct bounds bounds;
};

struct page_notes {
    struct page_note *list;
    uint32_t count, capacity;
};

void page_notes_release(struct page_notes *n);
void page_notes_put(struct page_notes *n, const struct page_note *note);

/* The struct Statistics of all pages, with its end. */
void page_index_put_statistics(struct thrift *t, enum wr_type type, const struct page_notes *n);

/* The struct ColumnIndex. False: nothing is written, since of a page no bounds are known. */
bool page_index_put_columns(struct thrift *t, enum wr_type type, const struct page_notes *n);

/* The struct OffsetIndex of a chunk that begins at `offset` of the file. */
void page_index_put_offsets(struct thrift *t, const struct page_notes *n, uint64_t offset);

#endif
