#include "search/query/node.h"

#include <stdlib.h>

#define SKIP_CLAUSES_MAX 16 /* of many, windows ask faster */

struct bool_node {
    struct node node;
    struct bool_parts parts;
    float *scores;       /* of a part; NULL: none are asked for */
    uint32_t *next_docs; /* of each `should`, where documents are asked for one by one */
    float *next_scores;
    /* Documents that have none but the first `spare` of them, in the order of their bounds, score
     * less than `least`, and are not looked for. */
    struct node **ranked;
    uint32_t *ranks; /* which of `should` they are */
    float *bounds;   /* of each together with those before it */
    size_t spare;
    float least;
};

static int by_estimate(const void *a, const void *b)
{
    const struct node *x = *(struct node *const *)a, *y = *(struct node *const *)b;

    return x->estimate < y->estimate ? -1 : x->estimate > y->estimate;
}

static void add_scores(const uint64_t *bits, const float *from, float *to)
{
    WINDOW_EACH(bits, i)
    to[i] += from[i];
}

/* The first score of documents that `to` has none of yet, and more for those in `seen`. */
static void join_scores(const uint64_t *bits, const uint64_t *seen, const float *from, float *to)
{
    WINDOW_EACH(bits, i)
    to[i] = seen[i / 64] >> i % 64 & 1 ? to[i] + from[i] : from[i];
}

/* The clauses of a window: which documents have any of them, and their scores, where those in
 * `seen` (NULL: none) have a score already. */
static void ask_should(struct bool_node *b, uint32_t base, const uint64_t *bits,
                       const uint64_t *seen, float *scores, uint16_t *counts, uint64_t *any)
{
    const struct bool_parts *p = &b->parts;

    for (size_t i = 0; i < p->should_count; i++) {
        uint64_t part[WINDOW_WORDS];
        bool straight = !i && !seen;

        memcpy(part, bits, sizeof(part));
        p->should[i]->window(p->should[i], base, part,
                             !scores    ? NULL
                             : straight ? scores
                                        : b->scores);
        if (scores && !straight)
            join_scores(part, seen ? seen : any, b->scores, scores);
        for (int w = 0; w < WINDOW_WORDS; w++)
            any[w] |= part[w];
        if (counts)
            WINDOW_EACH(part, d)
        counts[d]++;
    }
}

/* Clauses of which so many must match; the rest may. `scored`: all have a score already. */
static void window_should(struct bool_node *b, uint32_t base, uint64_t *bits, float *scores,
                          bool scored)
{
    const struct bool_parts *p = &b->parts;
    uint16_t counts[WINDOW_DOCS];
    uint64_t any[WINDOW_WORDS] = {0};
    bool counted = p->minimum > 1;

    if (counted)
        memset(counts, 0, sizeof(counts));
    if (!scores && !p->minimum)
        return;
    ask_should(b, base, bits, scored ? bits : NULL, scores, counted ? counts : NULL, any);
    if (!p->minimum)
        return;
    if (counted)
        WINDOW_EACH(any, d)
    if (counts[d] < p->minimum)
        any[d / 64] &= ~(1ull << d % 64);
    for (int w = 0; w < WINDOW_WORDS; w++)
        bits[w] &= any[w];
}

static void exclude(const struct bool_parts *p, uint32_t base, uint64_t *bits)
{
    for (size_t i = 0; i < p->must_not_count && !window_empty(bits); i++) {
        uint64_t part[WINDOW_WORDS];

        memcpy(part, bits, sizeof(part));
        p->must_not[i]->window(p->must_not[i], base, part, NULL);
        for (int w = 0; w < WINDOW_WORDS; w++)
            bits[w] &= ~part[w];
    }
}

static void window_bool(struct node *n, uint32_t base, uint64_t *bits, float *scores)
{
    struct bool_node *b = (struct bool_node *)n;
    const struct bool_parts *p = &b->parts;
    bool scored = p->must_count || !p->should_count || !p->minimum;

    for (size_t i = 0; i < p->filter_count && !window_empty(bits); i++)
        p->filter[i]->window(p->filter[i], base, bits, NULL);
    if (scores && scored && !p->must_count)
        window_fill_scores(bits, scores, 0);
    for (size_t i = 0; i < p->must_count && !window_empty(bits); i++) {
        p->must[i]->window(p->must[i], base, bits, !scores ? NULL : i ? b->scores : scores);
        if (scores && i)
            add_scores(bits, b->scores, scores);
    }
    exclude(p, base, bits);
    if (p->should_count && !window_empty(bits))
        window_should(b, base, bits, scores, scored);
    if (scores && p->weight != 1)
        WINDOW_EACH(bits, i)
    scores[i] *= p->weight;
}

static bool test_bool(const struct node *n, uint32_t doc)
{
    const struct bool_parts *p = &((const struct bool_node *)n)->parts;
    size_t found = 0;

    for (size_t i = 0; i < p->filter_count; i++)
        if (!p->filter[i]->test(p->filter[i], doc))
            return false;
    for (size_t i = 0; i < p->must_count; i++)
        if (!p->must[i]->test(p->must[i], doc))
            return false;
    for (size_t i = 0; i < p->must_not_count; i++)
        if (p->must_not[i]->test(p->must_not[i], doc))
            return false;
    for (size_t i = 0; i < p->should_count && found < p->minimum; i++)
        found += p->should[i]->test(p->should[i], doc);
    return found >= p->minimum;
}

static bool all_test(struct node *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!list[i]->test)
            return false;
    return true;
}

/* The next document of those that are looked for. */
static uint32_t next_wanted(struct bool_node *b, uint32_t from)
{
    uint32_t first = NODE_END;

    for (size_t i = b->spare; i < b->parts.should_count; i++) {
        uint32_t at = b->ranks[i];

        if (b->next_docs[at] < from)
            b->next_docs[at] = b->ranked[i]->next(b->ranked[i], from, &b->next_scores[at]);
        first = b->next_docs[at] < first ? b->next_docs[at] : first;
    }
    return first;
}

/* Brings those that are spared to the document, as long as it may still score enough. */
static bool scores_enough(struct bool_node *b, uint32_t doc)
{
    float sum = 0;

    if (!b->spare)
        return true;
    for (size_t i = b->spare; i < b->parts.should_count; i++)
        sum += b->next_docs[b->ranks[i]] == doc ? b->next_scores[b->ranks[i]] : 0;
    for (size_t i = b->spare; i--;) {
        uint32_t at = b->ranks[i];

        if ((sum + b->bounds[i]) * 1.0001f < b->least)
            return false;
        if (b->next_docs[at] < doc)
            b->next_docs[at] = b->ranked[i]->next(b->ranked[i], doc, &b->next_scores[at]);
        sum += b->next_docs[at] == doc ? b->next_scores[at] : 0;
    }
    return true;
}

/* Of clauses of which any is enough. */
static uint32_t next_should(struct node *n, uint32_t from, float *score)
{
    struct bool_node *b = (struct bool_node *)n;
    const struct bool_parts *p = &b->parts;
    uint32_t first = next_wanted(b, from);
    float sum = 0;

    while (first != NODE_END && !scores_enough(b, first))
        first = next_wanted(b, first + 1);
    if (first == NODE_END)
        return NODE_END;
    for (size_t i = 0; i < p->should_count; i++) /* in this order, however they are ranked */
        if (b->next_docs[i] == first)
            sum += b->next_scores[i];
    *score = p->weight != 1 ? sum * p->weight : sum;
    return first;
}

/* By the bounds of scores: words that nearly all documents have need not be looked for once better
 * hits are there. */
static void skip_should(struct node *n, float least)
{
    struct bool_node *b = (struct bool_node *)n;

    b->least = least / b->parts.weight;
    while (b->spare < b->parts.should_count && b->bounds[b->spare] * 1.0001f < b->least)
        b->spare++;
}

static void rank(struct query *q, struct bool_node *b)
{
    size_t count = b->parts.should_count;
    float sum = 0;
    bool known = b->parts.weight > 0 && count <= SKIP_CLAUSES_MAX;

    b->ranked = ARENA_ARRAY(&q->c->arena, struct node *, count);
    b->ranks = ARENA_ARRAY(&q->c->arena, uint32_t, count);
    b->bounds = ARENA_ARRAY(&q->c->arena, float, count);
    for (size_t i = 0; i < count; i++) {
        size_t at = i;

        known &= b->parts.should[i]->bound > 0;
        for (; at && b->ranked[at - 1]->bound > b->parts.should[i]->bound; at--) {
            b->ranked[at] = b->ranked[at - 1];
            b->ranks[at] = b->ranks[at - 1];
        }
        b->ranked[at] = b->parts.should[i];
        b->ranks[at] = (uint32_t)i;
    }
    for (size_t i = 0; i < count; i++)
        b->bounds[i] = sum += b->ranked[i]->bound;
    b->node.bound = known ? sum * b->parts.weight : 0;
    b->node.skip = known ? skip_should : NULL;
}

/* Can it be asked for the next document? Then every clause stands before its first one. */
static void begin_next(struct query *q, struct bool_node *b)
{
    const struct bool_parts *p = &b->parts;

    if (p->filter_count || p->must_count || p->must_not_count || p->minimum != 1)
        return;
    for (size_t i = 0; i < p->should_count; i++)
        if (!p->should[i]->next)
            return;
    b->next_docs = ARENA_ARRAY(&q->c->arena, uint32_t, p->should_count);
    b->next_scores = ARENA_ARRAY(&q->c->arena, float, p->should_count);
    for (size_t i = 0; i < p->should_count; i++)
        b->next_docs[i] = p->should[i]->next(p->should[i], 0, &b->next_scores[i]);
    b->node.next = next_should;
    rank(q, b);
}

struct node *node_bool(struct query *q, const struct bool_parts *parts)
{
    struct bool_node *b;
    uint64_t estimate = q->segment ? q->segment->documents : 0, should = 0;

    if (parts->minimum > parts->should_count)
        return node_none(q);
    b = ARENA_NEW(&q->c->arena, struct bool_node);
    b->parts = *parts;
    if (parts->scores)
        b->scores = arena_alloc(&q->c->arena, WINDOW_DOCS * sizeof(float));
    if (parts->filter_count)
        qsort(parts->filter, parts->filter_count, sizeof(struct node *), by_estimate);
    if (parts->must_count)
        qsort(parts->must, parts->must_count, sizeof(struct node *), by_estimate);
    for (size_t i = 0; i < parts->filter_count; i++)
        estimate = estimate < parts->filter[i]->estimate ? estimate : parts->filter[i]->estimate;
    for (size_t i = 0; i < parts->must_count; i++)
        estimate = estimate < parts->must[i]->estimate ? estimate : parts->must[i]->estimate;
    for (size_t i = 0; i < parts->should_count; i++)
        should += parts->should[i]->estimate;
    if (parts->minimum && should < estimate)
        estimate = should;
    b->node = (struct node){.window = window_bool, .estimate = estimate};
    if (all_test(parts->filter, parts->filter_count) && all_test(parts->must, parts->must_count) &&
        all_test(parts->must_not, parts->must_not_count) &&
        all_test(parts->should, parts->should_count))
        b->node.test = test_bool;
    begin_next(q, b);
    return &b->node;
}

struct best_node {
    struct node node;
    struct node **parts;
    size_t count;
    float tie_breaker, weight;
    float *scores, *sums;
};

static void window_best(struct node *n, uint32_t base, uint64_t *bits, float *scores)
{
    struct best_node *b = (struct best_node *)n;
    uint64_t any[WINDOW_WORDS] = {0};

    if (scores) {
        window_fill_scores(bits, scores, 0);
        window_fill_scores(bits, b->sums, 0);
    }
    for (size_t i = 0; i < b->count; i++) {
        uint64_t part[WINDOW_WORDS];

        memcpy(part, bits, sizeof(part));
        b->parts[i]->window(b->parts[i], base, part, scores ? b->scores : NULL);
        for (int w = 0; w < WINDOW_WORDS; w++)
            any[w] |= part[w];
        if (scores)
            WINDOW_EACH(part, d)
            {
                b->sums[d] += b->scores[d];
                if (b->scores[d] > scores[d])
                    scores[d] = b->scores[d];
            }
    }
    memcpy(bits, any, sizeof(any));
    if (scores)
        WINDOW_EACH(bits, d)
    scores[d] = (scores[d] + b->tie_breaker * (b->sums[d] - scores[d])) * b->weight;
}

struct node *node_dis_max(struct query *q, struct node **parts, size_t count, bool scores,
                          float tie_breaker, float weight)
{
    struct best_node *b = ARENA_NEW(&q->c->arena, struct best_node);

    *b = (struct best_node){
        .node.window = window_best,
        .parts = parts,
        .count = count,
        .tie_breaker = tie_breaker,
        .weight = weight,
    };
    if (scores) {
        b->scores = arena_alloc(&q->c->arena, WINDOW_DOCS * sizeof(float));
        b->sums = arena_alloc(&q->c->arena, WINDOW_DOCS * sizeof(float));
    }
    for (size_t i = 0; i < count; i++)
        b->node.estimate += parts[i]->estimate;
    return &b->node;
}

struct constant_node {
    struct node node;
    struct node *inner;
    float score;
};

static void window_constant(struct node *n, uint32_t base, uint64_t *bits, float *scores)
{
    struct constant_node *k = (struct constant_node *)n;

    k->inner->window(k->inner, base, bits, NULL);
    if (scores)
        window_fill_scores(bits, scores, k->score);
}

static bool test_constant(const struct node *n, uint32_t doc)
{
    const struct node *inner = ((const struct constant_node *)n)->inner;

    return inner->test(inner, doc);
}

struct node *node_constant(struct query *q, struct node *inner, float score)
{
    struct constant_node *k = ARENA_NEW(&q->c->arena, struct constant_node);

    *k = (struct constant_node){
        .node = {.window = window_constant,
                 .estimate = inner->estimate,
                 .test = inner->test ? test_constant : NULL},
        .inner = inner,
        .score = score,
    };
    return &k->node;
}
