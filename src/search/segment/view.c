#include "search/segment/view.h"

#include "base/invariant.h"

struct dead *dead_new(uint32_t documents)
{
    struct dead *d = mem_zalloc(sizeof(*d) + dead_words(documents) * 8);

    d->refs = 1;
    return d;
}

struct dead *dead_ref(struct dead *d)
{
    if (d)
        atomic_fetch_add(&d->refs, 1);
    return d;
}

void dead_release(struct dead *d)
{
    if (d && atomic_fetch_sub(&d->refs, 1) == 1)
        mem_free(d);
}

static struct view *view_new(size_t count)
{
    struct view *v = mem_zalloc(sizeof(*v) + count * sizeof(v->segments[0]));

    v->refs = 1;
    return v;
}

struct view *view_empty(void)
{
    return view_new(0);
}

struct view *view_ref(struct view *v)
{
    atomic_fetch_add(&v->refs, 1);
    return v;
}

void view_release(struct view *v)
{
    if (!v || atomic_fetch_sub(&v->refs, 1) != 1)
        return;
    for (size_t i = 0; i < v->count; i++) {
        segment_release(v->segments[i].segment);
        dead_release(v->segments[i].dead);
    }
    mem_free(v);
}

/* Takes both over; a segment with nothing left is let out. */
static void view_add(struct view *v, struct segment *s, struct dead *d)
{
    struct view_segment *to = &v->segments[v->count];

    *to = (struct view_segment){s, d};
    if (!view_segment_live(to)) {
        segment_release(s);
        dead_release(d);
        return;
    }
    v->documents += view_segment_live(to);
    v->bytes += s->len;
    v->count++;
}

struct view *view_make(const struct view_segment *segments, size_t count)
{
    struct view *v = view_new(count);

    for (size_t i = 0; i < count; i++)
        view_add(v, segments[i].segment, segments[i].dead);
    return v;
}

static bool is_dead(const struct dead *d, uint32_t doc)
{
    return d && d->bits[doc / 64] >> doc % 64 & 1;
}

/* Marks a document; *d is copied at the first, for others read `was`. */
static void mark(const struct segment *s, const struct dead *was, struct dead **d, uint32_t doc)
{
    if (is_dead(*d ? *d : was, doc))
        return;
    if (!*d) {
        *d = dead_new(s->documents);
        if (was) {
            memcpy((*d)->bits, was->bits, dead_words(s->documents) * 8);
            (*d)->count = was->count;
        }
    }
    (*d)->bits[doc / 64] |= 1ull << doc % 64;
    (*d)->count++;
}

/* The first key that is not below `key`. */
static size_t find_key(const bytes *keys, size_t count, bytes key)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (bytes_compare(keys[mid], key) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* What is gone of a segment once the keys are; with a reference. Most segments have none of them
 * between their first and their last, and are not looked at. */
static int dead_without(struct ctx *c, const struct view_segment *s, const bytes *keys,
                        size_t count, struct dead **out)
{
    struct part_set set = {0};
    struct dead *d = NULL;
    size_t i = find_key(keys, count, s->segment->first);

    *out = NULL;
    if (i < count && bytes_compare(keys[i], s->segment->last) <= 0) {
        part_set_add(&set, PART_KEYS);
        TRY(parts_hold(c, s->segment, &set));
        for (; i < count; i++) {
            uint32_t doc = segment_find(s->segment, keys[i]);

            if (doc == s->segment->documents)
                break;
            if (bytes_equal(segment_key(s->segment, doc), keys[i]))
                mark(s->segment, s->dead, &d, doc);
        }
        parts_drop(s->segment, &set);
    }
    *out = d ? d : dead_ref(s->dead);
    return E_OK;
}

int view_change(struct ctx *c, const struct view *v, const bytes *keys, size_t count,
                struct segment *added, struct view **out)
{
    struct view *next = view_new(v->count + 1);

    for (size_t i = 0; i < v->count; i++) {
        struct dead *d;
        int rc = dead_without(c, &v->segments[i], keys, count, &d);

        if (rc) {
            view_release(next);
            return rc;
        }
        view_add(next, segment_ref(v->segments[i].segment), d);
    }
    if (added)
        view_add(next, segment_ref(added), NULL);
    *out = next;
    return E_OK;
}

struct view *view_with(const struct view *v, const bytes *keys, size_t count, struct segment *added)
{
    struct view *next = NULL;
    struct ctx c;
    int rc;

    ctx_init(&c, NULL, NULL, NULL, 0);
    rc = view_change(&c, v, keys, count, added, &next);
    ctx_release(&c);
    invariant(!rc);
    return next;
}

struct view *view_exchange(const struct view *v, const struct segment *was, struct segment *now)
{
    struct view *next = view_new(v->count);
    bool found = false;

    for (size_t i = 0; i < v->count; i++) {
        bool is = v->segments[i].segment == was;

        view_add(next, segment_ref(is ? now : v->segments[i].segment),
                 dead_ref(v->segments[i].dead));
        found |= is;
    }
    if (found)
        return next;
    view_release(next);
    return NULL;
}

static const struct view_segment *find_segment(const struct view_segment *list, size_t count,
                                               const struct segment *s)
{
    for (size_t i = 0; i < count; i++)
        if (list[i].segment == s || (s->id && list[i].segment->id == s->id))
            return &list[i];
    return NULL;
}

/* Marks in `merged` what has gone from `now` since `then`. */
static void mark_since(const struct view_segment *now, const struct view_segment *then,
                       const struct segment *merged, struct dead **d)
{
    if (!now->dead || now->dead == then->dead)
        return;
    for (uint32_t doc = 0; doc < now->segment->documents; doc++) {
        uint32_t at;

        if (!is_dead(now->dead, doc) || is_dead(then->dead, doc))
            continue;
        at = segment_find(merged, segment_key(then->segment, doc));
        mark(merged, NULL, d, at);
    }
}

/* What `from` had and `v` has no more was emptied meanwhile: all of it is gone. */
static void mark_all(const struct view_segment *then, const struct segment *merged, struct dead **d)
{
    for (uint32_t doc = 0; doc < then->segment->documents; doc++)
        if (!is_dead(then->dead, doc))
            mark(merged, NULL, d, segment_find(merged, segment_key(then->segment, doc)));
}

struct view *view_replace(const struct view *v, const struct view_segment *from, size_t count,
                          struct segment *merged)
{
    struct view *next = view_new(v->count + 1);
    struct dead *d = NULL;
    bool placed = false;

    for (size_t i = 0; i < count; i++) {
        const struct view_segment *now = find_segment(v->segments, v->count, from[i].segment);

        if (now)
            mark_since(now, &from[i], merged, &d);
        else
            mark_all(&from[i], merged, &d);
    }
    for (size_t i = 0; i < v->count; i++) {
        const struct view_segment *s = &v->segments[i];

        if (!find_segment(from, count, s->segment)) {
            view_add(next, segment_ref(s->segment), dead_ref(s->dead));
        } else if (!placed) {
            view_add(next, segment_ref(merged), dead_ref(d));
            placed = true;
        }
    }
    dead_release(d);
    return next;
}
