#include "search/field/geo.h"
#include "search/result/buckets.h"
#include "search/result/collect_memory.h"
#include "search/result/group_key.h"

#include <math.h>
#include <stdlib.h>

struct group_by {
    struct collect *k;
    const struct wr_group_by *g;
    struct group_key *key; /* FIELD, both histograms, GEO_GRID, COMPOSITE */
    struct buckets buckets;
    struct collectors subs;
    bool at_top;
    const struct segment *segment;
    uint64_t segment_number; /* from 1 */
    /* RANGE, GEO_DISTANCE, FILTER: the key is the place in the request. */
    size_t at;
    const struct search_field *field;
    struct node **filters;
    uint64_t (*matched)[WINDOW_WORDS];
    uint32_t base;
    /* FIELD of terms, at the top: how many documents of the segment have each; then they are put
     * into the buckets. NULL: documents are counted one by one. */
    const struct segment_column *terms;
    uint32_t *term_counts;
    uint32_t *first_of; /* results: buckets by parent; UINT32_MAX ends */
    uint32_t *next_of;
    uint32_t parents;
    bytes name; /* what all its results point to */
};

static const char *const names[] = {
    [WR_GROUP_FIELD] = "group by field",
    [WR_GROUP_RANGE] = "group by range",
    [WR_GROUP_FILTER] = "group by filter",
    [WR_GROUP_GEO_DISTANCE] = "group by geo distance",
    [WR_GROUP_HISTOGRAM] = "group by histogram",
    [WR_GROUP_DATE_HISTOGRAM] = "group by date histogram",
    [WR_GROUP_GEO_GRID] = "group by geo grid",
    [WR_GROUP_COMPOSITE] = "group by composite",
};

/* ---- making ---- */

static int make_ranges(struct group_by *g)
{
    struct ctx *c = g->k->c;
    bool geo = g->g->type == WR_GROUP_GEO_DISTANCE;

    g->field = search_schema_find(g->k->schema, g->g->field, &g->at);
    if (!g->field)
        return fail(c, E_PARAMETER, "[%s] field: %.*s does not exist", names[g->g->type],
                    BYTES_FMT(g->g->field));
    if (geo ? g->field->type != WR_FIELD_GEO_POINT
            : g->field->type != WR_FIELD_LONG && g->field->type != WR_FIELD_DOUBLE)
        return fail(c, E_PARAMETER, "[%s] field_name:%.*s type:%s is invalid, allow [%s]",
                    names[g->g->type], BYTES_FMT(g->g->field), search_type_name(g->field->type),
                    geo ? "geo_point" : "long, double");
    if (!g->g->range_count || g->g->range_count > 100)
        return fail(c, E_PARAMETER, "[%s] there are 1 to 100 ranges", names[g->g->type]);
    return E_OK;
}

static int check_filters(struct group_by *g)
{
    struct ctx *c = g->k->c;
    struct query q = {.c = c,
                      .schema = g->k->schema,
                      .view = g->k->view,
                      .now_ms = g->k->now_ms,
                      .expired_ms = INT64_MIN};
    struct node *node;

    if (!g->g->filter_count || g->g->filter_count > 100)
        return fail(c, E_PARAMETER, "[group by filter] there are 1 to 100 filters");
    for (size_t i = 0; i < g->g->filter_count; i++)
        TRY(node_compile(&q, &g->g->filters[i], false, &node));
    g->matched = arena_alloc(&c->arena, g->g->filter_count * sizeof(g->matched[0]));
    return E_OK;
}

static int check_sorters(struct group_by *g)
{
    for (size_t i = 0; i < g->g->sorter_count; i++) {
        const struct wr_group_sorter *s = &g->g->sorters[i];
        bool found = s->type != WR_GROUP_SORT_AGGREGATION;

        for (size_t a = 0; a < g->g->aggregation_count; a++)
            found |= bytes_equal(g->g->aggregations[a].name, s->aggregation);
        if (!found)
            return fail(g->k->c, E_PARAMETER,
                        "[%s] a sorter names aggregation '%.*s', which is not there",
                        names[g->g->type], BYTES_FMT(s->aggregation));
    }
    return E_OK;
}

int group_make(struct collect *k, const struct wr_group_by *from, int level, struct group_by **out)
{
    struct group_by *g = ARENA_NEW(&k->c->arena, struct group_by);

    g->k = g->buckets.k = k;
    g->g = from;
    g->at_top = level == 1;
    g->name = arena_copy(&k->c->arena, from->name);
    *out = g;
    switch (from->type) {
    case WR_GROUP_RANGE:
    case WR_GROUP_GEO_DISTANCE:
        TRY(make_ranges(g));
        break;
    case WR_GROUP_FILTER:
        TRY(check_filters(g));
        break;
    case WR_GROUP_FIELD:
    case WR_GROUP_HISTOGRAM:
    case WR_GROUP_DATE_HISTOGRAM:
    case WR_GROUP_GEO_GRID:
    case WR_GROUP_COMPOSITE:
        TRY(group_key_make(k, from, &g->key));
        break;
    default:
        return fail(k->c, E_PARAMETER, "Unknown type %d of a group-by.", (int)from->type);
    }
    if (from->has_size && from->size < 0)
        return fail(k->c, E_PARAMETER, "[%s] the size is below 0", names[from->type]);
    TRY(check_sorters(g));
    return collectors_make(k, from->aggregations, from->aggregation_count, from->group_bys,
                           from->group_by_count, level + 1, &g->subs);
}

/* ---- collecting ---- */

static int compile_filters(struct group_by *g, const struct segment *s)
{
    struct query q = {.c = g->k->c,
                      .schema = g->k->schema,
                      .view = g->k->view,
                      .segment = s,
                      .needs = g->k->needs,
                      .held = g->k->held,
                      .now_ms = g->k->now_ms,
                      .expired_ms = INT64_MIN};

    g->filters = ARENA_ARRAY(&g->k->c->arena, struct node *, g->g->filter_count);
    for (size_t i = 0; i < g->g->filter_count; i++)
        TRY(node_compile(&q, &g->g->filters[i], false, &g->filters[i]));
    return E_OK;
}

/* What was counted by terms, into the buckets. */
static void flush_terms(struct group_by *g)
{
    for (uint32_t i = 0; g->term_counts && i < g->terms->term_count; i++) {
        uint32_t at;

        if (!g->term_counts[i])
            continue;
        at = buckets_find(&g->buckets, 0, group_key_of_term(g->key, i));
        if (at != UINT32_MAX)
            g->buckets.list[at].count += g->term_counts[i];
    }
    g->term_counts = NULL;
}

/* Counters for all terms of the segment, if so many documents are expected that it pays. */
static void begin_terms(struct group_by *g)
{
    g->terms = g->key ? group_key_terms(g->key) : NULL;
    if (!g->terms || collectors_any(&g->subs) || g->terms->term_count / 4 > g->k->expected)
        return;
    g->term_counts = collect_alloc(g->k, g->terms->term_count * sizeof(g->term_counts[0]));
}

int group_segment(struct group_by *g, const struct segment *s)
{
    flush_terms(g);
    g->segment = s;
    g->segment_number++;
    if (g->g->type == WR_GROUP_FILTER)
        TRY(compile_filters(g, s));
    if (g->key)
        group_key_segment(g->key, s);
    if (g->at_top)
        begin_terms(g);
    return collectors_segment(&g->subs, s);
}

void group_window(struct group_by *g, uint32_t base, const uint64_t *bits)
{
    g->base = base;
    for (size_t i = 0; g->g->type == WR_GROUP_FILTER && i < g->g->filter_count; i++) {
        memcpy(g->matched[i], bits, sizeof(g->matched[i]));
        g->filters[i]->window(g->filters[i], base, g->matched[i], NULL);
    }
    collectors_window(&g->subs, base, bits);
}

static void count(struct group_by *g, uint32_t doc, uint32_t parent, int64_t key)
{
    uint32_t at = buckets_find(&g->buckets, parent, key);
    uint64_t mark = g->segment_number << 32 | doc;
    struct bucket *b;

    if (at == UINT32_MAX)
        return;
    b = &g->buckets.list[at];
    if (b->last == mark)
        return;
    b->last = mark;
    b->count++;
    if (collectors_any(&g->subs))
        collectors_add(&g->subs, doc, at);
}

static double range_value(const struct group_by *g, int64_t number)
{
    struct geo_point p;

    if (g->g->type == WR_GROUP_RANGE)
        return g->field->type == WR_FIELD_DOUBLE ? real_of_number(number) : (double)number;
    p = document_unpack_point(number);
    return geo_metres(g->g->origin_lat, g->g->origin_lon, geo_lat(p), geo_lon(p));
}

static void add_ranges(struct group_by *g, uint32_t doc, uint32_t parent)
{
    const struct segment_column *col = &g->segment->columns[g->at];

    for (uint32_t i = column_first(col, doc); i < column_first(col, doc + 1); i++) {
        double v = range_value(g, col->numbers[i]);

        for (size_t r = 0; r < g->g->range_count; r++)
            if (v >= g->g->ranges[r].from && v < g->g->ranges[r].to)
                count(g, doc, parent, (int64_t)r);
    }
}

void group_add(struct group_by *g, uint32_t doc, uint32_t parent)
{
    int64_t keys[GROUP_KEYS_MAX];
    size_t n;

    if (g->g->type == WR_GROUP_FILTER) {
        uint32_t i = doc - g->base;

        for (size_t f = 0; f < g->g->filter_count; f++)
            if (g->matched[f][i / 64] >> i % 64 & 1)
                count(g, doc, parent, (int64_t)f);
        return;
    }
    if (!g->key) {
        add_ranges(g, doc, parent);
        return;
    }
    n = group_key_of(g->key, doc, keys);
    for (size_t i = 0; i < n; i++)
        count(g, doc, parent, keys[i]);
}

/* A term counts once, however often the document has it. */
static void count_terms(struct group_by *g, uint32_t doc)
{
    const uint32_t *ordinals = g->terms->ordinals;
    uint32_t first = g->terms->offsets[doc], end = g->terms->offsets[doc + 1];

    for (uint32_t i = first; i < end; i++) {
        uint32_t k = first;

        while (ordinals[k] != ordinals[i])
            k++;
        g->term_counts[ordinals[i]] += k == i;
    }
}

void group_add_window(struct group_by *g, uint32_t base, const uint64_t *bits)
{
    const uint32_t *ordinals = g->term_counts ? g->terms->ordinals + base : NULL;

    if (!g->term_counts) {
        WINDOW_EACH(bits, i)
        group_add(g, base + (uint32_t)i, 0);
        return;
    }
    if (g->terms->offsets) {
        WINDOW_EACH(bits, i)
        count_terms(g, base + (uint32_t)i);
        return;
    }
    for (uint32_t w = 0; w < WINDOW_WORDS; w++) {
        if (bits[w] == ~0ull)
            for (uint32_t i = 0; i < 64; i++)
                g->term_counts[ordinals[w * 64 + i]]++;
        else
            for (uint64_t rest = bits[w]; rest; rest &= rest - 1)
                g->term_counts[ordinals[w * 64 + (uint32_t)__builtin_ctzll(rest)]]++;
    }
}

void group_finish(struct group_by *g)
{
    flush_terms(g);
}

/* ---- results ---- */

static int64_t min_count(const struct group_by *g)
{
    return g->g->has_min_count ? g->g->min_count : 1;
}

/* Empty groups of a histogram that asks for them, below each group that is there. */
static void add_empty(struct group_by *g, uint32_t parents)
{
    int64_t key;

    if (min_count(g) > 0 ||
        (g->g->type != WR_GROUP_HISTOGRAM && g->g->type != WR_GROUP_DATE_HISTOGRAM))
        return;
    for (uint32_t parent = 0; parent < parents && !g->k->over; parent++)
        for (bool more = group_key_first(g->key, &key); more && !g->k->over;
             more = group_key_next(g->key, &key))
            buckets_find(&g->buckets, parent, key);
}

/* Buckets listed by the group above, once all have been counted. */
static void index_buckets(struct group_by *g)
{
    uint32_t parents = 1;

    if (g->first_of)
        return;
    for (uint32_t i = 0; i < g->buckets.count; i++)
        parents = g->buckets.list[i].parent >= parents ? g->buckets.list[i].parent + 1 : parents;
    add_empty(g, parents);
    g->first_of = collect_alloc(g->k, parents * sizeof(uint32_t));
    g->next_of = collect_alloc(g->k, (g->buckets.count + 1ull) * sizeof(uint32_t));
    memset(g->first_of, 0xff, parents * sizeof(uint32_t));
    for (uint32_t i = g->buckets.count; i-- > 0;) {
        g->next_of[i] = g->first_of[g->buckets.list[i].parent];
        g->first_of[g->buckets.list[i].parent] = i;
    }
    g->parents = parents;
}

static int compare_numbers(double a, double b)
{
    if (isnan(a) || isnan(b))
        return isnan(a) - isnan(b);
    return (a > b) - (a < b);
}

static int by_sorter(struct group_by *g, const struct wr_group_sorter *s, uint32_t x, uint32_t y)
{
    const struct bucket *a = &g->buckets.list[x], *b = &g->buckets.list[y];
    int r = 0;

    if (s->type == WR_GROUP_SORT_KEY) {
        r = group_key_compare(g->key, a->key, b->key);
    } else if (s->type == WR_GROUP_SORT_COUNT) {
        r = (a->count > b->count) - (a->count < b->count);
    } else {
        for (size_t i = 0; i < g->subs.metric_count; i++)
            if (bytes_equal(g->g->aggregations[i].name, s->aggregation))
                r = compare_numbers(metric_value(g->subs.metrics[i], x),
                                    metric_value(g->subs.metrics[i], y));
    }
    return s->order == WR_ORDER_DESC ? -r : r;
}

static int compare_buckets(const void *a, const void *b, void *arg)
{
    struct group_by *g = arg;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    static const struct wr_group_sorter by_count = {WR_GROUP_SORT_COUNT, WR_ORDER_DESC, {0, 0}};
    int r = 0;

    for (size_t i = 0; !r && i < g->g->sorter_count; i++)
        r = by_sorter(g, &g->g->sorters[i], x, y);
    if (!r && !g->g->sorter_count &&
        (g->g->type == WR_GROUP_FIELD || g->g->type == WR_GROUP_GEO_GRID))
        r = by_sorter(g, &by_count, x, y);
    return r ? r : group_key_compare(g->key, g->buckets.list[x].key, g->buckets.list[y].key);
}

static int fill_group(struct group_by *g, uint32_t at, int64_t key, struct wr_group *out)
{
    out->count = at == UINT32_MAX ? 0 : g->buckets.list[at].count;
    out->aggregation_count = g->subs.metric_count;
    out->group_by_count = g->subs.group_count;
    if (g->key)
        TRY(group_key_fill(g->key, key, out));
    return collectors_any(&g->subs)
               ? collectors_result(&g->subs, at, &out->aggregations, &out->group_bys)
               : E_OK;
}

/* As many groups as the request names, also those without documents. */
static int fixed_result(struct group_by *g, uint32_t parent, size_t n,
                        struct wr_group_by_result *out)
{
    struct wr_group *groups = collect_alloc(g->k, n * sizeof(groups[0]));

    for (size_t i = 0; i < n; i++) {
        uint32_t at = parent < g->parents ? g->first_of[parent] : UINT32_MAX;

        while (at != UINT32_MAX && g->buckets.list[at].key != (int64_t)i)
            at = g->next_of[at];
        TRY(fill_group(g, at, (int64_t)i, &groups[i]));
        if (g->g->type != WR_GROUP_FILTER)
            groups[i].range = g->g->ranges[i];
        if (g->g->type == WR_GROUP_GEO_DISTANCE && groups[i].range.from == -INFINITY)
            groups[i].range.from = 0;
    }
    out->groups = groups;
    out->count = n;
    return E_OK;
}

static size_t group_limit(const struct group_by *g, size_t count)
{
    size_t size = g->g->has_size && g->g->size ? (size_t)g->g->size : 10;

    if (g->g->type == WR_GROUP_HISTOGRAM || g->g->type == WR_GROUP_DATE_HISTOGRAM)
        size = GROUPS_MAX * 2;
    if (g->g->type == WR_GROUP_COMPOSITE && g->g->has_suggested_size && g->g->suggested_size > 0 &&
        !g->g->has_size)
        size = (size_t)g->g->suggested_size;
    if (g->g->type != WR_GROUP_HISTOGRAM && g->g->type != WR_GROUP_DATE_HISTOGRAM &&
        size > GROUPS_MAX)
        size = GROUPS_MAX;
    return count < size ? count : size;
}

/* The buckets of a parent that have documents enough and are not before a composite's token. */
static size_t list_buckets(struct group_by *g, uint32_t parent, uint32_t **out)
{
    uint32_t first = parent < g->parents ? g->first_of[parent] : UINT32_MAX, *list;
    size_t n = 0;

    for (uint32_t at = first; at != UINT32_MAX; at = g->next_of[at])
        n++;
    *out = list = collect_alloc(g->k, n * sizeof(list[0]));
    n = 0;
    for (uint32_t at = first; at != UINT32_MAX; at = g->next_of[at])
        if (g->buckets.list[at].count >= min_count(g) &&
            group_key_wanted(g->key, g->buckets.list[at].key))
            list[n++] = at;
    return n;
}

int group_result(struct group_by *g, uint32_t parent, struct wr_group_by_result *out)
{
    struct wr_group *groups;
    uint32_t *list;
    size_t n;

    *out = (struct wr_group_by_result){.name = g->name, .type = g->g->type};
    index_buckets(g);
    TRY(collect_go_on(g->k));
    if (g->g->type == WR_GROUP_FILTER)
        return fixed_result(g, parent, g->g->filter_count, out);
    if (!g->key)
        return fixed_result(g, parent, g->g->range_count, out);
    n = list_buckets(g, parent, &list);
    qsort_r(list, n, sizeof(list[0]), compare_buckets, g);
    out->count = group_limit(g, n);
    groups = collect_alloc(g->k, out->count * sizeof(groups[0]));
    TRY(collect_go_on(g->k));
    for (size_t i = 0; i < out->count; i++)
        TRY(fill_group(g, list[i], g->buckets.list[list[i]].key, &groups[i]));
    out->groups = groups;
    if (g->g->type == WR_GROUP_COMPOSITE)
        group_key_page(g->key, out->count ? g->buckets.list[list[out->count - 1]].key : 0,
                       out->count < n, out);
    return E_OK;
}
