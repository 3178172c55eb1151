/* search.c: searches in process, over one segment of made-up documents: the median and the 99th
 * percentile of each kind of query, and documents built and merged a second of the processor.
 *
 *   search [DOCUMENTS [QUERIES]]      500,000 and 200
 *
 * A document has a keyword of ten values, one of 1,000, two numbers, a date, a point, and twelve
 * words out of 20,000, common ones more often. */
#include "base/rng.h"
#include "search/searcher.h"
#include "search/segment/builder.h"
#include "search/segment/merge.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define BATCH 1000
#define WORDS 12
#define VOCABULARY 20000

static const struct wr_bytes date_formats[] = {BYTES_LIT("epoch_millis")};
static const struct wr_field_schema fields[] = {
    {.name = BYTES_LIT("tenth"), .type = WR_FIELD_KEYWORD, .index = true},
    {.name = BYTES_LIT("name"), .type = WR_FIELD_KEYWORD, .index = true},
    {.name = BYTES_LIT("number"), .type = WR_FIELD_LONG, .index = true},
    {.name = BYTES_LIT("price"), .type = WR_FIELD_DOUBLE, .index = true},
    {.name = BYTES_LIT("date"),
     .type = WR_FIELD_DATE,
     .index = true,
     .date_formats = date_formats,
     .date_format_count = 1},
    {.name = BYTES_LIT("place"), .type = WR_FIELD_GEO_POINT, .index = true},
    {.name = BYTES_LIT("text"), .type = WR_FIELD_TEXT, .index = true},
};
static const struct wr_search_schema description = {.fields = fields, .field_count = 7};
static struct search_schema *schema;
static struct rng rng;
static struct clock now;

static double cpu_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int word(void)
{
    double u = rng_unit(&rng);

    return (int)(u * u * u * VOCABULARY);
}

static struct wr_cell text_cell(const char *name, bytes text)
{
    return (struct wr_cell){.name = bytes_str(name), .value = {.type = WR_VARCHAR, .bytes = text}};
}

static void make(struct ctx *c, size_t at, struct document *out)
{
    struct arena *a = &c->arena;
    struct wr_cell *cells = ARENA_ARRAY(a, struct wr_cell, 7);
    struct wr_row row = {.cells = cells, .cell_count = 7};
    char text[WORDS * 8 + 1];
    int len = 0;

    for (int i = 0; i < WORDS; i++)
        len += snprintf(text + len, sizeof(text) - (size_t)len, "w%d ", word());
    cells[0] = text_cell("tenth", arena_printf(a, "k%d", (int)rng_below(&rng, 10)));
    cells[1] = text_cell("name", arena_printf(a, "name%d", (int)rng_below(&rng, 1000)));
    cells[2] = (struct wr_cell){
        .name = BYTES_LIT("number"),
        .value = {.type = WR_BIGINT, .integer = (int64_t)rng_below(&rng, 1000000)}};
    cells[3] = (struct wr_cell){.name = BYTES_LIT("price"),
                                .value = {.type = WR_DOUBLE, .real = rng_unit(&rng) * 100}};
    cells[4] =
        (struct wr_cell){.name = BYTES_LIT("date"),
                         .value = {.type = WR_BIGINT,
                                   .integer = 1700000000000 + (int64_t)rng_below(&rng, 1u << 30)}};
    cells[5] = text_cell(
        "place", arena_printf(a, "%.5f,%.5f", 30 + rng_unit(&rng) * 2, 119 + rng_unit(&rng) * 2));
    cells[6] = text_cell("text", arena_copy(a, bytes_of(text, (size_t)len)));
    out->key = arena_printf(a, "key%010zu", at);
    document_fill(c, schema, &row, out);
}

static struct segment *build(size_t documents)
{
    struct view_segment *parts = mem_zalloc((documents / BATCH + 1) * sizeof(*parts));
    size_t count = 0;
    double start = cpu_s(), made = 0;

    for (size_t at = 0; at < documents; at += BATCH) {
        struct document list[BATCH];
        struct ctx c;
        double from = cpu_s();

        ctx_init(&c, &now, NULL, NULL, 0);
        for (size_t i = 0; i < BATCH; i++)
            make(&c, at + i, &list[i]);
        made += cpu_s() - from;
        parts[count++] = (struct view_segment){segment_build(schema, list, BATCH), NULL};
        ctx_release(&c);
    }
    while (count > 1) { /* eight at a time, as the server does */
        size_t next = 0;

        for (size_t i = 0; i < count; i += 8) {
            size_t n = count - i < 8 ? count - i : 8;
            struct segment *merged = segment_merge(schema, parts + i, n);

            for (size_t k = 0; k < n; k++)
                segment_release(parts[i + k].segment);
            parts[next++] = (struct view_segment){merged, NULL};
        }
        count = next;
    }
    struct segment *s = parts[0].segment;

    mem_free(parts);
    printf("build and merge: %.0f documents a processor second, %.1f bytes each\n",
           (double)documents / (cpu_s() - start - made), (double)s->len / (double)s->documents);
    return s;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void measure(const struct view *v, const char *name, const struct wr_search *s,
                    void (*vary)(struct wr_search *s), int queries)
{
    double *us = mem_zalloc((size_t)queries * sizeof(*us));
    struct wr_search one = *s;

    for (int i = -queries / 10; i < queries; i++) {
        struct search_hits hits;
        struct ctx c;
        int64_t start;

        if (vary)
            vary(&one);
        ctx_init(&c, &now, NULL, NULL, 0);
        start = clock_mono_us(&now);
        struct timespec from, to;

        clock_gettime(CLOCK_MONOTONIC, &from);
        struct search_job job = {.c = &c,
                                 .schema = schema,
                                 .view = v,
                                 .expired_ms = INT64_MIN,
                                 .now_ms = start,
                                 .collect_bytes = 1u << 30};

        if (search_run(&job, &one, 1000, &hits)) {
            fprintf(stderr, "%s: %s\n", name, c.text);
            exit(1);
        }
        clock_gettime(CLOCK_MONOTONIC, &to);
        if (i >= 0)
            us[i] =
                (double)(to.tv_sec - from.tv_sec) * 1e6 + (double)(to.tv_nsec - from.tv_nsec) / 1e3;
        ctx_release(&c);
    }
    qsort(us, (size_t)queries, sizeof(*us), compare);
    printf("%-34s %9.1f us %9.1f us p99\n", name, us[queries / 2], us[queries * 99 / 100]);
    mem_free(us);
}

/* ---- queries ---- */

static char term[32], words[64];
static struct wr_search_condition by_tenth = {
    .type = WR_SEARCH_TERM, .weight = 1, .field = BYTES_LIT("tenth")};
static struct wr_search_condition by_name = {
    .type = WR_SEARCH_PREFIX, .weight = 1, .field = BYTES_LIT("name")};
static struct wr_search_condition by_words = {
    .type = WR_SEARCH_MATCH, .weight = 1, .field = BYTES_LIT("text")};
static struct wr_search_condition by_place = {
    .type = WR_SEARCH_GEO_DISTANCE, .weight = 1, .field = BYTES_LIT("place")};
static struct wr_search_condition by_number = {
    .type = WR_SEARCH_RANGE, .weight = 1, .field = BYTES_LIT("number")};
static struct wr_search_condition both;
static struct wr_search_condition parts[2];

static void vary_tenth(struct wr_search *s)
{
    (void)s;
    snprintf(term, sizeof(term), "k%d", (int)rng_below(&rng, 10));
    by_tenth.term = (struct wr_value){.type = WR_VARCHAR, .bytes = bytes_str(term)};
    parts[0] = by_tenth;
    parts[1] = by_number;
}

static void vary_number(struct wr_search *s)
{
    int64_t from = (int64_t)rng_below(&rng, 900000);

    vary_tenth(s);
    by_number.range = (struct wr_range_bounds){.from = {.type = WR_BIGINT, .integer = from},
                                               .to = {.type = WR_BIGINT, .integer = from + 100000},
                                               .include_from = true};
    parts[1] = by_number;
}

static void vary_words(struct wr_search *s)
{
    (void)s;
    snprintf(words, sizeof(words), "w%d w%d", word(), word());
    by_words.match.text = bytes_str(words);
}

static void vary_phrase(struct wr_search *s)
{
    (void)s;
    snprintf(words, sizeof(words), "w%d w%d", (int)rng_below(&rng, 50), (int)rng_below(&rng, 50));
    by_words.match.text = bytes_str(words);
}

static void vary_prefix(struct wr_search *s)
{
    (void)s;
    snprintf(term, sizeof(term), "name%d", 1 + (int)rng_below(&rng, 9));
    by_name.pattern = bytes_str(term);
}

static void vary_wildcard(struct wr_search *s)
{
    (void)s;
    snprintf(term, sizeof(term), "*%d?", (int)rng_below(&rng, 10));
    by_name.pattern = bytes_str(term);
}

static void vary_place(struct wr_search *s)
{
    static struct wr_bytes point[1];

    (void)s;
    snprintf(term, sizeof(term), "%.4f,%.4f", 30 + rng_unit(&rng) * 2, 119 + rng_unit(&rng) * 2);
    point[0] = bytes_str(term);
    by_place.geo = (struct wr_geo_condition){point, 1, 5000};
}

int main(int argc, char **argv)
{
    size_t documents = argc > 1 ? strtoul(argv[1], NULL, 10) / BATCH * BATCH : 500000;
    int queries = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 200;
    static const struct wr_sorter by_num = {
        .type = WR_SORTER_FIELD, .field = BYTES_LIT("number"), .order = WR_ORDER_DESC};
    static const struct wr_sorter by_date = {.type = WR_SORTER_FIELD, .field = BYTES_LIT("date")};
    static const struct wr_sorter by_score = {.type = WR_SORTER_SCORE, .order = WR_ORDER_DESC};
    static const struct wr_group_by groups = {
        .name = BYTES_LIT("g"), .type = WR_GROUP_FIELD, .field = BYTES_LIT("name")};
    static const struct wr_aggregation sum = {
        .name = BYTES_LIT("s"), .type = WR_AGG_SUM, .field = BYTES_LIT("price")};
    struct wr_search page = {.has_limit = true, .limit = 10, .track_total = -1}, s;
    struct view_segment only;
    struct view *v;
    struct ctx keep;

    rng_init(&rng, 1);
    clock_real_init(&now);
    ctx_init(&keep, &now, NULL, NULL, 0);
    if (search_schema_make(&keep, &description, &schema)) {
        fprintf(stderr, "%s\n", keep.text);
        return 1;
    }
    only = (struct view_segment){build(documents), NULL};
    v = view_make(&only, 1);
    both = (struct wr_search_condition){
        .type = WR_SEARCH_BOOL, .weight = 1, .boolean = {.must = parts, .must_count = 2}};
    s = page;
    measure(v, "all, by key", &s, NULL, queries);
    s.sort = (struct wr_sort){.given = true, .sorters = &by_num, .count = 1};
    measure(v, "all, by a number", &s, NULL, queries);
    s.query = &by_tenth;
    measure(v, "term of a tenth, by a number", &s, vary_tenth, queries);
    s.sort.sorters = &by_date;
    s.query = &both;
    measure(v, "term and range, by a date", &s, vary_number, queries);
    s.sort.sorters = &by_score;
    s.query = &by_words;
    measure(v, "match of two words, by score", &s, vary_words, queries);
    by_words.type = WR_SEARCH_MATCH_PHRASE;
    measure(v, "phrase of two words, by score", &s, vary_phrase, queries);
    s = page;
    s.query = &by_name;
    s.track_total = INT32_MAX;
    measure(v, "prefix of a ninth, counted", &s, vary_prefix, queries);
    by_name.type = WR_SEARCH_WILDCARD;
    measure(v, "wildcard of a tenth, counted", &s, vary_wildcard, queries);
    s.query = &by_place;
    measure(v, "5 km around a point, counted", &s, vary_place, queries);
    s = page;
    s.limit = 0;
    s.group_bys = &groups;
    s.group_by_count = 1;
    measure(v, "group by 1,000 names over all", &s, NULL, queries);
    s.group_by_count = 0;
    s.aggregations = &sum;
    s.aggregation_count = 1;
    s.query = &by_number;
    measure(v, "sum over a range of a tenth", &s, vary_number, queries);
    view_release(v);
    ctx_release(&keep);
    return 0;
}
