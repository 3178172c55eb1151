#include "search/result/top.h"

#include "base/heap.h"

#include <math.h>
#include <stdlib.h>

_Static_assert(sizeof(struct hit) <= HEAP_ITEM_MAX, "of base/heap.h");

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

/* Of a stored segment nothing is there any more once the next one is looked at. */
static void keep(struct top *t, const struct segment *s, struct hit *h)
{
    size_t size = h->key.len;
    uint8_t *at;

    if (!s->parts)
        return;
    for (size_t i = 0; i < t->sort->count; i++)
        size += t->sort->by[i].texts && h->values[i].text.ptr ? h->values[i].text.len : 0;
    if (size > h->own_size) {
        h->own_size = size * 2;
        h->own = arena_alloc(t->arena, h->own_size);
    }
    at = h->own;
    if (h->key.len)
        h->key.ptr = memcpy(at, h->key.ptr, h->key.len);
    at += h->key.len;
    for (size_t i = 0; i < t->sort->count; i++) {
        bytes *text = &h->values[i].text;

        if (!t->sort->by[i].texts || !text->ptr || h->values[i].place != SORT_VALUE)
            continue;
        if (text->len)
            text->ptr = memcpy(at, text->ptr, text->len);
        at += text->len;
    }
}

/* The hit with the values that are in `spare`. */
static void add(struct top *t, const struct segment *s, bytes key, float score)
{
    struct hit *h;
    size_t size = t->sort->count * sizeof(t->spare[0]);

    if (passed(t, key))
        return;
    if (t->count == t->room) {
        h = &t->hits[0];
        if (compare(t, t->spare, key, h->values, h->key) >= 0)
            return;
        h->key = key;
        h->score = score;
        if (size)
            memcpy(h->values, t->spare, size);
        keep(t, s, h);
        heap_down(t->hits, t->count, sizeof(t->hits[0]), 0, compare_hits, t);
        return;
    }
    if (t->count == t->capacity)
        grow(t);
    h = &t->hits[t->count];
    *h = (struct hit){key, score, arena_alloc(t->arena, size + 1), NULL, 0};
    if (size)
        memcpy(h->values, t->spare, size);
    keep(t, s, h);
    heap_up(t->hits, sizeof(t->hits[0]), t->count++, compare_hits, t);
}

/* Stands what is in `spare` behind all hits, whatever its key? Of a stored segment a key may have
 * to be read, and where keys decide, its first one may be enough. */
static bool behind(const struct top *t, const struct segment *s)
{
    int r;

    if (t->count < t->room || !s->parts)
        return false;
    r = sort_compare(t->sort, t->spare, t->hits[0].values);
    return r > 0 || (r == 0 && bytes_compare(s->first, t->hits[0].key) >= 0);
}

void top_add(struct top *t, const struct segment *s, uint32_t doc, float score)
{
    if (!t->room)
        return;
    sort_values(t->sort, s, doc, score, t->spare);
    if (!behind(t, s))
        add(t, s, key_reader_get(t->keys, s, doc), score);
}

void top_add_number(struct top *t, const struct segment *s, uint32_t doc, int64_t number)
{
    if (!t->room)
        return;
    t->spare[0] = (struct sort_value){SORT_VALUE, number, BYTES_NONE};
    if (!behind(t, s))
        add(t, s, key_reader_get(t->keys, s, doc), NAN);
}

/* ---- what one number tells ----
 *
 * Most documents of a large result stand behind all hits that are kept, and the first value of
 * their tuples says so. */

struct gate {
    bool shut;     /* `limit` counts: a number behind it does not come in */
    bool ties;     /* nor does one that is equal */
    bool has_from; /* one before `from` has been on a page before */
    bool descending;
    int64_t limit, from;
};

/* By the hit at the root, for documents of the segment from `doc` on: their keys ascend. */
static void gate_set(struct gate *g, const struct top *t, const struct segment *s, uint32_t doc)
{
    const struct hit *root;

    g->shut = false;
    if (t->count < t->room || t->hits[0].values[0].place != SORT_VALUE)
        return;
    root = &t->hits[0];
    g->shut = true;
    g->limit = root->values[0].number;
    g->ties =
        t->sort->count == 1 && (bytes_compare(s->first, root->key) >= 0 ||
                                bytes_compare(key_reader_get(t->keys, s, doc), root->key) >= 0);
}

static struct gate gate_of(const struct top *t)
{
    struct gate g = {.descending = t->sort->by[0].descending};

    if (t->after && t->after[0].place == SORT_VALUE) {
        g.has_from = true;
        g.from = t->after[0].number;
    }
    return g;
}

static inline bool gate_refuses(const struct gate *g, int64_t n)
{
    if (g->has_from && (g->descending ? n > g->from : n < g->from))
        return true;
    if (!g->shut)
        return false;
    return (g->descending ? n < g->limit : n > g->limit) || (g->ties && n == g->limit);
}

/* Of 64 documents that have a value each, those that may come in. */
static uint64_t gate_word(const struct gate *g, const int64_t *numbers, uint64_t bits)
{
    int64_t limit = g->limit;
    uint64_t in = 0;

    if (g->descending)
        for (uint32_t i = 0; i < 64; i++)
            in |= (uint64_t)(numbers[i] >= limit) << i;
    else
        for (uint32_t i = 0; i < 64; i++)
            in |= (uint64_t)(numbers[i] <= limit) << i;
    return in & bits;
}

static void add_and_set(struct top *t, struct gate *g, const struct segment *s, uint32_t doc,
                        float score)
{
    top_add(t, s, doc, score);
    gate_set(g, t, s, doc);
}

static void window_by_number(struct top *t, const struct segment *s, uint32_t base,
                             const uint64_t *bits, const float *scores)
{
    static const uint32_t many =
        16; /* of a word's documents: all its numbers are compared at once */
    const struct segment_column *col = &s->columns[t->sort->by[0].field];
    struct gate g = gate_of(t);

    gate_set(&g, t, s, base);
    for (uint32_t w = 0; w < WINDOW_WORDS; w++) {
        uint64_t rest = bits[w];

        if (g.shut && !col->offsets && word_count(rest) > many &&
            base + w * 64 + 64 <= s->documents)
            rest = gate_word(&g, col->numbers + base + w * 64, rest);
        for (; rest; rest &= rest - 1) {
            uint32_t i = w * 64 + (uint32_t)__builtin_ctzll(rest), doc = base + i;
            uint32_t first = column_first(col, doc);

            if (column_first(col, doc + 1) - first != 1 || !gate_refuses(&g, col->numbers[first]))
                add_and_set(t, &g, s, doc, scores ? scores[i] : NAN);
        }
    }
}

static void window_by_score(struct top *t, const struct segment *s, uint32_t base,
                            const uint64_t *bits, const float *scores)
{
    struct gate g = gate_of(t);

    gate_set(&g, t, s, base);
    WINDOW_EACH(bits, i)
    if (!gate_refuses(&g, number_of_real(scores[i])))
        add_and_set(t, &g, s, base + (uint32_t)i, scores[i]);
}

/* Keys ascend: behind one that does not come in, none does. */
static void window_by_key(struct top *t, const struct segment *s, uint32_t base,
                          const uint64_t *bits, const float *scores)
{
    if (t->closed == s)
        return;
    WINDOW_EACH(bits, i)
    {
        uint32_t doc = base + (uint32_t)i;

        if (t->count == t->room &&
            bytes_compare(key_reader_get(t->keys, s, doc), t->hits[0].key) >= 0) {
            t->closed = s;
            return;
        }
        top_add(t, s, doc, scores ? scores[i] : NAN);
    }
}

/* A number of the field stands in the tuple as it is, where a document has one value. */
static bool by_plain_number(const struct sort_by *by)
{
    return by->type == WR_SORTER_FIELD && !by->texts && !by->as_real;
}

void top_window(struct top *t, const struct segment *s, uint32_t base, const uint64_t *bits,
                const float *scores)
{
    const struct sort *sort = t->sort;

    if (!t->room)
        return;
    if (sort->by_key)
        window_by_key(t, s, base, bits, scores);
    else if (scores && sort->by[0].type == WR_SORTER_SCORE)
        window_by_score(t, s, base, bits, scores);
    else if (by_plain_number(&sort->by[0]))
        window_by_number(t, s, base, bits, scores);
    else
        WINDOW_EACH(bits, i)
    top_add(t, s, base + (uint32_t)i, scores ? scores[i] : NAN);
}

void top_add_scored(struct top *t, const struct segment *s, uint32_t doc, float score)
{
    int64_t number = number_of_real(score);
    const void *last;

    if (t->count < t->room || t->sort->by[0].type != WR_SORTER_SCORE) {
        top_add(t, s, doc, score);
        return;
    }
    if (top_ends_before(t, number) || (t->tied == s && t->tied_number == number))
        return;
    last = t->hits[0].key.ptr;
    top_add(t, s, doc, score);
    if (!t->after && t->sort->count == 1 && t->hits[0].key.ptr == last) {
        t->tied = s;
        t->tied_number = number;
    }
}

bool top_ends_before(const struct top *t, int64_t number)
{
    const struct sort_value *last = t->count == t->room ? t->hits[0].values : NULL;

    if (!last || last->place != SORT_VALUE)
        return last && last->place == SORT_FIRST;
    return t->sort->by[0].descending ? number < last->number : number > last->number;
}

bool top_most(const struct top *t, const struct segment *s, float *most)
{
    const struct sort_by *by = &t->sort->by[0];

    if (t->sort->by_key || by->type != WR_SORTER_SCORE || !by->descending || t->count < t->room ||
        !t->room)
        return false;
    *most = (float)real_of_number(t->hits[0].values[0].number);
    if (t->tied != s || t->tied_number != t->hits[0].values[0].number)
        *most = nextafterf(*most, -INFINITY);
    return true;
}

void top_finish(struct top *t)
{
    if (t->count)
        qsort_r(t->hits, t->count, sizeof(t->hits[0]), compare_hits, t);
}
