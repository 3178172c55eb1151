#include "search/query/node.h"

/* One struct for all leaves: what a window function does not need, it leaves. */
struct leaf {
    struct node node;
    const struct segment *segment;
    const struct segment_column *col;
    const uint32_t *docs; /* ascending */
    uint32_t count, at;
    const uint64_t *bits;
    int64_t low, high;
    float score;
};

static struct leaf *leaf_new(struct query *q,
                             void (*window)(struct node *, uint32_t, uint64_t *, float *),
                             uint64_t estimate, float score)
{
    struct leaf *l = ARENA_NEW(&q->c->arena, struct leaf);

    l->node = (struct node){.window = window, .estimate = estimate};
    l->segment = q->segment;
    l->score = score;
    return l;
}

static void window_none(struct node *n PORT_UNUSED, uint32_t base PORT_UNUSED, uint64_t *bits,
                        float *scores PORT_UNUSED)
{
    memset(bits, 0, WINDOW_WORDS * 8);
}

static void window_all(struct node *n, uint32_t base PORT_UNUSED, uint64_t *bits, float *scores)
{
    if (scores)
        window_fill_scores(bits, scores, ((struct leaf *)n)->score);
}

struct node *node_all(struct query *q, float score)
{
    return &leaf_new(q, window_all, q->segment ? q->segment->documents : 0, score)->node;
}

struct node *node_none(struct query *q)
{
    return &leaf_new(q, window_none, 0, 0)->node;
}

static void window_bits(struct node *n, uint32_t base, uint64_t *bits, float *scores)
{
    struct leaf *l = (struct leaf *)n;
    size_t first = base / 64, words = dead_words(l->segment->documents) - first;

    for (size_t i = 0; i < WINDOW_WORDS; i++)
        bits[i] &= i < words ? l->bits[first + i] : 0;
    if (scores)
        window_fill_scores(bits, scores, l->score);
}

int node_bitmap(struct query *q, float score, struct node **out, uint64_t **bits)
{
    size_t len = dead_words(q->segment->documents) * 8;
    struct leaf *l = leaf_new(q, window_bits, q->segment->documents / 2, score);

    *bits = arena_try_alloc(&q->c->arena, len + 8);
    if (!*bits)
        return fail(q->c, E_MEMORY, "A search query takes more memory than a request may.");
    memset(*bits, 0, len);
    l->bits = *bits;
    *out = &l->node;
    return E_OK;
}

void bitmap_add_term(uint64_t *bits, const struct segment *s, const struct segment_column *col,
                     uint32_t term)
{
    const uint32_t *posts = col->posts + col->post_at[term];
    uint32_t count = col->term_docs[term];

    if (!col->freqs && posts_dense(count, s->documents)) {
        const uint64_t *from = (const uint64_t *)(const void *)posts;

        for (size_t i = 0; i < dead_words(s->documents); i++)
            bits[i] |= from[i];
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        bits[posts[i] / 64] |= 1ull << posts[i] % 64;
}

/* The first of docs[at..count) that is not below `doc`: near ones are found soon. */
static uint32_t gallop(const uint32_t *docs, uint32_t at, uint32_t count, uint32_t doc)
{
    uint32_t step = 1, low, high;

    if (at == count || docs[at] >= doc)
        return at;
    while (step < count - at && docs[at + step] < doc)
        step *= 2;
    low = at + step / 2;
    high = step < count - at ? at + step : count;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;

        if (docs[mid] < doc)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static void window_docs(struct node *n, uint32_t base, uint64_t *bits, float *scores)
{
    struct leaf *l = (struct leaf *)n;
    uint64_t found[WINDOW_WORDS] = {0};

    l->at = gallop(l->docs, l->at, l->count, base);
    for (; l->at < l->count && l->docs[l->at] - base < WINDOW_DOCS; l->at++) {
        uint32_t i = l->docs[l->at] - base;

        found[i / 64] |= 1ull << i % 64;
    }
    for (size_t i = 0; i < WINDOW_WORDS; i++)
        bits[i] &= found[i];
    if (scores)
        window_fill_scores(bits, scores, l->score);
}

static struct node *one_term(struct query *q, const struct segment_column *col, uint32_t term,
                             float score)
{
    uint32_t count = col->term_docs[term];
    const uint32_t *posts = col->posts + col->post_at[term];
    struct leaf *l;

    if (!col->freqs && posts_dense(count, q->segment->documents)) {
        l = leaf_new(q, window_bits, count, score);
        l->bits = (const uint64_t *)(const void *)posts;
    } else {
        l = leaf_new(q, window_docs, count, score);
        l->docs = posts;
        l->count = count;
    }
    return &l->node;
}

int node_terms(struct query *q, const struct segment_column *col, uint32_t first, uint32_t end,
               float score, struct node **out)
{
    uint64_t *bits;

    if (first >= end) {
        *out = node_none(q);
        return E_OK;
    }
    if (end - first == 1) {
        *out = one_term(q, col, first, score);
        return E_OK;
    }
    TRY(node_bitmap(q, score, out, &bits));
    for (uint32_t i = first; i < end; i++)
        bitmap_add_term(bits, q->segment, col, i);
    return E_OK;
}

/* Every document has one value: 64 are compared at a time. */
static void window_numbers_dense(struct node *n, uint32_t base, uint64_t *bits, float *scores)
{
    struct leaf *l = (struct leaf *)n;
    const int64_t *numbers = l->col->numbers + base;
    uint64_t span = (uint64_t)l->high - (uint64_t)l->low;

    for (uint32_t w = 0; w < WINDOW_WORDS; w++) {
        uint64_t match = 0;
        uint32_t left = l->segment->documents - base;
        uint32_t end = left < w * 64 ? 0 : left - w * 64 < 64 ? left - w * 64 : 64;

        if (!bits[w])
            continue;
        for (uint32_t i = 0; i < end; i++)
            match |= (uint64_t)((uint64_t)numbers[w * 64 + i] - (uint64_t)l->low <= span) << i;
        bits[w] &= match;
    }
    if (scores)
        window_fill_scores(bits, scores, l->score);
}

static void window_numbers(struct node *n, uint32_t base, uint64_t *bits, float *scores)
{
    struct leaf *l = (struct leaf *)n;

    WINDOW_EACH(bits, i)
    {
        bool in = false;

        for (uint32_t v = l->col->offsets[base + i]; v < l->col->offsets[base + i + 1]; v++)
            in |= l->col->numbers[v] >= l->low && l->col->numbers[v] <= l->high;
        if (!in)
            bits[i / 64] &= ~(1ull << i % 64);
    }
    if (scores)
        window_fill_scores(bits, scores, l->score);
}

/* The first place in `values` whose value is not below `low`. */
static uint32_t order_find(const int64_t *values, uint32_t count, int64_t low)
{
    uint32_t from = 0, to = count;

    while (from < to) {
        uint32_t mid = from + (to - from) / 2;

        if (values[mid] < low)
            from = mid + 1;
        else
            to = mid;
    }
    return from;
}

int node_numbers(struct query *q, const struct segment_column *col, int64_t low, int64_t high,
                 float score, struct node **out)
{
    uint32_t first, end;
    uint64_t *bits;
    struct leaf *l;

    if (low > high) {
        *out = node_none(q);
        return E_OK;
    }
    first = order_find(col->order_values, col->value_count, low);
    end = high == INT64_MAX ? col->value_count
                            : order_find(col->order_values, col->value_count, high + 1);
    if (end - first > q->segment->documents / 8) {
        l = leaf_new(q, col->offsets ? window_numbers : window_numbers_dense, end - first, score);
        l->col = col;
        l->low = low;
        l->high = high;
        *out = &l->node;
        return E_OK;
    }
    if (first == end) {
        *out = node_none(q);
        return E_OK;
    }
    TRY(node_bitmap(q, score, out, &bits));
    (*out)->estimate = end - first;
    for (uint32_t i = first; i < end; i++)
        bits[col->order_docs[i] / 64] |= 1ull << col->order_docs[i] % 64;
    return E_OK;
}

static void window_offsets(struct node *n, uint32_t base, uint64_t *bits, float *scores)
{
    struct leaf *l = (struct leaf *)n;

    WINDOW_EACH(bits, i)
    if (l->col->offsets[base + i] == l->col->offsets[base + i + 1])
        bits[i / 64] &= ~(1ull << i % 64);
    if (scores)
        window_fill_scores(bits, scores, l->score);
}

static void window_lengths(struct node *n, uint32_t base, uint64_t *bits, float *scores)
{
    struct leaf *l = (struct leaf *)n;

    WINDOW_EACH(bits, i)
    if (!l->col->lengths[base + i])
        bits[i / 64] &= ~(1ull << i % 64);
    if (scores)
        window_fill_scores(bits, scores, l->score);
}

int node_exists(struct query *q, const struct segment_column *col, enum field_kind kind,
                float score, struct node **out)
{
    struct leaf *l;

    if (kind != FIELD_TEXT && !col->offsets) {
        *out = node_all(q, score);
        return E_OK;
    }
    l = leaf_new(q, kind == FIELD_TEXT ? window_lengths : window_offsets, col->stats.documents,
                 score);
    l->col = col;
    *out = &l->node;
    return E_OK;
}
