/* Random documents and queries, and what the index answers, as lines (told.h) for a program that
 * compares them with Lucene's answers: run.sh.
 *
 *   lucene QUERIES SEED */
#include "told.h"

#include "base/rng.h"
#include "search/segment/builder.h"
#include "search/segment/merge.h"

#include <stdlib.h>

#define DOCUMENTS_MAX 6000
#define ROUND_QUERIES 100
#define WORDS 60

enum { F_LONG, F_REAL, F_KEYWORD, F_TAGS, F_NUMBERS, F_TEXT, F_PLACE, FIELDS };

static const struct wr_field_schema fields[FIELDS] = {
    {.name = BYTES_LIT("l"), .type = WR_FIELD_LONG, .index = true},
    {.name = BYTES_LIT("d"), .type = WR_FIELD_DOUBLE, .index = true},
    {.name = BYTES_LIT("k"), .type = WR_FIELD_KEYWORD, .index = true},
    {.name = BYTES_LIT("ka"), .type = WR_FIELD_KEYWORD, .index = true, .is_array = true},
    {.name = BYTES_LIT("la"), .type = WR_FIELD_LONG, .index = true, .is_array = true},
    {.name = BYTES_LIT("t"), .type = WR_FIELD_TEXT, .index = true},
    {.name = BYTES_LIT("g"), .type = WR_FIELD_GEO_POINT, .index = true},
};
static const struct wr_search_schema description = {.fields = fields, .field_count = FIELDS};

struct round {
    struct rng *rng;
    const struct search_schema *schema;
    struct ctx *c; /* of the query */
    bool there[DOCUMENTS_MAX];
    int documents;
    bool removed; /* some document has gone: statistics of scores are not the same */
};

static int below(struct round *r, int n)
{
    return (int)rng_below(r->rng, (uint64_t)n);
}

static bytes key_of(struct arena *a, int i)
{
    return arena_printf(a, "key%05d", i);
}

/* ---- documents ---- */

static void add_cell(struct wr_row *row, int field, struct wr_value value)
{
    ((struct wr_cell *)row->cells)[row->cell_count++] =
        (struct wr_cell){.name = fields[field].name, .value = value};
}

static struct wr_value text(bytes text)
{
    return (struct wr_value){.type = WR_VARCHAR, .bytes = text};
}

/* Common words more often than rare ones. */
static int word(struct round *r)
{
    return below(r, 1 + below(r, 1 + below(r, WORDS)));
}

static bytes words(struct round *r, struct arena *a, int count)
{
    bytes all = BYTES_LIT("");

    for (int i = 0; i < count; i++)
        all = arena_printf(a, "%.*s%sw%d", BYTES_FMT(all), i ? " " : "", word(r));
    return all;
}

/* Up to three values, each once: Lucene keeps a text once a document. */
static bytes array(struct round *r, struct arena *a, bool texts, int values)
{
    bytes all = BYTES_LIT("[");
    int next = below(r, values / 2);

    for (int i = below(r, 4); i > 0; i--, next += 1 + below(r, values / 6)) {
        char one[16];

        snprintf(one, sizeof(one), texts ? "\"t%d\"" : "%d", next);
        all = arena_printf(a, "%.*s%s%s", BYTES_FMT(all), all.len > 1 ? "," : "", one);
    }
    return arena_printf(a, "%.*s]", BYTES_FMT(all));
}

static void make_row(struct round *r, struct arena *a, struct wr_row *row)
{
    *row = (struct wr_row){.cells = ARENA_ARRAY(a, struct wr_cell, FIELDS)};
    if (below(r, 8))
        add_cell(row, F_LONG, (struct wr_value){.type = WR_BIGINT, .integer = below(r, 500) - 100});
    if (below(r, 8))
        add_cell(row, F_REAL,
                 (struct wr_value){.type = WR_DOUBLE, .real = below(r, 4000) / 4.0 - 300});
    if (below(r, 8))
        add_cell(row, F_KEYWORD, text(arena_printf(a, "k%d", below(r, 30))));
    add_cell(row, F_TAGS, text(array(r, a, true, 12)));
    add_cell(row, F_NUMBERS, text(array(r, a, false, 40)));
    if (below(r, 8))
        add_cell(row, F_TEXT, text(words(r, a, 1 + below(r, 20))));
    if (below(r, 8))
        add_cell(row, F_PLACE,
                 text(arena_printf(a, "%.5f,%.5f", 30 + rng_unit(r->rng) * 2,
                                   119 + rng_unit(r->rng) * 2)));
}

/* A batch of documents; those that are there already stay as they are, or go. */
static struct view *change(struct round *r, struct view *v, int from, int count, bool remove)
{
    struct document *documents;
    struct segment *s = NULL;
    struct view *next;
    struct ctx c;
    bytes *keys;
    size_t made = 0, gone = 0;

    ctx_init(&c, NULL, NULL, NULL, 0);
    documents = ARENA_ARRAY(&c.arena, struct document, count);
    keys = ARENA_ARRAY(&c.arena, bytes, count);
    for (int i = from; i < from + count && i < r->documents; i++) {
        struct wr_row row;

        if (r->there[i] && remove && below(r, 3) == 0) {
            keys[gone++] = key_of(&c.arena, i);
            printf("X %.*s\n", BYTES_FMT(keys[gone - 1]));
            r->there[i] = false;
            r->removed = true;
        } else if (!r->there[i] && below(r, 3)) {
            make_row(r, &c.arena, &row);
            documents[made].key = key_of(&c.arena, i);
            document_fill(&c, r->schema, &row, &documents[made]);
            tell_document(stdout, documents[made++].key, &row);
            r->there[i] = true;
        }
    }
    if (made)
        s = segment_build(r->schema, documents, made);
    next = view_with(v, keys, gone, s);
    segment_release(s);
    view_release(v);
    ctx_release(&c);
    return next;
}

static struct view *merge_some(struct round *r, struct view *v)
{
    size_t count = v->count < 2 ? 0 : 2 + (size_t)below(r, (int)v->count - 1);
    struct segment *merged = count ? segment_merge(r->schema, v->segments, count) : NULL;
    struct view *next;

    if (!merged)
        return v;
    next = view_replace(v, v->segments, count, merged);
    segment_release(merged);
    view_release(v);
    return next;
}

/* ---- queries ---- */

static void make(struct round *r, struct wr_search_condition *q, int depth);

static struct wr_search_condition *some(struct round *r, int count, int depth)
{
    struct wr_search_condition *list = ARENA_ARRAY(&r->c->arena, struct wr_search_condition, count);

    for (int i = 0; i < count; i++)
        make(r, &list[i], depth + 1);
    return list;
}

static void make_bool(struct round *r, struct wr_search_condition *q, int depth)
{
    struct wr_bool_condition *b = &q->boolean;

    q->type = WR_SEARCH_BOOL;
    b->must = some(r, (int)(b->must_count = (size_t)below(r, 3)), depth);
    b->filter = some(r, (int)(b->filter_count = (size_t)below(r, 2)), depth);
    b->must_not = some(r, (int)(b->must_not_count = (size_t)below(r, 2)), depth);
    b->should = some(r, (int)(b->should_count = (size_t)below(r, 4)), depth);
    if (b->should_count && below(r, 2)) {
        b->minimum.given = true;
        b->minimum.number = 1 + below(r, (int)b->should_count);
    }
}

static void make_term(struct round *r, struct wr_search_condition *q)
{
    static const int of[] = {F_LONG, F_KEYWORD, F_TAGS, F_NUMBERS, F_TEXT};
    int field = of[below(r, 5)];

    q->type = WR_SEARCH_TERM;
    q->field = fields[field].name;
    if (field == F_LONG || field == F_NUMBERS)
        q->term = (struct wr_value){.type = WR_BIGINT, .integer = below(r, 40)};
    else
        q->term = text(field == F_KEYWORD ? arena_printf(&r->c->arena, "k%d", below(r, 32))
                       : field == F_TAGS  ? arena_printf(&r->c->arena, "t%d", below(r, 13))
                                          : words(r, &r->c->arena, 1));
}

static void make_range(struct round *r, struct wr_search_condition *q)
{
    bool real = below(r, 2), many = below(r, 2);
    int low = below(r, 600) - 150, high = low + below(r, 300);
    struct wr_range_bounds *b = &q->range;

    q->type = WR_SEARCH_RANGE;
    q->field = fields[real ? F_REAL : many ? F_NUMBERS : F_LONG].name;
    if (below(r, 5))
        b->from = real ? (struct wr_value){.type = WR_DOUBLE, .real = low * 1.5}
                       : (struct wr_value){.type = WR_BIGINT, .integer = many ? low / 10 : low};
    if (below(r, 5))
        b->to = real ? (struct wr_value){.type = WR_DOUBLE, .real = high * 1.5}
                     : (struct wr_value){.type = WR_BIGINT, .integer = many ? high / 10 : high};
    b->include_from = below(r, 2);
    b->include_to = below(r, 2);
}

static void make_geo(struct round *r, struct wr_search_condition *q)
{
    struct wr_bytes *p = ARENA_ARRAY(&r->c->arena, struct wr_bytes, 2);
    double lat = 30 + rng_unit(r->rng) * 2, lon = 119 + rng_unit(r->rng) * 2;

    q->type = below(r, 2) ? WR_SEARCH_GEO_DISTANCE : WR_SEARCH_GEO_BOX;
    q->field = fields[F_PLACE].name;
    p[0] = arena_printf(&r->c->arena, "%.5f,%.5f", lat, lon);
    p[1] = arena_printf(&r->c->arena, "%.5f,%.5f", lat - rng_unit(r->rng), lon + rng_unit(r->rng));
    q->geo =
        (struct wr_geo_condition){p, q->type == WR_SEARCH_GEO_BOX ? 2 : 1, 500 + below(r, 60000)};
}

static void make_match(struct round *r, struct wr_search_condition *q)
{
    q->type = below(r, 4) ? WR_SEARCH_MATCH : WR_SEARCH_MATCH_PHRASE;
    q->field = fields[F_TEXT].name;
    q->match.text = words(r, &r->c->arena, 1 + below(r, 3));
    q->match.all = q->type == WR_SEARCH_MATCH && below(r, 4) == 0;
}

static void make_pattern(struct round *r, struct wr_search_condition *q)
{
    int field = below(r, 2) ? F_TEXT : F_KEYWORD;

    q->type = below(r, 2) ? WR_SEARCH_PREFIX : WR_SEARCH_WILDCARD;
    q->field = fields[field].name;
    q->pattern = arena_printf(&r->c->arena, q->type == WR_SEARCH_PREFIX ? "%c%d" : "%c%d*",
                              field == F_TEXT ? 'w' : 'k', 1 + below(r, 9));
    if (q->type == WR_SEARCH_WILDCARD && below(r, 3) == 0)
        q->pattern = arena_printf(&r->c->arena, below(r, 2) ? "*%d" : "?%d", below(r, 10));
}

static void make_composed(struct round *r, struct wr_search_condition *q, int depth)
{
    if (below(r, 4) == 0) {
        q->type = WR_SEARCH_DIS_MAX;
        q->dis_max.count = 1 + (size_t)below(r, 3);
        q->dis_max.queries = some(r, (int)q->dis_max.count, depth);
        q->dis_max.tie_breaker = below(r, 3) / 4.0;
    } else if (below(r, 5) == 0) {
        q->type = WR_SEARCH_CONST_SCORE;
        q->inner = some(r, 1, depth);
    } else {
        make_bool(r, q, depth);
    }
}

static void make_terms(struct round *r, struct wr_search_condition *q)
{
    struct wr_value *list = ARENA_ARRAY(&r->c->arena, struct wr_value, 5);

    q->type = WR_SEARCH_TERMS;
    q->field = fields[F_KEYWORD].name;
    q->terms.values = list;
    q->terms.count = 1 + (size_t)below(r, 5);
    for (size_t i = 0; i < q->terms.count; i++)
        list[i] = text(arena_printf(&r->c->arena, "k%d", below(r, 32)));
}

static void make(struct round *r, struct wr_search_condition *q, int depth)
{
    static const int of[] = {F_LONG, F_REAL, F_KEYWORD, F_NUMBERS, F_TEXT, F_PLACE};

    q->weight = below(r, 5) ? 1 : 0.5 + below(r, 4);
    switch (below(r, depth < 3 ? 16 : 12)) {
    case 0:
    case 1:
        make_term(r, q);
        break;
    case 2:
    case 3:
        make_range(r, q);
        break;
    case 4:
        make_geo(r, q);
        break;
    case 5:
        q->type = WR_SEARCH_EXISTS;
        q->field = fields[of[below(r, 6)]].name;
        break;
    case 6:
        make_pattern(r, q);
        break;
    case 7:
        make_terms(r, q);
        break;
    case 8:
        q->type = WR_SEARCH_MATCH_ALL;
        break;
    case 9:
    case 10:
    case 11:
        make_match(r, q);
        break;
    default:
        make_composed(r, q, depth);
    }
}

/* ---- a round ---- */

static const struct wr_aggregation aggregations[] = {
    {.name = BYTES_LIT("a"), .type = WR_AGG_SUM, .field = BYTES_LIT("d")},
    {.name = BYTES_LIT("b"), .type = WR_AGG_AVG, .field = BYTES_LIT("l")},
    {.name = BYTES_LIT("c"), .type = WR_AGG_MIN, .field = BYTES_LIT("la")},
    {.name = BYTES_LIT("d"), .type = WR_AGG_MAX, .field = BYTES_LIT("d")},
    {.name = BYTES_LIT("e"), .type = WR_AGG_COUNT, .field = BYTES_LIT("ka")},
    {.name = BYTES_LIT("f"), .type = WR_AGG_DISTINCT_COUNT, .field = BYTES_LIT("k")},
};
static const struct wr_group_by group_bys[] = {
    {.name = BYTES_LIT("a"), .type = WR_GROUP_FIELD, .field = BYTES_LIT("k")},
    {.name = BYTES_LIT("b"), .type = WR_GROUP_FIELD, .field = BYTES_LIT("ka")},
    {.name = BYTES_LIT("c"),
     .type = WR_GROUP_HISTOGRAM,
     .field = BYTES_LIT("l"),
     .interval = {.type = WR_BIGINT, .integer = 50}},
};
static const struct wr_sorter sorters[] = {
    {.type = WR_SORTER_KEY},
    {.type = WR_SORTER_FIELD, .field = BYTES_LIT("l"), .order = WR_ORDER_DESC},
    {.type = WR_SORTER_FIELD, .field = BYTES_LIT("d")},
    {.type = WR_SORTER_FIELD, .field = BYTES_LIT("k")},
    {.type = WR_SORTER_FIELD, .field = BYTES_LIT("la")},
    {.type = WR_SORTER_FIELD, .field = BYTES_LIT("ka"), .order = WR_ORDER_DESC},
    {.type = WR_SORTER_SCORE, .order = WR_ORDER_DESC},
    {.type = WR_SORTER_SCORE, .order = WR_ORDER_DESC},
    {.type = WR_SORTER_SCORE, .order = WR_ORDER_DESC},
};

static int ask(struct round *r, const struct view *v)
{
    struct wr_search_condition q = {0};
    struct wr_search s = {.query = &q, .has_limit = true, .limit = 1 + below(r, 40)};
    struct search_job job = {.c = r->c,
                             .schema = r->schema,
                             .view = v,
                             .expired_ms = INT64_MIN,
                             .collect_bytes = 64 << 20};
    struct search_hits hits;

    make(r, &q, 0);
    s.sort = (struct wr_sort){
        .given = true, .sorters = &sorters[below(r, r->removed ? 6 : 9)], .count = 1};
    s.track_total = below(r, 2) ? INT32_MAX : -1;
    if (s.track_total > 0 && below(r, 2)) {
        s.aggregations = aggregations;
        s.aggregation_count = 6;
        s.group_bys = group_bys;
        s.group_by_count = 3;
    }
    if (search_run(&job, &s, 1000, &hits)) {
        fprintf(stderr, "%s\n", r->c->text);
        return 1;
    }
    tell_query(stdout, &s);
    tell_answer(stdout, &hits, &s);
    return 0;
}

/* Documents in one to nine batches of which each holds keys from all over, some merged; in every
 * second round some go again. */
static int run_round(struct round *r)
{
    struct view *v = view_empty();
    bool remove = below(r, 2);
    int rc = 0;

    memset(r->there, 0, sizeof(r->there));
    r->removed = false;
    r->documents = below(r, 4) ? 20 + below(r, 800) : DOCUMENTS_MAX;
    for (int batches = 1 + below(r, 9); batches > 0; batches--) {
        v = change(r, v, below(r, r->documents / 2), r->documents, remove);
        if (below(r, 3) == 0)
            v = merge_some(r, v);
    }
    puts("C");
    for (int i = 0; i < ROUND_QUERIES && !rc; i++) {
        struct ctx c;

        ctx_init(&c, NULL, NULL, NULL, 0);
        r->c = &c;
        rc = ask(r, v);
        ctx_release(&c);
    }
    puts("R");
    view_release(v);
    return rc;
}

int main(int argc, char **argv)
{
    long queries = argc > 1 ? strtol(argv[1], NULL, 10) : ROUND_QUERIES;
    static struct round r;
    struct search_schema *schema;
    struct rng rng;
    struct ctx keep;
    int rc = 0;

    rng_init(&rng, argc > 2 ? strtoull(argv[2], NULL, 10) : 1);
    ctx_init(&keep, NULL, NULL, NULL, 0);
    if (search_schema_make(&keep, &description, &schema)) {
        fprintf(stderr, "%s\n", keep.text);
        return 1;
    }
    r.rng = &rng;
    r.schema = schema;
    tell_schema(stdout, &description);
    for (long done = 0; done < queries && !rc; done += ROUND_QUERIES)
        rc = run_round(&r);
    ctx_release(&keep);
    return rc;
}
