/* Requests of search indexes. */
#include "parse.h"

#include <math.h>

#define LIST_MAX 64

static void *make_list(struct cursor *p, size_t size)
{
    return arena_zalloc(&p->s->c.arena, LIST_MAX * size);
}

static bool at_end(const struct cursor *p)
{
    return p->at->kind == TOKEN_END || token_is(p->at, "->");
}

/* One of the words, which are numbered from `first`; dies if it is none. */
static int parse_word(struct cursor *p, const char *const *words, size_t count, int first)
{
    for (size_t i = 0; i < count; i++)
        if (take(p, words[i]))
            return (int)i + first;
    script_die(p->s, "no such word here: '%.*s'", BYTES_FMT(p->at->text));
}

static double parse_real(struct cursor *p)
{
    struct wr_value v = parse_value(p);

    return v.type == WR_DOUBLE ? v.real : (double)v.integer;
}

/* A text, or several in brackets. */
static void parse_texts(struct cursor *p, const bytes **out, size_t *count)
{
    bytes *list = make_list(p, sizeof(*list));

    *out = list;
    if (!take(p, "(")) {
        list[(*count)++] = parse_text(p);
        return;
    }
    while (!take(p, ")") && *count < LIST_MAX)
        list[(*count)++] = parse_text(p);
}

/* ---- schemas ---- */

static const char *const types[] = {"long",   "double",    "boolean",  "keyword", "text",
                                    "nested", "geo_point", "date",     "vector",  "fuzzy_keyword",
                                    "ip",     "json",      "flattened"};
static const char *const metrics[] = {"euclidean", "cosine", "dot"};

/* name:type [array] [noindex] [store|nostore] [virtual] [of=..] [formats=..] [analyzer=".."]
 * [dimension=3] [metric cosine] */
static void parse_field(struct cursor *p, struct wr_field_schema *f)
{
    f->index = true;
    f->name = parse_name(p);
    expect(p, ":");
    f->type = (enum wr_field_type)parse_word(p, types, PORT_COUNT(types), WR_FIELD_LONG);
    f->store = f->type != WR_FIELD_TEXT;
    for (;;) {
        if (take(p, "array"))
            f->is_array = true;
        else if (take(p, "noindex"))
            f->index = false;
        else if (take(p, "store"))
            f->store_given = f->store = true;
        else if (take(p, "virtual"))
            f->is_virtual = true;
        else if (take_option(p, "of"))
            parse_texts(p, &f->source_fields, &f->source_field_count);
        else if (take_option(p, "formats"))
            parse_texts(p, &f->date_formats, &f->date_format_count);
        else if (take_option(p, "analyzer"))
            f->analyzer = parse_text(p);
        else if (take_option(p, "dimension"))
            f->vector = (struct wr_vector_options){true, 2, (int32_t)parse_number(p), 0};
        else if (take(p, "metric"))
            f->vector.metric = parse_word(p, metrics, PORT_COUNT(metrics), 0);
        else
            return;
    }
}

static void parse_sort(struct cursor *p, struct wr_sort *out);

/* search_index t i (fields) [ttl=S] [sort (..)] [routing=..] */
static void parse_create(struct cursor *p, struct wr_request *out)
{
    struct wr_create_search_index *create = &out->create_search_index;
    struct wr_field_schema *fields = make_list(p, sizeof(*fields));

    out->op = WR_OP_CREATE_SEARCH_INDEX;
    create->table = parse_name(p);
    create->index = parse_name(p);
    create->schema.fields = fields;
    expect(p, "(");
    while (!take(p, ")") && create->schema.field_count < LIST_MAX)
        parse_field(p, &fields[create->schema.field_count++]);
    if (take_option(p, "ttl")) {
        create->has_ttl = true;
        create->ttl_s = (int32_t)parse_number(p);
    }
    if (take(p, "sort"))
        parse_sort(p, &create->schema.index_sort);
    if (take_option(p, "routing"))
        parse_texts(p, &create->schema.routing_fields, &create->schema.routing_field_count);
}

/* ---- conditions ---- */

static void parse_query(struct cursor *p, struct wr_search_condition *q);

static const struct wr_search_condition *parse_inner(struct cursor *p)
{
    struct wr_search_condition *q = ARENA_NEW(&p->s->c.arena, struct wr_search_condition);

    parse_query(p, q);
    return q;
}

static void parse_queries(struct cursor *p, const struct wr_search_condition **out, size_t *count)
{
    struct wr_search_condition *list = make_list(p, sizeof(*list));

    *out = list;
    expect(p, "(");
    while (!take(p, ")") && *count < LIST_MAX)
        parse_query(p, &list[(*count)++]);
}

static void parse_minimum(struct cursor *p, struct wr_minimum_match *m)
{
    struct wr_value v;

    if (!take_option(p, "minimum"))
        return;
    v = parse_value(p);
    m->given = v.type == WR_BIGINT;
    m->number = (int32_t)v.integer;
    if (v.type == WR_VARCHAR)
        m->text = v.bytes;
}

/* bool [must (..)] [filter (..)] [must_not (..)] [should (..)] [minimum=1] */
static void parse_bool(struct cursor *p, struct wr_bool_condition *b)
{
    for (;;) {
        if (take(p, "must"))
            parse_queries(p, &b->must, &b->must_count);
        else if (take(p, "filter"))
            parse_queries(p, &b->filter, &b->filter_count);
        else if (take(p, "must_not"))
            parse_queries(p, &b->must_not, &b->must_not_count);
        else if (take(p, "should"))
            parse_queries(p, &b->should, &b->should_count);
        else
            break;
    }
    parse_minimum(p, &b->minimum);
}

/* range f [from=1] [above=1] [to=5] [below=5] */
static void parse_range(struct cursor *p, struct wr_range_bounds *r)
{
    for (;;) {
        if (take_option(p, "from")) {
            r->include_from = true;
            r->from = parse_value(p);
        } else if (take_option(p, "above")) {
            r->from = parse_value(p);
        } else if (take_option(p, "to")) {
            r->include_to = true;
            r->to = parse_value(p);
        } else if (take_option(p, "below")) {
            r->to = parse_value(p);
        } else {
            return;
        }
    }
}

/* knn f (0.5 1) k=3 [where Q] */
static void parse_knn(struct cursor *p, struct wr_knn_condition *knn)
{
    float *vector = make_list(p, sizeof(*vector));

    knn->vector = vector;
    expect(p, "(");
    while (!take(p, ")") && knn->dimension < LIST_MAX)
        vector[knn->dimension++] = (float)parse_real(p);
    if (take_option(p, "k"))
        knn->top_k = (int32_t)parse_number(p);
    if (take(p, "where"))
        knn->filter = parse_inner(p);
}

static const struct {
    const char *name;
    enum wr_condition_type type;
} conditions[] = {
    {"match", WR_SEARCH_MATCH},         {"phrase", WR_SEARCH_MATCH_PHRASE},
    {"term", WR_SEARCH_TERM},           {"terms", WR_SEARCH_TERMS},
    {"range", WR_SEARCH_RANGE},         {"prefix", WR_SEARCH_PREFIX},
    {"suffix", WR_SEARCH_SUFFIX},       {"wildcard", WR_SEARCH_WILDCARD},
    {"exists", WR_SEARCH_EXISTS},       {"box", WR_SEARCH_GEO_BOX},
    {"circle", WR_SEARCH_GEO_DISTANCE}, {"polygon", WR_SEARCH_GEO_POLYGON},
    {"knn", WR_SEARCH_KNN_VECTOR},
};

static void parse_about(struct cursor *p, struct wr_search_condition *q)
{
    switch (q->type) {
    case WR_SEARCH_MATCH:
    case WR_SEARCH_MATCH_PHRASE:
        q->match.text = parse_text(p);
        q->match.all = take(p, "all");
        parse_minimum(p, &q->match.minimum);
        return;
    case WR_SEARCH_TERM:
        q->term = parse_value(p);
        return;
    case WR_SEARCH_TERMS: {
        struct wr_value *list = make_list(p, sizeof(*list));

        q->terms.values = list;
        expect(p, "(");
        while (!take(p, ")") && q->terms.count < LIST_MAX)
            list[q->terms.count++] = parse_value(p);
        return;
    }
    case WR_SEARCH_RANGE:
        parse_range(p, &q->range);
        return;
    case WR_SEARCH_EXISTS:
        return;
    case WR_SEARCH_KNN_VECTOR:
        parse_knn(p, &q->knn);
        return;
    case WR_SEARCH_GEO_BOX:
    case WR_SEARCH_GEO_DISTANCE:
    case WR_SEARCH_GEO_POLYGON:
        parse_texts(p, &q->geo.points, &q->geo.point_count);
        if (q->type == WR_SEARCH_GEO_DISTANCE)
            q->geo.metres = parse_real(p);
        return;
    default:
        q->pattern = parse_text(p);
    }
}

/* Words behind an interval; "month" is 3. */
static const char *const units[] = {"year", "quarter", "month",  "week",       "day",
                                    "hour", "minute",  "second", "millisecond"};

static struct wr_date_interval parse_interval(struct cursor *p)
{
    struct wr_date_interval d = {.given = true, .value = (int32_t)parse_number(p)};

    d.unit = parse_word(p, units, PORT_COUNT(units), 1);
    return d;
}

/* gauss f origin=V scale=V [offset=V] [decay=V]; the scale of a date is an interval. */
static void parse_decay(struct cursor *p, struct wr_score_function *f)
{
    f->field = parse_name(p);
    for (;;) {
        if (take_option(p, "origin")) {
            struct wr_value v = parse_value(p);

            f->origin_text = v.type == WR_VARCHAR ? v.bytes : BYTES_NONE;
            f->origin = v.type == WR_DOUBLE ? v.real : (double)v.integer;
        } else if (take(p, "every")) {
            f->scale_interval = parse_interval(p);
        } else if (take_option(p, "scale")) {
            f->scale = parse_real(p);
        } else if (take_option(p, "offset")) {
            f->offset = parse_real(p);
        } else if (take_option(p, "decay")) {
            f->decay = parse_real(p);
        } else {
            break;
        }
    }
    f->param_type = f->scale_interval.given ? 1 : f->origin_text.ptr ? 3 : 2;
}

/* (value f [factor=N] [modifier ln] [missing=N] · gauss f .. · exp f .. · linear f .. · constant)
 * [weight=N] [where QUERY] */
static void parse_function(struct cursor *p, struct wr_score_function *f)
{
    static const char *const curves[] = {"gauss", "exp", "linear"};
    static const char *const modifiers[] = {"none", "log",  "log1p",  "log2p", "ln",
                                            "ln1p", "ln2p", "square", "sqrt",  "reciprocal"};

    *f = (struct wr_score_function){.weight = 1, .factor = 1, .modifier = 1, .decay = 0.5};
    expect(p, "(");
    if (take(p, "value")) {
        f->type = WR_SCORE_FIELD_VALUE;
        f->field = parse_name(p);
        if (take_option(p, "factor"))
            f->factor = parse_real(p);
        if (take(p, "modifier"))
            f->modifier = parse_word(p, modifiers, PORT_COUNT(modifiers), 1);
        f->has_missing = take_option(p, "missing");
        if (f->has_missing)
            f->missing = parse_real(p);
    } else if (!take(p, "constant")) {
        f->type = WR_SCORE_DECAY;
        f->curve = parse_word(p, curves, PORT_COUNT(curves), 1);
        parse_decay(p, f);
    }
    if (take_option(p, "weight"))
        f->weight = parse_real(p);
    if (take(p, "where"))
        f->filter = parse_inner(p);
    expect(p, ")");
}

/* QUERY functions ((..) ..) [score sum] [combine replace] [least=N] [most=N] */
static void parse_functions(struct cursor *p, struct wr_functions_condition *q)
{
    static const char *const scores[] = {"avg", "max", "sum", "min", "multiply", "first"};
    static const char *const combines[] = {"multiply", "avg", "max", "sum", "min", "replace"};
    struct wr_score_function *list = make_list(p, sizeof(*list));

    q->query = parse_inner(p);
    q->functions = list;
    expect(p, "by");
    expect(p, "(");
    while (!take(p, ")") && q->count < LIST_MAX)
        parse_function(p, &list[q->count++]);
    if (take(p, "score"))
        q->score_mode = parse_word(p, scores, PORT_COUNT(scores), 1);
    if (take(p, "combine"))
        q->combine_mode = parse_word(p, combines, PORT_COUNT(combines), 1);
    q->has_min = take_option(p, "least");
    if (q->has_min)
        q->min_score = parse_real(p);
    q->has_max = take_option(p, "most");
    if (q->has_max)
        q->max_score = parse_real(p);
}

static void parse_query(struct cursor *p, struct wr_search_condition *q)
{
    *q = (struct wr_search_condition){.weight = take_option(p, "weight") ? parse_real(p) : 1};
    if (take(p, "all")) {
        q->type = WR_SEARCH_MATCH_ALL;
    } else if (take(p, "bool")) {
        q->type = WR_SEARCH_BOOL;
        parse_bool(p, &q->boolean);
    } else if (take(p, "const")) {
        q->type = WR_SEARCH_CONST_SCORE;
        q->inner = parse_inner(p);
    } else if (take(p, "dismax")) {
        q->type = WR_SEARCH_DIS_MAX;
        parse_queries(p, &q->dis_max.queries, &q->dis_max.count);
        if (take_option(p, "tie"))
            q->dis_max.tie_breaker = parse_real(p);
    } else if (take(p, "function")) {
        q->type = WR_SEARCH_FUNCTION_SCORE;
        q->field = parse_name(p);
        q->inner = parse_inner(p);
    } else if (take(p, "functions")) {
        q->type = WR_SEARCH_FUNCTIONS_SCORE;
        parse_functions(p, &q->functions);
    } else {
        for (size_t i = 0; i < PORT_COUNT(conditions); i++)
            if (take(p, conditions[i].name)) {
                q->type = conditions[i].type;
                q->field = parse_name(p);
                parse_about(p, q);
                return;
            }
        script_die(p->s, "no such query: '%.*s'", BYTES_FMT(p->at->text));
    }
}

/* ---- sorts, aggregations, groups ---- */

/* (f f desc [mode max] [missing=V] · score · key · distance f ".." desc) */
static void parse_sort(struct cursor *p, struct wr_sort *out)
{
    static const char *const modes[] = {"min", "max", "avg"};
    struct wr_sorter *list = make_list(p, sizeof(*list));

    *out = (struct wr_sort){.given = true, .sorters = list};
    expect(p, "(");
    while (!take(p, ")") && out->count < LIST_MAX) {
        struct wr_sorter *s = &list[out->count++];

        if (take(p, "score")) {
            *s = (struct wr_sorter){.type = WR_SORTER_SCORE, .order = WR_ORDER_DESC};
        } else if (take(p, "key")) {
            s->type = WR_SORTER_KEY;
        } else if (take(p, "distance")) {
            s->type = WR_SORTER_GEO;
            s->field = parse_name(p);
            parse_texts(p, &s->points, &s->point_count);
        } else {
            s->type = WR_SORTER_FIELD;
            s->field = parse_name(p);
        }
        if (take(p, "desc"))
            s->order = WR_ORDER_DESC;
        else if (take(p, "asc"))
            s->order = WR_ORDER_ASC;
        if (take(p, "mode"))
            s->mode = (enum wr_sort_mode)parse_word(p, modes, 3, WR_SORT_MODE_MIN);
        if (take_option(p, "missing"))
            s->missing = parse_value(p);
    }
}

/* sum f [missing=V] · count * · rows [limit=N] [sort (..)] · percentiles f (50 95) */
static bool parse_aggregation(struct cursor *p, struct wr_aggregation *a)
{
    static const char *const ops[] = {"avg",   "max",      "min",  "sum",
                                      "count", "distinct", "rows", "percentiles"};
    double *at;

    for (size_t i = 0; i < PORT_COUNT(ops); i++) {
        if (!take(p, ops[i]))
            continue;
        a->type = (enum wr_aggregation_type)(WR_AGG_AVG + i);
        a->name = bytes_str(ops[i]);
        if (a->type != WR_AGG_TOP_ROWS)
            a->field = take(p, "*") ? BYTES_LIT("*") : parse_name(p);
        if (take_option(p, "missing"))
            a->missing = parse_value(p);
        if (take_option(p, "limit")) {
            a->has_limit = true;
            a->limit = (int32_t)parse_number(p);
        }
        if (take(p, "sort"))
            parse_sort(p, &a->sort);
        if (a->type == WR_AGG_PERCENTILES) {
            a->percentiles = at = make_list(p, sizeof(*at));
            expect(p, "(");
            while (!take(p, ")") && a->percentile_count < LIST_MAX)
                at[a->percentile_count++] = parse_real(p);
        }
        return true;
    }
    return false;
}

static void parse_group(struct cursor *p, struct wr_group_by *g);

static void parse_group_options(struct cursor *p, struct wr_group_by *g)
{
    struct wr_aggregation *subs = make_list(p, sizeof(*subs));
    struct wr_group_by *groups = make_list(p, sizeof(*groups));

    g->aggregations = subs;
    g->group_bys = groups;
    for (;;) {
        if (take_option(p, "size")) {
            g->has_size = true;
            g->size = (int32_t)parse_number(p);
        } else if (take_option(p, "least")) {
            g->has_min_count = true;
            g->min_count = parse_number(p);
        } else if (take_option(p, "missing")) {
            g->missing = parse_value(p);
        } else if (take(p, "group")) {
            parse_group(p, &groups[g->group_by_count++]);
        } else if (parse_aggregation(p, &subs[g->aggregation_count])) {
            g->aggregation_count++;
        } else {
            return;
        }
    }
}

static void parse_group_ranges(struct cursor *p, struct wr_group_by *g)
{
    struct wr_number_range *ranges = make_list(p, sizeof(*ranges));

    g->ranges = ranges;
    while (take(p, "(")) {
        ranges[g->range_count].from = take(p, "min") ? -INFINITY : parse_real(p);
        ranges[g->range_count++].to = take(p, "max") ? INFINITY : parse_real(p);
        expect(p, ")");
    }
}

/* composite ((k) (histogram l 10)) [token=$x]; the sources are named s0, s1 .. */
static void parse_composite(struct cursor *p, struct wr_group_by *g)
{
    struct wr_group_by *sources = make_list(p, sizeof(*sources));

    g->type = WR_GROUP_COMPOSITE;
    g->sources = sources;
    expect(p, "(");
    while (!token_is(p->at, ")") && g->source_count < LIST_MAX) {
        parse_group(p, &sources[g->source_count]);
        sources[g->source_count].name = arena_printf(&p->s->c.arena, "s%zu", g->source_count);
        g->source_count++;
    }
    expect(p, ")");
    if (take_option(p, "token"))
        g->next_token = parse_text(p);
}

/* group (f ..) · group (histogram f 10) · group (ranges f (0 10) (10 20)) · group (filters Q Q) ·
 * group (dates f 1 month [zone="+08:00"]) · group (grid f 4) · group (distances f lat lon (0 10)) ·
 * group (composite ((f) ..)) */
static void parse_group(struct cursor *p, struct wr_group_by *g)
{
    expect(p, "(");
    g->name = BYTES_LIT("g");
    g->type = WR_GROUP_FIELD;
    if (take(p, "filters")) {
        g->type = WR_GROUP_FILTER;
        parse_queries(p, &g->filters, &g->filter_count);
    } else if (take(p, "histogram")) {
        g->type = WR_GROUP_HISTOGRAM;
        g->field = parse_name(p);
        g->interval = parse_value(p);
    } else if (take(p, "ranges")) {
        g->type = WR_GROUP_RANGE;
        g->field = parse_name(p);
        parse_group_ranges(p, g);
    } else if (take(p, "distances")) {
        g->type = WR_GROUP_GEO_DISTANCE;
        g->field = parse_name(p);
        g->origin_lat = parse_real(p);
        g->origin_lon = parse_real(p);
        parse_group_ranges(p, g);
    } else if (take(p, "dates")) {
        g->type = WR_GROUP_DATE_HISTOGRAM;
        g->field = parse_name(p);
        g->date_interval = parse_interval(p);
        if (take_option(p, "zone"))
            g->time_zone = parse_text(p);
    } else if (take(p, "grid")) {
        g->type = WR_GROUP_GEO_GRID;
        g->field = parse_name(p);
        g->precision = (int32_t)parse_number(p);
    } else if (take(p, "composite")) {
        parse_composite(p, g);
    } else {
        g->field = parse_name(p);
    }
    parse_group_options(p, g);
    expect(p, ")");
}

/* ---- searching ---- */

static void parse_search_options(struct cursor *p, struct wr_search *s)
{
    struct wr_aggregation *aggregations = make_list(p, sizeof(*aggregations));
    struct wr_group_by *groups = make_list(p, sizeof(*groups));

    s->aggregations = aggregations;
    s->group_bys = groups;
    while (!at_end(p)) {
        if (take_option(p, "limit")) {
            s->has_limit = true;
            s->limit = (int32_t)parse_number(p);
        } else if (take_option(p, "offset")) {
            s->has_offset = true;
            s->offset = (int32_t)parse_number(p);
        } else if (take_option(p, "token")) {
            s->token = parse_text(p);
        } else if (take_option(p, "collapse")) {
            s->collapse = parse_text(p);
        } else if (take(p, "total")) {
            s->track_total = INT32_MAX;
        } else if (take(p, "columns")) {
            s->columns = WR_SEARCH_COLUMNS_ALL;
            if (take(p, "index"))
                s->columns = WR_SEARCH_COLUMNS_INDEX;
            else if (parse_list(p, (bytes **)&s->names, &s->name_count))
                s->columns = WR_SEARCH_COLUMNS_NAMED;
        } else if (take(p, "sort")) {
            parse_sort(p, &s->sort);
        } else if (take(p, "group")) {
            parse_group(p, &groups[s->group_by_count++]);
        } else if (parse_aggregation(p, &aggregations[s->aggregation_count])) {
            s->aggregation_count++;
        } else {
            script_die(p->s, "no such part of a search: '%.*s'", BYTES_FMT(p->at->text));
        }
    }
}

static void parse_search(struct cursor *p, struct wr_request *out)
{
    struct wr_search *s = &out->search;

    out->op = WR_OP_SEARCH;
    s->track_total = -1;
    s->table = parse_name(p);
    s->index = parse_name(p);
    s->query = parse_inner(p);
    parse_search_options(p, s);
}

static void parse_index_name(struct cursor *p, enum wr_op op, struct wr_request *out)
{
    out->op = op;
    out->delete_search_index.table = parse_name(p);
    out->delete_search_index.index = parse_name(p);
}

bool parse_search_request(struct cursor *p, struct wr_request *out)
{
    if (take(p, "search_index")) {
        parse_create(p, out);
    } else if (take(p, "search_indexes")) {
        out->op = WR_OP_LIST_SEARCH_INDEX;
        if (!at_end(p))
            out->list_search_index.table = parse_name(p);
    } else if (take(p, "drop_search_index")) {
        parse_index_name(p, WR_OP_DELETE_SEARCH_INDEX, out);
    } else if (take(p, "describe_search_index")) {
        parse_index_name(p, WR_OP_DESCRIBE_SEARCH_INDEX, out);
    } else if (take(p, "alter_search_index")) {
        parse_index_name(p, WR_OP_UPDATE_SEARCH_INDEX, out);
        if (take_option(p, "ttl")) {
            out->update_search_index.has_ttl = true;
            out->update_search_index.ttl_s = (int32_t)parse_number(p);
        }
    } else if (take(p, "search_splits")) {
        parse_index_name(p, WR_OP_COMPUTE_SPLITS, out);
        out->compute_splits.has_options = true;
    } else if (take(p, "parallel_scan")) {
        struct wr_parallel_scan *s = &out->parallel_scan;

        parse_index_name(p, WR_OP_PARALLEL_SCAN, out);
        s->session = parse_text(p);
        s->query = parse_inner(p);
        if (take_option(p, "limit")) {
            s->has_limit = true;
            s->limit = (int32_t)parse_number(p);
        }
        if (take_option(p, "token"))
            s->token = parse_text(p);
    } else if (take(p, "search")) {
        parse_search(p, out);
    } else {
        return false;
    }
    return true;
}
