/* The nearest neighbours of a vector: all are looked at, so none is missed. */
#include "base/heap.h"
#include "search/query/bounds.h"

#include <math.h>
#include <stdlib.h>

#define NEIGHBOURS_MAX 100000

struct neighbour {
    const struct segment *segment;
    uint32_t doc;
    float score;
};

/* The best so far: a heap with the farthest at its root. */
struct nearest {
    struct neighbour *list;
    size_t count, room;
};

/* The neighbours that a condition asks for, of all segments: each segment takes its own of them. */
struct nearest_found {
    const struct wr_search_condition *condition;
    struct nearest nearest;
    struct nearest_found *next;
};

struct nearest_node {
    struct node node;
    const struct neighbour *list; /* of the segment, by document */
    size_t count, at;
    float weight;
};

static float length_of(const float *v, uint32_t n)
{
    float sum = 0;

    for (uint32_t i = 0; i < n; i++)
        sum += v[i] * v[i];
    return sqrtf(sum);
}

/* Larger is nearer, whatever the metric. */
static float score_of(const struct search_field *f, const float *a, const float *b, float length)
{
    float sum = 0;

    if (f->metric == 0) {
        for (uint32_t i = 0; i < f->dimension; i++)
            sum += (a[i] - b[i]) * (a[i] - b[i]);
        return 1 / (1 + sum);
    }
    for (uint32_t i = 0; i < f->dimension; i++)
        sum += a[i] * b[i];
    if (f->metric == 1) {
        float other = length_of(b, f->dimension);

        sum = other > 0 ? sum / (length * other) : 0;
    }
    return (1 + sum) / 2;
}

/* The farther one stands behind. Of two that are as near, the one that came first stays. */
static int by_nearness(const void *a, const void *b, void *arg PORT_UNUSED)
{
    const struct neighbour *x = a, *y = b;

    return (x->score < y->score) - (x->score > y->score);
}

static void add(struct nearest *n, struct neighbour found)
{
    size_t size = sizeof(found);

    if (n->count < n->room) {
        n->list[n->count] = found;
        heap_up(n->list, size, n->count++, by_nearness, NULL);
    } else if (found.score > n->list[0].score) {
        n->list[0] = found;
        heap_down(n->list, n->count, size, 0, by_nearness, NULL);
    }
}

/* The documents of a window that are there and have a vector. */
static void window_start(const struct query *q, const struct view_segment *v,
                         const struct segment_column *col, uint32_t base, uint64_t *bits)
{
    memset(bits, 0, WINDOW_WORDS * 8);
    for (uint32_t i = 0; i < WINDOW_DOCS && base + i < v->segment->documents; i++)
        if (view_segment_has(v, base + i) &&
            (q->expired_ms == INT64_MIN || v->segment->stamps[base + i] >= q->expired_ms) &&
            column_first(col, base + i) != column_first(col, base + i + 1))
            bits[i / 64] |= 1ull << i % 64;
}

static int look_at_held(struct query *q, const struct view_segment *v, size_t field,
                        const struct wr_knn_condition *knn, float length, struct held_parts *held,
                        struct nearest *n)
{
    const struct search_field *f = &q->schema->fields[field];
    const struct segment_column *col = &v->segment->columns[field];
    struct query of = *q;
    struct node *filter;

    of.segment = v->segment;
    of.held = held;
    TRY(node_compile(&of, knn->filter, false, &filter));
    for (uint32_t base = 0; base < v->segment->documents; base += WINDOW_DOCS) {
        uint64_t bits[WINDOW_WORDS];

        window_start(q, v, col, base, bits);
        filter->window(filter, base, bits, NULL);
        WINDOW_EACH(bits, i)
        {
            uint32_t doc = base + (uint32_t)i;
            const float *vector = col->vectors + (size_t)column_first(col, doc) * f->dimension;
            float score = score_of(f, knn->vector, vector, length);

            if (score >= knn->min_score)
                add(n, (struct neighbour){v->segment, doc, score});
        }
        TRY(query_in_time(q));
    }
    return E_OK;
}

static int look_at_segment(struct query *q, const struct view_segment *v, size_t field,
                           const struct wr_knn_condition *knn, float length, struct nearest *n)
{
    struct held_parts held = {0};
    int rc;

    if (!q->needs)
        return look_at_held(q, v, field, knn, length, &held, n);
    TRY(parts_hold(q->c, v->segment, q->needs));
    rc = look_at_held(q, v, field, knn, length, &held, n);
    held_drop(v->segment, &held);
    parts_drop(v->segment, q->needs);
    return rc;
}

static void window_nearest(struct node *node, uint32_t base, uint64_t *bits, float *scores)
{
    struct nearest_node *n = (struct nearest_node *)node;
    uint64_t found[WINDOW_WORDS] = {0};

    while (n->at < n->count && n->list[n->at].doc < base)
        n->at++;
    for (; n->at < n->count && n->list[n->at].doc - base < WINDOW_DOCS; n->at++) {
        uint32_t i = n->list[n->at].doc - base;

        found[i / 64] |= 1ull << i % 64;
        if (scores)
            scores[i] = n->list[n->at].score * n->weight;
    }
    for (size_t w = 0; w < WINDOW_WORDS; w++)
        bits[w] &= found[w];
}

static int by_document(const void *a, const void *b)
{
    const struct neighbour *x = a, *y = b;

    return (x->doc > y->doc) - (x->doc < y->doc);
}

/* What of the neighbours is in the query's segment. */
static struct node *node_of(struct query *q, const struct nearest *n, float weight)
{
    struct nearest_node *node = ARENA_NEW(&q->c->arena, struct nearest_node);
    struct neighbour *list = ARENA_ARRAY(&q->c->arena, struct neighbour, n->count);
    size_t count = 0;

    for (size_t i = 0; i < n->count; i++)
        if (n->list[i].segment == q->segment)
            list[count++] = n->list[i];
    if (count)
        qsort(list, count, sizeof(list[0]), by_document);
    *node = (struct nearest_node){.node = {.window = window_nearest, .estimate = count},
                                  .list = list,
                                  .count = count,
                                  .weight = weight};
    return &node->node;
}

static int check(struct query *q, const struct search_field *f, const struct wr_knn_condition *knn)
{
    if (knn->dimension != f->dimension)
        return fail(q->c, E_PARAMETER,
                    "[knn vector query] the vector has %zu dimensions, and field %.*s has %u",
                    knn->dimension, BYTES_FMT(f->name), f->dimension);
    if (knn->top_k < 1 || knn->top_k > NEIGHBOURS_MAX)
        return fail(q->c, E_PARAMETER, "[knn vector query] top_k must be in [1, %d], and is %d",
                    NEIGHBOURS_MAX, knn->top_k);
    for (uint32_t i = 0; i < f->dimension; i++)
        if (!isfinite(knn->vector[i]))
            return fail(q->c, E_PARAMETER, "[knn vector query] the vector has what is no number");
    if (f->metric == 1 && !(length_of(knn->vector, f->dimension) > 0))
        return fail(q->c, E_PARAMETER,
                    "[knn vector query] a vector of zeros has no direction, by which cosine goes");
    return E_OK;
}

static int look_at_all(struct query *q, size_t field, const struct wr_knn_condition *knn,
                       struct nearest *n)
{
    float length = length_of(knn->vector, q->schema->fields[field].dimension);

    n->room = (size_t)knn->top_k < q->wanted ? q->wanted : (size_t)knn->top_k;
    if (n->room > q->view->documents)
        n->room = q->view->documents + 1;
    n->list = arena_try_alloc(&q->c->arena, n->room * sizeof(n->list[0]));
    if (!n->list)
        return query_too_large(q);
    for (size_t i = 0; i < q->view->count; i++)
        TRY(look_at_segment(q, &q->view->segments[i], field, knn, length, n));
    return E_OK;
}

int node_nearest(struct query *q, size_t field, const struct wr_search_condition *condition,
                 struct node **out)
{
    const struct wr_knn_condition *knn = &condition->knn;
    struct nearest_found *found = q->nearest;
    struct node *filter;

    TRY(check(q, &q->schema->fields[field], knn));
    TRY(node_compile(q, knn->filter, false, &filter));
    if (!q->segment)
        return E_OK;
    while (found && found->condition != condition)
        found = found->next;
    if (!found) {
        found = ARENA_NEW(&q->c->arena, struct nearest_found);
        found->condition = condition;
        TRY(look_at_all(q, field, knn, &found->nearest));
        found->next = q->nearest;
        q->nearest = found;
    }
    *out = node_of(q, &found->nearest, (float)condition->weight);
    return E_OK;
}
