/* Searches that ask for as much as they can: they end, by their deadline if need be, and take no
 * more memory than they may. Each of them took hours, or all memory, once. */
#include "search/searcher.h"
#include "search/segment/builder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>
#undef fail /* the name is ctx.h's in this house */

#include "../context.h"

#define COLLECT_BYTES (64u << 20)

static const struct wr_field_schema fields[] = {
    {.name = BYTES_LIT("t"), .type = WR_FIELD_TEXT, .index = true},
    {.name = BYTES_LIT("l"), .type = WR_FIELD_LONG, .index = true},
    {.name = BYTES_LIT("d"), .type = WR_FIELD_DOUBLE, .index = true},
    {.name = BYTES_LIT("at"), .type = WR_FIELD_GEO_POINT, .index = true},
};
static const struct wr_search_schema description = {.fields = fields, .field_count = 4};
static struct search_schema *schema;

static struct wr_cell cell(bytes name, struct wr_value v)
{
    return (struct wr_cell){.name = name, .value = v};
}

/* Documents one segment after the other; `words` of each text are "a". */
static struct view *view_of(size_t segments, size_t documents, size_t words)
{
    char *text = arena_alloc(&c.arena, words * 2 + 1);
    struct view *v = view_empty();

    assert_int_equal(search_schema_make(&c, &description, &schema), 0);
    for (size_t i = 0; i < words; i++)
        memcpy(text + i * 2, "a ", 2);
    for (size_t from = 0; from < segments * documents; from += documents) {
        struct document *list = ARENA_ARRAY(&c.arena, struct document, documents);
        struct segment *s;
        struct view *next;

        for (size_t i = 0; i < documents; i++) {
            int64_t n = (int64_t)(from + i);
            struct wr_cell cells[] = {
                cell(fields[0].name,
                     (struct wr_value){.type = WR_VARCHAR, .bytes = bytes_of(text, words * 2)}),
                cell(fields[1].name, (struct wr_value){.type = WR_BIGINT, .integer = n}),
                cell(fields[2].name, (struct wr_value){.type = WR_DOUBLE, .real = (double)n}),
                cell(fields[3].name,
                     (struct wr_value){.type = WR_VARCHAR,
                                       .bytes = arena_printf(&c.arena, "%.6f,%.6f",
                                                             (double)(n % 90), (double)(n % 180))}),
            };
            struct wr_row row = {.cells = cells, .cell_count = PORT_COUNT(cells)};

            list[i].key = arena_printf(&c.arena, "%09lld", (long long)n);
            document_fill(&c, schema, &row, &list[i]);
        }
        s = segment_build(schema, list, documents);
        next = view_with(v, NULL, 0, s);
        segment_release(s);
        view_release(v);
        v = next;
    }
    return v;
}

static struct search_job job_of(struct view *v)
{
    return (struct search_job){.c = &c,
                               .schema = schema,
                               .view = v,
                               .expired_ms = INT64_MIN,
                               .collect_bytes = COLLECT_BYTES};
}

static struct wr_search_condition phrase_of(size_t words, int32_t slop)
{
    struct wr_search_condition q = {
        .type = WR_SEARCH_MATCH_PHRASE, .weight = 1, .field = fields[0].name};
    char *text = arena_alloc(&c.arena, words * 2);

    for (size_t i = 0; i < words; i++)
        memcpy(text + i * 2, "a ", 2);
    q.match.text = bytes_of(text, words * 2);
    q.match.slop = slop;
    return q;
}

/* A document that is one word over and over, and a phrase that is. */
static void test_long_phrases(void **state)
{
    enum { WORDS = 30000, OF_PHRASE = 400 };
    static const struct wr_sorter by_score = {.type = WR_SORTER_SCORE, .order = WR_ORDER_DESC};
    struct view *v = view_of(1, 3, WORDS);
    struct search_job job = job_of(v);
    struct search_hits hits;

    (void)state;
    for (int32_t slop = 0; slop < 2; slop++) {
        struct wr_search_condition q = phrase_of(OF_PHRASE, slop * 1000000);
        struct wr_search s = {.query = &q, .track_total = INT32_MAX};

        s.sort = (struct wr_sort){.given = true, .sorters = &by_score, .count = 1};
        c.deadline_ms = 0;
        assert_int_equal(search_run(&job, &s, 1000, &hits), 0);
        assert_int_equal(hits.total, 3);
        /* Part of an answer is none. */
        c.deadline_ms = clock_mono_ms(c.clock) - 1;
        assert_int_equal(search_run(&job, &s, 1000, &hits), E_BUSY);
        ctx_clear(&c);
    }
    view_release(v);
}

/* Scores of words, document by document, as the order by score goes through them. */
static void test_steps_end(void **state)
{
    static const struct wr_sorter by_score = {.type = WR_SORTER_SCORE, .order = WR_ORDER_DESC};
    struct wr_search_condition q = {.type = WR_SEARCH_MATCH,
                                    .weight = 1,
                                    .field = fields[0].name,
                                    .match.text = BYTES_LIT("a")};
    struct wr_search s = {.query = &q, .track_total = -1};
    struct view *v = view_of(1, 10000, 1);
    struct search_job job = job_of(v);
    struct search_hits hits;

    (void)state;
    s.sort = (struct wr_sort){.given = true, .sorters = &by_score, .count = 1};
    assert_int_equal(search_run(&job, &s, 1000, &hits), 0);
    assert_int_equal(hits.count, 10);
    ctx_clear(&c);
    c.deadline_ms = clock_mono_ms(c.clock) + 3600000;
    assert_int_equal(search_run(&job, &s, 1000, &hits), 0);
    c.deadline_ms = 1;
    q.match.text = BYTES_LIT(""); /* nothing to look for: what is late is seen at the end */
    assert_int_equal(search_run(&job, &s, 1000, &hits), E_BUSY);
    ctx_clear(&c);
    view_release(v);
}

/* A polygon of many sides around many points. */
static void test_polygon_ends(void **state)
{
    enum { SIDES = 9000 };
    struct wr_bytes *points = ARENA_ARRAY(&c.arena, struct wr_bytes, SIDES);
    struct wr_search_condition q = {
        .type = WR_SEARCH_GEO_POLYGON, .weight = 1, .field = fields[3].name};
    struct wr_search s = {.query = &q, .track_total = INT32_MAX};
    struct view *v = view_of(1, 10000, 1);
    struct search_job job = job_of(v);
    struct search_hits hits;

    (void)state;
    for (int i = 0; i < SIDES; i++)
        points[i] =
            arena_printf(&c.arena, "%.5f,%.5f", i % 2 ? 80.0 : -80.0 + i * 0.001, -170 + i * 0.03);
    q.geo.points = points;
    q.geo.point_count = SIDES;
    assert_int_equal(search_run(&job, &s, 1000, &hits), 0);
    c.deadline_ms = clock_mono_ms(c.clock) - 1;
    assert_int_equal(search_run(&job, &s, 1000, &hits), E_BUSY);
    ctx_clear(&c);
    view_release(v);
}

/* Empty groups of a histogram whose interval is less than the numbers can tell apart. */
static void test_intervals_end(void **state)
{
    struct wr_search_condition all = {.type = WR_SEARCH_MATCH_ALL, .weight = 1};
    struct wr_group_by g = {.name = BYTES_LIT("g"),
                            .type = WR_GROUP_HISTOGRAM,
                            .has_min_count = true,
                            .field = fields[2].name,
                            .interval = {.type = WR_DOUBLE, .real = 0.1},
                            .range_min = {.type = WR_DOUBLE, .real = 1e18},
                            .range_max = {.type = WR_DOUBLE, .real = 1e18 + 128}};
    struct wr_search s = {.query = &all, .group_bys = &g, .group_by_count = 1};
    struct view *v = view_of(1, 10, 1);
    struct search_job job = job_of(v);
    struct search_hits hits;

    (void)state;
    assert_int_equal(search_run(&job, &s, 1000, &hits), 0);
    assert_true(hits.group_bys[0].count <= 2);
    g.field = fields[1].name;
    g.interval.real = 9e18;
    g.range_min.real = 8e18;
    g.range_max.real = 9.2e18;
    assert_int_equal(search_run(&job, &s, 1000, &hits), 0);
    assert_int_equal(hits.group_bys[0].count, 1);
    assert_int_equal(hits.group_bys[0].groups[0].value.integer, 9000000000000000000);
    g.range_max.real = 1e300;
    g.interval.real = 1e299;
    assert_int_equal(search_run(&job, &s, 1000, &hits), 0);
    view_release(v);
}

/* Groups of groups: what is listed of each is its own, and what they come to is counted. */
static void test_groups_of_groups(void **state)
{
    enum { DOCUMENTS = 200000, NAME = 1 << 16 };
    struct wr_search_condition all = {.type = WR_SEARCH_MATCH_ALL, .weight = 1};
    char *name = arena_alloc(&c.arena, NAME);
    struct wr_aggregation sum = {.type = WR_AGG_SUM, .field = fields[1].name};
    struct wr_group_by fine = {.type = WR_GROUP_HISTOGRAM,
                               .name = BYTES_LIT("fine"),
                               .field = fields[1].name,
                               .interval = {.type = WR_BIGINT, .integer = 1}};
    struct wr_group_by coarse = {.type = WR_GROUP_HISTOGRAM,
                                 .name = BYTES_LIT("coarse"),
                                 .field = fields[1].name,
                                 .interval = {.type = WR_BIGINT, .integer = 100},
                                 .group_bys = &fine,
                                 .group_by_count = 1};
    struct wr_search s = {.query = &all, .group_bys = &coarse, .group_by_count = 1};
    struct view *v = view_of(1, DOCUMENTS, 1);
    struct search_job job = job_of(v);
    struct search_hits hits;
    size_t before = c.arena.used;
    int rc;

    (void)state;
    rc = search_run(&job, &s, 1000, &hits);
    if (rc)
        assert_int_equal(rc, E_MEMORY);
    ctx_clear(&c);
    assert_true(c.arena.used - before < COLLECT_BYTES * 3ull);
    /* A long name is there once. */
    memset(name, 'n', NAME);
    sum.name = bytes_of(name, NAME);
    coarse.group_bys = NULL;
    coarse.group_by_count = 0;
    coarse.aggregations = &sum;
    coarse.aggregation_count = 1;
    before = c.arena.used;
    assert_int_equal(search_run(&job, &s, 1000, &hits), 0);
    assert_int_equal(hits.group_bys[0].count, DOCUMENTS / 100);
    assert_true(c.arena.used - before < COLLECT_BYTES);
    view_release(v);
}

/* Percentiles of many groups. */
static void test_percentiles_of_groups(void **state)
{
    enum { DOCUMENTS = 100000, EACH = 50 };
    const double half = 50;
    struct wr_search_condition all = {.type = WR_SEARCH_MATCH_ALL, .weight = 1};
    struct wr_aggregation median = {.name = BYTES_LIT("m"),
                                    .type = WR_AGG_PERCENTILES,
                                    .field = fields[1].name,
                                    .percentiles = &half,
                                    .percentile_count = 1};
    struct wr_group_by g = {.type = WR_GROUP_HISTOGRAM,
                            .name = BYTES_LIT("g"),
                            .field = fields[1].name,
                            .interval = {.type = WR_BIGINT, .integer = EACH},
                            .aggregations = &median,
                            .aggregation_count = 1};
    struct wr_search s = {.query = &all, .group_bys = &g, .group_by_count = 1};
    struct view *v = view_of(1, DOCUMENTS, 1);
    struct search_job job = job_of(v);
    struct search_hits hits;

    (void)state;
    assert_int_equal(search_run(&job, &s, 1000, &hits), 0);
    assert_int_equal(hits.group_bys[0].count, DOCUMENTS / EACH);
    for (size_t i = 0; i < hits.group_bys[0].count; i++) {
        const struct wr_aggregation_result *r = hits.group_bys[0].groups[i].aggregations;

        assert_int_equal(r->percentile_count, 1);
        assert_int_equal(r->percentiles[0].value.integer, i * EACH + (EACH - 1) / 2);
    }
    view_release(v);
}

/* Thousands of clauses, in each of many segments. */
static void test_clauses_of_segments(void **state)
{
    enum { CLAUSES = 1000, SEGMENTS = 40, CAP = 96 << 20 };
    static const struct wr_sorter by_score = {.type = WR_SORTER_SCORE, .order = WR_ORDER_DESC};
    struct wr_search_condition *list =
        ARENA_ARRAY(&c.arena, struct wr_search_condition, CLAUSES * 2);
    struct wr_search_condition q = {.type = WR_SEARCH_DIS_MAX, .weight = 1};
    struct wr_search s = {.query = &q, .track_total = INT32_MAX};
    struct view *v = view_of(SEGMENTS, 10, 1);
    struct search_job job = job_of(v);
    struct search_hits hits;

    (void)state;
    for (int i = 0; i < CLAUSES; i++) {
        list[CLAUSES + i] = (struct wr_search_condition){.type = WR_SEARCH_MATCH_ALL, .weight = 1};
        list[i] = (struct wr_search_condition){.type = WR_SEARCH_DIS_MAX, .weight = 1};
        list[i].dis_max.queries = &list[CLAUSES + i];
        list[i].dis_max.count = 1;
    }
    q.dis_max.queries = list;
    q.dis_max.count = CLAUSES;
    assert_int_equal(search_run(&job, &s, 1000, &hits), 0); /* no scores are asked for */
    assert_int_equal(hits.total, SEGMENTS * 10);
    assert_true(c.arena.used < CAP);
    s.sort = (struct wr_sort){.given = true, .sorters = &by_score, .count = 1};
    c.arena.cap = CAP;
    assert_int_equal(search_run(&job, &s, 1000, &hits), E_MEMORY);
    assert_true(c.arena.used < CAP + (1 << 20));
    ctx_clear(&c);
    view_release(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_long_phrases),        TEST(test_steps_end),
        TEST(test_polygon_ends),        TEST(test_intervals_end),
        TEST(test_groups_of_groups),    TEST(test_percentiles_of_groups),
        TEST(test_clauses_of_segments),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
