/* segment.h: documents in the order of their keys, as they are searched. It never changes: which of
 * its documents are still there is a bitmap of its own (view.h). */
#ifndef SEARCH_SEGMENT_SEGMENT_H
#define SEARCH_SEGMENT_SEGMENT_H

#include "search/field/schema.h"
#include "search/segment/image.h"

#include <stdatomic.h>

/* What is told of a field of a segment beside its sections. */
struct segment_stats {
    uint64_t documents; /* that have a value */
    uint64_t tokens;    /* of TEXT */
};

/* One field of a segment: views of its image. What a field's kind does not have is NULL. */
struct segment_column {
    struct segment_stats stats;
    const int64_t *numbers;
    const uint32_t *ordinals; /* of terms */
    const float *vectors;     /* `dimension` floats each */
    const uint32_t *offsets;  /* NULL: every document has one value */
    uint32_t value_count;
    uint32_t order_count; /* as many as values */
    const int64_t *order_values;
    const uint32_t *order_docs;
    uint32_t sample_count; /* 0: there are none */
    const uint32_t *sample_ends;
    const uint8_t *samples;
    uint32_t term_count;
    const uint32_t *term_ends;
    const uint8_t *terms;
    const uint32_t *term_docs;
    const uint64_t *post_at;
    const uint32_t *posts;
    const uint16_t *freqs;
    const uint64_t *position_at;
    const uint8_t *positions;
    const uint32_t *skip_at;
    const uint32_t *skips;
    const uint32_t *lengths;
    uint32_t shortest; /* of them, of documents that have a word; 0: none has */
};

/* Parts of a stored segment, which come and go (parts.h). Each field has four. */
#define PART_KEYS 0
#define PART_STAMPS 1
#define PART_FIELDS 2 /* behind it the fields' */
#define FIELD_PARTS 4

enum field_part {
    PART_VALUES, /* by document: values; lengths of TEXT */
    PART_TERMS,  /* the dictionary, and where each term's documents and positions are; of numbers
                    all values in their order */
    PART_POSTS,  /* these. Searches take a term's (parts_slice()), merges all */
    PART_SAMPLES /* which block of the dictionary a term is in; nothing of numbers */
};

static inline size_t part_of_field(size_t field, enum field_part part)
{
    return PART_FIELDS + field * FIELD_PARTS + part;
}

static inline size_t part_count(size_t fields)
{
    return PART_FIELDS + fields * FIELD_PARTS;
}

struct segment;
struct parts;

/* Who has stored a segment. */
struct segment_owner {
    /* Reads a piece of its image. */
    int (*read)(struct ctx *c, struct segment_owner *o, const struct segment *s, uint64_t at,
                uint64_t len, uint8_t *to);
    /* Nobody holds it any more; on any thread, which holds no lock of the owner's. */
    void (*freed)(struct segment_owner *o, const struct segment *s);
};

struct segment {
    _Atomic int refs;
    _Atomic uint64_t id;         /* under which it is stored; 0: it is not */
    _Atomic bool checked;        /* what is stored of it was read once and is not damaged */
    struct segment_owner *owner; /* NULL: all of it is in memory, as are `image` and all below */
    struct parts *parts;         /* with an owner: what of it is in memory (parts.h) */
    void (*close)(struct segment *s); /* frees them */
    uint8_t *image;
    size_t len;
    uint32_t documents;
    bytes first, last; /* keys */
    const uint32_t *key_ends;
    const uint8_t *keys;
    const int64_t *stamps;
    size_t field_count;
    struct segment_column columns[];
};

/* Takes the image over (mem_free()). NULL, and the image is not taken: it is damaged, or of another
 * schema. */
struct segment *segment_open(uint8_t *image, size_t len, const struct search_schema *s);
/* Of parts.c: part `number` of the image is there, or it is not any more; its holder uses the
 * members that belong to it. False: it is damaged. */
bool segment_use(struct segment *s, const struct image *image, size_t number,
                 const struct search_schema *schema);
void segment_forget(struct segment *s, size_t number);
struct segment *segment_ref(struct segment *s);
void segment_release(struct segment *s);

static inline bytes segment_key(const struct segment *s, uint32_t doc)
{
    return bytes_of(s->keys + s->key_ends[doc], s->key_ends[doc + 1] - s->key_ends[doc]);
}

/* The first document whose key is not below `key`. */
uint32_t segment_find(const struct segment *s, bytes key);

static inline bytes column_term(const struct segment_column *col, uint32_t term)
{
    return bytes_of(col->terms + col->term_ends[term],
                    col->term_ends[term + 1] - col->term_ends[term]);
}

/* Values of a document: their range in `numbers` or `ordinals`. */
static inline uint32_t column_first(const struct segment_column *col, uint32_t doc)
{
    return col->offsets ? col->offsets[doc] : doc;
}

/* So many documents have a term that a bit for each takes less. Not with TEXT. */
static inline bool posts_dense(uint32_t term_docs, uint32_t documents)
{
    return term_docs > documents / 32;
}

#endif
