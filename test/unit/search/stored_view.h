/* stored_view.h: a view whose segments are read part by part, as if from storage: out of segments
 * in memory. Included behind cmocka. */
#ifndef UNIT_SEARCH_STORED_VIEW_H
#define UNIT_SEARCH_STORED_VIEW_H

#include "search/segment/view.h"

/* So many more reads, and one fails; 0: none does. */
static int stored_fails_in;

static uint64_t stored_bytes; /* that were read */

struct stored_owner {
    struct segment_owner owner;
    struct segment *whole;
};

static inline int stored_read(struct ctx *cc, struct segment_owner *o, const struct segment *s,
                              uint64_t at, uint64_t len, uint8_t *to)
{
    const struct segment *whole = PORT_CONTAINER(o, struct stored_owner, owner)->whole;

    if (stored_fails_in && !--stored_fails_in)
        return ctx_fail(cc, __FILE__, __LINE__, E_CORRUPT, "a read that fails");
    assert_true(at + len <= s->len);
    memcpy(to, whole->image + at, len);
    stored_bytes += len;
    return 0;
}

static inline void stored_freed(struct segment_owner *o, const struct segment *s)
{
    struct stored_owner *own = PORT_CONTAINER(o, struct stored_owner, owner);

    (void)s;
    segment_release(own->whole);
    mem_free(own);
}

/* Takes the view over. */
static inline struct view *stored_view(struct view *v, const struct search_schema *schema,
                                       struct part_cache *cache)
{
    static uint64_t number = 1;
    struct ctx cc;

    ctx_init(&cc, NULL, NULL, NULL, 0);
    for (size_t i = 0; i < v->count; i++) {
        struct segment *whole = v->segments[i].segment, *s;
        struct stored_owner *own;
        struct view *next;

        if (whole->parts)
            continue;
        own = mem_zalloc(sizeof(*own));
        *own = (struct stored_owner){{stored_read, stored_freed}, segment_ref(whole)};
        s = segment_open_stored(segment_head_make(&cc.arena, whole), schema, number++, &own->owner,
                                cache);
        assert_non_null(s);
        next = view_exchange(v, whole, s);
        segment_release(s);
        view_release(v);
        v = next;
    }
    ctx_release(&cc);
    return v;
}

#endif
