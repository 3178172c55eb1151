/* terms_writer.h: the dictionary of a field and its postings, term after term. */
#ifndef SEARCH_SEGMENT_TERMS_WRITER_H
#define SEARCH_SEGMENT_TERMS_WRITER_H

#include "search/segment/image.h"

struct terms_writer {
    uint32_t documents; /* of the segment */
    bool positions;     /* TEXT: with frequencies and positions */
    uint32_t terms;
    size_t first_post; /* of the term under way */
    size_t first_position;
    struct vector ends, text, docs, post_at, posts, freqs, position_at, position, skip_at, skips;
    struct vector sample_ends, samples;
};

/* Begins as zeros but for `documents` and `positions`. Terms come ascending, and a term's documents
 * do. */
void terms_begin(struct terms_writer *w, bytes term);
/* A document of the term, and TEXT's positions in it, ascending; `count` of them, at least one. */
void terms_add(struct terms_writer *w, uint32_t doc, const uint32_t *positions, uint32_t count);
void terms_end(struct terms_writer *w);
/* Puts all sections into the image and frees what it holds. */
void terms_finish(struct terms_writer *w, struct image_writer *image, size_t field);

#endif
