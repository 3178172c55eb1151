#include "search/result/collect.h"
#include "search/result/collect_memory.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <xxhash.h>

#define TOP_ROWS_MAX 100

struct totals {
    double sum, least, greatest;
    int64_t count;
};

/* A value of a bucket, for percentiles. */
struct sample {
    uint32_t bucket;
    int64_t number;
};

struct metric {
    struct collect *k;
    const struct wr_aggregation *a;
    const struct search_field *field; /* NULL: rows are counted */
    size_t at;
    const struct segment *segment;
    const struct segment_column *col;
    bool has_missing;
    struct document_value missing;
    struct totals *totals; /* by bucket */
    uint64_t *set;         /* distinct: hashes of (bucket, value); 0 is free */
    size_t set_size, set_count;
    struct sample *samples;
    size_t sample_count, sample_room;
    bool sorted;
    struct sort *sort;
    struct top **tops; /* by bucket */
    uint32_t room;     /* of buckets */
    bytes name;        /* what all its results point to */
};

static const char *const names[] = {
    [WR_AGG_AVG] = "avg agg",           [WR_AGG_MAX] = "max agg",
    [WR_AGG_MIN] = "min agg",           [WR_AGG_SUM] = "sum agg",
    [WR_AGG_COUNT] = "count agg",       [WR_AGG_DISTINCT_COUNT] = "distinct count agg",
    [WR_AGG_TOP_ROWS] = "top rows agg", [WR_AGG_PERCENTILES] = "percentiles agg",
};

static bool type_fits(enum wr_aggregation_type a, enum wr_field_type f)
{
    switch (a) {
    case WR_AGG_COUNT:
    case WR_AGG_DISTINCT_COUNT:
        return f == WR_FIELD_LONG || f == WR_FIELD_DOUBLE || f == WR_FIELD_BOOLEAN ||
               f == WR_FIELD_KEYWORD || f == WR_FIELD_GEO_POINT || f == WR_FIELD_DATE ||
               f == WR_FIELD_IP;
    case WR_AGG_MAX:
    case WR_AGG_MIN:
    case WR_AGG_PERCENTILES:
        return f == WR_FIELD_LONG || f == WR_FIELD_DOUBLE || f == WR_FIELD_DATE;
    default:
        return f == WR_FIELD_LONG || f == WR_FIELD_DOUBLE;
    }
}

static int check_field(struct metric *m)
{
    struct ctx *c = m->k->c;
    const struct wr_aggregation *a = m->a;
    bool counts = a->type == WR_AGG_COUNT || a->type == WR_AGG_DISTINCT_COUNT;

    m->field = search_schema_find(m->k->schema, a->field, &m->at);
    if (!m->field)
        return fail(c, E_PARAMETER, "[%s] field: %.*s does not exist", names[a->type],
                    BYTES_FMT(a->field));
    if (!type_fits(a->type, m->field->type))
        return fail(c, E_PARAMETER, "[%s] field_name:%.*s type:%s is invalid, allow [%s]",
                    names[a->type], BYTES_FMT(a->field), search_type_name(m->field->type),
                    counts ? "long, double, boolean, keyword, geo_point" : "long, double");
    if (a->missing.type == WR_NULL || a->type == WR_AGG_COUNT)
        return E_OK;
    m->has_missing = document_convert(&c->arena, m->field, &a->missing, &m->missing);
    if (!m->has_missing)
        return fail(c, E_PARAMETER, "[%s] the missing value does not fit field %.*s of type %s",
                    names[a->type], BYTES_FMT(a->field), search_type_name(m->field->type));
    return E_OK;
}

static int check_percentiles(struct metric *m)
{
    for (size_t i = 0; i < m->a->percentile_count; i++)
        if (!(m->a->percentiles[i] >= 0 && m->a->percentiles[i] <= 100))
            return fail(m->k->c, E_PARAMETER, "[percentiles agg] a percentile is from 0 to 100");
    if (!m->a->percentile_count || m->a->percentile_count > 100)
        return fail(m->k->c, E_PARAMETER, "[percentiles agg] there are 1 to 100 percentiles");
    return E_OK;
}

int metric_make(struct collect *k, const struct wr_aggregation *a, struct metric **out)
{
    struct metric *m = ARENA_NEW(&k->c->arena, struct metric);

    m->k = k;
    m->a = a;
    m->name = arena_copy(&k->c->arena, a->name);
    *out = m;
    if (a->type < WR_AGG_AVG || a->type > WR_AGG_PERCENTILES)
        return fail(k->c, E_PARAMETER, "Unknown type %d of an aggregation.", (int)a->type);
    if (a->type == WR_AGG_TOP_ROWS) {
        if (a->has_limit && (a->limit < 0 || a->limit > TOP_ROWS_MAX))
            return fail(k->c, E_PARAMETER, "[top rows agg] limit must be in [0, %d], and is %d",
                        TOP_ROWS_MAX, a->limit);
        m->sort = ARENA_NEW(&k->c->arena, struct sort);
        k->rows = true;
        return sort_make(k->c, k->schema, &a->sort, m->sort);
    }
    if (a->type == WR_AGG_COUNT && bytes_equal(a->field, BYTES_LIT("*")))
        return E_OK;
    if (a->type == WR_AGG_PERCENTILES)
        TRY(check_percentiles(m));
    return check_field(m);
}

void metric_segment(struct metric *m, const struct segment *s)
{
    m->segment = s;
    m->col = m->field ? &s->columns[m->at] : NULL;
}

static void grow_buckets(struct metric *m, uint32_t bucket)
{
    uint32_t room = m->room ? m->room : 4;

    while (room <= bucket)
        room *= 2;
    if (m->a->type == WR_AGG_TOP_ROWS)
        m->tops =
            collect_grow(m->k, m->tops, m->room * sizeof(m->tops[0]), room * sizeof(m->tops[0]));
    else
        m->totals = collect_grow(m->k, m->totals, m->room * sizeof(m->totals[0]),
                                 room * sizeof(m->totals[0]));
    for (uint32_t i = m->room; m->totals && i < room; i++)
        m->totals[i] = (struct totals){0, INFINITY, -INFINITY, 0};
    m->room = room;
}

static void set_grow(struct metric *m)
{
    size_t size = m->set_size ? m->set_size * 2 : 64;
    uint64_t *set = collect_alloc(m->k, size * sizeof(set[0]));

    for (size_t i = 0; i < m->set_size; i++) {
        size_t at = m->set[i] & (size - 1);

        if (!m->set[i])
            continue;
        while (set[at])
            at = (at + 1) & (size - 1);
        set[at] = m->set[i];
    }
    m->set = set;
    m->set_size = size;
}

/* Counts a value of a bucket once: by 64 bits of a hash, whose collisions are rarer than faults of
 * memory. */
static void add_distinct(struct metric *m, uint32_t bucket, bytes value)
{
    uint64_t hash = XXH3_64bits_withSeed(value.ptr, value.len, bucket);
    size_t at;

    if (m->k->over)
        return;
    if (m->set_count * 2 >= m->set_size)
        set_grow(m);
    hash += !hash;
    for (at = hash & (m->set_size - 1); m->set[at]; at = (at + 1) & (m->set_size - 1))
        if (m->set[at] == hash)
            return;
    m->set[at] = hash;
    m->set_count++;
    m->totals[bucket].count++;
}

static void add_sample(struct metric *m, uint32_t bucket, int64_t number)
{
    if (m->sample_count == m->sample_room) {
        size_t room = m->sample_room ? m->sample_room * 2 : 64;

        if (m->k->over)
            return;
        m->samples = collect_grow(m->k, m->samples, m->sample_room * sizeof(m->samples[0]),
                                  room * sizeof(m->samples[0]));
        m->sample_room = room;
    }
    m->samples[m->sample_count++] = (struct sample){bucket, number};
}

static double real_of(const struct search_field *f, int64_t number)
{
    if (f->type == WR_FIELD_DOUBLE)
        return real_of_number(number);
    return f->type == WR_FIELD_DATE ? (double)(number / 1000000) : (double)number;
}

static void add_number(struct metric *m, uint32_t bucket, int64_t number)
{
    struct totals *t = &m->totals[bucket];
    double v;

    switch (m->a->type) {
    case WR_AGG_COUNT:
        t->count++;
        return;
    case WR_AGG_DISTINCT_COUNT:
        add_distinct(m, bucket, bytes_of(&number, sizeof(number)));
        return;
    case WR_AGG_PERCENTILES:
        add_sample(m, bucket, number);
        return;
    default:
        v = real_of(m->field, number);
        t->sum += v;
        t->least = v < t->least ? v : t->least;
        t->greatest = v > t->greatest ? v : t->greatest;
        t->count++;
    }
}

static void add_top(struct metric *m, uint32_t doc, uint32_t bucket)
{
    struct top *t = m->tops[bucket];

    if (!t) {
        m->tops[bucket] = t = collect_alloc(m->k, sizeof(*t));
        top_init(t, &m->k->c->arena, m->sort, m->a->has_limit ? (size_t)m->a->limit : 1);
        m->k->bytes +=
            t->room * (sizeof(struct hit) + (m->sort->count + 1) * sizeof(struct sort_value));
    }
    top_add(t, m->segment, doc, 0);
}

void metric_add(struct metric *m, uint32_t doc, uint32_t bucket)
{
    uint32_t first, end;

    if (bucket >= m->room)
        grow_buckets(m, bucket);
    if (m->a->type == WR_AGG_TOP_ROWS) {
        add_top(m, doc, bucket);
        return;
    }
    if (!m->field) {
        m->totals[bucket].count++;
        return;
    }
    first = column_first(m->col, doc);
    end = column_first(m->col, doc + 1);
    if (m->field->kind == FIELD_NUMBER) {
        for (uint32_t i = first; i < end; i++)
            add_number(m, bucket, m->col->numbers[i]);
        if (first == end && m->has_missing)
            add_number(m, bucket, m->missing.number);
        return;
    }
    if (m->a->type == WR_AGG_COUNT) {
        m->totals[bucket].count += end - first;
        return;
    }
    for (uint32_t i = first; i < end; i++)
        add_distinct(m, bucket, column_term(m->col, m->col->ordinals[i]));
    if (first == end && m->has_missing)
        add_distinct(m, bucket, m->missing.text);
}

/* As add_number() of each: every document has one value. */
static void total_numbers(const struct metric *m, struct totals *t, uint32_t base,
                          const uint64_t *bits)
{
    const int64_t *numbers = m->col->numbers + base;
    struct totals sum = *t;

    WINDOW_EACH(bits, i)
    {
        double v = real_of(m->field, numbers[i]);

        sum.sum += v;
        sum.least = v < sum.least ? v : sum.least;
        sum.greatest = v > sum.greatest ? v : sum.greatest;
        sum.count++;
    }
    *t = sum;
}

void metric_window(struct metric *m, uint32_t base, const uint64_t *bits)
{
    enum wr_aggregation_type a = m->a->type;

    if (a != WR_AGG_TOP_ROWS && !m->room)
        grow_buckets(m, 0);
    if (!m->field && m->totals)
        m->totals[0].count += window_count(bits);
    else if (m->field && m->field->kind == FIELD_NUMBER && !m->col->offsets &&
             (a == WR_AGG_SUM || a == WR_AGG_AVG || a == WR_AGG_MIN || a == WR_AGG_MAX))
        total_numbers(m, &m->totals[0], base, bits);
    else
        WINDOW_EACH(bits, i)
    metric_add(m, base + (uint32_t)i, 0);
}

static int by_bucket(const void *a, const void *b)
{
    const struct sample *x = a, *y = b;

    if (x->bucket != y->bucket)
        return x->bucket < y->bucket ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

static int by_real(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static struct wr_value percentile(const struct metric *m, const struct sample *s, size_t count,
                                  double at)
{
    double place = (double)(count - 1) * at / 100;
    size_t low = (size_t)place, high = low + 1 < count ? low + 1 : low;
    double a = real_of(m->field, s[low].number), b = real_of(m->field, s[high].number);
    double v = a + (b - a) * (place - (double)low);

    if (m->field->type == WR_FIELD_DOUBLE)
        return (struct wr_value){.type = WR_DOUBLE, .real = v};
    if (high == low || s[low].number == s[high].number)
        return (struct wr_value){
            .type = WR_BIGINT,
            .integer = m->field->type == WR_FIELD_DATE ? s[low].number / 1000000 : s[low].number};
    return (struct wr_value){.type = WR_BIGINT, .integer = v >= 0x1p63 ? INT64_MAX : (int64_t)v};
}

/* Of sorted samples, how many are of buckets below that one. */
static size_t samples_before(const struct metric *m, uint32_t bucket)
{
    size_t low = 0, high = m->sample_count;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (m->samples[mid].bucket < bucket)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static void percentiles(struct metric *m, uint32_t bucket, struct wr_aggregation_result *out)
{
    struct arena *a = &m->k->c->arena;
    size_t n = m->a->percentile_count, first, end;
    double *at = ARENA_ARRAY(a, double, n);
    struct wr_percentile *items = collect_alloc(m->k, n * sizeof(items[0]));

    if (!m->sorted && m->sample_count)
        qsort(m->samples, m->sample_count, sizeof(m->samples[0]), by_bucket);
    m->sorted = true;
    memcpy(at, m->a->percentiles, n * sizeof(at[0]));
    qsort(at, n, sizeof(at[0]), by_real);
    first = samples_before(m, bucket);
    end = samples_before(m, bucket + 1);
    out->percentiles = items;
    for (size_t i = 0; i < n && end > first; i++)
        items[out->percentile_count++] =
            (struct wr_percentile){at[i], percentile(m, m->samples + first, end - first, at[i])};
}

static int top_rows(struct metric *m, uint32_t bucket, struct wr_aggregation_result *out)
{
    struct top *t = bucket < m->room ? m->tops[bucket] : NULL;
    struct wr_row *rows;

    if (!t)
        return E_OK;
    top_finish(t);
    rows = ARENA_ARRAY(&m->k->c->arena, struct wr_row, t->count);
    for (size_t i = 0; i < t->count; i++)
        TRY(m->k->row(m->k->row_arg, t->hits[i].key, &rows[i]));
    out->rows = rows;
    out->row_count = t->count;
    return E_OK;
}

double metric_value(struct metric *m, uint32_t bucket)
{
    struct totals none = {0, INFINITY, -INFINITY, 0}, *t = &none;

    if (m->totals && bucket < m->room)
        t = &m->totals[bucket];
    switch (m->a->type) {
    case WR_AGG_MAX:
        return t->greatest;
    case WR_AGG_MIN:
        return t->least;
    case WR_AGG_SUM:
        return t->sum;
    case WR_AGG_AVG:
        return t->count ? t->sum / (double)t->count : NAN;
    default:
        return (double)t->count;
    }
}

int metric_result(struct metric *m, uint32_t bucket, struct wr_aggregation_result *out)
{
    *out = (struct wr_aggregation_result){.name = m->name, .type = m->a->type};
    out->real = metric_value(m, bucket);
    out->count = m->totals && bucket < m->room ? m->totals[bucket].count : 0;
    if (m->a->type == WR_AGG_PERCENTILES)
        percentiles(m, bucket, out);
    return m->a->type == WR_AGG_TOP_ROWS ? top_rows(m, bucket, out) : E_OK;
}
