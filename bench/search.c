/* search.c: searches in process, over one segment of made-up documents: the median and the 99th
 * percentile of each kind of query, and documents built and merged a second of the processor.
 *
 *   search [DOCUMENTS [QUERIES [COMMAND]]]      500,000 and 200
 *
 * A document has a keyword of ten values, one of 1,000, two numbers, a date, a point, and twelve
 * words out of 20,000, common ones more often. At the end 64,000 documents are replaced, a thousand
 * at a time.
 *
 * ONLY=TEXT in the environment: no kinds of queries but those whose name has the text.
 *
 * COMMAND is told all documents and queries (test/lucene/told.h) and measures the same:
 * `bench/search_lucene.sh`. Then each kind of query is measured by turns, five times, and the
 * medians count. */
#include "base/rng.h"
#include "search/searcher.h"
#include "search/segment/builder.h"
#include "search/segment/merge.h"
#include "told.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 5
#define BATCH 1000
#define UPDATE_BATCHES 64
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
static FILE *peer_in, *peer_out; /* NULL: measured alone */

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
    if (peer_in)
        tell_document(peer_in, out->key, &row);
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

struct figures {
    double median, last; /* microseconds; the 99th percentile */
};

static double search_once(const struct view *v, const char *name, const struct wr_search *s)
{
    struct search_hits hits;
    struct timespec from, to;
    struct ctx c;
    struct search_job job = {.c = &c,
                             .schema = schema,
                             .view = v,
                             .expired_ms = INT64_MIN,
                             .now_ms = clock_mono_ms(&now),
                             .collect_bytes = 1u << 30};

    ctx_init(&c, &now, NULL, NULL, 0);
    clock_gettime(CLOCK_MONOTONIC, &from);
    if (search_run(&job, s, 1000, &hits)) {
        fprintf(stderr, "%s: %s\n", name, c.text);
        exit(1);
    }
    clock_gettime(CLOCK_MONOTONIC, &to);
    ctx_release(&c);
    return (double)(to.tv_sec - from.tv_sec) * 1e6 + (double)(to.tv_nsec - from.tv_nsec) / 1e3;
}

/* The peer's figures for the same queries. */
static struct figures ask_peer(int queries, const char *lines, size_t len)
{
    struct figures f = {0, 0};

    fprintf(peer_in, "M %d\n", queries);
    fwrite(lines, 1, len, peer_in);
    fflush(peer_in);
    if (fscanf(peer_out, "%lf %lf", &f.median, &f.last) != 2) {
        fprintf(stderr, "the other program has ended\n");
        exit(1);
    }
    return f;
}

static struct figures measure(const struct view *v, const char *name, const struct wr_search *s,
                              void (*vary)(void), int queries, struct figures *peer)
{
    double *us = mem_zalloc((size_t)queries * sizeof(*us));
    struct figures f;
    size_t len;
    char *lines;
    FILE *told = open_memstream(&lines, &len);

    for (int i = -queries / 10; i < queries; i++) {
        double took;

        if (vary)
            vary();
        took = search_once(v, name, s);
        if (i < 0)
            continue;
        us[i] = took;
        tell_query(told, s);
    }
    fclose(told);
    qsort(us, (size_t)queries, sizeof(*us), compare);
    f = (struct figures){us[queries / 2], us[queries * 99 / 100]};
    if (peer_in)
        *peer = ask_peer(queries, lines, len);
    free(lines);
    mem_free(us);
    return f;
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

static void vary_tenth(void)
{
    snprintf(term, sizeof(term), "k%d", (int)rng_below(&rng, 10));
    by_tenth.term = (struct wr_value){.type = WR_VARCHAR, .bytes = bytes_str(term)};
    parts[0] = by_tenth;
    parts[1] = by_number;
}

static void vary_number(void)
{
    int64_t from = (int64_t)rng_below(&rng, 900000);

    vary_tenth();
    by_number.range = (struct wr_range_bounds){.from = {.type = WR_BIGINT, .integer = from},
                                               .to = {.type = WR_BIGINT, .integer = from + 100000},
                                               .include_from = true};
    parts[1] = by_number;
}

static void vary_words(void)
{
    snprintf(words, sizeof(words), "w%d w%d", word(), word());
    by_words.match.text = bytes_str(words);
}

static void vary_phrase(void)
{
    snprintf(words, sizeof(words), "w%d w%d", (int)rng_below(&rng, 50), (int)rng_below(&rng, 50));
    by_words.match.text = bytes_str(words);
}

static void vary_prefix(void)
{
    snprintf(term, sizeof(term), "name%d", 1 + (int)rng_below(&rng, 9));
    by_name.pattern = bytes_str(term);
}

static void vary_wildcard(void)
{
    snprintf(term, sizeof(term), "*%d?", (int)rng_below(&rng, 10));
    by_name.pattern = bytes_str(term);
}

static void vary_place(void)
{
    static struct wr_bytes point[1];

    snprintf(term, sizeof(term), "%.4f,%.4f", 30 + rng_unit(&rng) * 2, 119 + rng_unit(&rng) * 2);
    point[0] = bytes_str(term);
    by_place.geo = (struct wr_geo_condition){point, 1, 5000};
}

/* ---- what is measured ---- */

static const struct wr_sorter by_num = {
    .type = WR_SORTER_FIELD, .field = BYTES_LIT("number"), .order = WR_ORDER_DESC};
static const struct wr_sorter by_date = {.type = WR_SORTER_FIELD, .field = BYTES_LIT("date")};
static const struct wr_sorter by_score = {.type = WR_SORTER_SCORE, .order = WR_ORDER_DESC};
static const struct wr_group_by groups = {
    .name = BYTES_LIT("g"), .type = WR_GROUP_FIELD, .field = BYTES_LIT("name")};
static const struct wr_aggregation sum = {
    .name = BYTES_LIT("s"), .type = WR_AGG_SUM, .field = BYTES_LIT("price")};

struct kind {
    const char *name;
    struct wr_search search;
    void (*vary)(void);
    enum wr_condition_type type; /* of by_name and by_words; 0: as it is */
};

#define PAGE .has_limit = true, .limit = 10
#define SORTED(by) .sort = {.given = true, .sorters = (by), .count = 1}

static const struct kind kinds[] = {
    {"all, by key", {PAGE, .track_total = -1}, NULL, 0},
    {"all, by a number", {PAGE, .track_total = -1, SORTED(&by_num)}, NULL, 0},
    {"term of a tenth, by a number",
     {PAGE, .track_total = -1, SORTED(&by_num), .query = &by_tenth},
     vary_tenth,
     0},
    {"term and range, by a date",
     {PAGE, .track_total = -1, SORTED(&by_date), .query = &both},
     vary_number,
     0},
    {"the same, counted",
     {PAGE, .track_total = INT32_MAX, SORTED(&by_date), .query = &both},
     vary_number,
     0},
    {"match of two words, by score",
     {PAGE, .track_total = -1, SORTED(&by_score), .query = &by_words},
     vary_words,
     WR_SEARCH_MATCH},
    {"phrase of two words, by score",
     {PAGE, .track_total = -1, SORTED(&by_score), .query = &by_words},
     vary_phrase,
     WR_SEARCH_MATCH_PHRASE},
    {"prefix of a ninth, counted",
     {PAGE, .track_total = INT32_MAX, .query = &by_name},
     vary_prefix,
     WR_SEARCH_PREFIX},
    {"wildcard of a tenth, counted",
     {PAGE, .track_total = INT32_MAX, .query = &by_name},
     vary_wildcard,
     WR_SEARCH_WILDCARD},
    {"5 km around a point, counted",
     {PAGE, .track_total = INT32_MAX, .query = &by_place},
     vary_place,
     0},
    {"group by 1,000 names over all",
     {.has_limit = true, .track_total = -1, .group_bys = &groups, .group_by_count = 1},
     NULL,
     0},
    {"sum over a range of a tenth",
     {.has_limit = true,
      .track_total = -1,
      .aggregations = &sum,
      .aggregation_count = 1,
      .query = &by_number},
     vary_number,
     0},
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static void start_peer(const char *command)
{
    int in[2], out[2];

    if (pipe(in) || pipe(out)) {
        perror("pipe");
        exit(1);
    }
    if (!fork()) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        close(in[1]);
        close(out[0]);
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    peer_in = fdopen(in[1], "w");
    peer_out = fdopen(out[0], "r");
    tell_schema(peer_in, &description);
}

static double median_of(double *list, int count)
{
    qsort(list, (size_t)count, sizeof(*list), compare);
    return list[count / 2];
}

static void measure_all(const struct view *v, int queries, int rounds)
{
    static double own[KINDS][4][ROUNDS];
    const char *only = getenv("ONLY");

    for (int r = 0; r < rounds; r++)
        for (size_t k = 0; k < KINDS; k++) {
            struct figures f, peer = {1, 1};

            if (only && !strstr(kinds[k].name, only))
                continue;
            if (kinds[k].type)
                *(kinds[k].search.query == &by_name ? &by_name.type : &by_words.type) =
                    kinds[k].type;
            f = measure(v, kinds[k].name, &kinds[k].search, kinds[k].vary, queries, &peer);
            own[k][0][r] = f.median;
            own[k][1][r] = f.last;
            own[k][2][r] = f.median / peer.median;
            own[k][3][r] = f.last / peer.last;
        }
    for (size_t k = 0; k < KINDS; k++) {
        if (only && !strstr(kinds[k].name, only))
            continue;
        printf("%-32s %9.1f us %9.1f us p99", kinds[k].name, median_of(own[k][0], rounds),
               median_of(own[k][1], rounds));
        if (peer_in)
            printf("   %6.3fx %6.3fx p99 of the other", median_of(own[k][2], rounds),
                   median_of(own[k][3], rounds));
        putchar('\n');
    }
}

/* ---- updates ---- */

/* Documents of a batch that were chosen by chance: their keys ascend, each once. */
static size_t choose(size_t documents, size_t *out)
{
    size_t count = 0, step = documents / BATCH;

    for (size_t i = 0; i < BATCH; i++)
        out[count++] = i * step + (size_t)rng_below(&rng, step);
    return count;
}

static struct view *merge_last(struct view *v, size_t count)
{
    const struct view_segment *from = v->segments + (v->count - count);
    struct segment *merged = segment_merge(schema, from, count);
    struct view *next = view_replace(v, from, count, merged);

    segment_release(merged);
    view_release(v);
    return next;
}

/* As the server does: each batch is a segment, and gone from those before; eight of a size become
 * one. */
static struct view *update_batch(struct view *v, const struct document *list, size_t batch)
{
    bytes keys[BATCH];
    struct segment *s = segment_build(schema, list, BATCH);
    struct view *next;

    for (size_t i = 0; i < BATCH; i++)
        keys[i] = list[i].key;
    next = view_with(v, keys, BATCH, s);
    segment_release(s);
    view_release(v);
    for (; batch % 8 == 0; batch /= 8)
        next = merge_last(next, 8);
    return next;
}

static struct view *update(struct view *v, size_t documents, size_t batches)
{
    double spent = 0, peer = 0;

    if (peer_in)
        fprintf(peer_in, "U %zu\n", batches * BATCH);
    for (size_t b = 1; b <= batches; b++) {
        struct document list[BATCH];
        size_t chosen[BATCH], count = choose(documents, chosen);
        struct ctx c;
        double from;

        ctx_init(&c, &now, NULL, NULL, 0);
        for (size_t i = 0; i < count; i++)
            make(&c, chosen[i], &list[i]);
        from = cpu_s();
        v = update_batch(v, list, b);
        spent += cpu_s() - from;
        ctx_release(&c);
    }
    printf("updates: %.0f documents a processor second", (double)(batches * BATCH) / spent);
    if (peer_in) {
        fflush(peer_in);
        if (fscanf(peer_out, "%lf", &peer) == 1)
            printf(", the other %.0f: %.2fx", peer, (double)(batches * BATCH) / spent / peer);
    }
    putchar('\n');
    return v;
}

int main(int argc, char **argv)
{
    size_t documents = argc > 1 ? strtoul(argv[1], NULL, 10) / BATCH * BATCH : 500000;
    int queries = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 200;
    struct view_segment only;
    struct view *v;
    struct ctx keep;

    if (argc > 3)
        start_peer(argv[3]);
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
    if (peer_in) {
        double rate = 0;

        fputs("C\n", peer_in);
        fflush(peer_in);
        if (fscanf(peer_out, "%lf", &rate) == 1)
            printf("the other builds %.0f documents a processor second\n", rate);
    }
    measure_all(v, queries, peer_in ? ROUNDS : 1);
    if (documents >= BATCH * UPDATE_BATCHES)
        v = update(v, documents, UPDATE_BATCHES);
    view_release(v);
    ctx_release(&keep);
    return 0;
}
