/* heat.c: buckets.
 *
 * A live bucket is a start key and what was counted in it since the last step; it ends
 * where the next one starts. Each keeps up to three of the keys that came to it, chosen by chance.
 * A bucket with more than its share of the traffic is split at the middle one of these keys, so a
 * bucket's halves are about equally hot, whatever the keys look like, and a single hot key ends in
 * a bucket of its own. When there are more buckets than are kept, neighbours that are cold together
 * are joined, at the end of a step. */
#include "table/stats/heat_own.h"

#define SPLIT_SAMPLES 8    /* a bucket that saw fewer is not judged yet */
#define SPLITS_A_ROUND 256 /* so that a round stays short */

/* ---- buckets ---- */

static bytes start_key(const struct heat *h, size_t i)
{
    return bounds_key(&h->bounds, h->buckets[i].start);
}

uint32_t heat_end_of(const struct heat *h, size_t i)
{
    return i + 1 < h->count ? h->buckets[i + 1].start : BOUND_MAX;
}

/* Eight bytes of the key as a number; missing ones count as 0. */
static uint64_t heat_number_at(bytes key, size_t skip)
{
    uint8_t b[8] = {0};
    size_t n = key.len > skip ? key.len - skip : 0;

    memcpy(b, bytes_u8(key) + (n ? skip : 0), n < 8 ? n : 8);
    return load_u64_be(b);
}

size_t heat_common(bytes a, bytes b)
{
    size_t n = 0;

    while (n < a.len && n < b.len && bytes_u8(a)[n] == bytes_u8(b)[n])
        n++;
    return n;
}

/* To be called when the start keys have changed. */
static void number_all(struct heat *h)
{
    h->skip = h->count > 1 ? heat_common(start_key(h, 1), start_key(h, h->count - 1)) : 0;
    for (size_t i = 1; i < h->count; i++) {
        h->numbers[i] = heat_number_at(start_key(h, i), h->skip);
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
    for (size_t i = 0; i < HEAT_SAMPLES; i++) {
        bounds_unref(&h->bounds, b->samples[i]);
        b->samples[i] = BOUND_MIN;
    }
    b->sampled = 0;
}

struct heat *heat_new(unsigned ranges, size_t buckets_max, uint64_t seed)
{
    struct heat *h = mem_zalloc(sizeof(*h));

    bounds_init(&h->bounds);
    rng_init(&h->rng, seed);
    h->ranges = ranges;
    h->tops = mem_zalloc(ranges * sizeof(*h->tops));
    make_room(h);
    h->buckets[h->count++] = (struct bucket){.start = BOUND_MIN};
    for (unsigned i = 1; i < ranges; i++) {
        uint8_t part = (uint8_t)i;

        make_room(h);
        h->buckets[h->count++] =
            (struct bucket){.start = bounds_add(&h->bounds, bytes_of(&part, 1))};
    }
    heat_set_max(h, buckets_max);
    number_all(h);
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
                   h->ranges * sizeof(*h->tops) + h->early_room * sizeof(*h->early) +
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
static size_t heat_find(const struct heat *h, bytes key)
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
    number = heat_number_at(key, h->skip);
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
    size_t at =
        b->sampled < HEAT_SAMPLES ? b->sampled : (size_t)rng_below(&h->rng, b->sampled + 1ull);

    if (b->sampled < UINT32_MAX)
        b->sampled++;
    if (at >= HEAT_SAMPLES)
        return;
    bounds_unref(&h->bounds, b->samples[at]);
    b->samples[at] = bounds_add(&h->bounds, key);
}

static struct top *top_of(struct heat *h, bytes key)
{
    unsigned part = key.len ? *bytes_u8(key) : 0;

    return &h->tops[part < h->ranges ? part : h->ranges - 1];
}

static void raise_top(struct heat *h, bytes key)
{
    struct top *top = top_of(h, key);

    if (bytes_compare(key, bytes_of(top->key, top->len)) <= 0 || key.len > sizeof(top->key))
        return;
    memcpy(top->key, key.ptr, key.len);
    top->len = (uint8_t)key.len;
}

void heat_add(struct heat *h, bytes key, const struct heat_figures *f)
{
    struct bucket *b = &h->buckets[heat_find(h, key)];

    for (int m = 0; m < WR_HEAT_METRICS; m++)
        b->n[m] += f->n[m];
    b->score += (float)(f->n[WR_HEAT_READS] + f->n[WR_HEAT_WRITES] + f->n[WR_HEAT_REFUSED]);
    keep_sample(h, b, key);
    if (b->top)
        raise_top(h, key);
}

/* ---- splitting ---- */

bool heat_counted(const uint64_t n[WR_HEAT_METRICS])
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
    uint8_t after[HEAT_KEY_BYTES];

    if (!h->buckets[i].top)
        return bounds_ref(&h->bounds, heat_end_of(h, i));
    top = top_of(h, i ? start_key(h, i) : bytes_of("", 1));
    memcpy(after, top->key, top->len);
    after[top->len] = 0;
    if (bytes_compare(bytes_of(after, top->len + 1u), start_key(h, i)) <= 0)
        return bounds_ref(&h->bounds, heat_end_of(h, i));
    return bounds_add(&h->bounds, bytes_of(after, top->len + 1u));
}

bool heat_take_cell(struct heat *h, size_t i, struct heat_cell *out)
{
    struct bucket *b = &h->buckets[i];

    if (!heat_counted(b->n))
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
    h->early_count += heat_take_cell(h, i, &h->early[h->early_count]);
}

/* Where to split: a key between the bucket's ends, with a reference. BOUND_MIN: it is one key. */
static uint32_t split_point(struct heat *h, size_t i)
{
    struct bucket *b = &h->buckets[i];
    bytes start = start_key(h, i);
    uint32_t s[HEAT_SAMPLES];
    uint8_t after[HEAT_KEY_BYTES];

    memcpy(s, b->samples, sizeof(s));
    for (size_t k = 1; k < HEAT_SAMPLES; k++)
        for (size_t j = k; j && bounds_compare(&h->bounds, s[j - 1], s[j]) > 0; j--) {
            uint32_t t = s[j];

            s[j] = s[j - 1];
            s[j - 1] = t;
        }
    for (size_t k = HEAT_SAMPLES / 2; k < HEAT_SAMPLES; k++)
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
        if (h->buckets[i].sampled >= SPLIT_SAMPLES && h->buckets[i].score > share)
            splits += split(h, i);
    if (splits)
        number_all(h);
}

/* ---- joining ---- */

bool heat_is_fixed(const struct heat *h, size_t i)
{
    return start_key(h, i).len <= 1;
}

/* Joins neighbours that together stay at or below `limit`. Their figures must be gone. */
static void join_below(struct heat *h, float limit, size_t want)
{
    size_t kept = 0;

    for (size_t i = 1; i < h->count; i++) {
        struct bucket *to = &h->buckets[kept], *from = &h->buckets[i];

        if (h->count - (i - kept - 1) > want && !heat_is_fixed(h, i) &&
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

void heat_join_cold(struct heat *h)
{
    size_t want = kept_max(h), fixed = 0;
    float total = 1, limit;

    for (size_t i = 0; i < h->count; i++) {
        total += h->buckets[i].score;
        fixed += heat_is_fixed(h, i);
    }
    if (want < fixed)
        want = fixed;
    if (h->count <= want)
        return;
    for (limit = total / (float)want / 16; h->count > want; limit *= 2)
        join_below(h, limit, want);
    number_all(h);
}

void heat_fit(struct heat *h)
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
