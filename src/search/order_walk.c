#include "search/order_walk.h"

#include "base/late.h"
#include "search/segment/order_reader.h"

#include <math.h>

/* A step costs about so much more than a document that is looked at in its window. */
#define STEP_COST 16

#define STEPS_BETWEEN_LOOKS 256 /* at the time */

struct walk {
    const struct order_walk *w;
    const struct segment *s;
    struct order_reader order;
    const struct sort *sort;
    uint32_t steps, steps_max;
    uint32_t first_doc; /* of those with the value `after` has: the first that is behind it */
    struct found {
        uint32_t doc;
        int64_t value;
    } * found;
    size_t count, room;
    size_t passed; /* of `count`, at most: those that the page before may have had */
};

/* What does not take a look at the values. */
static bool fits(const struct order_walk *w)
{
    const struct sort *sort = w->top->sort;
    const struct sort_by *by = &sort->by[0];

    if (!w->top->room || sort->by_key)
        return false;
    if (sort->scores || by->type != WR_SORTER_FIELD || by->texts || by->as_real)
        return false;
    if (w->top->after && w->top->after[0].place != SORT_VALUE)
        return false;
    return w->query->test && (!w->filter || w->filter->test);
}

/* Do all documents without a value stand behind those that have one? */
static bool missing_last(const struct segment *s, const struct segment_column *col,
                         const struct sort_by *by)
{
    return col->stats.documents == s->documents ||
           (by->missing.place == SORT_LAST && !by->has_missing_field);
}

static bool matches(const struct walk *k, uint32_t doc)
{
    const struct order_walk *w = k->w;

    return view_segment_has(w->segment, doc) &&
           (w->expired_ms == INT64_MIN || k->s->stamps[doc] >= w->expired_ms) &&
           w->query->test(w->query, doc) && (!w->filter || w->filter->test(w->filter, doc));
}

static void keep(struct walk *k, uint32_t doc, int64_t value)
{
    if (k->count == k->room) {
        size_t room = k->room ? k->room * 2 : 64;
        struct found *found = arena_alloc(&k->w->c->arena, room * sizeof(found[0]));

        if (k->count)
            memcpy(found, k->found, k->count * sizeof(found[0]));
        k->found = found;
        k->room = room;
    }
    k->found[k->count++] = (struct found){doc, value};
}

/* Documents of one value, [from, to) of the order; their keys ascend, so with one sorter the first
 * ones are enough. False: it takes too long. */
static bool walk_run(struct walk *k, uint32_t from, uint32_t to)
{
    const struct top *t = k->w->top;
    int64_t value = order_reader_value(&k->order, from);
    bool again = t->after && t->after[0].number == value, alone = k->sort->count == 1;

    for (uint32_t i = from; i < to; i++) {
        uint32_t doc = order_reader_doc(&k->order, i);

        if (alone && k->count == t->room)
            return true;
        if (again && alone && (!k->sort->key_breaks || doc < k->first_doc))
            continue;
        if (++k->steps > k->steps_max || k->order.rc)
            return false;
        if (k->steps % STEPS_BETWEEN_LOOKS == 0 && ctx_late(k->w->c))
            return false; /* the windows say so */
        if (!matches(k, doc))
            continue;
        keep(k, doc, value);
        k->passed += again && !alone;
    }
    return true;
}

/* The other end of the run of one value that begins, or ends, at `i`. */
static uint32_t run_end(struct order_reader *r, uint32_t i)
{
    int64_t value = order_reader_value(r, i);

    if (i + 1 == r->count || order_reader_value(r, i + 1) != value)
        return i + 1;
    return value == INT64_MAX ? r->count : order_reader_find(r, value + 1);
}

static uint32_t run_start(struct order_reader *r, uint32_t i)
{
    int64_t value = order_reader_value(r, i);

    return !i || order_reader_value(r, i - 1) != value ? i : order_reader_find(r, value);
}

static bool full(struct walk *k, uint32_t next)
{
    return k->count - k->passed >= k->w->top->room ||
           top_ends_before(k->w->top, order_reader_value(&k->order, next));
}

/* False: it takes too long, or can't be read. */
static bool walk_up(struct walk *k)
{
    const struct top *t = k->w->top;
    uint32_t i = t->after ? order_reader_find(&k->order, t->after[0].number) : 0, end;

    for (; i < k->order.count && !k->order.rc && !full(k, i); i = end) {
        end = run_end(&k->order, i);
        if (k->order.rc || !walk_run(k, i, end))
            return false;
    }
    return !k->order.rc && (i < k->order.count || k->order.count == k->s->documents);
}

static bool walk_down(struct walk *k)
{
    const struct top *t = k->w->top;
    uint32_t i = k->order.count, start;

    if (t->after && t->after[0].number != INT64_MAX)
        i = order_reader_find(&k->order, t->after[0].number + 1);
    for (; i && !k->order.rc && !full(k, i - 1); i = start) {
        start = run_start(&k->order, i - 1);
        if (k->order.rc || !walk_run(k, start, i))
            return false;
    }
    return !k->order.rc && (i || k->order.count == k->s->documents);
}

static bool too_many(struct walk *k)
{
    const struct order_walk *w = k->w;
    uint64_t estimate = w->query->estimate;

    if (w->filter && w->filter->estimate < estimate)
        estimate = w->filter->estimate;
    k->steps_max = k->s->documents / STEP_COST + 256;
    return (uint64_t)w->top->room * k->s->documents / (estimate + 1) > k->steps_max;
}

static bool walk(struct walk *k)
{
    const struct top *t = k->w->top;

    if (t->after && t->after_key.ptr) {
        k->first_doc = key_reader_find(t->keys, k->s, t->after_key);
        k->first_doc += k->first_doc < k->s->documents &&
                        bytes_equal(key_reader_get(t->keys, k->s, k->first_doc), t->after_key);
    }
    return k->sort->by[0].descending ? walk_down(k) : walk_up(k);
}

bool order_walk(const struct order_walk *w, int *rc)
{
    const struct sort *sort = w->top->sort;
    struct walk k = {.w = w, .s = w->segment->segment, .sort = sort};
    const struct segment_column *col;
    bool walked;

    if (!fits(w))
        return false;
    col = &k.s->columns[sort->by[0].field];
    if (!missing_last(k.s, col, &sort->by[0]) || too_many(&k))
        return false;
    order_reader_begin(&k.order, w->c, k.s, sort->by[0].field);
    /* Some may have several values. */
    walked = k.order.count == col->stats.documents && walk(&k);
    order_reader_end(&k.order);
    *rc = k.order.rc;
    for (size_t i = 0; walked && i < k.count; i++)
        if (sort->count == 1)
            top_add_number(w->top, k.s, k.found[i].doc, k.found[i].value);
        else
            top_add(w->top, k.s, k.found[i].doc, NAN);
    return walked;
}
