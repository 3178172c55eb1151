#include "search/order_walk.h"

#include <math.h>

/* A step costs about so much more than a document that is looked at in its window. */
#define STEP_COST 16

struct walk {
    const struct order_walk *w;
    const struct segment *s;
    const struct segment_column *col;
    const struct sort *sort;
    uint32_t steps, steps_max;
    uint32_t first_doc; /* of those with the value `after` has: the first that is behind it */
    uint32_t *found;
    size_t count, room;
    size_t passed; /* of `count`, at most: those that the page before may have had */
};

static bool fits(const struct order_walk *w, const struct segment_column *col)
{
    const struct sort *sort = w->top->sort;
    const struct sort_by *by = &sort->by[0];

    if (sort->scores || by->type != WR_SORTER_FIELD || by->texts || by->as_real)
        return false;
    if (col->value_count != col->stats.documents)
        return false; /* some have several values */
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

static void keep(struct walk *k, uint32_t doc)
{
    if (k->count == k->room) {
        size_t room = k->room ? k->room * 2 : 64;
        uint32_t *found = arena_alloc(k->w->arena, room * sizeof(found[0]));

        if (k->count)
            memcpy(found, k->found, k->count * sizeof(found[0]));
        k->found = found;
        k->room = room;
    }
    k->found[k->count++] = doc;
}

/* Documents of one value, [from, to) of the order; their keys ascend, so with one sorter the first
 * ones are enough. False: it takes too long. */
static bool walk_run(struct walk *k, uint32_t from, uint32_t to)
{
    const struct top *t = k->w->top;
    int64_t value = k->col->order_values[from];
    bool again = t->after && t->after[0].number == value;

    for (uint32_t i = from; i < to; i++) {
        uint32_t doc = k->col->order_docs[i];

        if (k->sort->count == 1 && k->count == t->room)
            return true;
        if (again && k->sort->count == 1 && (!k->sort->key_breaks || doc < k->first_doc))
            continue;
        if (++k->steps > k->steps_max)
            return false;
        if (!matches(k, doc))
            continue;
        keep(k, doc);
        k->passed += again && k->sort->count > 1;
    }
    return true;
}

/* The other end of the run of one value that begins, or ends, at `i`. */
static uint32_t run_end(const struct segment_column *col, uint32_t i)
{
    int64_t value = col->order_values[i];

    if (i + 1 == col->value_count || col->order_values[i + 1] != value)
        return i + 1;
    return value == INT64_MAX ? col->value_count : column_order_find(col, value + 1);
}

static uint32_t run_start(const struct segment_column *col, uint32_t i)
{
    int64_t value = col->order_values[i];

    return !i || col->order_values[i - 1] != value ? i : column_order_find(col, value);
}

static bool full(const struct walk *k, int64_t next)
{
    return k->count - k->passed >= k->w->top->room || top_ends_before(k->w->top, next);
}

/* False: it takes too long. */
static bool walk_up(struct walk *k)
{
    const struct top *t = k->w->top;
    uint32_t i = t->after ? column_order_find(k->col, t->after[0].number) : 0, end;

    for (; i < k->col->value_count && !full(k, k->col->order_values[i]); i = end) {
        end = run_end(k->col, i);
        if (!walk_run(k, i, end))
            return false;
    }
    return i < k->col->value_count || k->col->value_count == k->s->documents;
}

static bool walk_down(struct walk *k)
{
    const struct top *t = k->w->top;
    uint32_t i = k->col->value_count, start;

    if (t->after && t->after[0].number != INT64_MAX)
        i = column_order_find(k->col, t->after[0].number + 1);
    for (; i && !full(k, k->col->order_values[i - 1]); i = start) {
        start = run_start(k->col, i - 1);
        if (!walk_run(k, start, i))
            return false;
    }
    return i || k->col->value_count == k->s->documents;
}

bool order_walk(const struct order_walk *w)
{
    const struct sort *sort = w->top->sort;
    struct walk k = {.w = w, .s = w->segment->segment, .sort = sort};
    uint64_t estimate;

    if (!w->top->room || sort->by_key)
        return false;
    k.col = &k.s->columns[sort->by[0].field];
    if (!fits(w, k.col) || !missing_last(k.s, k.col, &sort->by[0]))
        return false;
    estimate = w->query->estimate;
    if (w->filter && w->filter->estimate < estimate)
        estimate = w->filter->estimate;
    k.steps_max = k.s->documents / STEP_COST + 256;
    if ((uint64_t)w->top->room * k.s->documents / (estimate + 1) > k.steps_max)
        return false;
    if (w->top->after && w->top->after_key.ptr) {
        k.first_doc = key_reader_find(w->top->keys, k.s, w->top->after_key);
        k.first_doc +=
            k.first_doc < k.s->documents &&
            bytes_equal(key_reader_get(w->top->keys, k.s, k.first_doc), w->top->after_key);
    }
    if (sort->by[0].descending ? !walk_down(&k) : !walk_up(&k))
        return false;
    for (size_t i = 0; i < k.count; i++)
        top_add(w->top, k.s, k.found[i], NAN);
    return true;
}
