/* image.h: the bytes of a segment, as they lie in memory and in storage: named sections, aligned so
 * that they are used in place, under one checksum. doc/decisions/0040-search-indexes.md has
 * them all. Numbers are little-endian, as all machines have them that Widerow runs on. */
#ifndef SEARCH_SEGMENT_IMAGE_H
#define SEARCH_SEGMENT_IMAGE_H

#include "base/ctx.h"
#include "search/segment/vector.h"

/* Stored: never change a number. */
enum section {
    SECTION_STATS = 1,        /* of a field: struct segment_stats */
    SECTION_KEY_ENDS = 2,     /* u32 a document, and one before: where its key ends */
    SECTION_KEYS = 3,         /* the keys, one behind the other */
    SECTION_STAMPS = 4,       /* i64 a document: milliseconds */
    SECTION_VALUES = 5,       /* i64 a value of a number, u32 of an ordinal, floats of a vector */
    SECTION_OFFSETS = 6,      /* u32 a document, and one: its first value. None: one value each */
    SECTION_ORDER_VALUES = 7, /* i64: all values of a number, ascending */
    SECTION_ORDER_DOCS = 8,   /* u32: the documents that go with them, ascending where equal */
    SECTION_TERM_ENDS = 9,    /* u32 a term, and one before */
    SECTION_TERMS = 10,       /* the terms, ascending */
    SECTION_TERM_DOCS = 11,   /* u32 a term: how many documents have it */
    SECTION_POST_AT = 12,     /* u64 a term: where its documents begin, in SECTION_POSTS */
    SECTION_POSTS = 13,       /* u32: documents, ascending; or a bit for each (posts_dense()) */
    SECTION_FREQS = 14,       /* u16, parallel to SECTION_POSTS: how often the term is there */
    SECTION_POSITION_AT = 15, /* u64 a term: where its positions begin */
    SECTION_POSITIONS = 16,   /* varints: distances of positions, document after document */
    SECTION_SKIP_AT = 17,     /* u32 a term: its first in SECTION_SKIPS */
    SECTION_SKIPS = 18,       /* u32: behind every POSITION_SKIP documents of a term, how many bytes
                                 of its positions went before */
    SECTION_LENGTHS = 19,     /* u32 a document: its tokens */
    SECTION_SAMPLE_ENDS = 20, /* u32 a term of SECTION_SAMPLES, and one before */
    SECTION_SAMPLES = 21, /* the first of every TERM_BLOCK terms. None, as in segments of before:
                             the terms are no more than one block, or looked for in all */
};

#define IMAGE_FIELD_NONE 0xffff /* of a section that is about no field */
#define POSITION_SKIP 128
#define TERM_BLOCK 512

struct image_writer {
    struct vector data, table;
    uint32_t count;
};

/* Appends a section. */
void image_put(struct image_writer *w, enum section section, size_t field, const void *data,
               size_t len);
/* Ends it: the whole image, to be freed by the caller with mem_free(); the writer is done with. */
void image_finish(struct image_writer *w, uint32_t documents, uint8_t **image, size_t *len);

/* A finished image, or stored bytes. */
struct image {
    const uint8_t *data;
    size_t len;
    uint64_t from, to; /* what of it is there: `data` is its byte `from` */
    uint32_t documents;
    uint32_t count;
    const uint8_t *table;
};

#define IMAGE_ROW 24 /* bytes of the table for each section */

/* An image that is known to be whole. */
void image_view(struct image *image, const uint8_t *data, size_t len);
/* False: the bytes are not whole. Checks the checksum and that all sections lie inside. */
bool image_open(struct image *image, const uint8_t *data, size_t len);
/* A section, or NULL, also if it is not in what is there; *len in bytes. */
const void *image_section(const struct image *image, enum section section, size_t field,
                          size_t *len);

#endif
