/* sketch.c: HyperLogLog with Ertl's estimator ("New cardinality estimation algorithms for
 * HyperLogLog sketches"), which needs no tables for its bias and no switch between ranges; and a
 * count-min sketch that raises only the cells that must rise. */
#include "advisor/sketch.h"

#include <math.h>
#include <stdlib.h>

#define RANK_MAX (64 - SKETCH_DISTINCT_BITS + 1)

static double sigma(double x)
{
    double y = 1, z = x, before;

    if (x == 1)
        return INFINITY;
    do {
        x *= x;
        before = z;
        z += x * y;
        y += y;
    } while (z != before);
    return z;
}

static double tau(double x)
{
    double y = 1, z = 1 - x, before;

    if (x == 0 || x == 1)
        return 0;
    do {
        x = sqrt(x);
        before = z;
        y *= 0.5;
        z -= (1 - x) * (1 - x) * y;
    } while (z != before);
    return z / 3;
}

double sketch_distinct_count(const struct sketch_distinct *s)
{
    const double m = 1 << SKETCH_DISTINCT_BITS;
    unsigned counts[RANK_MAX + 1] = {0};
    double z;

    for (size_t i = 0; i < sizeof(s->ranks); i++)
        counts[s->ranks[i]]++;
    z = m * tau(1 - counts[RANK_MAX] / m);
    for (size_t k = RANK_MAX - 1; k >= 1; k--)
        z = 0.5 * (z + counts[k]);
    z += m * sigma(counts[0] / m);
    return m * m / (2 * M_LN2 * z);
}

static void top_put(struct sketch_weights *s, uint64_t hash, uint64_t weight, bytes text)
{
    struct sketch_top *place = NULL;

    for (size_t i = 0; i < s->top_count && !place; i++)
        if (s->top[i].hash == hash)
            place = &s->top[i];
    if (!place) {
        if (s->top_count < SKETCH_TOP) {
            place = &s->top[s->top_count++];
        } else {
            place = &s->top[0];
            for (size_t i = 1; i < SKETCH_TOP; i++)
                if (s->top[i].weight < place->weight)
                    place = &s->top[i];
        }
        place->hash = hash;
        place->text_len = text.len < SKETCH_TEXT_BYTES ? text.len : SKETCH_TEXT_BYTES;
        if (place->text_len)
            memcpy(place->text, text.ptr, place->text_len);
    }
    place->weight = weight;
    if (s->top_count < SKETCH_TOP)
        return;
    s->top_least = s->top[0].weight;
    for (size_t i = 1; i < SKETCH_TOP; i++)
        if (s->top[i].weight < s->top_least)
            s->top_least = s->top[i].weight;
}

void sketch_weights_add(struct sketch_weights *s, uint64_t hash, uint64_t weight, bytes text)
{
    uint64_t *a = &s->cells[0][sketch_weights_cell(hash, 0)],
             *b = &s->cells[1][sketch_weights_cell(hash, 1)];
    uint64_t *c = &s->cells[2][sketch_weights_cell(hash, 2)], least = *a < *b ? *a : *b;

    least = (least < *c ? least : *c) + weight;
    *a = *a > least ? *a : least;
    *b = *b > least ? *b : least;
    *c = *c > least ? *c : least;
    s->total += weight;
    if (least > s->top_least)
        top_put(s, hash, least, text);
}

uint64_t sketch_weights_of(const struct sketch_weights *s, uint64_t hash)
{
    uint64_t least = UINT64_MAX;

    for (unsigned row = 0; row < SKETCH_DEPTH; row++) {
        uint64_t cell = s->cells[row][sketch_weights_cell(hash, row)];

        least = cell < least ? cell : least;
    }
    return least;
}

static int by_weight(const void *left, const void *right)
{
    const struct sketch_top *a = left, *b = right;

    return a->weight < b->weight ? 1 : a->weight > b->weight ? -1 : 0;
}

void sketch_weights_sort(struct sketch_weights *s)
{
    qsort(s->top, s->top_count, sizeof(s->top[0]), by_weight);
}
