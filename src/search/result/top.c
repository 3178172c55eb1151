#include "search/result/top.h"

#include <stdlib.h>

void top_init(struct top *t, struct arena *a, const struct sort *sort, size_t room)
{
    *t = (struct top){.arena = a, .sort = sort, .room = room};
    t->spare = ARENA_ARRAY(a, struct sort_value, sort->count + 1);
}

/* Does (values, key) stand behind the hit? */
static int compare(const struct top *t, const struct sort_value *values, bytes key,
                   const struct sort_value *other, bytes other_key)
{
    int r = sort_compare(t->sort, values, other);

    return r ? r : bytes_compare(key, other_key);
}

static int compare_hits(const void *a, const void *b, void *arg)
{
    const struct hit *x = a, *y = b;

    return compare(arg, x->values, x->key, y->values, y->key);
}

static void sift_down(struct top *t, size_t at)
{
    for (;;) {
        size_t last = at;

        for (size_t child = at * 2 + 1; child <= at * 2 + 2 && child < t->count; child++)
            if (compare_hits(&t->hits[child], &t->hits[last], t) > 0)
                last = child;
        if (last == at)
            return;
        struct hit swap = t->hits[at];

        t->hits[at] = t->hits[last];
        t->hits[last] = swap;
        at = last;
    }
}

static void sift_up(struct top *t, size_t at)
{
    while (at) {
        size_t parent = (at - 1) / 2;

        if (compare_hits(&t->hits[at], &t->hits[parent], t) <= 0)
            return;
        struct hit swap = t->hits[at];

        t->hits[at] = t->hits[parent];
        t->hits[parent] = swap;
        at = parent;
    }
}

static void grow(struct top *t)
{
    size_t capacity = t->capacity ? t->capacity * 2 : 64;
    struct hit *hits = ARENA_ARRAY(t->arena, struct hit, capacity);

    if (t->count)
        memcpy(hits, t->hits, t->count * sizeof(hits[0]));
    t->hits = hits;
    t->capacity = capacity;
}

/* The page before ended at or behind it. */
static bool passed(const struct top *t, bytes key)
{
    int r;

    if (!t->after)
        return false;
    r = sort_compare(t->sort, t->spare, t->after);
    if (r || !t->sort->key_breaks)
        return r <= 0;
    return bytes_compare(key, t->after_key) <= 0;
}

void top_add(struct top *t, const struct segment *s, uint32_t doc, float score)
{
    bytes key = segment_key(s, doc);
    struct hit *h;
    size_t size = t->sort->count * sizeof(t->spare[0]);

    if (!t->room)
        return;
    sort_values(t->sort, s, doc, score, t->spare);
    if (passed(t, key))
        return;
    if (t->count == t->room) {
        h = &t->hits[0];
        if (compare(t, t->spare, key, h->values, h->key) >= 0)
            return;
        *h = (struct hit){key, score, h->values};
        if (size)
            memcpy(h->values, t->spare, size);
        sift_down(t, 0);
        return;
    }
    if (t->count == t->capacity)
        grow(t);
    h = &t->hits[t->count];
    *h = (struct hit){key, score, arena_alloc(t->arena, size + 1)};
    if (size)
        memcpy(h->values, t->spare, size);
    sift_up(t, t->count++);
}

void top_finish(struct top *t)
{
    if (t->count)
        qsort_r(t->hits, t->count, sizeof(t->hits[0]), compare_hits, t);
}
