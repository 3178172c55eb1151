/* view.h: what an index holds at a moment: segments, and which of their documents are still there.
 * It never changes; a change makes another one, and readers hold the one they began with. */
#ifndef SEARCH_SEGMENT_VIEW_H
#define SEARCH_SEGMENT_VIEW_H

#include "search/segment/parts.h"

/* The documents of a segment that are gone. */
struct dead {
    _Atomic int refs;
    uint32_t count;
    uint64_t bits[];
};

struct view_segment {
    struct segment *segment;
    struct dead *dead; /* NULL: none is gone */
};

struct view {
    _Atomic int refs;
    size_t count;
    uint64_t documents; /* that are there */
    uint64_t bytes;     /* of all images */
    struct view_segment segments[];
};

struct view *view_empty(void);
struct view *view_ref(struct view *v);
void view_release(struct view *v); /* NULL is allowed */

static inline uint32_t view_segment_live(const struct view_segment *s)
{
    return s->segment->documents - (s->dead ? s->dead->count : 0);
}

static inline bool view_segment_has(const struct view_segment *s, uint32_t doc)
{
    return !s->dead || !(s->dead->bits[doc / 64] >> doc % 64 & 1);
}

/* Another view, in which `keys` (ascending) are gone from all segments, and `added` has come behind
 * them; NULL: none. The caller keeps its reference to `added`. A segment of which nothing is left
 * is left out. Fails as parts_hold() does. */
int view_change(struct ctx *c, const struct view *v, const bytes *keys, size_t count,
                struct segment *added, struct view **out);
/* The same of segments that are in memory. */
struct view *view_with(const struct view *v, const bytes *keys, size_t count,
                       struct segment *added);

/* Another view, in which `merged` stands in place of those segments; documents that have gone from
 * `v` since `from` (what was merged, count of them, in v's order) are gone from it, too. `merged`
 * is in memory, and of `from` the keys are held. Of `v` another segment with the same id is the
 * same. */
struct view *view_replace(const struct view *v, const struct view_segment *from, size_t count,
                          struct segment *merged);

/* Another view, with another segment in the place of one that holds the same (`now`, of which the
 * caller keeps its reference). NULL: `was` is not there. */
struct view *view_exchange(const struct view *v, const struct segment *was, struct segment *now);

/* A view out of segments and what is gone of them; both are taken over. */
struct view *view_make(const struct view_segment *segments, size_t count);

/* A bitmap for so many documents, none gone. */
struct dead *dead_new(uint32_t documents);
struct dead *dead_ref(struct dead *d);
void dead_release(struct dead *d); /* NULL is allowed */
static inline size_t dead_words(uint32_t documents)
{
    return (documents + 63ull) / 64;
}

#endif
