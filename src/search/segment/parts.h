/* parts.h: stored segments, of which parts are in memory while somebody holds them, and as long as
 * there is room for them afterwards: the keys, the stamps, and of each field its values, its terms
 * (of a number: its values in their order) and their documents. Of the last two a search holds
 * slices: blocks of the dictionary, and the documents of the terms that it looks for.
 *
 * Of a segment that was built or merged all is in memory; holding its parts is nothing. Of one that
 * was opened from its head the members that belong to a part (key_ends, keys, stamps, a column but
 * for its stats) may be looked at only between parts_hold() and parts_drop(). */
#ifndef SEARCH_SEGMENT_PARTS_H
#define SEARCH_SEGMENT_PARTS_H

#include "base/ctx.h"
#include "search/segment/head.h"

#define PARTS_WORDS ((SEARCH_FIELDS_MAX * FIELD_PARTS + PART_FIELDS + 63) / 64)

struct part_set {
    uint64_t bits[PARTS_WORDS];
};

static inline void part_set_add(struct part_set *set, size_t part)
{
    set->bits[part / 64] |= 1ull << part % 64;
}

/* Also what is in the other one; and all but that. */
static inline void part_set_join(struct part_set *set, const struct part_set *other)
{
    for (size_t i = 0; i < PARTS_WORDS; i++)
        set->bits[i] |= other->bits[i];
}

static inline void part_set_take(struct part_set *set, const struct part_set *other)
{
    for (size_t i = 0; i < PARTS_WORDS; i++)
        set->bits[i] &= ~other->bits[i];
}

/* All parts of a segment of that schema. */
struct part_set part_set_all(const struct search_schema *s);

/* What parts of stored segments take in memory. What nobody holds goes when it is needed elsewhere,
 * the longest unused first; what is held stays, also above `bytes_max`. Any thread. */
struct part_cache;
struct part_cache *part_cache_new(uint64_t bytes_max);
/* All segments that use it are gone. NULL is allowed. */
void part_cache_free(struct part_cache *p);
uint64_t part_cache_bytes(struct part_cache *p);

/* Of a stored segment all but its parts is made from its head. `owner` and `cache` stay. NULL: the
 * head is damaged, or of another schema. */
struct segment *segment_open_stored(bytes head, const struct search_schema *schema, uint64_t number,
                                    struct segment_owner *owner, struct part_cache *cache);

/* Puts what an image that is in memory tells of a stored segment where it would be read to, as far
 * as there is room. */
void parts_fill(struct segment *s, const uint8_t *image);

/* Brings parts into memory, by owner->read(). E_CORRUPT: one is damaged; or as read() says; nothing
 * is held then. May wait for storage. */
int parts_hold(struct ctx *c, struct segment *s, const struct part_set *set);
void parts_drop(struct segment *s, const struct part_set *set);

/* What a search holds of a segment beside a set: one after the other, as it comes upon them. */
struct held_part;
struct held_parts {
    struct held_part *first; /* in an arena */
};

/* As parts_hold(), of one part. */
int parts_hold_one(struct ctx *c, const struct segment *s, size_t part, struct held_parts *held);

/* Holds the part if it is in memory. False: it is not. Where room is short it goes before what
 * others can't do without. */
bool parts_hold_there(struct ctx *c, const struct segment *s, size_t part, struct held_parts *held);

/* Of a stored segment: is there anything to the part? How long is a section (0: it has none)? */
bool parts_has(const struct segment *s, size_t part);
uint64_t parts_section_bytes(const struct segment *s, enum section section, size_t field);

/* Bytes [at, to) of a section of a field's PART_POSTS or PART_TERMS, or of PART_KEYS (field
 * IMAGE_FIELD_NONE), whether all of it is in memory or not; `to` UINT64_MAX: up to its end. Also
 * aligned as they are in the image, to at most 8. They are there until held_drop(). Errors as of
 * parts_hold(). */
int parts_slice(struct ctx *c, const struct segment *s, enum section section, size_t field,
                uint64_t at, uint64_t to, struct held_parts *held, const void **out);

void held_drop(const struct segment *s, struct held_parts *held);

#endif
