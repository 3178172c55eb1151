/* search_live.c: a search index over a table in a folder, in process: how long it takes to be made,
 * what searches take and what memory, how it follows updates, and how soon it is there again.
 *
 *   search_live --dir DIR [--rows N] [--memory MIB] [--queries N] [--rate UPDATES_S] [--seconds S]
 *       [--resident MIB]
 *
 * Rows have a keyword of ten values, one of 100,000, a number, one that grows with the key, and
 * eight words out of 20,000. What searches count is compared with what was written: it ends with 1
 * if that differs. Lag is from a row's acknowledgement to the first search that finds it. With
 * --resident it is opened again with so much memory, and asked twice: what is compared is the 99th
 * percentiles with --memory and those of the second time. */
#include "base/bytes.h"
#include "base/rng.h"
#include "widerow.h"

#include <dirent.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BATCH 200
#define TENTHS 10
#define NAMES 100000
#define WORDS 8
#define VOCABULARY 20000
#define TURN_US 50000 /* of updates */
#define PROBE_US 200000
#define LOOK_US 5000
#define MIB ((uint64_t)1 << 20)

static const struct wr_bytes table = {"live", 4}, by = {"by", 2};
static const struct wr_key_schema key_schema[] = {{.name = {"p", 1}, .type = WR_BIGINT}};
static const struct wr_field_schema fields[] = {
    {.name = {"tenth", 5}, .type = WR_FIELD_KEYWORD, .index = true},
    {.name = {"name", 4}, .type = WR_FIELD_KEYWORD, .index = true},
    {.name = {"number", 6}, .type = WR_FIELD_LONG, .index = true},
    {.name = {"grows", 5}, .type = WR_FIELD_LONG, .index = true},
    {.name = {"text", 4}, .type = WR_FIELD_TEXT, .index = true},
};

enum kind { BY_NUMBER, MATCH, PHRASE_LIKE, NAME, NEWEST, SUM, GROUP, KINDS };

struct live {
    struct wr_db *db;
    const char *dir;
    int64_t rows;
    uint64_t memory, resident;
    int queries, rate, seconds;
    double p99[KINDS], idle_p99,
        beside_p99; /* with --memory; of all kinds, without updates and beside them */
    int64_t tenths[TENTHS];
    bool idle; /* nothing is updated */
    atomic_bool stop;
    atomic_llong updates;
    bool wrong;
};

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint64_t status_kib(const char *name)
{
    FILE *f = fopen("/proc/self/status", "r");
    char line[256];
    uint64_t n = 0;

    while (f && fgets(line, sizeof(line), f))
        if (strncmp(line, name, strlen(name)) == 0)
            n = strtoull(line + strlen(name) + 1, NULL, 10);
    if (f)
        fclose(f);
    return n;
}

/* Processor seconds of the threads whose names begin so. */
static double thread_cpu_s(const char *name)
{
    DIR *d = opendir("/proc/self/task");
    double sum = 0;

    for (struct dirent *e; d && (e = readdir(d));) {
        char path[320], line[512] = "";
        unsigned long user, system;
        FILE *f;
        char *at;

        snprintf(path, sizeof(path), "/proc/self/task/%s/stat", e->d_name);
        f = fopen(path, "r");
        if (!f)
            continue;
        at = fgets(line, sizeof(line), f) ? strchr(line, '(') : NULL;
        fclose(f);
        if (!at || strncmp(at + 1, name, strlen(name)) != 0 || !(at = strrchr(at, ')')))
            continue;
        if (sscanf(at, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system) ==
            2)
            sum += (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
    }
    if (d)
        closedir(d);
    return sum;
}

static int run(struct live *l, struct wr_request *req)
{
    struct wr_reply *reply;
    int code;

    req->instance = (struct wr_bytes){"bench", 5};
    reply = wr_exec(l->db, req);
    code = reply->code;
    for (size_t i = 0;
         !code && req->op == WR_OP_BATCH_WRITE_ROW && i < reply->batch.tables[0].row_count; i++)
        code = reply->batch.tables[0].rows[i].code;
    wr_reply_free(reply);
    return code;
}

static void say_log(void *arg, char level, const char *line)
{
    (void)arg;
    if (level == 'E' || strstr(line, "search:"))
        fprintf(stderr, "%s\n", line);
}

static void open_db(struct live *l, uint64_t memory)
{
    struct wr_setting settings[] = {{"table_ops_per_s_max", "0"}};
    struct wr_options o = {.version = WR_API_VERSION,
                           .engine = "rocks",
                           .dir = l->dir,
                           .memory_bytes = memory,
                           .settings = settings,
                           .setting_count = 1,
                           .log = say_log};
    char message[256] = "";

    if (wr_open(&o, &l->db, message, sizeof(message))) {
        fprintf(stderr, "cannot open %s: %s\n", l->dir, message);
        exit(2);
    }
}

/* ---- rows ---- */

struct row {
    struct wr_key_column key;
    struct wr_cell cells[5];
    char tenth[4], name[16], text[WORDS * 8 + 1];
};

static int tenth_of(int64_t p)
{
    return (int)((uint64_t)p * 0x9E3779B97F4A7C15ull >> 33) % TENTHS;
}

static void row_make(struct row *r, struct rng *rng, int64_t p)
{
    size_t at = 0;

    snprintf(r->tenth, sizeof(r->tenth), "t%d", tenth_of(p));
    snprintf(r->name, sizeof(r->name), "name%d", (int)rng_below(rng, NAMES));
    for (int i = 0; i < WORDS; i++) {
        double u = rng_unit(rng);

        at += (size_t)snprintf(r->text + at, sizeof(r->text) - at, "w%d ",
                               (int)(u * u * u * VOCABULARY));
    }
    r->key = (struct wr_key_column){{"p", 1}, {.type = WR_BIGINT, .integer = p}};
    r->cells[0] = (struct wr_cell){.name = fields[0].name,
                                   .value = {.type = WR_VARCHAR, .bytes = bytes_str(r->tenth)}};
    r->cells[1] = (struct wr_cell){.name = fields[1].name,
                                   .value = {.type = WR_VARCHAR, .bytes = bytes_str(r->name)}};
    r->cells[2] = (struct wr_cell){
        .name = fields[2].name,
        .value = {.type = WR_BIGINT, .integer = (int64_t)rng_below(rng, 1000000000)}};
    r->cells[3] =
        (struct wr_cell){.name = fields[3].name, .value = {.type = WR_BIGINT, .integer = p}};
    r->cells[4] = (struct wr_cell){.name = fields[4].name,
                                   .value = {.type = WR_VARCHAR, .bytes = bytes_str(r->text)}};
    for (int i = 0; i < 5; i++)
        r->cells[i].timestamp_ms = WR_TIMESTAMP_NONE;
}

/* Rows from `first` on, or (negative) of all. */
static void write_rows(struct live *l, struct rng *rng, int64_t first, size_t count)
{
    static _Thread_local struct row rows[BATCH];
    static _Thread_local struct wr_row_change changes[BATCH];
    struct wr_table_write of = {table, changes, count};
    struct wr_request req = {WR_REQUEST(BATCH_WRITE_ROW)};

    for (size_t i = 0; i < count; i++) {
        row_make(&rows[i], rng,
                 first < 0 ? (int64_t)rng_below(rng, (uint64_t)l->rows) : first + (int64_t)i);
        changes[i] = (struct wr_row_change){
            .type = WR_PUT, .table = table, .row = {{&rows[i].key, 1}, rows[i].cells, 5}};
    }
    req.batch_write_row = (struct wr_batch_write_row){.tables = &of, .table_count = 1};
    while (run(l, &req))
        usleep(1000);
}

static void load(struct live *l)
{
    struct wr_request req = {WR_REQUEST(CREATE_TABLE)};
    double began = now_s();
    struct rng rng;

    rng_init(&rng, 1);
    req.create_table = (struct wr_create_table){
        .table = table,
        .key = key_schema,
        .key_count = 1,
        .options = {.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS, .ttl_s = -1, .max_versions = 1}};
    if (run(l, &req)) {
        fprintf(stderr, "CreateTable failed: the folder is to be a new one\n");
        exit(2);
    }
    for (int64_t p = 0; p < l->rows; p += BATCH)
        write_rows(l, &rng, p, l->rows - p < BATCH ? (size_t)(l->rows - p) : BATCH);
    printf("rows                 %" PRId64 " in %.1f s\n", l->rows, now_s() - began);
}

/* ---- the index ---- */

static bool follows(struct live *l)
{
    struct wr_request req = {WR_REQUEST(DESCRIBE_SEARCH_INDEX), .instance = {"bench", 5}};
    struct wr_reply *reply;
    bool is;

    req.describe_search_index = (struct wr_describe_search_index){.table = table, .index = by};
    reply = wr_exec(l->db, &req);
    is = !reply->code && reply->search_index.phase == WR_SEARCH_INCR;
    if (!reply->code && reply->search_index.status == WR_SEARCH_FAILED)
        fprintf(stderr, "%.*s\n", (int)reply->search_index.status_text.len,
                (const char *)reply->search_index.status_text.ptr);
    wr_reply_free(reply);
    return is;
}

static void build(struct live *l)
{
    struct wr_request req = {WR_REQUEST(CREATE_SEARCH_INDEX)};
    double began = now_s(), took;

    req.create_search_index = (struct wr_create_search_index){
        .table = table, .index = by, .schema = {.fields = fields, .field_count = 5}};
    if (run(l, &req))
        exit(2);
    while (!follows(l))
        usleep(100000);
    took = now_s() - began;
    printf("index built          %.1f s, %.0f rows/s; feed %.1f s, merges %.1f s of a processor; "
           "most memory %" PRIu64 " MiB of --memory %" PRIu64 "\n",
           took, (double)l->rows / took, thread_cpu_s("wr-search-feed"),
           thread_cpu_s("wr-search-merg"), status_kib("VmHWM:") >> 10, l->memory >> 20);
}

static const char *const kind_names[KINDS] = {
    "term of a tenth by a number", "match of two words by score",
    "match of a rare word",        "term of a name",
    "newest of a tenth",           "sum over a tenth",
    "group by the tenth"};

/* The total, or -1. */
static int64_t ask(struct live *l, enum kind kind, struct rng *rng, int *tenth)
{
    char text[64];
    struct wr_search_condition q = {.type = WR_SEARCH_TERM, .weight = 1, .field = fields[0].name};
    struct wr_sorter sorter = {.type = WR_SORTER_FIELD,
                               .field = fields[kind == NEWEST ? 3 : 2].name,
                               .order = WR_ORDER_DESC};
    struct wr_sorter score = {.type = WR_SORTER_SCORE, .order = WR_ORDER_DESC};
    struct wr_aggregation sum = {
        .name = BYTES_LIT("s"), .type = WR_AGG_SUM, .field = fields[2].name};
    struct wr_group_by group = {
        .name = BYTES_LIT("g"), .type = WR_GROUP_FIELD, .field = fields[0].name};
    struct wr_request req = {WR_REQUEST(SEARCH), .instance = {"bench", 5}};
    struct wr_search *s = &req.search;
    struct wr_reply *reply;
    int64_t total;

    *tenth = (int)rng_below(rng, TENTHS);
    snprintf(text, sizeof(text), "t%d", *tenth);
    *s = (struct wr_search){.table = table,
                            .index = by,
                            .query = &q,
                            .has_limit = true,
                            .limit = 10,
                            .track_total = kind == NEWEST ? -1 : INT32_MAX,
                            .columns = WR_SEARCH_COLUMNS_NONE};
    if (kind == BY_NUMBER || kind == NEWEST)
        s->sort = (struct wr_sort){.given = true, .sorters = &sorter, .count = 1};
    if (kind == MATCH || kind == PHRASE_LIKE) {
        q.type = WR_SEARCH_MATCH;
        q.field = fields[4].name;
        s->sort = (struct wr_sort){.given = true, .sorters = &score, .count = 1};
        if (kind == MATCH)
            snprintf(text, sizeof(text), "w%d w%d", (int)rng_below(rng, 2000),
                     (int)rng_below(rng, 2000));
        else
            snprintf(text, sizeof(text), "w%d", 15000 + (int)rng_below(rng, 5000));
    }
    if (kind == NAME) {
        q.field = fields[1].name;
        snprintf(text, sizeof(text), "name%d", (int)rng_below(rng, NAMES));
    }
    if (kind == GROUP) {
        q.type = WR_SEARCH_MATCH_ALL;
        s->group_bys = &group;
        s->group_by_count = 1;
        s->limit = 0;
    }
    if (kind == SUM) {
        s->aggregations = &sum;
        s->aggregation_count = 1;
        s->limit = 0;
    }
    if (q.type == WR_SEARCH_MATCH)
        q.match.text = bytes_str(text);
    else
        q.term = (struct wr_value){.type = WR_VARCHAR, .bytes = bytes_str(text)};
    reply = wr_exec(l->db, &req);
    total = reply->code ? -1 : kind == NEWEST ? 0 : reply->search.total;
    if (reply->code)
        fprintf(stderr, "%s: %s\n", kind_names[kind], reply->message);
    if (!reply->code && kind == GROUP && reply->search.group_bys[0].count != TENTHS)
        l->wrong = true;
    wr_reply_free(reply);
    return total;
}

static int compare_times(const void *a, const void *b)
{
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

/* The 99th percentile. */
static double say_times(const char *what, double *times, size_t count)
{
    if (!count)
        return 0;
    qsort(times, count, sizeof(times[0]), compare_times);
    printf("%-28s p50 %9.3f ms  p99 %9.3f ms  most %9.3f ms  (%zu)\n", what, times[count / 2] * 1e3,
           times[count * 99 / 100] * 1e3, times[count - 1] * 1e3, count);
    fflush(stdout);
    return times[count * 99 / 100];
}

static void query(struct live *l, bool compare, double p99[KINDS])
{
    double *times = malloc(sizeof(times[0]) * (size_t)l->queries);
    struct rng rng;

    rng_init(&rng, 2);
    for (enum kind kind = 0; kind < KINDS; kind++) {
        for (int i = 0; i < l->queries; i++) {
            double began = now_s();
            int tenth;
            int64_t total = ask(l, kind, &rng, &tenth);

            times[i] = now_s() - began;
            if (total < 0 || (compare && kind == BY_NUMBER && total != l->tenths[tenth]) ||
                (compare && kind == GROUP && total != l->rows)) {
                fprintf(stderr, "%s: %" PRId64 " are found, and %" PRId64 " are there\n",
                        kind_names[kind], total, l->tenths[tenth]);
                l->wrong = true;
            }
        }
        p99[kind] = say_times(kind_names[kind], times, (size_t)l->queries);
    }
    printf("resident             %" PRIu64 " MiB, at most %" PRIu64 "\n",
           status_kib("VmRSS:") >> 10, status_kib("VmHWM:") >> 10);
    free(times);
}

/* ---- updates ---- */

static void *update(void *arg)
{
    struct live *l = arg;
    size_t count = (size_t)l->rate * TURN_US / 1000000;
    double next = now_s();
    struct rng rng;

    rng_init(&rng, 3);
    while (!atomic_load(&l->stop)) {
        write_rows(l, &rng, -1, count);
        atomic_fetch_add(&l->updates, (long long)count);
        next += TURN_US / 1e6;
        if (next > now_s())
            usleep((useconds_t)((next - now_s()) * 1e6));
    }
    return NULL;
}

static void *ask_meanwhile(void *arg)
{
    struct live *l = arg;
    size_t count = 0, room = (size_t)l->seconds * 100;
    double *times = malloc(sizeof(times[0]) * room);
    struct rng rng;

    rng_init(&rng, 4);
    while (!atomic_load(&l->stop) && count < room) {
        double began = now_s();
        int tenth;

        if (ask(l, (enum kind)rng_below(&rng, KINDS), &rng, &tenth) < 0)
            l->wrong = true;
        times[count++] = now_s() - began;
        usleep(20000);
    }
    *(l->idle ? &l->idle_p99 : &l->beside_p99) =
        say_times(l->idle ? "searches, no updates" : "searches, all kinds", times, count);
    free(times);
    return NULL;
}

/* From the answer to a put until a search finds the row. */
static double probe(struct live *l, struct rng *rng, int64_t n)
{
    struct row row;
    struct wr_search_condition q = {.type = WR_SEARCH_TERM, .weight = 1, .field = fields[3].name};
    struct wr_request put = {WR_REQUEST(PUT_ROW)}, find = {WR_REQUEST(SEARCH)};
    double began;
    int64_t total = 0;

    row_make(&row, rng, l->rows + n);
    put.put_row = (struct wr_row_change){
        .type = WR_PUT, .table = table, .row = {{&row.key, 1}, row.cells, 5}};
    while (run(l, &put))
        usleep(1000);
    began = now_s();
    q.term = row.cells[3].value;
    while (!total) {
        struct wr_reply *reply;

        find.instance = (struct wr_bytes){"bench", 5};
        find.search = (struct wr_search){.table = table,
                                         .index = by,
                                         .query = &q,
                                         .has_limit = true,
                                         .track_total = INT32_MAX,
                                         .columns = WR_SEARCH_COLUMNS_NONE};
        reply = wr_exec(l->db, &find);
        total = reply->code ? 0 : reply->search.total;
        wr_reply_free(reply);
        if (!total)
            usleep(LOOK_US);
    }
    l->tenths[tenth_of(l->rows + n)]++;
    return now_s() - began;
}

/* The searches that go on beside updates later, by themselves. */
static void ask_idle(struct live *l)
{
    pthread_t asker;

    l->idle = true;
    pthread_create(&asker, NULL, ask_meanwhile, l);
    sleep((unsigned)l->seconds);
    atomic_store(&l->stop, true);
    pthread_join(asker, NULL);
    atomic_store(&l->stop, false);
    l->idle = false;
}

static void follow(struct live *l)
{
    size_t room = (size_t)l->seconds * 1000000 / PROBE_US + 2, count = 0;
    double *lags = malloc(sizeof(lags[0]) * room), began = now_s(), feed, merge, took;
    pthread_t updater, asker;
    struct rng rng;

    rng_init(&rng, 5);
    feed = thread_cpu_s("wr-search-feed");
    merge = thread_cpu_s("wr-search-merg");
    pthread_create(&updater, NULL, update, l);
    pthread_create(&asker, NULL, ask_meanwhile, l);
    while (now_s() - began < l->seconds && count < room) {
        lags[count] = probe(l, &rng, (int64_t)count);
        count++;
        usleep(PROBE_US);
    }
    took = now_s() - began;
    feed = thread_cpu_s("wr-search-feed") - feed;
    merge = thread_cpu_s("wr-search-merg") - merge;
    atomic_store(&l->stop, true);
    pthread_join(updater, NULL);
    pthread_join(asker, NULL);
    say_times("lag of a change", lags, count);
    printf("updates              %.0f/s; feed %.3f, merges %.3f of a processor\n",
           (double)l->updates / took, feed / took, merge / took);
    printf("beside updates       p99 of searches %.2f times that without\n",
           l->beside_p99 / l->idle_p99);
    l->rows += (int64_t)count;
    free(lags);
}

static void reopen(struct live *l)
{
    double began;
    struct rng rng;
    int tenth;

    wr_close(l->db);
    began = now_s();
    open_db(l, l->resident ? l->resident : l->memory);
    printf("opened again         after %.3f s", now_s() - began);
    rng_init(&rng, 6);
    began = now_s();
    while (ask(l, GROUP, &rng, &tenth) < 0)
        usleep(1000);
    printf(", the first search answered %.3f s later\n", now_s() - began);
}

/* All of it is in memory, and was asked for before. */
static void compare_resident(struct live *l)
{
    double p99[KINDS];

    query(l, true, p99);
    for (enum kind kind = 0; kind < KINDS; kind++)
        printf("%-28s p99 with %" PRIu64 " MiB is %.2f times that with %" PRIu64 " MiB\n",
               kind_names[kind], l->memory / MIB, l->p99[kind] / p99[kind], l->resident / MIB);
}

int main(int argc, char **argv)
{
    double again[KINDS];
    struct live l = {
        .rows = 500000, .memory = 512 * MIB, .queries = 100, .rate = 1000, .seconds = 30};

    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--dir") == 0)
            l.dir = argv[i + 1];
        else if (strcmp(argv[i], "--rows") == 0)
            l.rows = atoll(argv[i + 1]);
        else if (strcmp(argv[i], "--memory") == 0)
            l.memory = strtoull(argv[i + 1], NULL, 10) * MIB;
        else if (strcmp(argv[i], "--resident") == 0)
            l.resident = strtoull(argv[i + 1], NULL, 10) * MIB;
        else if (strcmp(argv[i], "--queries") == 0)
            l.queries = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--rate") == 0)
            l.rate = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--seconds") == 0)
            l.seconds = atoi(argv[i + 1]);
    }
    if (!l.dir || l.rows < BATCH || l.queries < 1 || l.rate < 20 || l.rate > 4000) {
        fprintf(stderr, "usage: search_live --dir DIR [--rows N] [--memory MIB] [--queries N] "
                        "[--rate UPDATES_S] [--seconds S] [--resident MIB]\n");
        return 2;
    }
    for (int64_t p = 0; p < l.rows; p++)
        l.tenths[tenth_of(p)]++;
    open_db(&l, l.memory);
    load(&l);
    build(&l);
    query(&l, true, l.p99);
    if (l.seconds) {
        ask_idle(&l);
        follow(&l);
    }
    reopen(&l);
    query(&l, true, again);
    if (l.resident)
        compare_resident(&l);
    wr_close(l.db);
    return l.wrong;
}
