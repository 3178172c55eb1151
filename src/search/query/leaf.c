#include "search/query/bounds.h"
#include "search/segment/order_reader.h"
#include "search/segment/posting.h"

#include <float.h>

/* One struct for all leaves: what a window function does not need, it leaves. */
struct leaf {
    struct node node;
    const struct segment *segment;
    const struct segment_column *col;
    const uint32_t *docs; /* ascending */
    uint32_t count, at;
    const uint64_t *bits;
    uint64_t *room; /* for them, until they are filled */
    bool filled;
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

static bool test_none(const struct node *n PORT_UNUSED, uint32_t doc PORT_UNUSED)
{
    return false;
}

static bool test_all(const struct node *n PORT_UNUSED, uint32_t doc PORT_UNUSED)
{
    return true;
}

static void window_none(struct node *n PORT_UNUSED, uint32_t base PORT_UNUSED, uint64_t *bits,
                        float *scores PORT_UNUSED)
{
    memset(bits, 0, WINDOW_WORDS * 8);
}

static uint32_t next_none(struct node *n PORT_UNUSED, uint32_t from PORT_UNUSED,
                          float *score PORT_UNUSED)
{
    return NODE_END;
}

static bool score_at_none(struct node *n PORT_UNUSED, uint32_t doc PORT_UNUSED,
                          float *score PORT_UNUSED)
{
    return false;
}

static uint64_t cost_none(const struct node *n PORT_UNUSED, float most PORT_UNUSED)
{
    return 0;
}

static void window_all(struct node *n, uint32_t base PORT_UNUSED, uint64_t *bits, float *scores)
{
    if (scores)
        window_fill_scores(bits, scores, ((struct leaf *)n)->score);
}

struct node *node_all(struct query *q, float score)
{
    struct leaf *l = leaf_new(q, window_all, q->segment ? q->segment->documents : 0, score);

    l->node.test = test_all;
    return &l->node;
}

struct node *node_none(struct query *q)
{
    struct leaf *l = leaf_new(q, window_none, 0, 0);

    l->node.test = test_none;
    l->node.next = next_none;
    l->node.score_at = score_at_none;
    l->node.cost = cost_none;
    l->node.bound = FLT_MIN; /* of words that a segment lacks: it is known */
    return &l->node;
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

static bool test_bits(const struct node *n, uint32_t doc)
{
    return ((const struct leaf *)n)->bits[doc / 64] >> doc % 64 & 1;
}

int node_bitmap(struct query *q, float score, struct node **out, uint64_t **bits)
{
    size_t len = dead_words(q->segment->documents) * 8;
    struct leaf *l = leaf_new(q, window_bits, q->segment->documents / 2, score);

    *bits = arena_try_alloc(&q->c->arena, len + 8);
    if (!*bits)
        return query_too_large(q);
    memset(*bits, 0, len);
    l->bits = *bits;
    l->node.test = test_bits;
    *out = &l->node;
    return E_OK;
}

/* TEXT has no bits. */
static bool is_text(const struct query *q, size_t field)
{
    return q->schema->fields[field].kind == FIELD_TEXT;
}

/* How much of posts the documents of a term take. */
static uint64_t posts_size(bool text, uint32_t count, uint32_t documents)
{
    return !text && posts_dense(count, documents) ? dead_words(documents) * 2 : count;
}

static int read_posts(struct query *q, size_t field, uint64_t from, uint64_t to,
                      struct held_parts *held, const uint32_t **out)
{
    const void *posts;

    TRY(parts_slice(q->c, q->segment, SECTION_POSTS, field, from * 4, to * 4, held, &posts));
    *out = posts;
    return E_OK;
}

/* Where the documents of a term end, in posts. */
static uint64_t posts_end(const struct term_adder *a, uint32_t term)
{
    return term_reader_post_at(a->terms, term) +
           posts_size(a->text, term_reader_docs(a->terms, term), a->q->segment->documents);
}

/* Of several terms the documents are read together, where they lie close. */
static int read_ahead(struct term_adder *a, uint32_t term)
{
    static const uint64_t posts_max = 16384;
    uint32_t end = term + 1, known = term / TERMS_CHUNK * TERMS_CHUNK + TERMS_CHUNK;
    uint64_t from;

    known = known < a->end ? known : a->end;
    held_drop(a->q->segment, &a->held);
    TRY(term_reader_posts(a->terms, term, known));
    from = term_reader_post_at(a->terms, term);
    while (end < known && posts_end(a, end) - from <= posts_max)
        end++;
    a->read_at = from;
    a->read_end = end;
    return read_posts(a->q, a->terms->field, from, posts_end(a, end - 1), &a->held, &a->read);
}

int bitmap_add_term(struct term_adder *a, uint32_t term)
{
    uint32_t count, documents = a->q->segment->documents;
    const uint32_t *posts;

    if (term >= a->read_end)
        TRY(read_ahead(a, term));
    count = term_reader_docs(a->terms, term);
    posts = a->read + (term_reader_post_at(a->terms, term) - a->read_at);
    if (!a->text && posts_dense(count, documents)) {
        const uint64_t *from = (const uint64_t *)(const void *)posts;

        for (size_t i = 0; i < dead_words(documents); i++)
            a->bits[i] |= from[i];
        return E_OK;
    }
    for (uint32_t i = 0; i < count; i++)
        a->bits[posts[i] / 64] |= 1ull << posts[i] % 64;
    return E_OK;
}

void bitmap_add_end(struct term_adder *a)
{
    held_drop(a->q->segment, &a->held);
}

static void window_docs(struct node *n, uint32_t base, uint64_t *bits, float *scores)
{
    struct leaf *l = (struct leaf *)n;
    uint64_t found[WINDOW_WORDS] = {0};

    l->at = postings_seek(l->docs, l->at, l->count, base);
    for (; l->at < l->count && l->docs[l->at] - base < WINDOW_DOCS; l->at++) {
        uint32_t i = l->docs[l->at] - base;

        found[i / 64] |= 1ull << i % 64;
    }
    for (size_t i = 0; i < WINDOW_WORDS; i++)
        bits[i] &= found[i];
    if (scores)
        window_fill_scores(bits, scores, l->score);
}

static bool test_docs(const struct node *n, uint32_t doc)
{
    const struct leaf *l = (const struct leaf *)n;

    return postings_have(l->docs, l->count, doc);
}

static int one_term(struct query *q, struct term_reader *r, uint32_t term, float score,
                    struct node **out)
{
    uint32_t count, documents = q->segment->documents;
    bool text = is_text(q, r->field);
    const uint32_t *posts;
    struct leaf *l;
    uint64_t from;

    TRY(term_reader_posts(r, term, term + 1));
    count = term_reader_docs(r, term);
    from = term_reader_post_at(r, term);
    TRY(read_posts(q, r->field, from, from + posts_size(text, count, documents), q->held, &posts));
    if (!text && posts_dense(count, documents)) {
        l = leaf_new(q, window_bits, count, score);
        l->bits = (const uint64_t *)(const void *)posts;
        l->node.test = test_bits;
    } else {
        l = leaf_new(q, window_docs, count, score);
        l->docs = posts;
        l->count = count;
        l->node.test = test_docs;
    }
    *out = &l->node;
    return E_OK;
}

int node_terms(struct query *q, struct term_reader *r, uint32_t first, uint32_t end, float score,
               struct node **out)
{
    struct term_adder a = {.q = q, .terms = r, .text = is_text(q, r->field), .end = end};
    int rc = E_OK;

    if (first >= end) {
        *out = node_none(q);
        return E_OK;
    }
    if (end - first == 1)
        return one_term(q, r, first, score, out);
    TRY(node_bitmap(q, score, out, &a.bits));
    for (uint32_t i = first; i < end && !rc; i++)
        rc = bitmap_add_term(&a, i);
    bitmap_add_end(&a);
    return rc;
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

static bool test_numbers(const struct node *n, uint32_t doc)
{
    const struct leaf *l = (const struct leaf *)n;

    for (uint32_t v = column_first(l->col, doc); v < column_first(l->col, doc + 1); v++)
        if (l->col->numbers[v] >= l->low && l->col->numbers[v] <= l->high)
            return true;
    return false;
}

/* Few of the documents: the bits are set along the order of values, at the first window. */
static void window_few_numbers(struct node *n, uint32_t base, uint64_t *bits, float *scores)
{
    struct leaf *l = (struct leaf *)n;

    if (!l->filled) {
        memset(l->room, 0, dead_words(l->segment->documents) * 8);
        for (uint32_t i = 0; i < l->count; i++)
            l->room[l->docs[i] / 64] |= 1ull << l->docs[i] % 64;
        l->filled = true;
    }
    window_bits(n, base, bits, scores);
}

/* Where [low, high] lies in the order of values. */
static int find_numbers(struct query *q, size_t field, int64_t low, int64_t high, uint32_t *first,
                        uint32_t *end)
{
    struct order_reader r;

    order_reader_begin(&r, q->c, q->segment, field);
    *first = order_reader_find(&r, low);
    *end = high == INT64_MAX ? r.count : order_reader_find(&r, high + 1);
    order_reader_end(&r);
    return r.rc;
}

/* What few documents need beside: their places in the order, and a bit for each document. */
static int make_few(struct query *q, struct leaf *l, size_t field, uint32_t first, uint32_t end)
{
    const void *docs;

    TRY(parts_slice(q->c, q->segment, SECTION_ORDER_DOCS, field, first * 4ull, end * 4ull, q->held,
                    &docs));
    l->room = arena_try_alloc(&q->c->arena, dead_words(q->segment->documents) * 8 + 8);
    if (!l->room)
        return query_too_large(q);
    l->bits = l->room;
    l->docs = docs;
    l->count = end - first;
    l->node.window = window_few_numbers;
    return E_OK;
}

int node_numbers(struct query *q, size_t field, int64_t low, int64_t high, float score,
                 struct node **out)
{
    const struct segment_column *col = &q->segment->columns[field];
    uint32_t first, end;
    struct leaf *l;

    *out = node_none(q);
    if (low > high)
        return E_OK;
    TRY(find_numbers(q, field, low, high, &first, &end));
    if (first >= end)
        return E_OK;
    l = leaf_new(q, col->offsets ? window_numbers : window_numbers_dense, end - first, score);
    l->col = col;
    l->low = low;
    l->high = high;
    l->node.test = test_numbers;
    *out = &l->node;
    if (end - first > q->segment->documents / 8)
        return E_OK;
    return make_few(q, l, field, first, end);
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

static bool test_offsets(const struct node *n, uint32_t doc)
{
    const struct segment_column *col = ((const struct leaf *)n)->col;

    return col->offsets[doc] != col->offsets[doc + 1];
}

static bool test_lengths(const struct node *n, uint32_t doc)
{
    return ((const struct leaf *)n)->col->lengths[doc];
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
    size_t field = (size_t)(col - q->segment->columns);
    struct leaf *l;

    TRY(parts_hold_one(q->c, q->segment, part_of_field(field, PART_VALUES), q->held));
    if (kind != FIELD_TEXT && !col->offsets) {
        *out = node_all(q, score);
        return E_OK;
    }
    l = leaf_new(q, kind == FIELD_TEXT ? window_lengths : window_offsets, col->stats.documents,
                 score);
    l->col = col;
    l->node.test = kind == FIELD_TEXT ? test_lengths : test_offsets;
    *out = &l->node;
    return E_OK;
}
