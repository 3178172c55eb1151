/* values_writer.h: the values of a field, document after document. */
#ifndef SEARCH_SEGMENT_VALUES_WRITER_H
#define SEARCH_SEGMENT_VALUES_WRITER_H

#include "search/segment/image.h"

/* Begins as zeros. */
struct values_writer {
    struct vector values, offsets;
    uint32_t documents, with; /* that came; that have a value */
    uint32_t count;
    bool uneven; /* some document has other than one value */
};

/* The next document's values, of `size` bytes each: 8 for numbers, 4 for ordinals. */
void values_add(struct values_writer *w, const void *values, uint32_t count, size_t size);
/* Puts the sections into the image, of numbers those of their order, too, and frees what it holds.
 */
void values_finish_numbers(struct values_writer *w, struct image_writer *image, size_t field);
void values_finish_plain(struct values_writer *w, struct image_writer *image, size_t field);

#endif
