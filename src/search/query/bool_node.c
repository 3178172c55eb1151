#include "search/query/node.h"

#include <stdlib.h>

#define SKIP_CLAUSES_MAX 16 /* of many, windows ask faster */
#define WHOLE_MAX 2         /* clauses of which all documents are found, beside floors of others */
#define ROUNDED 1.0001f     /* more than sums of so many differ by their order */

/* A clause whose documents are asked for one by one. */
struct sought {
    uint32_t doc; /* the next one that has been found, with its score */
    float score;
    float others; /* what all other clauses together may score */
    float floor;  /* documents that score it or less are not found; 0: all are */
    bool spare;   /* none is looked for */
};

struct bool_node {
    struct node node;
    struct bool_parts parts;
    float *scores;         /* of a part; NULL: none are asked for */
    struct sought *sought; /* of each `should`, where documents are asked for one by one */
    /* Documents that score `limit` or less are not looked for: `most`, before the weight. */
    float limit, most;
    uint32_t *ranks; /* which of `should`, in the order of their bounds */
    bool leaves;     /* all tell what they cost */
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

/* The next document that any clause finds. */
static uint32_t next_found(struct bool_node *b, uint32_t from)
{
    uint32_t first = NODE_END;

    for (size_t i = 0; i < b->parts.should_count; i++) {
        struct sought *s = &b->sought[i];
        struct node *n = b->parts.should[i];

        if (s->spare)
            continue;
        if (s->doc < from)
            s->doc = n->next(n, from, &s->score);
        first = s->doc < first ? s->doc : first;
    }
    return first;
}

/* A clause's score of the document that any has found; 0: it has it not. */
static float score_of_clause(struct bool_node *b, size_t i, uint32_t doc)
{
    const struct sought *s = &b->sought[i];
    float score = 0;

    if (!s->spare && s->doc == doc)
        return s->score;
    if (s->spare || s->floor > 0)
        b->parts.should[i]->score_at(b->parts.should[i], doc, &score);
    return score;
}

/* Asks the clauses that may bring most first, as long as the document may still score enough. */
static bool scores_enough(struct bool_node *b, uint32_t doc, float *score)
{
    const struct bool_parts *p = &b->parts;
    float scores[SKIP_CLAUSES_MAX], sum = 0, most = b->node.bound / p->weight;

    for (size_t k = p->should_count; k--;) {
        uint32_t i = b->ranks[k];

        scores[i] = score_of_clause(b, i, doc);
        most += scores[i] - p->should[i]->bound;
        if (most * ROUNDED < b->most)
            return false;
    }
    for (size_t i = 0; i < p->should_count; i++) /* in this order, however they are ranked */
        sum += scores[i];
    *score = sum * p->weight;
    return *score > b->limit;
}

/* Of clauses of which any is enough. */
static uint32_t next_should(struct node *n, uint32_t from, float *score)
{
    struct bool_node *b = (struct bool_node *)n;
    const struct bool_parts *p = &b->parts;
    uint32_t first = next_found(b, from);
    float sum = 0;

    while (b->most > 0 && first != NODE_END && !scores_enough(b, first, score))
        first = next_found(b, first + 1);
    if (first == NODE_END || b->most > 0)
        return first;
    for (size_t i = 0; i < p->should_count; i++)
        sum += score_of_clause(b, i, first);
    *score = sum * p->weight;
    return first;
}

static bool score_at_should(struct node *n, uint32_t doc, float *score)
{
    const struct bool_parts *p = &((struct bool_node *)n)->parts;
    float sum = 0, one;
    bool any = false;

    for (size_t i = 0; i < p->should_count; i++)
        if (p->should[i]->score_at(p->should[i], doc, &one)) {
            sum += one;
            any = true;
        }
    *score = sum * p->weight;
    return any;
}

/* ---- what scores too little ----
 *
 * A document that is to score above `limit` has a clause that scores above its floor, if the floors
 * add up to no more: others are not found. A floor at a clause's bound makes it a spare one, which
 * is only asked about documents that others have found. */

/* What a document scores that scores each floor: added up as of a document, no other one that is
 * not found scores more, however sums are rounded. */
static bool floors_fit(const struct bool_node *b, const float *floors)
{
    float sum = 0;

    for (size_t i = 0; i < b->parts.should_count; i++)
        sum += floors[i];
    return sum * b->parts.weight <= b->limit;
}

/* The floors of those from rank `from` on and below `end` share `rest`, in proportion to their
 * bounds; where that is nearly what many documents score, it is that, if it fits. */
static void share(const struct bool_node *b, size_t from, size_t end, float rest, float *floors)
{
    struct node *const *should = b->parts.should;
    float own[SKIP_CLAUSES_MAX], bounds = 0;

    for (size_t k = from; k < end; k++)
        bounds += should[b->ranks[k]]->bound;
    for (size_t k = from; k < end; k++)
        floors[b->ranks[k]] = rest * (should[b->ranks[k]]->bound / bounds);
    memcpy(own, floors, sizeof(own));
    for (size_t k = from; k < end; k++) {
        uint32_t i = b->ranks[k];

        if (should[i]->step)
            floors[i] = should[i]->step(should[i], own[i]);
    }
    for (float less = 1; !floors_fit(b, floors) && less > 0.9f; less -= 0.00001f)
        for (size_t k = from; k < end; k++)
            floors[b->ranks[k]] = own[b->ranks[k]] * less;
}

/* The floors where `spares` of the lowest bounds are spared, all documents of `whole` of the
 * highest are found, and the rest share what is left: about how many documents are found.
 * UINT64_MAX: they do not fit. */
static uint64_t share_floors(const struct bool_node *b, size_t spares, size_t whole, float *floors)
{
    const struct bool_parts *p = &b->parts;
    size_t end = p->should_count - whole;
    float rest = b->most;
    uint64_t cost = 0;

    for (size_t i = 0; i < SKIP_CLAUSES_MAX; i++)
        floors[i] = 0;
    for (size_t k = 0; k < spares; k++)
        rest -= floors[b->ranks[k]] = p->should[b->ranks[k]]->bound * ROUNDED;
    if (rest > 0)
        share(b, spares, end, rest, floors);
    if (!floors_fit(b, floors))
        return UINT64_MAX;
    for (size_t k = spares; k < p->should_count; k++) {
        struct node *n = p->should[b->ranks[k]];

        cost += n->cost(n, floors[b->ranks[k]]);
    }
    return cost;
}

static void set_floor(struct bool_node *b, size_t i, float floor)
{
    struct node *n = b->parts.should[i];
    struct sought *s = &b->sought[i];

    if (floor < s->floor)
        s->doc = 0; /* those that were passed over are found now */
    s->floor = floor;
    s->spare = floor >= n->bound * ROUNDED;
    if (!s->spare && n->skip)
        n->skip(n, floor);
}

static size_t spares_of(const struct bool_node *b)
{
    float sum = 0;
    size_t k = 0;

    for (; k < b->parts.should_count; k++) {
        sum += b->parts.should[b->ranks[k]]->bound * ROUNDED;
        if (sum * ROUNDED >= b->most)
            break;
    }
    return k;
}

/* Of clauses within clauses floors only grow: no document of enough others is below. */
static void set_floors_of_bools(struct bool_node *b)
{
    size_t count = b->parts.should_count, spares = spares_of(b);

    for (size_t k = 0; k < count; k++) {
        uint32_t i = b->ranks[k];
        float own = (b->most - b->sought[i].others * ROUNDED) * (2 - ROUNDED);

        if (k < spares)
            set_floor(b, i, b->parts.should[i]->bound * ROUNDED * 2);
        else if (own > 0)
            set_floor(b, i, own);
    }
}

/* Those with which the fewest documents are found. */
static void set_floors(struct bool_node *b)
{
    size_t count = b->parts.should_count, most = spares_of(b);
    float best[SKIP_CLAUSES_MAX], floors[SKIP_CLAUSES_MAX];
    uint64_t least = UINT64_MAX;

    for (size_t spares = 0; spares <= most; spares += most ? most : 1)
        for (size_t whole = 0; whole <= WHOLE_MAX && spares + whole <= count; whole++) {
            uint64_t cost = share_floors(b, spares, whole, floors);

            if (cost >= least)
                continue;
            least = cost;
            memcpy(best, floors, sizeof(best));
        }
    for (size_t i = 0; least != UINT64_MAX && i < count; i++)
        set_floor(b, i, best[i]);
}

static void skip_should(struct node *n, float most)
{
    struct bool_node *b = (struct bool_node *)n;

    if (!(most > b->limit))
        return;
    b->limit = most;
    b->most = most / b->parts.weight;
    if (b->leaves)
        set_floors(b);
    else
        set_floors_of_bools(b);
}

static void rank(struct query *q, struct bool_node *b)
{
    const struct bool_parts *p = &b->parts;
    size_t count = p->should_count;
    bool known = p->weight > 0 && count <= SKIP_CLAUSES_MAX;
    float sum = 0;

    b->ranks = ARENA_ARRAY(&q->c->arena, uint32_t, count);
    b->leaves = true;
    for (size_t i = 0; known && i < count; i++) {
        size_t at = i;

        known = p->should[i]->bound > 0;
        b->leaves &= p->should[i]->cost != NULL;
        sum += p->should[i]->bound;
        for (; at && p->should[b->ranks[at - 1]]->bound > p->should[i]->bound; at--)
            b->ranks[at] = b->ranks[at - 1];
        b->ranks[at] = (uint32_t)i;
    }
    if (!known)
        return;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < count; k++)
            b->sought[i].others += k == i ? 0 : p->should[k]->bound;
    b->node.bound = sum * p->weight;
    b->node.skip = skip_should;
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
    b->sought = ARENA_ARRAY(&q->c->arena, struct sought, p->should_count);
    for (size_t i = 0; i < p->should_count; i++)
        b->sought[i].doc = p->should[i]->next(p->should[i], 0, &b->sought[i].score);
    b->node.next = next_should;
    b->node.score_at = score_at_should;
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
