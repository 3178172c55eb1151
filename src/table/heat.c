/* heat.c
 *
 * Buckets. A live bucket is a start key and what was counted in it since the last step; it ends
 * where the next one starts. Each keeps up to three of the keys that came to it, chosen by chance.
 * A bucket with more than its share of the traffic is split at the middle one of these keys, so a
 * bucket's halves are about equally hot, whatever the keys look like, and a single hot key ends in
 * a bucket of its own. When there are more buckets than are kept, neighbours that are cold together
 * are joined, at the end of a step.
 *
 * History. A step is a list of cells: a key range and what was counted there. Ranges of two steps
 * need not be the same, and within a step they may overlap: a bucket that is split before its step
 * ends leaves what it has counted as a cell of its own. So what was counted is never attributed to
 * a range narrower than the one in which it was seen. The keys of all ranges are shared (bound.h);
 * cells are stored as
 *     flags       1 << metric: its figure follows; FLAG_NEXT: begins where the cell before ended;
 *                 FLAG_CU: the CU are reads plus writes
 *     begin, end  numbers of bounds, as varints (begin unless FLAG_NEXT; end plus 1, 0: BOUND_MAX)
 *     figures     varints
 * which takes some ten bytes a cell: a day of 1,000 busy buckets is about 14 MB. */
#include "table/heat.h"

#include "base/rng.h"
#include "table/bound.h"

#include <stdlib.h>

#define KEY_BYTES 256 /* of a bound, more than any note has */
#define SAMPLES 3
#define SPLIT_NOTES 8      /* a bucket that saw fewer is not judged yet */
#define SPLITS_A_ROUND 256 /* so that a round stays short */
#define STEP_MINUTES_MAX 60
#define CELL_BYTES_MAX 66 /* encoded */
#define FLAG_NEXT 0x20
#define FLAG_CU 0x40
#define FLAG_STEP 0x80 /* no cell, but the beginning of a step; only where maps are given away */

struct bucket {
    uint32_t start;
    uint32_t samples[SAMPLES];
    uint32_t noted; /* since the samples were begun */
    float score;    /* rows read, written and refused; halved with each step */
    bool top;       /* the last one of its part */
    uint64_t n[WR_HEAT_METRICS];
};

/* The highest key noted in a part since the last step: the last bucket of a part has no end of its
 * own, and where keys only grow it is the one that counts. */
struct top {
    uint8_t len;
    uint8_t key[KEY_BYTES - 1];
};

struct cell {
    uint32_t begin, end;
    uint64_t n[WR_HEAT_METRICS];
};

struct step {
    int64_t minute;
    uint32_t minutes;
    uint32_t cells;
    uint32_t len;
    uint8_t *data;
};

struct heat {
    struct bounds bounds;
    struct bucket *buckets;
    uint64_t *numbers; /* of each start key the eight bytes behind the first `skip` */
    size_t skip;       /* bytes that all start keys but the first have in common */
    size_t count, room, max;
    struct top *tops; /* by part */
    unsigned parts;
    struct cell *early; /* of buckets that were split since the last step */
    size_t early_count, early_room;
    struct step *steps; /* oldest first */
    size_t step_count, step_room;
    size_t step_bytes;
    struct rng rng;
};

/* ---- buckets ---- */

static bytes start_key(const struct heat *h, size_t i)
{
    return bounds_key(&h->bounds, h->buckets[i].start);
}

static uint32_t end_of(const struct heat *h, size_t i)
{
    return i + 1 < h->count ? h->buckets[i + 1].start : BOUND_MAX;
}

/* Eight bytes of the key as a number; missing ones count as 0. */
static uint64_t number_at(bytes key, size_t skip)
{
    uint8_t b[8] = {0};
    size_t n = key.len > skip ? key.len - skip : 0;

    memcpy(b, bytes_u8(key) + (n ? skip : 0), n < 8 ? n : 8);
    return load_u64_be(b);
}

static size_t common(bytes a, bytes b)
{
    size_t n = 0;

    while (n < a.len && n < b.len && bytes_u8(a)[n] == bytes_u8(b)[n])
        n++;
    return n;
}

/* After the start keys have changed. */
static void number(struct heat *h)
{
    h->skip = h->count > 1 ? common(start_key(h, 1), start_key(h, h->count - 1)) : 0;
    for (size_t i = 1; i < h->count; i++) {
        h->numbers[i] = number_at(start_key(h, i), h->skip);
        h->buckets[i - 1].top = start_key(h, i).len <= 1;
    }
    h->buckets[h->count - 1].top = true;
}

static void make_room(struct heat *h)
{
    if (h->count < h->room)
        return;
    h->room = h->room ? h->room * 2 : 16;
    h->buckets = mem_realloc(h->buckets, h->room * sizeof(*h->buckets));
    h->numbers = mem_realloc(h->numbers, h->room * sizeof(*h->numbers));
}

static void forget_samples(struct heat *h, struct bucket *b)
{
    for (size_t i = 0; i < SAMPLES; i++) {
        bounds_unref(&h->bounds, b->samples[i]);
        b->samples[i] = BOUND_MIN;
    }
    b->noted = 0;
}

struct heat *heat_new(unsigned parts, size_t buckets_max, uint64_t seed)
{
    struct heat *h = mem_zalloc(sizeof(*h));

    bounds_init(&h->bounds);
    rng_init(&h->rng, seed);
    h->parts = parts;
    h->tops = mem_zalloc(parts * sizeof(*h->tops));
    make_room(h);
    h->buckets[h->count++] = (struct bucket){.start = BOUND_MIN};
    for (unsigned i = 1; i < parts; i++) {
        uint8_t part = (uint8_t)i;

        make_room(h);
        h->buckets[h->count++] =
            (struct bucket){.start = bounds_add(&h->bounds, bytes_of(&part, 1))};
    }
    heat_set_max(h, buckets_max);
    number(h);
    return h;
}

void heat_free(struct heat *h)
{
    if (!h)
        return;
    for (size_t i = 0; i < h->step_count; i++)
        mem_free(h->steps[i].data);
    bounds_release(&h->bounds);
    mem_free(h->buckets);
    mem_free(h->numbers);
    mem_free(h->tops);
    mem_free(h->early);
    mem_free(h->steps);
    mem_free(h);
}

void heat_set_max(struct heat *h, size_t buckets_max)
{
    h->max = buckets_max < HEAT_BUCKETS_MIN   ? HEAT_BUCKETS_MIN
             : buckets_max > HEAT_BUCKETS_MAX ? HEAT_BUCKETS_MAX
                                              : buckets_max;
}

size_t heat_bytes(const struct heat *h)
{
    return h ? sizeof(*h) + h->bounds.bytes +
                   h->room * (sizeof(*h->buckets) + sizeof(*h->numbers)) +
                   h->parts * sizeof(*h->tops) + h->early_room * sizeof(*h->early) +
                   h->step_room * sizeof(*h->steps) + h->step_bytes
             : 0;
}

size_t heat_buckets(const struct heat *h)
{
    return h->count;
}

size_t heat_steps(const struct heat *h)
{
    return h->step_count;
}

/* The last bucket that starts at or below the key. Most comparisons are of numbers. */
static size_t find(const struct heat *h, bytes key)
{
    size_t low = 1, high = h->count; /* the first that starts behind the key is in [low, high] */
    uint64_t number;
    int order;

    if (h->count == 1)
        return 0;
    order = memcmp(key.ptr, start_key(h, 1).ptr, key.len < h->skip ? key.len : h->skip);
    if (order < 0 || (order == 0 && key.len < h->skip))
        return 0;
    if (order > 0)
        return h->count - 1;
    number = number_at(key, h->skip);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        bool behind = h->numbers[middle] != number ? h->numbers[middle] > number
                                                   : bytes_compare(start_key(h, middle), key) > 0;

        if (behind)
            high = middle;
        else
            low = middle + 1;
    }
    return low - 1;
}

static void keep_sample(struct heat *h, struct bucket *b, bytes key)
{
    size_t at = b->noted < SAMPLES ? b->noted : (size_t)rng_below(&h->rng, b->noted + 1ull);

    if (b->noted < UINT32_MAX)
        b->noted++;
    if (at >= SAMPLES)
        return;
    bounds_unref(&h->bounds, b->samples[at]);
    b->samples[at] = bounds_add(&h->bounds, key);
}

static struct top *top_of(struct heat *h, bytes key)
{
    unsigned part = key.len ? *bytes_u8(key) : 0;

    return &h->tops[part < h->parts ? part : h->parts - 1];
}

static void raise_top(struct heat *h, bytes key)
{
    struct top *top = top_of(h, key);

    if (bytes_compare(key, bytes_of(top->key, top->len)) <= 0 || key.len > sizeof(top->key))
        return;
    memcpy(top->key, key.ptr, key.len);
    top->len = (uint8_t)key.len;
}

void heat_note(struct heat *h, bytes key, const struct heat_figures *f)
{
    struct bucket *b = &h->buckets[find(h, key)];

    for (int m = 0; m < WR_HEAT_METRICS; m++)
        b->n[m] += f->n[m];
    b->score += (float)(f->n[WR_HEAT_READS] + f->n[WR_HEAT_WRITES] + f->n[WR_HEAT_REFUSED]);
    keep_sample(h, b, key);
    if (b->top)
        raise_top(h, key);
}

/* ---- splitting ---- */

static bool counted(const uint64_t n[WR_HEAT_METRICS])
{
    for (int m = 0; m < WR_HEAT_METRICS; m++)
        if (n[m])
            return true;
    return false;
}

/* Behind the last key that the bucket counted, with a reference. */
static uint32_t cell_end(struct heat *h, size_t i)
{
    const struct top *top;
    uint8_t after[KEY_BYTES];

    if (!h->buckets[i].top)
        return bounds_ref(&h->bounds, end_of(h, i));
    top = top_of(h, i ? start_key(h, i) : bytes_of("", 1));
    memcpy(after, top->key, top->len);
    after[top->len] = 0;
    if (bytes_compare(bytes_of(after, top->len + 1u), start_key(h, i)) <= 0)
        return bounds_ref(&h->bounds, end_of(h, i));
    return bounds_add(&h->bounds, bytes_of(after, top->len + 1u));
}

/* Takes what the bucket has counted as a cell, with references. False: nothing. */
static bool take_cell(struct heat *h, size_t i, struct cell *out)
{
    struct bucket *b = &h->buckets[i];

    if (!counted(b->n))
        return false;
    out->begin = bounds_ref(&h->bounds, b->start);
    out->end = cell_end(h, i);
    memcpy(out->n, b->n, sizeof(out->n));
    memset(b->n, 0, sizeof(b->n));
    return true;
}

/* What the bucket has counted becomes a cell of its own. */
static void set_aside(struct heat *h, size_t i)
{
    if (h->early_count == h->early_room) {
        h->early_room = h->early_room ? h->early_room * 2 : 16;
        h->early = mem_realloc(h->early, h->early_room * sizeof(*h->early));
    }
    h->early_count += take_cell(h, i, &h->early[h->early_count]);
}

/* Where to split: a key between the bucket's ends, with a reference. BOUND_MIN: it is one key. */
static uint32_t split_point(struct heat *h, size_t i)
{
    struct bucket *b = &h->buckets[i];
    bytes start = start_key(h, i);
    uint32_t s[SAMPLES];
    uint8_t after[KEY_BYTES];

    memcpy(s, b->samples, sizeof(s));
    for (size_t k = 1; k < SAMPLES; k++)
        for (size_t j = k; j && bounds_compare(&h->bounds, s[j - 1], s[j]) > 0; j--) {
            uint32_t t = s[j];

            s[j] = s[j - 1];
            s[j - 1] = t;
        }
    for (size_t k = SAMPLES / 2; k < SAMPLES; k++)
        if (bytes_compare(bounds_key(&h->bounds, s[k]), start) > 0)
            return bounds_ref(&h->bounds, s[k]);
    /* All of them are the first key: it gets a bucket of its own. */
    if (start.len >= sizeof(after) || !start.len)
        return BOUND_MIN;
    memcpy(after, start.ptr, start.len);
    after[start.len] = 0;
    if (i + 1 < h->count && bytes_compare(bytes_of(after, start.len + 1), start_key(h, i + 1)) >= 0)
        return BOUND_MIN;
    return bounds_add(&h->bounds, bytes_of(after, start.len + 1));
}

static bool split(struct heat *h, size_t i)
{
    uint32_t at = split_point(h, i);

    if (at == BOUND_MIN) {
        forget_samples(h, &h->buckets[i]);
        return false;
    }
    set_aside(h, i);
    forget_samples(h, &h->buckets[i]);
    make_room(h);
    memmove(&h->buckets[i + 2], &h->buckets[i + 1], (h->count - i - 1) * sizeof(*h->buckets));
    h->buckets[i].score /= 2;
    h->buckets[i + 1] = (struct bucket){.start = at, .score = h->buckets[i].score};
    h->count++;
    return true;
}

/* How many buckets a step begins with at most; the rest is room to split before it ends. */
static size_t kept_max(const struct heat *h)
{
    return h->max - h->max / 6;
}

void heat_adapt(struct heat *h)
{
    float total = 0, share;
    size_t splits = 0;

    for (size_t i = 0; i < h->count; i++)
        total += h->buckets[i].score;
    share = total / (float)kept_max(h);
    for (size_t i = h->count; i-- > 0 && h->count < h->max && splits < SPLITS_A_ROUND;)
        if (h->buckets[i].noted >= SPLIT_NOTES && h->buckets[i].score > share)
            splits += split(h, i);
    if (splits)
        number(h);
}

/* ---- joining ---- */

/* The start of a part of the layout, or of the whole. */
static bool is_fixed(const struct heat *h, size_t i)
{
    return start_key(h, i).len <= 1;
}

/* Joins neighbours that together stay at or below `limit`. Their figures must be gone. */
static void join_below(struct heat *h, float limit, size_t want)
{
    size_t kept = 0;

    for (size_t i = 1; i < h->count; i++) {
        struct bucket *to = &h->buckets[kept], *from = &h->buckets[i];

        if (h->count - (i - kept - 1) > want && !is_fixed(h, i) &&
            to->score + from->score <= limit) {
            to->score += from->score;
            forget_samples(h, from);
            forget_samples(h, to);
            bounds_unref(&h->bounds, from->start);
        } else {
            h->buckets[++kept] = *from;
        }
    }
    h->count = kept + 1;
}

static void join_cold(struct heat *h)
{
    size_t want = kept_max(h), fixed = 0;
    float total = 1, limit;

    for (size_t i = 0; i < h->count; i++) {
        total += h->buckets[i].score;
        fixed += is_fixed(h, i);
    }
    if (want < fixed)
        want = fixed;
    if (h->count <= want)
        return;
    for (limit = total / (float)want / 16; h->count > want; limit *= 2)
        join_below(h, limit, want);
    number(h);
}

/* Gives back room that is no longer used. */
static void fit(struct heat *h)
{
    if (h->room > 4 * h->count && h->room > 64) {
        h->room = 2 * h->count;
        h->buckets = mem_realloc(h->buckets, h->room * sizeof(*h->buckets));
        h->numbers = mem_realloc(h->numbers, h->room * sizeof(*h->numbers));
    }
    if (!h->early_count) {
        mem_free(h->early);
        h->early = NULL;
        h->early_room = 0;
    }
    if (h->step_room > 4 * h->step_count && h->step_room > 64) {
        h->step_room = 2 * h->step_count + 1;
        h->steps = mem_realloc(h->steps, h->step_room * sizeof(*h->steps));
    }
}

/* ---- steps ---- */

static void put_cell(struct buf *b, const struct cell *cell, bool follows)
{
    bool derived = cell->n[WR_HEAT_CU] == cell->n[WR_HEAT_READS] + cell->n[WR_HEAT_WRITES];
    uint8_t flags = (uint8_t)((follows ? FLAG_NEXT : 0) | (derived ? FLAG_CU : 0));

    for (int m = 0; m < WR_HEAT_METRICS; m++)
        if (cell->n[m] && !(m == WR_HEAT_CU && derived))
            flags |= (uint8_t)(1u << m);
    buf_put_u8(b, flags);
    if (!follows)
        buf_put_varint(b, cell->begin);
    buf_put_varint(b, (uint32_t)(cell->end + 1));
    for (int m = 0; m < WR_HEAT_METRICS; m++)
        if (flags & 1u << m)
            buf_put_varint(b, cell->n[m]);
}

/* `cell` is the one before, and then this one. */
static void read_cell(struct reader *r, struct cell *cell)
{
    uint8_t flags = read_u8(r);

    cell->begin = flags & FLAG_NEXT ? cell->end : (uint32_t)read_varint(r);
    cell->end = (uint32_t)read_varint(r) - 1;
    for (int m = 0; m < WR_HEAT_METRICS; m++)
        cell->n[m] = flags & 1u << m ? read_varint(r) : 0;
    if (flags & FLAG_CU)
        cell->n[WR_HEAT_CU] = cell->n[WR_HEAT_READS] + cell->n[WR_HEAT_WRITES];
}

static struct reader step_reader(const struct step *s)
{
    return reader_of(bytes_of(s->data, s->len));
}

/* Makes the step of these cells, whose references it takes over. */
static void step_make(struct heat *h, struct step *s, const struct cell *cells, size_t n)
{
    struct arena a;
    struct buf b;

    arena_init(&a, NULL, 0);
    buf_init(&b, &a, n * 12 + CELL_BYTES_MAX);
    for (size_t i = 0; i < n; i++)
        put_cell(&b, &cells[i], i && cells[i].begin == cells[i - 1].end);
    s->cells = (uint32_t)n;
    s->len = (uint32_t)b.len;
    s->data = mem_alloc(b.len);
    memcpy(s->data, b.data, b.len);
    h->step_bytes += s->len;
    arena_release(&a);
}

static void step_forget(struct heat *h, struct step *s)
{
    struct reader r = step_reader(s);
    struct cell cell = {0};

    for (uint32_t i = 0; i < s->cells; i++) {
        read_cell(&r, &cell);
        bounds_unref(&h->bounds, cell.begin);
        bounds_unref(&h->bounds, cell.end);
    }
    h->step_bytes -= s->len;
    mem_free(s->data);
}

static void steps_remove(struct heat *h, size_t first, size_t n)
{
    memmove(&h->steps[first], &h->steps[first + n],
            (h->step_count - first - n) * sizeof(*h->steps));
    h->step_count -= n;
}

static struct step *steps_add(struct heat *h)
{
    if (h->step_count == h->step_room) {
        h->step_room = h->step_room ? h->step_room * 2 : 16;
        h->steps = mem_realloc(h->steps, h->step_room * sizeof(*h->steps));
    }
    return &h->steps[h->step_count++];
}

/* All that was counted since the last step. References are taken for the caller. */
static size_t take_cells(struct heat *h, struct cell *cells)
{
    size_t n = 0;

    for (size_t i = 0; i < h->count; i++)
        n += take_cell(h, i, &cells[n]);
    for (unsigned i = 0; i < h->parts; i++)
        h->tops[i].len = 0;
    if (h->early_count)
        memcpy(&cells[n], h->early, h->early_count * sizeof(*cells));
    n += h->early_count;
    h->early_count = 0;
    return n;
}

static void add_step(struct heat *h, int64_t minute)
{
    struct cell *cells = mem_alloc((h->count + h->early_count) * sizeof(*cells));
    size_t n = take_cells(h, cells);

    /* A clock that was set back: time goes on where it was. */
    if (n && h->step_count) {
        const struct step *last = &h->steps[h->step_count - 1];

        if (minute < last->minute + last->minutes)
            minute = last->minute + last->minutes;
    }
    if (n) {
        struct step *s = steps_add(h);

        *s = (struct step){.minute = minute, .minutes = 1};
        step_make(h, s, cells, n);
    }
    mem_free(cells);
}

void heat_step(struct heat *h, int64_t minute)
{
    size_t old = 0;

    add_step(h, minute);
    while (old < h->step_count &&
           h->steps[old].minute + h->steps[old].minutes <= minute + 1 - HEAT_MINUTES)
        step_forget(h, &h->steps[old++]);
    steps_remove(h, 0, old);
    join_cold(h);
    for (size_t i = 0; i < h->count; i++)
        h->buckets[i].score /= 2;
    fit(h);
}

/* ---- folding ---- */

static int compare_cells(const void *x, const void *y, void *bounds)
{
    const struct cell *a = x, *b = y;
    int order = bounds_compare(bounds, a->begin, b->begin);

    return order ? order : bounds_compare(bounds, a->end, b->end);
}

static uint64_t cell_heat(const struct cell *cell)
{
    return cell->n[WR_HEAT_READS] + cell->n[WR_HEAT_WRITES] + cell->n[WR_HEAT_REFUSED];
}

/* `to` covers both; the references of `from` are given back. */
static void cell_join(struct heat *h, struct cell *to, const struct cell *from)
{
    for (int m = 0; m < WR_HEAT_METRICS; m++)
        to->n[m] += from->n[m];
    bounds_unref(&h->bounds, from->begin);
    if (bounds_compare(&h->bounds, to->end, from->end) < 0) {
        bounds_unref(&h->bounds, to->end);
        to->end = from->end;
    } else {
        bounds_unref(&h->bounds, from->end);
    }
}

/* Joins sorted cells of one range, and then those that are cold together, until no more than `want`
 * are left. */
static size_t cells_join(struct heat *h, struct cell *cells, size_t n, size_t want)
{
    uint64_t total = 1;
    size_t kept = 0;

    for (size_t i = 1; i < n; i++)
        if (compare_cells(&cells[kept], &cells[i], &h->bounds) == 0)
            cell_join(h, &cells[kept], &cells[i]);
        else
            cells[++kept] = cells[i];
    n = n ? kept + 1 : 0;
    for (size_t i = 0; i < n; i++)
        total += cell_heat(&cells[i]);
    for (uint64_t limit = total / want / 4 + 1; n > want; limit *= 2) {
        kept = 0;
        for (size_t i = 1; i < n; i++)
            if (n - (i - kept - 1) > want &&
                cell_heat(&cells[kept]) + cell_heat(&cells[i]) <= limit)
                cell_join(h, &cells[kept], &cells[i]);
            else
                cells[++kept] = cells[i];
        n = kept + 1;
    }
    return n;
}

/* Steps i and i + 1 become one. */
static void fold_pair(struct heat *h, size_t i)
{
    struct step *a = &h->steps[i], *b = a + 1, made = *a;
    struct cell *cells = mem_alloc((a->cells + b->cells) * sizeof(*cells));
    size_t n = 0, want = (a->cells + b->cells + 1) / 2;

    made.minutes = (uint32_t)(b->minute + b->minutes - a->minute);
    for (struct step *s = a; s <= b; s++) {
        struct reader r = step_reader(s);
        struct cell cell = {0};

        for (uint32_t k = 0; k < s->cells; k++) {
            read_cell(&r, &cell);
            bounds_ref(&h->bounds, cell.begin);
            bounds_ref(&h->bounds, cell.end);
            cells[n++] = cell;
        }
    }
    step_forget(h, a);
    step_forget(h, b);
    qsort_r(cells, n, sizeof(*cells), compare_cells, &h->bounds);
    n = cells_join(h, cells, n, want < 16 ? 16 : want);
    step_make(h, &made, cells, n);
    mem_free(cells);
    *a = made;
    steps_remove(h, i + 1, 1);
}

static uint32_t renumber(const uint32_t *map, uint32_t id)
{
    return id == BOUND_MAX ? id : map[id];
}

static void renumber_step(struct heat *h, struct step *s, const uint32_t *map)
{
    struct cell *cells = mem_alloc(s->cells * sizeof(*cells)), last = {0};
    struct reader r = step_reader(s);

    for (uint32_t i = 0; i < s->cells; i++) {
        read_cell(&r, &last);
        cells[i] = last;
        cells[i].begin = renumber(map, last.begin);
        cells[i].end = renumber(map, last.end);
    }
    h->step_bytes -= s->len;
    mem_free(s->data);
    step_make(h, s, cells, s->cells);
    mem_free(cells);
}

/* After much was forgotten: the numbers of bounds close up. */
static void compact(struct heat *h)
{
    uint32_t *map;

    if (!bounds_sparse(&h->bounds))
        return;
    map = bounds_compact(&h->bounds);
    for (size_t i = 0; i < h->count; i++) {
        h->buckets[i].start = renumber(map, h->buckets[i].start);
        for (size_t k = 0; k < SAMPLES; k++)
            h->buckets[i].samples[k] = renumber(map, h->buckets[i].samples[k]);
    }
    for (size_t i = 0; i < h->early_count; i++) {
        h->early[i].begin = renumber(map, h->early[i].begin);
        h->early[i].end = renumber(map, h->early[i].end);
    }
    for (size_t i = 0; i < h->step_count; i++)
        renumber_step(h, &h->steps[i], map);
    mem_free(map);
}

bool heat_fold(struct heat *h)
{
    uint32_t best_minutes = STEP_MINUTES_MAX + 1;
    size_t best = 0;

    for (size_t i = 0; i + 1 < h->step_count; i++) {
        int64_t minutes = h->steps[i + 1].minute + h->steps[i + 1].minutes - h->steps[i].minute;

        if (minutes < best_minutes) {
            best_minutes = (uint32_t)minutes;
            best = i;
        }
    }
    if (best_minutes <= STEP_MINUTES_MAX) {
        fold_pair(h, best);
    } else {
        if (!h->step_count)
            return false;
        step_forget(h, &h->steps[0]);
        steps_remove(h, 0, 1);
    }
    compact(h);
    return true;
}

/* ---- the report ----
 *
 * All bounds that occur in the time asked for cut the key space into pieces, the smallest ranges
 * that can be told apart. Rows are runs of pieces, chosen so that each takes about the same share
 * of the traffic. */

struct report {
    const struct heat *h;
    const struct heat_ask *ask;
    struct heat_grid *grid;
    struct arena *a;
    uint32_t *ids;   /* start of each piece */
    uint32_t *piece; /* by number of a bound: the piece that starts there */
    size_t count;    /* pieces */
    size_t *row;     /* of each piece */
    double *weight;  /* of each piece */
};

typedef void cell_fn(struct report *r, const struct step *s, const struct cell *cell);

static void each_cell(struct report *r, cell_fn *fn)
{
    const struct heat *h = r->h;
    struct step now = {.minute = r->ask->minute, .minutes = 1};
    int64_t first = r->ask->minute - r->ask->minutes + 1;

    for (size_t i = 0; i < h->step_count; i++) {
        struct reader reader = step_reader(&h->steps[i]);
        struct cell cell = {0};

        if (h->steps[i].minute + h->steps[i].minutes <= first ||
            h->steps[i].minute > r->ask->minute)
            continue;
        for (uint32_t k = 0; k < h->steps[i].cells; k++) {
            read_cell(&reader, &cell);
            fn(r, &h->steps[i], &cell);
        }
    }
    for (size_t i = 0; i < h->early_count; i++)
        fn(r, &now, &h->early[i]);
    for (size_t i = 0; i < h->count; i++) {
        struct cell cell = {h->buckets[i].start, end_of(h, i), {0}};

        memcpy(cell.n, h->buckets[i].n, sizeof(cell.n));
        if (counted(cell.n))
            fn(r, &now, &cell);
    }
}

static void mark_bound(struct report *r, uint32_t id)
{
    if (id == BOUND_MAX || r->piece[id])
        return;
    r->piece[id] = 1;
    r->ids[r->count++] = id;
}

static void mark_cell(struct report *r, const struct step *s, const struct cell *cell)
{
    (void)s;
    mark_bound(r, cell->begin);
    mark_bound(r, cell->end);
}

static int compare_ids(const void *x, const void *y, void *bounds)
{
    return bounds_compare(bounds, *(const uint32_t *)x, *(const uint32_t *)y);
}

static void find_pieces(struct report *r)
{
    const struct heat *h = r->h;
    size_t n = 0;

    r->piece = ARENA_ARRAY(r->a, uint32_t, h->bounds.count);
    r->ids = ARENA_ARRAY(r->a, uint32_t, h->bounds.count);
    mark_bound(r, BOUND_MIN);
    for (size_t i = 0; i < h->count; i++)
        if (is_fixed(h, i))
            mark_bound(r, h->buckets[i].start);
    each_cell(r, mark_cell);
    qsort_r(r->ids, r->count, sizeof(*r->ids), compare_ids, (void *)&h->bounds);
    /* Two numbers may stand for one key, and for one piece. */
    for (size_t i = 0; i < r->count; i++) {
        if (n && bounds_compare(&h->bounds, r->ids[n - 1], r->ids[i]) == 0)
            n--;
        r->piece[r->ids[i]] = (uint32_t)n;
        r->ids[n++] = r->ids[i];
    }
    r->count = n;
}

static size_t piece_at(const struct report *r, uint32_t id)
{
    return id == BOUND_MAX ? r->count : r->piece[id];
}

/* Shares are added where a cell begins and taken away where it ends; sums over them are weights. */
static void weigh_cell(struct report *r, const struct step *s, const struct cell *cell)
{
    size_t from = piece_at(r, cell->begin), to = piece_at(r, cell->end);
    double heat = (double)cell_heat(cell), share;

    (void)s;
    if (to <= from)
        return;
    share = heat / (double)(to - from);
    r->weight[from] += share;
    r->weight[to] -= share;
}

/* Rows for pieces [from, to): about `rows` of equal weight. One piece alone may weigh more than a
 * row, so weights are cut off until what is left of them fills the rows. Returns the next row. */
static size_t cut_rows(struct report *r, size_t from, size_t to, size_t rows, size_t row)
{
    double total = 0, sum = 0, cap;
    size_t last = 0;
    bool any = false;

    if (to - from <= rows) {
        for (size_t i = from; i < to; i++)
            r->row[i] = row++;
        return row;
    }
    for (size_t i = from; i < to; i++)
        total += r->weight[i];
    cap = total;
    for (int round = 0; round < 8; round++) {
        cap = total / (double)rows;
        total = 0;
        for (size_t i = from; i < to; i++)
            total += r->weight[i] < cap ? r->weight[i] : cap;
    }
    for (size_t i = from; i < to; i++) {
        double w = r->weight[i] < cap ? r->weight[i] : cap;
        size_t at = (size_t)((sum + w / 2) / total * (double)rows);

        if (any && at != last)
            row++;
        any = true;
        last = at;
        r->row[i] = row;
        sum += w;
    }
    return row + 1;
}

static void find_rows(struct report *r)
{
    size_t parts = 0, from = 0, rows = 0, wanted = r->ask->rows;
    double total = 0, sum = 0;

    r->weight = ARENA_ARRAY(r->a, double, r->count + 1);
    r->row = ARENA_ARRAY(r->a, size_t, r->count + 1);
    each_cell(r, weigh_cell);
    for (size_t i = 0; i < r->count; i++) {
        sum += r->weight[i];
        r->weight[i] = sum > 0 ? sum : 0;
        total += r->weight[i];
        parts += bounds_key(&r->h->bounds, r->ids[i]).len <= 1;
    }
    /* Ranges where nothing happened are to be seen, too. */
    for (size_t i = 0; i < r->count; i++)
        r->weight[i] += total / (double)r->count / 8 + 1e-9;
    if (parts > wanted)
        parts = 1;
    for (size_t i = 1; i <= r->count; i++)
        if (i == r->count || (parts > 1 && bounds_key(&r->h->bounds, r->ids[i]).len <= 1)) {
            rows = cut_rows(r, from, i, wanted / parts, rows);
            from = i;
        }
    r->grid->rows = rows;
    r->row[r->count] = rows;
}

/* Puts a cell's figures of one column into the rows it covers, by pieces. */
static void fill_rows(struct report *r, const struct cell *cell, size_t column, uint64_t share,
                      uint64_t shares_before, uint64_t shares)
{
    size_t from = piece_at(r, cell->begin), to = piece_at(r, cell->end), columns = r->grid->columns;

    for (int m = 0; m < WR_HEAT_METRICS; m++) {
        uint64_t n = cell->n[m], done = 0, sum;

        if (!r->grid->values[m] || !n)
            continue;
        sum = (uint64_t)((__uint128_t)n * (shares_before + share) / shares) -
              (uint64_t)((__uint128_t)n * shares_before / shares);
        if (to <= from) /* a range of a key that was seen to be empty */
            to = from + 1;
        for (size_t i = from, next; i < to; i = next) {
            uint64_t upto;

            for (next = i + 1; next < to && r->row[next] == r->row[i];)
                next++;
            upto = (uint64_t)((__uint128_t)sum * (next - from) / (to - from));
            r->grid->values[m][r->row[i] * columns + column] += upto - done;
            done = upto;
        }
    }
}

static void fill_cell(struct report *r, const struct step *s, const struct cell *cell)
{
    int64_t first = r->grid->minute;

    for (int64_t minute = s->minute, next; minute < s->minute + s->minutes; minute = next) {
        int64_t column = (minute - first) / (int64_t)r->ask->step;

        next = minute + 1;
        if (minute < first || minute > r->ask->minute)
            continue;
        while (next < s->minute + s->minutes && next <= r->ask->minute &&
               (next - first) / (int64_t)r->ask->step == column)
            next++;
        fill_rows(r, cell, (size_t)column, (uint64_t)(next - minute),
                  (uint64_t)(minute - s->minute), s->minutes);
    }
}

void heat_report(const struct heat *h, struct arena *a, const struct heat_ask *ask,
                 struct heat_grid *out)
{
    struct report r = {.h = h, .ask = ask, .grid = out, .a = a};
    size_t row = SIZE_MAX;

    out->minute = ask->minute - ask->minutes + 1;
    out->columns = ((size_t)ask->minutes + ask->step - 1) / ask->step;
    find_pieces(&r);
    find_rows(&r);
    out->starts = ARENA_ARRAY(a, bytes, out->rows);
    for (size_t i = 0; i < r.count; i++)
        if (r.row[i] != row) {
            row = r.row[i];
            out->starts[row] = arena_copy(a, bounds_key(&h->bounds, r.ids[i]));
        }
    for (int m = 0; m < WR_HEAT_METRICS; m++)
        out->values[m] =
            ask->metrics & 1u << m ? ARENA_ARRAY(a, uint64_t, out->rows * out->columns) : NULL;
    each_cell(&r, fill_cell);
}

/* ---- maps of several processes ----
 *
 * A map is given as the keys of its pieces, ascending (their number; of each how many bytes are the
 * last one's, how many follow, these bytes), then steps: FLAG_STEP, minute, minutes, and the step's
 * cells as in history, their bounds numbered as the keys stand. Time and ranges of what is taken
 * may overlap what is there: a report adds up whatever covers a place. */

static void give_keys(const struct report *r, struct buf *b)
{
    bytes last = BYTES_NONE;

    buf_put_varint(b, r->count);
    for (size_t i = 0; i < r->count; i++) {
        bytes key = bounds_key(&r->h->bounds, r->ids[i]);
        size_t same = common(last, key);

        buf_put_varint(b, same);
        buf_put_varint(b, key.len - same);
        buf_put_bytes(b, bytes_skip(key, same));
        last = key;
    }
}

struct giving {
    struct report r; /* first: each_cell() hands its address on */
    struct buf *b;
    int64_t minute; /* of the last step */
    uint32_t minutes;
    struct cell last;
    bool any; /* a step has begun */
};

static void give_cell(struct report *r, const struct step *s, const struct cell *cell)
{
    struct giving *g = PORT_CONTAINER(r, struct giving, r);
    struct cell given = *cell;
    bool begins = !g->any || s->minute != g->minute || s->minutes != g->minutes;

    if (begins) {
        buf_put_u8(g->b, FLAG_STEP);
        buf_put_varint(g->b, (uint64_t)s->minute);
        buf_put_varint(g->b, s->minutes);
        g->any = true;
        g->minute = s->minute;
        g->minutes = s->minutes;
    }
    given.begin = r->piece[cell->begin];
    given.end = cell->end == BOUND_MAX ? BOUND_MAX : r->piece[cell->end];
    put_cell(g->b, &given, !begins && given.begin == g->last.end);
    g->last = given;
}

static void give_all(const struct heat *h, struct buf *b, const struct heat_ask *ask)
{
    struct giving g = {.b = b};
    struct arena a;

    arena_init(&a, NULL, 0);
    g.r = (struct report){.h = h, .ask = ask, .a = &a};
    find_pieces(&g.r);
    give_keys(&g.r, b);
    each_cell(&g.r, give_cell);
    arena_release(&a);
}

void heat_give(const struct heat *h, struct buf *b, int64_t minute, int minutes, size_t bytes_max)
{
    struct heat_ask ask = {.minute = minute, .minutes = minutes};
    size_t start = b->len;
    struct heat *coarse;

    give_all(h, b, &ask);
    if (b->len - start <= bytes_max)
        return;
    coarse = heat_new(h->parts, 0, 0);
    (void)heat_take(coarse, bytes_of(b->data + start, b->len - start));
    while (b->len - start > bytes_max && coarse->step_count) {
        for (size_t n = coarse->step_count / 2 + 1; n && heat_fold(coarse); n--)
            continue;
        b->len = start;
        give_all(coarse, b, &ask);
    }
    heat_free(coarse);
}

struct taking {
    struct heat *h;
    struct reader r;
    uint32_t *ids; /* of the keys; a reference each */
    size_t count;
    struct cell *cells; /* of the step that is read */
    size_t cell_count, cell_room;
    struct step step;
};

static bool take_keys(struct taking *t)
{
    uint8_t key[KEY_BYTES];
    uint64_t count = read_varint(&t->r);

    if (t->r.bad || count > reader_left(&t->r) / 2) /* two bytes each at least */
        return false;
    t->ids = mem_alloc((count + 1) * sizeof(*t->ids));
    for (uint64_t i = 0, last = 0; i < count; i++) {
        uint64_t same = read_varint(&t->r), more = read_varint(&t->r);
        bytes rest;

        if (same > last || more > KEY_BYTES - same)
            return false;
        rest = read_bytes(&t->r, (size_t)more);
        if (t->r.bad)
            return false;
        if (rest.len)
            memcpy(key + same, rest.ptr, rest.len);
        last = same + more;
        t->ids[t->count++] =
            last ? bounds_add(&t->h->bounds, bytes_of(key, (size_t)last)) : BOUND_MIN;
    }
    return true;
}

static void take_step_end(struct taking *t)
{
    if (!t->cell_count)
        return;
    step_make(t->h, &t->step, t->cells, t->cell_count);
    *steps_add(t->h) = t->step;
    t->cell_count = 0;
}

static bool take_step(struct taking *t)
{
    uint64_t minute, minutes;

    take_step_end(t);
    (void)read_u8(&t->r);
    minute = read_varint(&t->r);
    minutes = read_varint(&t->r);
    t->step = (struct step){.minute = (int64_t)minute, .minutes = (uint32_t)minutes};
    return !t->r.bad && minute < 1ull << 40 && minutes >= 1 && minutes <= HEAT_MINUTES;
}

/* `last`: as given, and then this one. */
static bool take_one(struct taking *t, struct cell *last)
{
    struct cell *cell;

    read_cell(&t->r, last);
    if (t->r.bad || !t->step.minutes || last->begin >= t->count ||
        (last->end != BOUND_MAX && last->end >= t->count))
        return false;
    if (t->cell_count == t->cell_room) {
        t->cell_room = t->cell_room ? t->cell_room * 2 : 64;
        t->cells = mem_realloc(t->cells, t->cell_room * sizeof(*t->cells));
    }
    cell = &t->cells[t->cell_count++];
    *cell = *last;
    cell->begin = bounds_ref(&t->h->bounds, t->ids[last->begin]);
    cell->end = last->end == BOUND_MAX ? BOUND_MAX : bounds_ref(&t->h->bounds, t->ids[last->end]);
    return true;
}

static bool take_steps(struct taking *t)
{
    struct cell last = {0};

    while (reader_left(&t->r))
        if (*t->r.at & FLAG_STEP ? !take_step(t) : !take_one(t, &last))
            return false;
    take_step_end(t);
    return true;
}

bool heat_take(struct heat *h, bytes given)
{
    struct taking t = {.h = h, .r = reader_of(given)};
    size_t before = h->step_count;
    bool good = take_keys(&t) && take_steps(&t);

    if (!good) {
        for (size_t i = 0; i < t.cell_count; i++) {
            bounds_unref(&h->bounds, t.cells[i].begin);
            bounds_unref(&h->bounds, t.cells[i].end);
        }
        for (size_t i = before; i < h->step_count; i++)
            step_forget(h, &h->steps[i]);
        h->step_count = before;
    }
    for (size_t i = 0; i < t.count; i++)
        bounds_unref(&h->bounds, t.ids[i]);
    mem_free(t.ids);
    mem_free(t.cells);
    return good;
}
