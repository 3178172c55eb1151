/* Random queries over random documents, in segments that are made, thinned out and merged, against
 * a plain scan of the documents. SCAN_QUERIES: how many (2,000 otherwise). */
#include "base/rng.h"
#include "search/searcher.h"
#include "search/segment/builder.h"
#include "search/segment/merge.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>
#undef fail /* the name is ctx.h's in this house */

#include "../context.h"
#include "stored_view.h"

#define DOCUMENTS 600
#define DOCUMENTS_MANY 9000 /* in one round of eight: segments of several windows */
#define NAMES 5
#define NAMES_MANY 2000 /* then: dictionaries of several blocks */
#define ROUND_QUERIES 200

enum { F_LONG, F_REAL, F_KEYWORD, F_TAGS, F_TEXT, F_NUMBERS, FIELDS };

static const struct wr_field_schema fields[FIELDS] = {
    {.name = BYTES_LIT("l"), .type = WR_FIELD_LONG, .index = true},
    {.name = BYTES_LIT("d"), .type = WR_FIELD_DOUBLE, .index = true},
    {.name = BYTES_LIT("k"), .type = WR_FIELD_KEYWORD, .index = true},
    {.name = BYTES_LIT("ka"), .type = WR_FIELD_KEYWORD, .index = true, .is_array = true},
    {.name = BYTES_LIT("t"), .type = WR_FIELD_TEXT, .index = true},
    {.name = BYTES_LIT("la"), .type = WR_FIELD_LONG, .index = true, .is_array = true},
};

/* A document as it was written. */
struct row {
    bool there;
    char key[16];
    int64_t l;
    double d;
    int k, tags[3], words[8], numbers[3]; /* -1: none */
    char text[128], tag_text[64], number_text[64];
    bool has_l, has_d;
    int n_tags, n_words, n_numbers;
};

static struct row rows[DOCUMENTS_MANY];
static int documents_now, names_now;
static int words_now; /* of each text, common ones far more often; 0: 0 to 7, all alike */
static struct rng rng;
static struct search_schema *schema;
static struct wr_search_schema description = {.fields = fields, .field_count = FIELDS};

static int below(int n)
{
    return (int)rng_below(&rng, (uint64_t)n);
}

static void fill(struct row *r)
{
    r->there = true;
    r->has_l = below(8) != 0;
    r->has_d = below(8) != 0;
    r->l = below(50) - 10;
    r->d = below(40) / 4.0 - 3;
    r->k = below(names_now + 1) - 1;
    r->n_tags = below(4);
    r->n_numbers = below(4);
    r->n_words = words_now ? words_now : below(8);
    r->text[0] = 0;
    strcpy(r->tag_text, "[");
    strcpy(r->number_text, "[");
    for (int i = 0; i < r->n_tags; i++) {
        r->tags[i] = below(5);
        snprintf(r->tag_text + strlen(r->tag_text), 16, "%s\"t%d\"", i ? "," : "", r->tags[i]);
    }
    for (int i = 0; i < r->n_numbers; i++) {
        r->numbers[i] = below(20);
        snprintf(r->number_text + strlen(r->number_text), 16, "%s%d", i ? ", " : "", r->numbers[i]);
    }
    for (int i = 0; i < r->n_words; i++) {
        r->words[i] = below(words_now ? 1 + below(12) : 12);
        snprintf(r->text + strlen(r->text), 16, "%sW%d", i ? " " : "", r->words[i]);
    }
    strcat(r->tag_text, "]");
    strcat(r->number_text, "]");
}

static struct wr_value text_value(const char *s)
{
    return (struct wr_value){.type = WR_VARCHAR, .bytes = bytes_str(s)};
}

static void document_of(struct ctx *cc, struct row *r, struct document *doc)
{
    struct wr_cell *cells = ARENA_ARRAY(&cc->arena, struct wr_cell, FIELDS);
    char *keyword = arena_alloc(&cc->arena, 8);
    struct wr_row row = {.cells = cells};

    if (r->has_l)
        cells[row.cell_count++] = (struct wr_cell){.name = fields[F_LONG].name,
                                                   .value = {.type = WR_BIGINT, .integer = r->l}};
    if (r->has_d)
        cells[row.cell_count++] = (struct wr_cell){.name = fields[F_REAL].name,
                                                   .value = {.type = WR_DOUBLE, .real = r->d}};
    snprintf(keyword, 8, "k%04d", r->k);
    if (r->k >= 0)
        cells[row.cell_count++] =
            (struct wr_cell){.name = fields[F_KEYWORD].name, .value = text_value(keyword)};
    cells[row.cell_count++] =
        (struct wr_cell){.name = fields[F_TAGS].name, .value = text_value(r->tag_text)};
    cells[row.cell_count++] =
        (struct wr_cell){.name = fields[F_TEXT].name, .value = text_value(r->text)};
    cells[row.cell_count++] =
        (struct wr_cell){.name = fields[F_NUMBERS].name, .value = text_value(r->number_text)};
    doc->key = bytes_str(r->key);
    document_fill(cc, schema, &row, doc);
}

/* A batch of changes: documents written and removed, in one segment. */
static struct view *change(struct view *v, int from, int count, int remove_percent)
{
    struct document *documents;
    struct segment *s = NULL;
    struct view *next;
    struct ctx cc;
    bytes *keys;
    size_t n = 0, changed = 0;

    ctx_init(&cc, NULL, NULL, NULL, 0);
    documents = ARENA_ARRAY(&cc.arena, struct document, count);
    keys = ARENA_ARRAY(&cc.arena, bytes, count);
    for (int i = from; i < from + count && i < documents_now; i++) {
        keys[changed++] = bytes_str(rows[i].key);
        rows[i].there = below(100) >= remove_percent;
        if (!rows[i].there)
            continue;
        fill(&rows[i]);
        document_of(&cc, &rows[i], &documents[n++]);
    }
    if (n)
        s = segment_build(schema, documents, n);
    next = view_with(v, keys, changed, s);
    segment_release(s);
    view_release(v);
    ctx_release(&cc);
    return next;
}

static struct view *merge_some(struct view *v)
{
    size_t count = v->count < 2 ? 0 : 2 + (size_t)below((int)v->count - 1);
    struct view *next;
    struct segment *merged;
    struct part_set every = part_set_all(schema);

    if (count > v->count)
        count = v->count;
    if (!count)
        return v;
    for (size_t i = 0; i < v->count; i++)
        assert_int_equal(parts_hold(&c, v->segments[i].segment, &every), 0);
    merged = segment_merge(schema, v->segments, count);
    assert_non_null(merged);
    next = view_replace(v, v->segments, count, merged);
    for (size_t i = 0; i < v->count; i++)
        parts_drop(v->segments[i].segment, &every);
    assert_int_equal(next->documents, v->documents);
    segment_release(merged);
    view_release(v);
    return next;
}

/* ---- queries, and what a plain scan says of them ---- */

struct plain {
    struct wr_search_condition condition;
    int kind, a, b;
    struct plain *subs[4];
    int must, should, must_not;
    char text[64];
};

static bool has_word(const struct row *r, int w)
{
    for (int i = 0; i < r->n_words; i++)
        if (r->words[i] == w)
            return true;
    return false;
}

static bool has_phrase(const struct row *r, int a, int b)
{
    for (int i = 0; i + 1 < r->n_words; i++)
        if (r->words[i] == a && r->words[i + 1] == b)
            return true;
    return false;
}

static bool matches(const struct plain *p, const struct row *r)
{
    bool any = false;

    switch (p->kind) {
    case 0:
        return r->has_l && r->l == p->a;
    case 1:
        return r->has_l && r->l >= p->a && r->l < p->b;
    case 2:
        return r->has_d && r->d > p->a / 4.0 && r->d <= p->b / 4.0;
    case 3:
        return r->k == p->a;
    case 4:
        for (int i = 0; i < r->n_tags; i++)
            any |= r->tags[i] == p->a;
        return any;
    case 5:
        return has_word(r, p->a) || has_word(r, p->b);
    case 6:
        return has_word(r, p->a) && has_word(r, p->b);
    case 7:
        return has_phrase(r, p->a, p->b);
    case 8:
        return r->has_d;
    case 9: /* wildcard w1* */
        return has_word(r, 1) || has_word(r, 10) || has_word(r, 11);
    case 10:
        for (int i = 0; i < r->n_numbers; i++)
            any |= r->numbers[i] >= p->a && r->numbers[i] <= p->b;
        return any;
    case 11:
        return r->k >= 0;
    case 12:
        return r->k > p->a && r->k <= p->b;
    case 13:
        return r->k >= 0 && r->k / 10 == p->a;
    default:
        for (int i = 0; i < p->must; i++)
            if (!matches(p->subs[i], r))
                return false;
        for (int i = p->must; i < p->must + p->must_not; i++)
            if (matches(p->subs[i], r))
                return false;
        for (int i = p->must + p->must_not; i < p->must + p->must_not + p->should; i++)
            any |= matches(p->subs[i], r);
        return any || !p->should || p->must > 0;
    }
}

static struct plain *make(int depth);

static void make_bool(struct plain *p, int depth)
{
    struct wr_search_condition *list = ARENA_ARRAY(&c.arena, struct wr_search_condition, 4);
    int n = 0;

    p->kind = 14;
    p->must = below(2);
    p->must_not = below(2);
    p->should = below(3);
    p->condition.type = WR_SEARCH_BOOL;
    for (; n < p->must + p->must_not + p->should; n++) {
        p->subs[n] = make(depth + 1);
        list[n] = p->subs[n]->condition;
    }
    p->condition.boolean = (struct wr_bool_condition){
        .must = list,
        .must_count = (size_t)p->must,
        .must_not = list + p->must,
        .must_not_count = (size_t)p->must_not,
        .should = list + p->must + p->must_not,
        .should_count = (size_t)p->should,
    };
}

static struct plain *make(int depth)
{
    struct plain *p = ARENA_NEW(&c.arena, struct plain);
    struct wr_search_condition *q = &p->condition;

    q->weight = 1;
    p->kind = below(depth < 3 ? 18 : 14);
    switch (p->kind) {
    case 0:
        q->type = WR_SEARCH_TERM;
        q->field = fields[F_LONG].name;
        q->term = (struct wr_value){.type = WR_BIGINT, .integer = p->a = below(50) - 10};
        break;
    case 1:
        q->type = WR_SEARCH_RANGE;
        q->field = fields[F_LONG].name;
        p->a = below(50) - 10;
        p->b = p->a + below(40);
        q->range = (struct wr_range_bounds){.from = {.type = WR_BIGINT, .integer = p->a},
                                            .to = {.type = WR_BIGINT, .integer = p->b},
                                            .include_from = true};
        break;
    case 2:
        q->type = WR_SEARCH_RANGE;
        q->field = fields[F_REAL].name;
        p->a = below(40) - 12;
        p->b = p->a + below(40);
        q->range = (struct wr_range_bounds){.from = {.type = WR_DOUBLE, .real = p->a / 4.0},
                                            .to = {.type = WR_DOUBLE, .real = p->b / 4.0},
                                            .include_to = true};
        break;
    case 3:
    case 4:
        q->type = WR_SEARCH_TERM;
        q->field = fields[p->kind == 3 ? F_KEYWORD : F_TAGS].name;
        p->a = below(p->kind == 3 ? names_now : 5);
        snprintf(p->text, sizeof(p->text), p->kind == 3 ? "k%04d" : "t%d", p->a);
        q->term = text_value(p->text);
        break;
    case 5:
    case 6:
    case 7:
        q->type = p->kind == 7 ? WR_SEARCH_MATCH_PHRASE : WR_SEARCH_MATCH;
        q->field = fields[F_TEXT].name;
        p->a = below(12);
        p->b = below(12);
        snprintf(p->text, sizeof(p->text), "w%d w%d", p->a, p->b);
        q->match.text = bytes_str(p->text);
        q->match.all = p->kind == 6;
        break;
    case 8:
    case 11:
        q->type = WR_SEARCH_EXISTS;
        q->field = fields[p->kind == 8 ? F_REAL : F_KEYWORD].name;
        break;
    case 9:
        q->type = WR_SEARCH_WILDCARD;
        q->field = fields[F_TEXT].name;
        q->pattern = BYTES_LIT("w1*");
        break;
    case 10:
        q->type = WR_SEARCH_RANGE;
        q->field = fields[F_NUMBERS].name;
        p->a = below(20);
        p->b = p->a + below(6);
        q->range = (struct wr_range_bounds){.from = {.type = WR_BIGINT, .integer = p->a},
                                            .to = {.type = WR_BIGINT, .integer = p->b},
                                            .include_from = true,
                                            .include_to = true};
        break;
    case 12:
        q->type = WR_SEARCH_RANGE;
        q->field = fields[F_KEYWORD].name;
        p->a = below(names_now + 2) - 1;
        p->b = p->a + below(names_now);
        q->range = (struct wr_range_bounds){
            .from = {.type = WR_VARCHAR, .bytes = arena_printf(&c.arena, "k%04d", p->a)},
            .to = {.type = WR_VARCHAR, .bytes = arena_printf(&c.arena, "k%04d", p->b)},
            .include_to = true};
        if (p->a < 0) /* from the beginning */
            q->range.from = (struct wr_value){.type = WR_NULL};
        break;
    case 13:
        q->type = below(2) ? WR_SEARCH_PREFIX : WR_SEARCH_WILDCARD;
        q->field = fields[F_KEYWORD].name;
        p->a = below(names_now / 10 + 1);
        q->pattern =
            arena_printf(&c.arena, "k%03d%s", p->a, q->type == WR_SEARCH_PREFIX ? "" : "*");
        break;
    default:
        make_bool(p, depth);
    }
    return p;
}

/* ---- orders ---- */

static int order_kind;

/* Of a number that may be missing: the missing ones last, or, if `first`, before all. */
static int compare_numbers(bool has_a, double a, bool has_b, double b, bool descending, bool first)
{
    if (has_a != has_b)
        return has_a == first ? 1 : -1;
    if (!has_a)
        return 0;
    return descending ? (b > a) - (b < a) : (a > b) - (a < b);
}

static int compare_words(const struct row *a, const struct row *b)
{
    if ((a->k < 0) != (b->k < 0))
        return a->k < 0 ? 1 : -1;
    return a->k - b->k;
}

static int least(const struct row *r)
{
    int best = r->numbers[0];

    for (int i = 1; i < r->n_numbers; i++)
        best = r->numbers[i] < best ? r->numbers[i] : best;
    return best;
}

static int compare_rows(const void *x, const void *y)
{
    const struct row *a = *(struct row *const *)x, *b = *(struct row *const *)y;
    int r = 0;

    switch (order_kind) {
    case 1:
    case 3:
        r = compare_numbers(a->has_l, (double)a->l, b->has_l, (double)b->l, true, false);
        if (order_kind == 3 && !r)
            r = compare_words(a, b);
        break;
    case 2:
        r = compare_words(a, b);
        break;
    case 4:
        r = compare_numbers(a->has_d, a->d, b->has_d, b->d, false, true);
        break;
    case 5:
        r = compare_numbers(a->has_l, (double)a->l, b->has_l, (double)b->l, false, false);
        break;
    case 6:
        r = compare_numbers(a->n_numbers > 0, least(a), b->n_numbers > 0, least(b), false, false);
        break;
    default:
        break;
    }
    return r ? r : strcmp(a->key, b->key);
}

#define ORDERS 7
static const struct wr_sorter sorters[ORDERS] = {
    {.type = WR_SORTER_KEY},
    {.type = WR_SORTER_FIELD, .field = BYTES_LIT("l"), .order = WR_ORDER_DESC},
    {.type = WR_SORTER_FIELD, .field = BYTES_LIT("k")},
    {.type = WR_SORTER_FIELD, .field = BYTES_LIT("l"), .order = WR_ORDER_DESC}, /* of two_sorters */
    {.type = WR_SORTER_FIELD,
     .field = BYTES_LIT("d"),
     .missing = {.type = WR_VARCHAR, .bytes = BYTES_LIT("_first")}},
    {.type = WR_SORTER_FIELD, .field = BYTES_LIT("l")},
    {.type = WR_SORTER_FIELD, .field = BYTES_LIT("la")},
};
static const struct wr_sorter two_sorters[2] = {
    {.type = WR_SORTER_FIELD, .field = BYTES_LIT("l"), .order = WR_ORDER_DESC},
    {.type = WR_SORTER_FIELD, .field = BYTES_LIT("k")},
};

static void check_groups(const struct search_hits *hits, struct row **found, size_t count)
{
    static int64_t groups[NAMES_MANY];
    double sum = 0;

    for (size_t i = 0; i < count; i++) {
        if (found[i]->k >= 0)
            groups[found[i]->k]++;
        if (found[i]->has_d)
            sum += found[i]->d;
    }
    assert_true(fabs(hits->aggregations[0].real - sum) < 1e-9);
    for (size_t i = 0; i < hits->group_bys[0].count; i++) {
        const struct wr_group *g = &hits->group_bys[0].groups[i];
        int k = 0;

        for (size_t j = 1; j < g->key.len; j++)
            k = k * 10 + ((const char *)g->key.ptr)[j] - '0';

        assert_int_equal(g->count, groups[k]);
        groups[k] = 0;
    }
    for (int i = 0; i < NAMES_MANY; i++)
        assert_int_equal(groups[i], 0);
}

/* A read that fails is told, wherever in the search it is, and leaves nothing held. */
static void search_failing(const struct search_job *job, const struct wr_search *s)
{
    struct search_hits hits;
    int rc;

    stored_fails_in = 1 + below(30);
    rc = search_run(job, s, 1000, &hits);
    assert_int_equal(rc, stored_fails_in ? 0 : E_CORRUPT);
    stored_fails_in = 0;
    ctx_clear(&c);
}

/* All pages of the query, by tokens, beside the rows in order. */
static void check_query(const struct view *v)
{
    struct plain *p = make(0);
    static struct row *found[DOCUMENTS_MANY];
    struct wr_aggregation sum = {
        .name = BYTES_LIT("s"), .type = WR_AGG_SUM, .field = fields[F_REAL].name};
    struct wr_group_by groups = {.name = BYTES_LIT("g"),
                                 .type = WR_GROUP_FIELD,
                                 .field = fields[F_KEYWORD].name,
                                 .has_size = true,
                                 .size = NAMES_MANY};
    size_t count = 0, at = 0;
    bool whole = below(2) == 0;
    struct wr_search s = {
        .query = &p->condition, .has_limit = true, .limit = 1 + below(documents_now / 10)};
    struct search_job job = {
        .c = &c, .schema = schema, .view = v, .expired_ms = INT64_MIN, .collect_bytes = 64 << 20};

    order_kind = below(ORDERS);
    s.sort = (struct wr_sort){.given = true, .sorters = &sorters[order_kind], .count = 1};
    if (order_kind == 3)
        s.sort = (struct wr_sort){.given = true, .sorters = two_sorters, .count = 2};
    s.track_total = whole ? INT32_MAX : -1;
    if (whole) {
        s.aggregations = &sum;
        s.group_bys = &groups;
        s.aggregation_count = s.group_by_count = 1;
    }
    for (int i = 0; i < documents_now; i++)
        if (rows[i].there && matches(p, &rows[i]))
            found[count++] = &rows[i];
    qsort(found, count, sizeof(found[0]), compare_rows);
    for (;;) {
        struct search_hits hits;

        if (below(4) == 0)
            search_failing(&job, &s);
        assert_int_equal(search_run(&job, &s, 1000, &hits), 0);
        if (whole) {
            assert_int_equal(hits.total, count);
            check_groups(&hits, found, count);
        }
        for (size_t i = 0; i < hits.count; i++, at++) {
            assert_true(at < count);
            assert_true(bytes_equal(hits.hits[i].key, bytes_str(found[at]->key)));
        }
        if (!hits.next_token.ptr)
            break;
        s.token = hits.next_token;
    }
    assert_int_equal(at, count);
}

static void test_scan(void **state)
{
    const char *asked = getenv("SCAN_QUERIES");
    long queries = asked ? strtol(asked, NULL, 10) : 2000;
    /* So little that hardly a part stays when nobody holds it. */
    struct part_cache *cache = part_cache_new(1000);
    struct ctx keep;

    (void)state;
    rng_init(&rng, 20261123);
    ctx_init(&keep, NULL, NULL, NULL, 0);
    assert_int_equal(search_schema_make(&keep, &description, &schema), 0);
    for (long done = 0; done < queries;) {
        struct view *v = view_empty();
        int batches = 1 + below(8), stored = below(3); /* of three segments, about */

        documents_now = below(8) ? DOCUMENTS : DOCUMENTS_MANY;
        names_now = documents_now == DOCUMENTS ? NAMES : NAMES_MANY;
        for (int i = 0; i < documents_now; i++) {
            rows[i] = (struct row){0};
            snprintf(rows[i].key, sizeof(rows[i].key), "%05d", i);
        }
        for (int b = 0; b < batches; b++) {
            v = change(v, below(documents_now), 1 + below(documents_now), below(60));
            if (below(2))
                v = merge_some(v);
            if (below(3) < stored)
                v = stored_view(v, schema, cache);
        }
        for (int i = 0; i < ROUND_QUERIES; i++, done++) {
            check_query(v);
            arena_release(&c.arena);
        }
        view_release(v);
    }
    part_cache_free(cache);
    ctx_release(&keep);
}

/* The best hits of words are the same ones whether all that match are looked at, because they are
 * counted, or only those that may be among them; page after page. */
static void check_best(const struct view *v)
{
    static const struct wr_sorter by_score = {.type = WR_SORTER_SCORE, .order = WR_ORDER_DESC};
    /* A match; or two of them, and a word, as clauses of a clause. */
    struct wr_search_condition match = {
        .type = WR_SEARCH_MATCH, .weight = 1 + below(2) * 0.5, .field = fields[F_TEXT].name};
    struct wr_search_condition parts[3], q;
    char text[64] = "", word[8];
    struct wr_search s = {.query = &q, .has_limit = true, .limit = 1 + below(20)};
    struct search_job job = {
        .c = &c, .schema = schema, .view = v, .expired_ms = INT64_MIN, .collect_bytes = 64 << 20};

    for (int i = 2 + below(4); i; i--)
        snprintf(text + strlen(text), 8, "w%d ", below(14));
    match.match.text = bytes_str(text);
    parts[0] = parts[1] = parts[2] = q = match;
    snprintf(word, sizeof(word), "w%d", below(14));
    parts[1].match.text = bytes_str(word);
    parts[2].weight = 0.5;
    if (below(2))
        q = (struct wr_search_condition){.type = WR_SEARCH_BOOL,
                                         .weight = 0.75,
                                         .boolean = {.should = parts, .should_count = 3}};
    s.sort = (struct wr_sort){.given = true, .sorters = &by_score, .count = 1};
    for (int page = 0; page < 3; page++) {
        struct search_hits best, all;

        s.track_total = -1;
        assert_int_equal(search_run(&job, &s, 1000, &best), 0);
        s.track_total = INT32_MAX;
        assert_int_equal(search_run(&job, &s, 1000, &all), 0);
        assert_int_equal(best.count, all.count);
        for (size_t i = 0; i < all.count; i++) {
            assert_true(best.hits[i].score == all.hits[i].score);
            assert_true(bytes_equal(best.hits[i].key, all.hits[i].key));
        }
        if (!all.next_token.ptr)
            break;
        s.token = all.next_token;
    }
}

static void test_best(void **state)
{
    const char *asked = getenv("BEST_ROUNDS");
    long rounds = asked ? strtol(asked, NULL, 10) : 18;
    struct part_cache *cache = part_cache_new(1000);
    struct ctx keep;

    (void)state;
    rng_init(&rng, 77);
    ctx_init(&keep, NULL, NULL, NULL, 0);
    assert_int_equal(search_schema_make(&keep, &description, &schema), 0);
    for (long round = 0; round < rounds; round++) {
        struct view *v = view_empty();

        words_now = round % 3 ? 0 : 7; /* texts of one length: many score the same */
        documents_now = round % 4 ? DOCUMENTS : DOCUMENTS_MANY;
        names_now = NAMES;
        for (int i = 0; i < documents_now; i++) {
            rows[i] = (struct row){0};
            snprintf(rows[i].key, sizeof(rows[i].key), "%05d", i);
        }
        for (int b = 0; b < 3; b++) {
            v = change(v, below(documents_now / 2), documents_now, below(30));
            if (round % 2)
                v = stored_view(v, schema, cache);
        }
        for (int i = 0; i < 100; i++) {
            check_best(v);
            arena_release(&c.arena);
        }
        view_release(v);
    }
    words_now = 0;
    part_cache_free(cache);
    ctx_release(&keep);
}

/* 16,384 terms are looked for; more are refused, whatever they are spread over. */
static void test_many_terms(void **state)
{
    enum { TERMS = 1024, CLAUSES = 17 };
    struct wr_search_condition q = {.type = WR_SEARCH_BOOL, .weight = 1}, *clauses;
    struct wr_search s = {.query = &q, .track_total = INT32_MAX};
    struct view *v = view_empty();
    struct search_job job = {.c = &c, .expired_ms = INT64_MIN, .collect_bytes = 64 << 20};
    struct wr_value *terms;
    struct search_hits hits;

    (void)state;
    rng_init(&rng, 5);
    assert_int_equal(search_schema_make(&c, &description, &schema), 0);
    documents_now = DOCUMENTS;
    names_now = NAMES;
    for (int i = 0; i < documents_now; i++)
        snprintf(rows[i].key, sizeof(rows[i].key), "%05d", i % DOCUMENTS_MANY);
    v = change(v, 0, documents_now, 0);
    clauses = ARENA_ARRAY(&c.arena, struct wr_search_condition, CLAUSES);
    terms = ARENA_ARRAY(&c.arena, struct wr_value, TERMS);
    for (int i = 0; i < TERMS; i++)
        terms[i] =
            (struct wr_value){.type = WR_VARCHAR, .bytes = arena_printf(&c.arena, "k%04d", i)};
    for (int i = 0; i < CLAUSES; i++) {
        clauses[i] = (struct wr_search_condition){
            .type = WR_SEARCH_TERMS, .weight = 1, .field = fields[F_KEYWORD].name};
        clauses[i].terms.values = terms;
        clauses[i].terms.count = TERMS;
    }
    q.boolean = (struct wr_bool_condition){.must = clauses, .must_count = CLAUSES - 1};
    job.schema = schema;
    job.view = v;
    assert_int_equal(search_run(&job, &s, 1000, &hits), 0);
    assert_true(hits.total > 0);
    q.boolean.must_count = CLAUSES;
    assert_int_equal(search_run(&job, &s, 1000, &hits), E_PARAMETER);
    ctx_clear(&c);
    view_release(v);
}

/* The nearest of vectors, with and without a filter, by each metric, over several segments. */
static void test_vectors(void **state)
{
    enum { DIMENSION = 5, VECTORS = 300, TOP = 7 };
    static float vectors[VECTORS][DIMENSION];

    struct part_cache *cache = part_cache_new(1000);

    (void)state;
    rng_init(&rng, 11);
    for (int metric = 0; metric < 3; metric++) {
        const struct wr_field_schema with_vector[] = {
            {.name = BYTES_LIT("v"),
             .type = WR_FIELD_VECTOR,
             .index = true,
             .vector = {true, 2, DIMENSION, metric}},
            {.name = BYTES_LIT("l"), .type = WR_FIELD_LONG, .index = true}};
        const struct wr_search_schema d = {.fields = with_vector, .field_count = 2};
        const struct wr_sorter by_score = {.type = WR_SORTER_SCORE, .order = WR_ORDER_DESC};
        struct wr_search_condition low = {
            .type = WR_SEARCH_RANGE,
            .weight = 1,
            .field = BYTES_LIT("l"),
            .range = {.to = {.type = WR_BIGINT, .integer = VECTORS / 2}}};
        float query[DIMENSION] = {0.5f, -1, 2, 0.25f, 1};
        struct wr_search_condition knn = {
            .type = WR_SEARCH_KNN_VECTOR,
            .weight = 1,
            .field = BYTES_LIT("v"),
            .knn = {.top_k = TOP, .vector = query, .dimension = DIMENSION, .filter = &low}};
        struct wr_search s = {.query = &knn,
                              .has_limit = true,
                              .limit = TOP,
                              .track_total = INT32_MAX,
                              .sort = {.given = true, .sorters = &by_score, .count = 1}};
        struct view *v = view_empty();
        struct search_job job = {.c = &c, .expired_ms = INT64_MIN};
        struct search_hits hits;
        double best[VECTORS];

        assert_int_equal(search_schema_make(&c, &d, &schema), 0);
        for (int from = 0; from < VECTORS; from += 100) {
            struct document documents[100];
            struct segment *segment;
            struct view *next;

            for (int i = 0; i < 100; i++) {
                struct wr_cell *cells = ARENA_ARRAY(&c.arena, struct wr_cell, 2);
                struct wr_row row = {.cells = cells, .cell_count = 2};

                for (int k = 0; k < DIMENSION; k++)
                    vectors[from + i][k] = (float)(below(2000) - 1000) / 250;
                cells[0] = (struct wr_cell){
                    .name = BYTES_LIT("v"),
                    .value = {.type = WR_VARBINARY,
                              .bytes = bytes_of(vectors[from + i], sizeof(vectors[0]))}};
                cells[1] = (struct wr_cell){.name = BYTES_LIT("l"),
                                            .value = {.type = WR_BIGINT, .integer = from + i}};
                documents[i].key = arena_printf(&c.arena, "%05d", from + i);
                document_fill(&c, schema, &row, &documents[i]);
            }
            segment = segment_build(schema, documents, 100);
            next = view_with(v, NULL, 0, segment);
            segment_release(segment);
            view_release(v);
            v = next;
        }
        if (metric != 1)
            v = stored_view(v, schema, cache);
        for (int i = 0; i < VECTORS / 2; i++) {
            double dot = 0, a = 0, b = 0, distance = 0;

            for (int k = 0; k < DIMENSION; k++) {
                dot += (double)vectors[i][k] * query[k];
                a += (double)vectors[i][k] * vectors[i][k];
                b += (double)query[k] * query[k];
                distance += pow((double)vectors[i][k] - query[k], 2);
            }
            best[i] = metric == 0   ? 1 / (1 + distance)
                      : metric == 1 ? (1 + dot / sqrt(a * b)) / 2
                                    : (1 + dot) / 2;
        }
        job.schema = schema;
        job.view = v;
        assert_int_equal(search_run(&job, &s, 1000, &hits), 0);
        assert_int_equal(hits.count, TOP);
        assert_int_equal(hits.total, TOP);
        for (int i = 0; i < TOP; i++) {
            char key[6] = "";
            int at, before = 0;

            memcpy(key, hits.hits[i].key.ptr, 5);
            at = (int)strtol(key, NULL, 10);

            assert_true(at < VECTORS / 2);
            assert_true(fabs(hits.hits[i].score - best[at]) < 1e-4);
            for (int k = 0; k < VECTORS / 2; k++)
                before += best[k] > best[at] + 1e-6;
            assert_true(before <= i);
        }
        knn.knn.dimension = DIMENSION - 1;
        assert_int_equal(search_run(&job, &s, 1000, &hits), E_PARAMETER);
        ctx_clear(&c);
        view_release(v);
    }
    part_cache_free(cache);
}

/* Stored bytes that were damaged are no segment. */
static void test_damaged(void **state)
{
    struct view *v;
    const struct segment *s;
    struct ctx keep;

    (void)state;
    rng_init(&rng, 7);
    ctx_init(&keep, NULL, NULL, NULL, 0);
    assert_int_equal(search_schema_make(&keep, &description, &schema), 0);
    for (int i = 0; i < DOCUMENTS; i++)
        snprintf(rows[i].key, sizeof(rows[i].key), "%05d", i);
    v = change(view_empty(), 0, 100, 0);
    s = v->segments[0].segment;
    for (int i = 0; i < 200; i++) {
        uint8_t *copy = mem_alloc(s->len);
        size_t at = rng_below(&rng, s->len), len = i % 2 ? s->len : at;

        memcpy(copy, s->image, s->len);
        if (i % 2)
            copy[at] ^= (uint8_t)(1 << below(8));
        assert_null(segment_open(copy, len, schema));
        mem_free(copy);
    }
    view_release(v);
    ctx_release(&keep);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_scan),    TEST(test_best),    TEST(test_many_terms),
        TEST(test_vectors), TEST(test_damaged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
