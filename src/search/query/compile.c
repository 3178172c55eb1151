/* From a request's conditions to nodes. */
#include "search/field/document.h"
#include "search/field/ip.h"
#include "search/query/bounds.h"
#include "search/query/minimum.h"
#include "search/query/pattern.h"

#define WILDCARD_CHARACTERS_MAX 32
#define PREFIX_BYTES_MAX 1000
#define TOKENS_MAX 1024

/* What a query's value is that does not fit its field. */
#define UNFIT "failed to query index, please check the request parameter"

static const char *const names[] = {
    [WR_SEARCH_MATCH] = "match query",
    [WR_SEARCH_MATCH_PHRASE] = "match phrase query",
    [WR_SEARCH_TERM] = "term query",
    [WR_SEARCH_RANGE] = "range query",
    [WR_SEARCH_PREFIX] = "prefix query",
    [WR_SEARCH_BOOL] = "bool query",
    [WR_SEARCH_CONST_SCORE] = "const score query",
    [WR_SEARCH_FUNCTION_SCORE] = "function score query",
    [WR_SEARCH_NESTED] = "nested query",
    [WR_SEARCH_WILDCARD] = "wildcard query",
    [WR_SEARCH_MATCH_ALL] = "match all query",
    [WR_SEARCH_GEO_BOX] = "geo bounding box query",
    [WR_SEARCH_GEO_DISTANCE] = "geo distance query",
    [WR_SEARCH_GEO_POLYGON] = "geo polygon query",
    [WR_SEARCH_TERMS] = "terms query",
    [WR_SEARCH_EXISTS] = "exists query",
    [WR_SEARCH_KNN_VECTOR] = "knn vector query",
    [WR_SEARCH_FUNCTIONS_SCORE] = "functions score query",
    [WR_SEARCH_SUFFIX] = "suffix query",
    [WR_SEARCH_DIS_MAX] = "dis max query",
};

/* A condition about one field. */
struct about {
    struct query *q;
    const struct wr_search_condition *condition;
    const struct search_field *field;
    size_t at;
    const struct segment_column *col; /* NULL: the query is only checked */
    float weight;
    bool scores;
};

static int find_field(struct about *a)
{
    a->field = search_schema_find(a->q->schema, a->condition->field, &a->at);
    if (!a->field)
        return fail(a->q->c, E_PARAMETER, "[%s] field: %.*s does not exist",
                    names[a->condition->type], BYTES_FMT(a->condition->field));
    if (a->field->kind == FIELD_NONE)
        return fail(a->q->c, E_PARAMETER,
                    "[%s] field: %.*s of type %s can't be searched: this server keeps nothing of "
                    "such fields yet",
                    names[a->condition->type], BYTES_FMT(a->condition->field),
                    search_type_name(a->field->type));
    a->col = a->q->segment ? &a->q->segment->columns[a->at] : NULL;
    return E_OK;
}

/* Terms between two others, or that begin with one. */
struct span {
    bool has_from, has_to, include_from, include_to;
    bytes from, to;
    bool prefix; /* `from` is one */
    bool one;    /* just `from` */
};

static int find_span(struct term_reader *r, const struct span *s, uint32_t *first, uint32_t *end)
{
    bool is = false;

    *first = 0;
    *end = r->count;
    if (s->has_from) {
        TRY(term_reader_find(r, s->from, first, &is));
        if (s->one) {
            *end = *first + is;
            return E_OK;
        }
        *first += is && !s->include_from;
    }
    if (s->prefix)
        return term_reader_behind(r, s->from, end);
    if (s->has_to) {
        TRY(term_reader_find(r, s->to, end, &is));
        *end += is && s->include_to;
    }
    return E_OK;
}

static int span_node(struct about *a, const struct span *s, struct node **out)
{
    struct term_reader r;
    uint32_t first, end;
    int rc = term_reader_begin(&r, a->q->c, a->q->segment, a->at);

    if (!rc)
        rc = find_span(&r, s, &first, &end);
    if (!rc)
        rc = node_terms(a->q, &r, first, end, a->weight, out);
    term_reader_end(&r);
    return rc;
}

/* A term as the field has it; IP's networks are a range of terms. */
static int term_node(struct about *a, const struct wr_value *term, struct node **out)
{
    struct query *q = a->q;
    struct document_value v;
    uint8_t low[16], high[16];
    struct span span = {.has_from = true, .include_from = true};

    if (a->field->type == WR_FIELD_IP && term->type == WR_VARCHAR &&
        ip_range_of_cidr(term->bytes, low, high)) {
        span.from = bytes_of(low, 16);
        span.to = bytes_of(high, 16);
        span.has_to = span.include_to = true;
        return a->col ? span_node(a, &span, out) : E_OK;
    }
    if (!document_convert(&q->c->arena, a->field, term, &v))
        return fail(q->c, E_PARAMETER, UNFIT);
    if (a->field->type == WR_FIELD_LONG && !document_is_whole(term))
        return E_OK; /* no row has 1.5 there */
    if (a->field->kind == FIELD_TEXT)
        return node_text_term(q, a->at, v.text, a->weight, a->scores, out);
    if (!a->col)
        return E_OK;
    if (a->field->kind == FIELD_NUMBER)
        return node_numbers(q, a->at, v.number, v.number, a->weight, out);
    span.from = v.text;
    span.one = true;
    return span_node(a, &span, out);
}

static int count_clauses(struct query *q, size_t count)
{
    if (count > QUERY_CLAUSES_MAX || (q->clauses += (uint32_t)count) > QUERY_CLAUSES_MAX)
        return fail(q->c, E_PARAMETER, "A search query has at most %d clauses.", QUERY_CLAUSES_MAX);
    return E_OK;
}

static int count_words(struct query *q, size_t count)
{
    q->words += (uint32_t)count;
    if (q->words > QUERY_WORDS_MAX)
        return fail(q->c, E_PARAMETER,
                    "A search query has at most %d terms and words of matches together.",
                    QUERY_WORDS_MAX);
    return E_OK;
}

static int terms_node(struct about *a, struct node **out)
{
    const struct wr_terms_condition *t = &a->condition->terms;
    struct bool_parts parts = {.minimum = 1, .weight = 1};

    if (t->count > 1024)
        return fail(a->q->c, E_PARAMETER, "A terms query has at most 1024 terms, not %zu.",
                    t->count);
    TRY(count_words(a->q, t->count));
    a->scores = false;
    parts.should = ARENA_ARRAY(&a->q->c->arena, struct node *, t->count);
    for (size_t i = 0; i < t->count; i++) {
        parts.should[i] = *out;
        TRY(query_in_time(a->q));
        TRY(term_node(a, &t->values[i], &parts.should[i]));
    }
    parts.should_count = t->count;
    *out = node_constant(a->q, node_bool(a->q, &parts), a->weight);
    return E_OK;
}

static int convert(struct about *a, const struct wr_value *v, struct document_value *out)
{
    if (!document_convert(&a->q->c->arena, a->field, v, out))
        return fail(a->q->c, E_PARAMETER, UNFIT);
    return E_OK;
}

/* A LONG's bound that has a fraction: the whole number that lies behind it in the range. */
static void round_bound(const struct search_field *f, const struct wr_value *v, bool lower,
                        int64_t *number, bool *include)
{
    double real = v->real;

    if (f->type != WR_FIELD_LONG || v->type != WR_DOUBLE || real == (double)*number)
        return;
    if (lower && real > (double)*number)
        ++*number;
    if (!lower && real < (double)*number)
        --*number;
    *include = true;
}

static int range_numbers(struct about *a, struct node **out)
{
    const struct wr_range_bounds *r = &a->condition->range;
    bool include_from = r->include_from, include_to = r->include_to;
    struct document_value from = {.number = INT64_MIN}, to = {.number = INT64_MAX};
    bool none = false;

    if (r->from.type != WR_NULL) {
        TRY(convert(a, &r->from, &from));
        round_bound(a->field, &r->from, true, &from.number, &include_from);
        none |= !include_from && from.number == INT64_MAX;
        from.number += !include_from && !none;
    }
    if (r->to.type != WR_NULL) {
        TRY(convert(a, &r->to, &to));
        round_bound(a->field, &r->to, false, &to.number, &include_to);
        none |= !include_to && to.number == INT64_MIN;
        to.number -= !include_to && to.number != INT64_MIN;
    }
    if (!a->col)
        return E_OK;
    if (none) {
        *out = node_none(a->q);
        return E_OK;
    }
    return node_numbers(a->q, a->at, from.number, to.number, a->weight, out);
}

static int range_terms(struct about *a, struct node **out)
{
    const struct wr_range_bounds *r = &a->condition->range;
    struct span span = {.include_from = r->include_from, .include_to = r->include_to};
    struct document_value v;

    if (r->from.type != WR_NULL) {
        TRY(convert(a, &r->from, &v));
        span.from = v.text;
        span.has_from = true;
    }
    if (r->to.type != WR_NULL) {
        TRY(convert(a, &r->to, &v));
        span.to = v.text;
        span.has_to = true;
    }
    return a->col ? span_node(a, &span, out) : E_OK;
}

static int range_node(struct about *a, struct node **out)
{
    if (a->field->type == WR_FIELD_GEO_POINT)
        return fail(a->q->c, E_PARAMETER, UNFIT);
    return a->field->kind == FIELD_NUMBER ? range_numbers(a, out) : range_terms(a, out);
}

static int need_terms(struct about *a)
{
    if (a->field->kind == FIELD_NUMBER || a->field->type == WR_FIELD_IP)
        return fail(a->q->c, E_PARAMETER, "[%s] field: %.*s of type %s is no text",
                    names[a->condition->type], BYTES_FMT(a->condition->field),
                    search_type_name(a->field->type));
    return E_OK;
}

static int prefix_node(struct about *a, struct node **out)
{
    bytes prefix = a->condition->pattern;
    struct span span = {
        .has_from = true, .from = prefix, .include_from = true, .prefix = prefix.len != 0};

    TRY(need_terms(a));
    if (prefix.len > PREFIX_BYTES_MAX)
        return fail(a->q->c, E_PARAMETER, "A prefix is at most %d bytes.", PREFIX_BYTES_MAX);
    return a->col ? span_node(a, &span, out) : E_OK;
}

struct pattern {
    bytes text;
    bool suffix;
};

static bool term_matches(const struct pattern *p, bytes term)
{
    if (!p->suffix)
        return pattern_matches(p->text, term);
    return term.len >= p->text.len &&
           bytes_equal(bytes_skip(term, term.len - p->text.len), p->text);
}

/* All terms that it may be, chunk after chunk. */
static int add_matching(struct about *a, const struct pattern *p, struct term_adder *add)
{
    bytes prefix = p->suffix ? BYTES_NONE : pattern_prefix(p->text);
    struct span span = {.has_from = prefix.len != 0,
                        .from = prefix,
                        .include_from = true,
                        .prefix = prefix.len != 0};
    uint32_t first, from;

    TRY(find_span(add->terms, &span, &first, &add->end));
    for (uint32_t to; first < add->end; first = to) {
        to = first / TERMS_CHUNK * TERMS_CHUNK + TERMS_CHUNK;
        to = to < add->end ? to : add->end;
        TRY(term_reader_texts(add->terms, first, to));
        for (from = first; from < to; from++)
            if (term_matches(p, term_reader_text(add->terms, from)))
                TRY(bitmap_add_term(add, from));
        TRY(query_in_time(a->q));
    }
    return E_OK;
}

static int matching_terms(struct about *a, bytes pattern, bool suffix, struct node **out)
{
    struct pattern p = {pattern, suffix};
    struct term_reader r;
    struct term_adder add = {.q = a->q, .terms = &r, .text = a->field->kind == FIELD_TEXT};
    int rc;

    if (!a->col)
        return E_OK;
    TRY(node_bitmap(a->q, a->weight, out, &add.bits));
    rc = term_reader_begin(&r, a->q->c, a->q->segment, a->at);
    if (!rc)
        rc = add_matching(a, &p, &add);
    bitmap_add_end(&add);
    term_reader_end(&r);
    return rc;
}

static size_t character_count(bytes text)
{
    size_t n = 0;

    for (size_t i = 0; i < text.len; i++)
        n += (bytes_u8(text)[i] & 0xc0) != 0x80; /* what goes on with one of UTF-8 */
    return n;
}

static int wildcard_node(struct about *a, struct node **out)
{
    TRY(need_terms(a));
    if (character_count(a->condition->pattern) > WILDCARD_CHARACTERS_MAX)
        return fail(a->q->c, E_PARAMETER, "A wildcard text is at most %d characters.",
                    WILDCARD_CHARACTERS_MAX);
    return matching_terms(a, a->condition->pattern, false, out);
}

static int suffix_node(struct about *a, struct node **out)
{
    if (a->field->type != WR_FIELD_FUZZY_KEYWORD)
        return fail(a->q->c, E_PARAMETER, "[suffix query] field: %.*s is no fuzzy_keyword",
                    BYTES_FMT(a->condition->field));
    if (a->condition->pattern.len > PREFIX_BYTES_MAX)
        return fail(a->q->c, E_PARAMETER, "A suffix is at most %d bytes.", PREFIX_BYTES_MAX);
    return matching_terms(a, a->condition->pattern, true, out);
}

static int exists_node(struct about *a, struct node **out)
{
    return a->col ? node_exists(a->q, a->col, a->field->kind, a->weight, out) : E_OK;
}

/* The tokens of a query's text. */
struct tokens {
    struct arena *a;
    bytes terms[TOKENS_MAX];
    uint32_t positions[TOKENS_MAX];
    size_t count;
};

static int add_token(void *arg, bytes token, uint32_t position)
{
    struct tokens *t = arg;

    if (t->count == TOKENS_MAX)
        return E_PARAMETER;
    t->terms[t->count] = arena_copy(t->a, token);
    t->positions[t->count++] = position;
    return 0;
}

static int cut(struct about *a, bool phrase, struct tokens **out)
{
    struct tokens *t =
        arena_alloc(&a->q->c->arena, sizeof(*t)); /* which is large, and not cleared */

    t->a = &a->q->c->arena;
    t->count = 0;
    if (analyze_query(&a->field->analyzer, a->condition->match.text, phrase, add_token, t))
        return fail(a->q->c, E_PARAMETER, "The text of a %s has at most %d words.",
                    names[a->condition->type], TOKENS_MAX);
    *out = t;
    return E_OK;
}

/* On other fields than TEXT a match is a term. */
static int match_term(struct about *a, struct node **out)
{
    struct wr_value term = {.type = WR_VARCHAR, .bytes = a->condition->match.text};

    return term_node(a, &term, out);
}

static int match_node(struct about *a, struct node **out)
{
    const struct wr_match_condition *m = &a->condition->match;
    struct bool_parts parts = {.weight = 1, .scores = a->scores};
    struct tokens *t;
    int64_t minimum;

    if (a->field->kind != FIELD_TEXT)
        return match_term(a, out);
    TRY(cut(a, false, &t));
    TRY(count_words(a->q, t->count));
    TRY(minimum_match(a->q->c, &m->minimum, (int64_t)t->count, 1, &minimum));
    if (!t->count) {
        *out = node_none(a->q);
        return E_OK;
    }
    parts.should = ARENA_ARRAY(&a->q->c->arena, struct node *, t->count);
    for (size_t i = 0; i < t->count; i++) {
        TRY(query_in_time(a->q));
        TRY(node_text_term(a->q, a->at, t->terms[i], a->weight, a->scores, &parts.should[i]));
    }
    if (t->count == 1 && minimum <= 1) {
        *out = parts.should[0];
        return E_OK;
    }
    parts.should_count = t->count;
    parts.minimum = m->all ? t->count : minimum < 1 ? 1 : (size_t)minimum;
    if (m->all) {
        parts.must = parts.should;
        parts.must_count = t->count;
        parts.should_count = parts.minimum = 0;
    }
    *out = node_bool(a->q, &parts);
    return E_OK;
}

static int phrase_node(struct about *a, struct node **out)
{
    struct tokens *t;

    if (a->field->kind != FIELD_TEXT)
        return match_term(a, out);
    TRY(cut(a, true, &t));
    TRY(count_words(a->q, t->count));
    if (!t->count) {
        *out = node_none(a->q);
        return E_OK;
    }
    if (t->count == 1)
        return node_text_term(a->q, a->at, t->terms[0], a->weight, a->scores, out);
    return node_phrase(a->q, a->at, t->terms, t->positions, t->count,
                       a->condition->match.slop < 0 ? 0 : (uint32_t)a->condition->match.slop,
                       a->weight, a->scores, out);
}

static int vector_node(struct about *a, struct node **out)
{
    if (a->field->kind != FIELD_VECTOR)
        return fail(a->q->c, E_PARAMETER, "[knn vector query] field: %.*s is no vector",
                    BYTES_FMT(a->condition->field));
    return node_nearest(a->q, a->at, a->condition, out);
}

static int geo_node(struct about *a, struct node **out)
{
    if (a->field->type != WR_FIELD_GEO_POINT)
        return fail(a->q->c, E_PARAMETER, "[%s] field: %.*s is no geo_point",
                    names[a->condition->type], BYTES_FMT(a->condition->field));
    return node_geo(a->q, a->at, a->condition, out);
}

static int field_node(struct query *q, const struct wr_search_condition *condition, bool scores,
                      struct node **out)
{
    struct about a = {
        .q = q, .condition = condition, .weight = (float)condition->weight, .scores = scores};

    TRY(find_field(&a));
    if (a.field->kind == FIELD_VECTOR && condition->type != WR_SEARCH_KNN_VECTOR &&
        condition->type != WR_SEARCH_EXISTS)
        return fail(q->c, E_PARAMETER, "[%s] field: %.*s is a vector", names[condition->type],
                    BYTES_FMT(condition->field));
    switch (condition->type) {
    case WR_SEARCH_MATCH:
        return match_node(&a, out);
    case WR_SEARCH_MATCH_PHRASE:
        return phrase_node(&a, out);
    case WR_SEARCH_TERM:
        return term_node(&a, &condition->term, out);
    case WR_SEARCH_TERMS:
        return terms_node(&a, out);
    case WR_SEARCH_RANGE:
        return range_node(&a, out);
    case WR_SEARCH_PREFIX:
        return prefix_node(&a, out);
    case WR_SEARCH_SUFFIX:
        return suffix_node(&a, out);
    case WR_SEARCH_WILDCARD:
        return wildcard_node(&a, out);
    case WR_SEARCH_EXISTS:
        return exists_node(&a, out);
    case WR_SEARCH_KNN_VECTOR:
        return vector_node(&a, out);
    default:
        return geo_node(&a, out);
    }
}

static int compile_list(struct query *q, const struct wr_search_condition *list, size_t count,
                        bool scores, struct node ***out)
{
    TRY(count_clauses(q, count));
    *out = ARENA_ARRAY(&q->c->arena, struct node *, count);
    for (size_t i = 0; i < count; i++)
        TRY(node_compile(q, &list[i], scores, &(*out)[i]));
    return E_OK;
}

static int bool_node(struct query *q, const struct wr_search_condition *condition, bool scores,
                     struct node **out)
{
    const struct wr_bool_condition *b = &condition->boolean;
    struct bool_parts p = {
        .must_count = b->must_count,
        .filter_count = b->filter_count,
        .must_not_count = b->must_not_count,
        .should_count = b->should_count,
        .weight = (float)condition->weight,
        .scores = scores,
    };
    bool alone = !b->must_count && !b->filter_count;
    int64_t minimum;

    TRY(compile_list(q, b->must, b->must_count, scores, &p.must));
    TRY(compile_list(q, b->filter, b->filter_count, false, &p.filter));
    TRY(compile_list(q, b->must_not, b->must_not_count, false, &p.must_not));
    TRY(compile_list(q, b->should, b->should_count, scores, &p.should));
    TRY(minimum_match(q->c, &b->minimum, (int64_t)b->should_count, alone, &minimum));
    if (alone && minimum < 1)
        minimum = 1;
    p.minimum = b->should_count ? (size_t)minimum : 0;
    *out = node_bool(q, &p);
    return E_OK;
}

static int dis_max_node(struct query *q, const struct wr_search_condition *condition, bool scores,
                        struct node **out)
{
    struct node **parts;

    TRY(compile_list(q, condition->dis_max.queries, condition->dis_max.count, scores, &parts));
    *out = node_dis_max(q, parts, condition->dis_max.count, scores,
                        (float)condition->dis_max.tie_breaker, (float)condition->weight);
    return E_OK;
}

static int compile(struct query *q, const struct wr_search_condition *condition, bool scores,
                   struct node **out)
{
    struct node *inner;

    switch (condition->type) {
    case WR_SEARCH_MATCH_ALL:
        *out = node_all(q, (float)condition->weight);
        return E_OK;
    case WR_SEARCH_BOOL:
        return bool_node(q, condition, scores, out);
    case WR_SEARCH_DIS_MAX:
        return dis_max_node(q, condition, scores, out);
    case WR_SEARCH_CONST_SCORE:
        TRY(node_compile(q, condition->inner, false, &inner));
        *out = node_constant(q, inner, (float)condition->weight);
        return E_OK;
    case WR_SEARCH_FUNCTION_SCORE:
        return node_function_score(q, condition, out);
    case WR_SEARCH_FUNCTIONS_SCORE:
        return node_functions_score(q, condition, out);
    case WR_SEARCH_NESTED:
        return fail(q->c, E_PARAMETER, "A %s is not supported by this server yet.",
                    names[condition->type]);
    default:
        return field_node(q, condition, scores, out);
    }
}

/* Each segment has nodes of its own for each clause: what they take has been taken, and what comes
 * next is not begun. */
static int check_memory(struct query *q)
{
    return arena_try_alloc(&q->c->arena, 1) ? E_OK : query_too_large(q);
}

int node_compile(struct query *q, const struct wr_search_condition *condition, bool scores,
                 struct node **out)
{
    int rc;

    if (!condition) {
        *out = node_all(q, 1);
        return E_OK;
    }
    if (condition->type < WR_SEARCH_MATCH || condition->type > WR_SEARCH_DIS_MAX)
        return fail(q->c, E_PARAMETER, "Unknown query type %d.", (int)condition->type);
    if (q->depth == QUERY_DEPTH_MAX)
        return fail(q->c, E_PARAMETER, "Queries are nested in one another at most %d times.",
                    QUERY_DEPTH_MAX);
    TRY(count_clauses(q, 1));
    TRY(check_memory(q));
    *out = node_none(q);
    q->depth++;
    rc = compile(q, condition, scores, out);
    q->depth--;
    return rc;
}
