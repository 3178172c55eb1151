/* Scores out of a document's values. */
#include "search/field/document.h"
#include "search/field/geo.h"
#include "search/query/node.h"

#include <float.h>
#include <math.h>

#define FUNCTIONS_MAX 10

struct function {
    const struct wr_score_function *f;
    const struct search_field *field;
    const struct segment_column *col;
    struct node *filter;
    double lat, lon; /* geo: the origin */
    double origin, scale, offset;
    uint64_t random;
};

struct functions_node {
    struct node node;
    struct node *query;
    struct function *functions;
    size_t count;
    const struct wr_functions_condition *condition;
    float weight;
    float *scores;
    uint64_t (*filtered)[WINDOW_WORDS];
};

static double real_of(const struct search_field *f, int64_t number)
{
    if (f->type == WR_FIELD_DOUBLE)
        return real_of_number(number);
    return (double)number;
}

static double modified(double v, int32_t modifier)
{
    switch (modifier) {
    case 2:
        return log10(v);
    case 3:
        return log10(v + 1);
    case 4:
        return log10(v + 2);
    case 5:
        return log(v);
    case 6:
        return log1p(v);
    case 7:
        return log(v + 2);
    case 8:
        return v * v;
    case 9:
        return sqrt(v);
    case 10:
        return 1 / v;
    default:
        return v;
    }
}

static double field_value(const struct function *f, uint32_t doc)
{
    uint32_t first = column_first(f->col, doc), end = column_first(f->col, doc + 1);
    double v;

    if (first == end && !f->f->has_missing)
        return 1;
    v = first == end ? f->f->missing : real_of(f->field, f->col->numbers[first]);
    v = modified(f->f->factor * v, f->f->modifier);
    return isfinite(v) && v > 0 ? v : 0;
}

static double distance(const struct function *f, int64_t number)
{
    struct geo_point p;

    if (f->field->type != WR_FIELD_GEO_POINT)
        return fabs(real_of(f->field, number) - f->origin);
    p = document_unpack_point(number);
    return geo_metres(f->lat, f->lon, geo_lat(p), geo_lon(p));
}

/* Of several values the distance that counts. */
static double distance_of(const struct function *f, uint32_t first, uint32_t end)
{
    double best = distance(f, f->col->numbers[first]), sum = best;

    for (uint32_t i = first + 1; i < end; i++) {
        double d = distance(f, f->col->numbers[i]);

        sum += d;
        if (f->f->multi_value == 1 ? d > best : d < best)
            best = d;
    }
    return f->f->multi_value == 3 ? sum : f->f->multi_value == 4 ? sum / (end - first) : best;
}

static double decayed(const struct function *f, uint32_t doc)
{
    uint32_t first = column_first(f->col, doc), end = column_first(f->col, doc + 1);
    double d, s;

    if (first == end)
        return 1;
    d = distance_of(f, first, end) - f->offset;
    if (d < 0)
        d = 0;
    switch (f->f->curve) {
    case 2:
        return exp(log(f->f->decay) / f->scale * d);
    case 3:
        s = f->scale / (1 - f->f->decay);
        return d < s ? (s - d) / s : 0;
    default:
        return exp(d * d * log(f->f->decay) / (f->scale * f->scale));
    }
}

static double random_score(struct function *f)
{
    f->random ^= f->random << 13;
    f->random ^= f->random >> 7;
    f->random ^= f->random << 17;
    return (double)(f->random >> 11) * 0x1p-53;
}

static double value_of(struct function *f, uint32_t doc)
{
    double v = 1;

    if (f->f->type == WR_SCORE_FIELD_VALUE)
        v = field_value(f, doc);
    else if (f->f->type == WR_SCORE_DECAY)
        v = decayed(f, doc);
    else if (f->f->type == WR_SCORE_RANDOM)
        v = random_score(f);
    return v * f->f->weight;
}

/* The functions that count for a document, as one number. */
static double joined(struct functions_node *n, uint32_t base, uint32_t i)
{
    int32_t mode = n->condition->score_mode;
    double all = 1;
    size_t count = 0;

    for (size_t k = 0; k < n->count; k++) {
        double v;

        if (!(n->filtered[k][i / 64] >> i % 64 & 1))
            continue;
        v = value_of(&n->functions[k], base + i);
        count++;
        if (count == 1)
            all = v;
        else if (mode == 1 || mode == 3)
            all += v;
        else if (mode == 2)
            all = v > all ? v : all;
        else if (mode == 4)
            all = v < all ? v : all;
        else if (mode != 6)
            all *= v;
        if (mode == 6)
            break;
    }
    if (mode == 1 && count)
        all /= (double)count;
    if (n->condition->has_max && all > n->condition->max_score)
        all = n->condition->max_score;
    return all;
}

static double combined(const struct functions_node *n, double query, double functions)
{
    switch (n->condition->combine_mode) {
    case 2:
        return (query + functions) / 2;
    case 3:
        return query > functions ? query : functions;
    case 4:
        return query + functions;
    case 5:
        return query < functions ? query : functions;
    case 6:
        return functions;
    default:
        return query * functions;
    }
}

static void window_functions(struct node *node, uint32_t base, uint64_t *bits, float *scores)
{
    struct functions_node *n = (struct functions_node *)node;

    if (!scores)
        scores = n->scores;
    n->query->window(n->query, base, bits, scores);
    for (size_t k = 0; k < n->count; k++) {
        memcpy(n->filtered[k], bits, sizeof(n->filtered[k]));
        if (n->functions[k].filter)
            n->functions[k].filter->window(n->functions[k].filter, base, n->filtered[k], NULL);
    }
    WINDOW_EACH(bits, i)
    {
        double v = combined(n, scores[i], joined(n, base, (uint32_t)i)) * n->weight;

        scores[i] = (float)(v < FLT_MAX ? v : FLT_MAX);
        if (n->condition->has_min && v < n->condition->min_score)
            bits[i / 64] &= ~(1ull << i % 64);
    }
}

/* An interval in nanoseconds, months and years in the mean. */
static double interval_ns(const struct wr_date_interval *d)
{
    static const double ns[] = {0,       31556952e9, 7889238e9, 2629746e9, 604800e9,
                                86400e9, 3600e9,     60e9,      1e9,       1e6};

    return d->given && d->unit >= 1 && d->unit <= 9 ? d->value * ns[d->unit] : 0;
}

static int make_decay(struct query *q, struct function *f)
{
    const struct wr_score_function *d = f->f;
    struct geo_point p;
    int64_t ns = d->origin_ns;

    f->origin = d->origin;
    f->scale = d->scale;
    f->offset = d->offset;
    if (!(d->decay > 0 && d->decay < 1))
        return fail(q->c, E_PARAMETER, "The decay of a function is between 0 and 1.");
    if (f->field->type == WR_FIELD_GEO_POINT) {
        if (!geo_of_text(d->origin_text, &p, &f->lat, &f->lon))
            return fail(q->c, E_PARAMETER, "A geo function's origin '%.*s' is no point.",
                        BYTES_FMT(d->origin_text));
    } else if (f->field->type == WR_FIELD_DATE) {
        if (!d->has_origin_ns && !date_of_text(f->field->dates, d->origin_text, &ns))
            return fail(q->c, E_PARAMETER,
                        "A date function's origin '%.*s' is in none of the formats of its field.",
                        BYTES_FMT(d->origin_text));
        f->origin = (double)ns;
        f->scale = interval_ns(&d->scale_interval);
        f->offset = interval_ns(&d->offset_interval);
    }
    if (!(f->scale > 0) || !(f->offset >= 0))
        return fail(q->c, E_PARAMETER,
                    "The scale of a function is above 0, and its offset 0 or more.");
    return E_OK;
}

static int make_function(struct query *q, const struct wr_score_function *from, struct function *f)
{
    size_t at;

    f->f = from;
    f->random = (uint64_t)q->now_ms * 0x9e3779b97f4a7c15 + 88172645463325252ull +
                (q->segment ? q->segment->id : 0);
    if (from->filter)
        TRY(node_compile(q, from->filter, false, &f->filter));
    if (from->type != WR_SCORE_FIELD_VALUE && from->type != WR_SCORE_DECAY)
        return E_OK;
    f->field = search_schema_find(q->schema, from->field, &at);
    if (!f->field)
        return fail(q->c, E_PARAMETER, "[function] field: %.*s does not exist",
                    BYTES_FMT(from->field));
    if (f->field->kind != FIELD_NUMBER || f->field->type == WR_FIELD_BOOLEAN ||
        (from->type == WR_SCORE_FIELD_VALUE && f->field->type != WR_FIELD_LONG &&
         f->field->type != WR_FIELD_DOUBLE))
        return fail(q->c, E_PARAMETER, "[function] field_name:%.*s type:%s is invalid",
                    BYTES_FMT(from->field), search_type_name(f->field->type));
    f->col = q->segment ? &q->segment->columns[at] : NULL;
    return from->type == WR_SCORE_DECAY ? make_decay(q, f) : E_OK;
}

static int make(struct query *q, const struct wr_functions_condition *condition, float weight,
                struct node **out)
{
    struct functions_node *n = ARENA_NEW(&q->c->arena, struct functions_node);

    if (condition->count > FUNCTIONS_MAX)
        return fail(q->c, E_PARAMETER, "A functions score query has at most %d functions.",
                    FUNCTIONS_MAX);
    n->condition = condition;
    n->count = condition->count;
    n->weight = weight;
    n->scores = arena_alloc(&q->c->arena, WINDOW_DOCS * sizeof(float));
    n->functions = ARENA_ARRAY(&q->c->arena, struct function, n->count);
    n->filtered = arena_alloc(&q->c->arena, (n->count + 1) * sizeof(n->filtered[0]));
    TRY(node_compile(q, condition->query, true, &n->query));
    for (size_t i = 0; i < n->count; i++)
        TRY(make_function(q, &condition->functions[i], &n->functions[i]));
    n->node = (struct node){.window = window_functions, .estimate = n->query->estimate};
    *out = &n->node;
    return E_OK;
}

int node_functions_score(struct query *q, const struct wr_search_condition *condition,
                         struct node **out)
{
    return make(q, &condition->functions, (float)condition->weight, out);
}

/* The old form: the query's score times the field. */
int node_function_score(struct query *q, const struct wr_search_condition *condition,
                        struct node **out)
{
    struct wr_score_function *f = ARENA_NEW(&q->c->arena, struct wr_score_function);
    struct wr_functions_condition *made = ARENA_NEW(&q->c->arena, struct wr_functions_condition);

    *f = (struct wr_score_function){
        .type = WR_SCORE_FIELD_VALUE, .field = condition->field, .weight = 1, .factor = 1};
    *made = (struct wr_functions_condition){.query = condition->inner, .functions = f, .count = 1};
    return make(q, made, (float)condition->weight, out);
}
