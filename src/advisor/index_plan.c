#include "advisor/index_plan.h"

#include "advisor/survey.h"
#include "base/buf.h"

#include <stdio.h>
#include <stdlib.h>

#define UNIT_BYTES 4096
#define TELLING_PAIRS 100 /* fewer neighbours tell nothing of time */

void index_plan_init(struct index_plan *p)
{
    rng_init(&p->rng, 1);
}

static size_t value_bytes(const struct wr_value *v)
{
    switch (v->type) {
    case WR_VARCHAR:
    case WR_VARBINARY:
        return v->bytes.len;
    case WR_BOOLEAN:
        return 1;
    case WR_NULL:
        return 0;
    default:
        return 8;
    }
}

static uint64_t units(size_t size)
{
    return size <= UNIT_BYTES ? 1 : (size + UNIT_BYTES - 1) / UNIT_BYTES;
}

static void order_of(const struct wr_value *v, uint8_t out[INDEX_PLAN_ORDER_BYTES])
{
    memset(out, 0, INDEX_PLAN_ORDER_BYTES);
    if (v->type == WR_BIGINT)
        store_u64_be(out, (uint64_t)v->integer ^ 1ull << 63);
    else if (v->bytes.len)
        memcpy(out, v->bytes.ptr,
               v->bytes.len < INDEX_PLAN_ORDER_BYTES ? v->bytes.len : INDEX_PLAN_ORDER_BYTES);
}

/* Each entry has the same chance to be among those that are kept. */
static void take_moment(struct index_plan *p, const struct wr_value *first, int64_t written)
{
    size_t at =
        p->sampled < INDEX_PLAN_SAMPLE_MAX ? p->sampled++ : (size_t)rng_below(&p->rng, p->entries);

    if (at >= INDEX_PLAN_SAMPLE_MAX)
        return;
    p->sample[at].written = written;
    order_of(first, p->sample[at].value);
}

static void take_value(struct index_plan *p, const struct wr_value *v)
{
    char number[24];
    bytes text = v->bytes;
    uint64_t hash;

    if (v->type == WR_BIGINT)
        text = bytes_of(number,
                        (size_t)snprintf(number, sizeof(number), "%lld", (long long)v->integer));
    hash = survey_hash(text);
    sketch_distinct_add(&p->distinct, hash);
    sketch_weights_add(&p->weights, hash, 1, text);
}

void index_plan_add(struct index_plan *p, const struct wr_value *values, const bool *is_cell,
                    int64_t written)
{
    const struct index_plan_columns *c = &p->columns;
    size_t key = 0, cells = 0, looked = 0;

    p->rows++;
    for (size_t i = 0; i < c->on; i++)
        if (values[i].type == WR_NULL)
            return;
    for (size_t i = 0; i < index_plan_column_count(c); i++) {
        size_t size = value_bytes(&values[i]);

        if (i < c->on + c->completed)
            key += c->names[i].len + size;
        else if (values[i].type != WR_NULL)
            cells += c->names[i].len + size + p->cell_bytes;
        if (i < c->on && is_cell[i])
            looked += size;
    }
    p->entries++;
    p->entry_bytes += key + cells;
    if (key + cells > p->entry_bytes_max)
        p->entry_bytes_max = key + cells;
    p->put_units += units(key + cells);
    p->remove_units += units(key);
    p->look_units += units(looked);
    take_value(p, &values[0]);
    take_moment(p, &values[0], written);
}

static int compare_moments(const void *a, const void *b)
{
    const struct index_plan_moment *x = a, *y = b;

    return (x->written > y->written) - (x->written < y->written);
}

double index_plan_rising(struct index_plan *p)
{
    size_t up = 0, down = 0;

    qsort(p->sample, p->sampled, sizeof(*p->sample), compare_moments);
    for (size_t i = 1; i < p->sampled; i++) {
        int d = memcmp(p->sample[i].value, p->sample[i - 1].value, INDEX_PLAN_ORDER_BYTES);

        if (p->sample[i].written == p->sample[i - 1].written)
            continue;
        up += d > 0;
        down += d < 0;
    }
    return up + down < TELLING_PAIRS ? -1 : (double)up / (double)(up + down);
}

double index_plan_hottest(struct index_plan *p, bytes *text)
{
    *text = BYTES_NONE;
    if (!p->weights.top_count)
        return 0;
    sketch_weights_sort(&p->weights);
    *text = bytes_of(p->weights.top[0].text, p->weights.top[0].text_len);
    return (double)p->weights.top[0].weight / (double)p->entries;
}
