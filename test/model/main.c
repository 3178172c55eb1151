/* main.c: the model test: random requests to a database and to an oracle, answers compared.
 *
 * A run is cut into rounds of ROUND_OPS requests, each with a fresh database, a seed of its own and
 * settings that follow from the seed. So any failure repeats within one round:
 *     build/test/model --engine mem --seed S --ops N
 * At the first difference the round's requests are cut down to the few that matter, and all goes to
 * test/model/found/. */
#include "generate.h"
#include "run.h"
#include "show.h"
#include "shrink.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROUND_OPS 10000
#define REOPEN_OPS 4500 /* on average */
#define CHECK_OPS 1500
#define SHRINK_S 20
#define FOUND_DIR "test/model/found"

struct conf {
    const char *engine;
    uint64_t seed;
    uint64_t ops;
    bool wide; /* in every round */
    bool layouts;
    bool clock;
    bool indexes;
    bool txns;
    int sql;
    bool no_sync;
    int threads;
    bool show_mix;
    struct run_mix *mix; /* of all rounds */
};

/* One round's requests, kept for shrinking. */
struct round {
    const struct conf *conf;
    uint64_t seed;
    uint64_t ops;
    int64_t start_ms;
    struct run run;
    struct generator gen;
    struct arena arena;
    const struct wr_request **requests;
    size_t count;
};

static struct run_conf run_conf_of(const struct conf *conf, uint64_t seed)
{
    return (struct run_conf){.engine = conf->engine,
                             .no_sync = conf->no_sync,
                             .wide = conf->wide || (seed & 1) != 0,
                             .layouts = conf->layouts,
                             .clock = conf->clock,
                             .indexes = conf->indexes,
                             .txns = conf->txns,
                             .sql = conf->sql,
                             .tight = (seed & 2) != 0};
}

/* ---- reporting ---- */

static bytes table_of(const struct wr_request *req)
{
    switch (req->op) {
    case WR_OP_BATCH_WRITE_ROW:
    case WR_OP_BATCH_GET_ROW:
    case WR_OP_LIST_TABLE:
        return BYTES_NONE;
    case WR_OP_CREATE_TABLE:
        return req->create_table.table;
    case WR_OP_UPDATE_TABLE:
        return req->update_table.table;
    case WR_OP_GET_RANGE:
        return req->get_range.table;
    case WR_OP_BULK_EXPORT:
        return req->bulk_export.table;
    case WR_OP_BULK_IMPORT:
        return req->bulk_import.table.table;
    case WR_OP_START_LOCAL_TRANSACTION:
        return req->start_local_transaction.table;
    case WR_OP_COMMIT_TRANSACTION:
    case WR_OP_ABORT_TRANSACTION:
        return BYTES_NONE;
    case WR_OP_GET_ROW:
        return req->get_row.table;
    case WR_OP_PUT_ROW:
    case WR_OP_UPDATE_ROW:
    case WR_OP_DELETE_ROW:
        return req->put_row.table;
    default:
        return req->delete_table.table;
    }
}

/* "t1" and its index "t1_a" belong together. */
static bool go_together(bytes a, bytes b)
{
    size_t n = a.len < b.len ? a.len : b.len;

    if (a.len != b.len && n == 2)
        a.len = b.len = n;
    return bytes_equal(a, b);
}

/* Those that have to do with the table of the last one, batches included. */
static size_t keep_table(const struct wr_request **requests, size_t count,
                         const struct wr_request **out)
{
    bytes table = table_of(requests[count - 1]);
    size_t n = 0;

    for (size_t i = 0; i < count; i++) {
        bytes other = table_of(requests[i]);

        if (!table.ptr || !other.ptr || go_together(table, other))
            out[n++] = requests[i];
    }
    return n;
}

static void write_found(struct round *r, FILE *out, const char *text)
{
    struct run_conf conf = run_conf_of(r->conf, r->seed);
    const struct wr_request **kept = mem_alloc((r->count + 1) * sizeof(*kept));
    size_t n = keep_table(r->requests, r->count, kept);

    fprintf(out, "build/test/model --engine %s --seed %" PRIu64 " --ops %zu%s%s%s%s%s\n",
            r->conf->engine, r->seed, r->count, r->conf->wide ? " --wide" : "",
            r->conf->layouts ? " --layouts" : "", r->conf->indexes ? " --indexes" : "",
            r->conf->txns ? " --txns" : "", r->conf->no_sync ? " --no-sync" : "");
    fprintf(out, "settings:%s%s\n\n%s\n", conf.wide ? " wide" : "", conf.tight ? " tight" : "",
            text);
    n = shrink(&conf, kept, n, SHRINK_S);
    if (!n) { /* it was seen by a last look, and at another table */
        memcpy(kept, r->requests, r->count * sizeof(*kept));
        n = shrink(&conf, kept, r->count, SHRINK_S);
    }
    if (n)
        fprintf(out, "%zu requests that show a difference:\n\n", n);
    else
        fputs("Does not show again on a fresh database.\n", out);
    for (size_t i = 0; i < n; i++)
        show_request(out, kept[i]);
    mem_free(kept);
}

static void report(struct round *r, const char *text)
{
    char path[200];
    FILE *out;

    printf("seed %" PRIu64 ", request %zu\n%s", r->seed, r->count, text);
    fflush(stdout);
    mkdir(FOUND_DIR, 0777);
    snprintf(path, sizeof(path), FOUND_DIR "/%" PRIu64 "-%zu.txt", r->seed, r->count);
    out = fopen(path, "w");
    if (!out) {
        perror(path);
        return;
    }
    write_found(r, out, text);
    fclose(out);
    printf("written to %s\n", path);
}

static void mix_join(const struct conf *conf, const struct run_mix *mix)
{
    conf->mix->by_sql += mix->by_sql;
    for (int op = 0; op < WR_OP_COUNT; op++)
        for (size_t code = 0; code < PORT_COUNT(mix->count[0]); code++)
            conf->mix->count[op][code] += mix->count[op][code];
}

static void mix_show(const struct run_mix *mix)
{
    static const char *const names[] = {
#define OP(constant, ...) #constant,
#include "op.def"
    };

    for (int op = 0; op < WR_OP_COUNT; op++)
        for (size_t code = 0; code < PORT_COUNT(mix->count[0]); code++)
            if (mix->count[op][code])
                printf("%-16s %-28s %" PRIu64 "\n", names[op],
                       code ? wr_error_name((int)code) : "ok", mix->count[op][code]);
}

/* ---- a round ---- */

static bool round_step(struct round *r, FILE *text)
{
    struct wr_request *req = ARENA_NEW(&r->arena, struct wr_request);

    generator_next(&r->gen, &r->arena, req);
    r->requests[r->count++] = req;
    if (!run_exchange(&r->run, req, text))
        return false;
    if (rng_below(&r->gen.rng, r->conf->clock ? REOPEN_OPS / 10 : REOPEN_OPS) == 0) {
        if (!run_reopen(&r->run)) {
            fprintf(text, "reopening: %s\n", r->run.why);
            return false;
        }
        if (!run_check_all(&r->run, text))
            return false;
    }
    return rng_below(&r->gen.rng, CHECK_OPS) != 0 || run_check_all(&r->run, text);
}

/* Returns the number of requests that passed; *failed tells of a difference. */
static uint64_t round_run(const struct conf *conf, uint64_t seed, uint64_t ops, bool *failed)
{
    struct round r = {.conf = conf, .seed = seed, .ops = ops, .start_ms = run_now_ms()};
    struct run_conf rc = run_conf_of(conf, seed);
    uint64_t passed;
    char *text = NULL;
    size_t text_size;
    FILE *out = open_memstream(&text, &text_size);

    run_open(&r.run, &rc);
    generator_init(&r.gen, seed, r.run.o, r.start_ms, -1, rc.wide);
    r.gen.indexed = rc.indexes;
    r.gen.scalars = rc.indexes && !rc.sql; /* SQL's answers are compared for the others alone */
    r.gen.txns = rc.txns;
    arena_init(&r.arena, NULL, 0);
    r.requests = mem_alloc((ops + 1) * sizeof(*r.requests));
    while (r.count < ops && !*failed)
        *failed = !round_step(&r, out);
    if (!*failed)
        *failed = !run_check_all(&r.run, out);
    fclose(out);
    if (*failed)
        report(&r, text);
    passed = r.run.passed;
    mix_join(conf, &r.run.mix);
    run_close(&r.run);
    arena_release(&r.arena);
    mem_free(r.requests);
    free(text);
    return passed;
}

/* ---- threads ---- */

struct worker {
    pthread_t thread;
    struct run run;
    struct generator gen;
    uint64_t ops;
    bool failed;
    char *text;
};

static void *work(void *arg)
{
    struct worker *w = arg;
    size_t size;
    FILE *out = open_memstream(&w->text, &size);
    struct arena a;
    struct wr_request req;

    for (uint64_t i = 0; i < w->ops && !w->failed; i++) {
        arena_init(&a, NULL, 0);
        generator_next(&w->gen, &a, &req);
        w->failed = !run_exchange(&w->run, &req, out);
        arena_release(&a);
    }
    fclose(out);
    return NULL;
}

/* The same tables in the database and in every worker's oracle. */
static void make_tables(struct round *r, struct worker *workers, int count)
{
    for (int i = 0; i < GENERATE_TABLES; i++) {
        struct wr_request req;
        struct wr_reply ignored, ok = {.op = WR_OP_CREATE_TABLE};

        generator_create(&r->gen, &r->arena, i, &req);
        if (!run_exchange(&r->run, &req, stdout))
            exit(1);
        for (int k = 0; k < count; k++)
            oracle_answer(workers[k].run.o, &req, &ok, r->start_ms, &r->arena, &ignored);
    }
}

/* Threads on disjoint keys of the same tables. */
static uint64_t round_threads(const struct conf *conf, uint64_t seed, uint64_t ops, bool *failed)
{
    struct round r = {.conf = conf, .seed = seed, .start_ms = run_now_ms()};
    struct run_conf rc = run_conf_of(conf, seed);
    struct worker *workers = mem_zalloc(sizeof(*workers) * (size_t)conf->threads);
    uint64_t passed = 0;

    run_open(&r.run, &rc);
    generator_init(&r.gen, seed, r.run.o, r.start_ms, -1, rc.wide);
    arena_init(&r.arena, NULL, 0);
    for (int i = 0; i < conf->threads; i++) {
        run_share(&workers[i].run, &r.run);
        generator_init(&workers[i].gen, seed * 1000 + (uint64_t)i, workers[i].run.o, r.start_ms, i,
                       rc.wide);
        workers[i].ops = ops / (uint64_t)conf->threads;
    }
    make_tables(&r, workers, conf->threads);
    for (int i = 0; i < conf->threads; i++)
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    for (int i = 0; i < conf->threads; i++) {
        pthread_join(workers[i].thread, NULL);
        if (workers[i].failed)
            printf("seed %" PRIu64 ", thread %d of %d\n%s", seed, i, conf->threads,
                   workers[i].text);
        *failed = *failed || workers[i].failed;
        passed += workers[i].run.passed;
        mix_join(conf, &workers[i].run.mix);
        run_close(&workers[i].run);
        free(workers[i].text);
    }
    run_close(&r.run);
    arena_release(&r.arena);
    mem_free(workers);
    return passed;
}

/* ---- command line ---- */

static void usage(void)
{
    fputs("model [--engine mem|rocks|rados] [--seed S] [--ops N] [--wide] [--layouts] [--indexes] "
          "[--txns] [--sql PERCENT] "
          "[--no-sync] "
          "[--threads N]\n"
          "      [--clock] sets the wall clock forth and back by up to 50 minutes, also over a "
          "reopening\n"
          "      [--sql]   says so many of a hundred requests in SQL, where it can\n"
          "      [--mix]   shows how often which answer came\n",
          stderr);
    exit(2);
}

static struct conf parse(int argc, char **argv)
{
    struct conf conf = {.engine = "mem", .ops = 20000};

    rng_secret(&conf.seed, sizeof(conf.seed));
    conf.seed >>= 24; /* short enough to type */
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i], *value = argv[i + 1];

        if (!strcmp(name, "--wide")) {
            conf.wide = true;
            continue;
        }
        if (!strcmp(name, "--layouts")) {
            conf.layouts = true;
            continue;
        }
        if (!strcmp(name, "--indexes")) {
            conf.indexes = true;
            continue;
        }
        if (!strcmp(name, "--txns")) {
            conf.txns = true;
            continue;
        }
        if (!strcmp(name, "--clock")) {
            conf.clock = true;
            continue;
        }
        if (!strcmp(name, "--no-sync")) {
            conf.no_sync = true;
            continue;
        }
        if (!strcmp(name, "--mix")) {
            conf.show_mix = true;
            continue;
        }
        if (!value)
            usage();
        if (!strcmp(name, "--engine"))
            conf.engine = value;
        else if (!strcmp(name, "--seed"))
            conf.seed = strtoull(value, NULL, 10);
        else if (!strcmp(name, "--ops"))
            conf.ops = strtoull(value, NULL, 10);
        else if (!strcmp(name, "--sql"))
            conf.sql = atoi(value);
        else if (!strcmp(name, "--threads"))
            conf.threads = atoi(value);
        else
            usage();
        i++;
    }
    if (conf.threads < 0 || conf.threads > 20 ||
        (conf.threads && (conf.clock || conf.indexes || conf.txns || conf.sql)) ||
        (conf.sql && conf.txns)) /* what is locked is waited for by SQL */
        usage();
    return conf;
}

int main(int argc, char **argv)
{
    struct conf conf = parse(argc, argv);
    struct run_mix mix = {0};
    int64_t start_ms = run_now_ms(), spent_ms;
    uint64_t passed = 0;
    bool failed = false;

    conf.mix = &mix;
    printf("seed %" PRIu64 "\n", conf.seed);
    fflush(stdout);
    for (uint64_t done = 0, i = 0; done < conf.ops && !failed; i++) {
        uint64_t ops = conf.ops - done < ROUND_OPS ? conf.ops - done : ROUND_OPS;

        passed += conf.threads ? round_threads(&conf, conf.seed + i, ops, &failed)
                               : round_run(&conf, conf.seed + i, ops, &failed);
        done += ops;
    }
    spent_ms = run_now_ms() - start_ms;
    if (conf.show_mix)
        mix_show(&mix);
    if (conf.sql)
        printf("%" PRIu64 " requests by SQL\n", mix.by_sql);
    printf("%" PRIu64 " operations in %.1f s, %.0f a second\n", passed, (double)spent_ms / 1000,
           (double)passed * 1000 / (double)(spent_ms > 0 ? spent_ms : 1));
    printf("model-%s: %" PRIu64 " passed, %d failed, 0 skipped\n", conf.engine, passed, failed);
    return failed ? 1 : 0;
}
