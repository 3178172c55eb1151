/* term_reader.h: terms of a field of a segment, and where their documents are, without all of its
 * dictionary: of a stored segment blocks come as they are asked for. One thread. */
#ifndef SEARCH_SEGMENT_TERM_READER_H
#define SEARCH_SEGMENT_TERM_READER_H

#include "search/segment/parts.h"

struct term_reader {
    struct ctx *c;
    const struct segment *segment;
    size_t field;
    uint32_t count; /* of the field's terms */
    bool whole;     /* all of them are in memory */
    struct held_parts held;
    /* What terms [texts_first, texts_end) are. */
    uint32_t texts_first, texts_end;
    const uint32_t *ends;
    const uint8_t *texts;
    struct held_parts held_texts;
    /* In how many documents terms [posts_first, posts_end) are, and where these are. */
    uint32_t posts_first, posts_end;
    const uint32_t *docs;
    const uint64_t *post_at;
    struct held_parts held_posts;
};

/* Of a field of ordinals or of TEXT. Ended by term_reader_end(), also when it fails. Errors of all
 * of them as of parts_hold(). */
int term_reader_begin(struct term_reader *r, struct ctx *c, const struct segment *s, size_t field);
void term_reader_end(struct term_reader *r);

/* The first term that is not below `text`, r->count if all are; *is: it is `text`. */
int term_reader_find(struct term_reader *r, bytes text, uint32_t *at, bool *is);
/* The first term behind all that begin with `prefix`. */
int term_reader_behind(struct term_reader *r, bytes prefix, uint32_t *at);

/* From here on term_reader_text() may be asked for terms [first, end), and for no others any more;
 * the second one is the same of term_reader_docs() and term_reader_post_at(). */
int term_reader_texts(struct term_reader *r, uint32_t first, uint32_t end);
int term_reader_posts(struct term_reader *r, uint32_t first, uint32_t end);

static inline bytes term_reader_text(const struct term_reader *r, uint32_t term)
{
    const uint32_t *ends = r->ends + (term - r->texts_first);

    return bytes_of(r->texts + (ends[0] - r->ends[0]), ends[1] - ends[0]);
}

static inline uint32_t term_reader_docs(const struct term_reader *r, uint32_t term)
{
    return r->docs[term - r->posts_first];
}

static inline uint64_t term_reader_post_at(const struct term_reader *r, uint32_t term)
{
    return r->post_at[term - r->posts_first];
}

/* What is told of one term. */
struct term_place {
    uint32_t number, docs;
    uint64_t post_at;
};

/* `*has` false: the segment does not have it. */
int term_place_find(struct ctx *c, const struct segment *s, size_t field, bytes term, bool *has,
                    struct term_place *out);

/* Where the positions of a term of TEXT begin and end (UINT64_MAX: with the section), and its first
 * in SECTION_SKIPS. */
struct term_positions {
    uint64_t from, to;
    uint32_t skip_at;
};
int term_positions_find(struct ctx *c, const struct segment *s, size_t field, uint32_t term,
                        struct term_positions *out);

#endif
