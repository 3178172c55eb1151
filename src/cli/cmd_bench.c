/* cmd_bench.c: `widerow bench`: loads records, runs one workload on them, says how fast it went. */
#include "bench/bench_front.h"
#include "bench/bench_shard.h"
#include "cli/command.h"
#include "cli/console/progress.h"

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#define LOAD_CONNECTIONS 4

struct bench_options {
    const char *table;
    const char *keys;
    uint64_t records, seconds, ops, connections, rate;
    uint64_t fields, field_bytes, wide_columns, cell_bytes, indexes;
    bool stream, json, quiet;
};

#define ROW(name, value, help, kind, member, min, max)                                             \
    {                                                                                              \
        name, value, help, kind, offsetof(struct bench_options, member), min, max                  \
    }

static const struct option_row bench_rows[] = {
    ROW("records", "N", "rows of --fields columns (default 100000); loaded if missing",
        OPTION_COUNT, records, 1, 1000000000),
    ROW("fields", "N", "columns of a record (default 10)", OPTION_COUNT, fields, 1,
        BENCH_COLUMNS_MAX),
    ROW("field-bytes", "N", "bytes of each (default 100)", OPTION_COUNT, field_bytes, 1,
        BENCH_COLUMN_BYTES_MAX),
    ROW("wide-columns", "N", "columns of the wide row (default 100000)", OPTION_COUNT, wide_columns,
        1, 10000000),
    ROW("cell-bytes", "N", "bytes of a big cell (default 1048576)", OPTION_COUNT, cell_bytes, 1,
        64u << 20),
    ROW("seconds", "S", "how long (default 10)", OPTION_COUNT, seconds, 1, 86400),
    ROW("ops", "N", "how many requests, however long it takes", OPTION_COUNT, ops, 1, UINT64_MAX),
    ROW("connections", "N", "requests under way at a time (default 64)", OPTION_COUNT, connections,
        1, 10000),
    ROW("rate", "R",
        "start R requests a second, free connection or not, and count a request's time from when "
        "it was due (default: each connection asks again once it is answered)",
        OPTION_COUNT, rate, 1, 10000000),
    ROW("keys", "uniform|zipfian", "how records are chosen (default: as the workload says)",
        OPTION_TEXT, keys, 0, 0),
    ROW("table", "T",
        "the table (default: bench, or bench_ and what the workload needs); made if missing",
        OPTION_TEXT, table, 0, 0),
    ROW("indexes", "N", "a table that is made has global indexes of its first N columns",
        OPTION_COUNT, indexes, 0, BENCH_INDEXES_MAX),
    ROW("stream", NULL, "a table that is made has a stream", OPTION_FLAG, stream, 0, 0),
    ROW("json", NULL, "the result as one line of JSON", OPTION_FLAG, json, 0, 0),
    ROW("quiet", NULL, "no progress", OPTION_FLAG, quiet, 0, 0),
    {0},
};

static void bench_defaults(void *options)
{
    *(struct bench_options *)options = (struct bench_options){.records = 100000,
                                                              .fields = BENCH_COLUMNS,
                                                              .field_bytes = BENCH_COLUMN_BYTES,
                                                              .wide_columns = 100000,
                                                              .cell_bytes = 1 << 20,
                                                              .seconds = 10,
                                                              .connections = 64};
}

static int run_load(struct ctx *c, struct bench_load *l, const struct target *t)
{
    return t->db ? bench_run_local(c, l, t) : bench_run_http(c, l, t);
}

/* ---- before the run */

static int load(struct ctx *c, const struct bench_conf *conf, const struct target *t, bool json)
{
    struct bench_load *l = mem_alloc(sizeof(*l));
    struct bench_conf loading = *conf;
    double seconds;
    int code;

    loading.ops = bench_loader_ops(conf);
    loading.mix = bench_mix_loader(conf->mix->needs);
    loading.choice = BENCH_UNIFORM;
    loading.rate = 0;
    loading.connections = LOAD_CONNECTIONS;
    bench_load_init(l, &loading, c->clock);
    code = run_load(c, l, t);
    seconds = (double)(l->end_us - l->start_us + 1) / 1e6;
    if (code == 0 && l->errors)
        code = fail(c, WR_E_BUSY, "%llu requests of the load were refused; run it again",
                    (unsigned long long)l->errors);
    if (code == 0 && !json && conf->mix->needs == BENCH_NEEDS_RECORDS)
        printf("loaded %llu records in %.1f s\n", (unsigned long long)conf->records, seconds);
    bench_load_release(l);
    mem_free(l);
    return code;
}

/* Loads what the workload needs unless the last of it is there. Makes the table if there is none.
 */
static int prepare(struct ctx *c, struct client *cl, const struct bench_conf *conf, bool json)
{
    struct wr_request request;
    struct wr_reply reply;
    int code;

    bench_probe_request(conf, c, &request);
    code = client_exec(c, cl, &request, &reply);
    if (code == WR_E_NOT_EXIST) {
        ctx_clear(c);
        bench_table_request(conf, c, &request);
        TRY(client_exec(c, cl, &request, &reply));
    } else if (code) {
        return code;
    } else if (reply.row.row.key.count && reply.row.row.cell_count) {
        return 0;
    }
    return load(c, conf, cl->target, json);
}

/* ---- the result */

static void print_latency(const char *name, const struct bench_hist *h)
{
    char count[PROGRESS_TEXT];

    if (h->count)
        printf("%-13s %14s %9.3f %9.3f %9.3f %9.3f %9.3f %9.3f\n", name,
               progress_format_count(h->count, count), (double)h->sum_us / (double)h->count / 1e3,
               (double)bench_hist_at(h, 0.5) / 1e3, (double)bench_hist_at(h, 0.9) / 1e3,
               (double)bench_hist_at(h, 0.99) / 1e3, (double)bench_hist_at(h, 0.999) / 1e3,
               (double)h->max_us / 1e3);
}

static void print_text(const struct bench_load *l, double seconds, double cpu_us)
{
    char rate[PROGRESS_TEXT], rows[PROGRESS_TEXT];

    printf("%s: %s requests/s, %s rows/s; %.1f s, %llu connections, %llu errors\n",
           l->conf.mix->name,
           progress_format_count((uint64_t)((double)l->finished / seconds), rate),
           progress_format_count((uint64_t)((double)l->rows / seconds), rows), seconds,
           (unsigned long long)l->conf.connections, (unsigned long long)l->errors);
    printf("this process used %.1f us of CPU a request\n", cpu_us);
    if (l->conf.rate)
        printf("asked for %llu requests/s; %llu that were due were never started\n",
               (unsigned long long)l->conf.rate, (unsigned long long)l->late);
    printf("%-13s %14s %9s %9s %9s %9s %9s %9s ms\n", "", "count", "mean", "p50", "p90", "p99",
           "p99.9", "max");
    for (int k = 0; k < BENCH_KINDS; k++)
        print_latency(bench_kind_name((enum bench_kind)k), &l->hist[k]);
}

static void print_json(const struct bench_load *l, double seconds, double cpu_us)
{
    const char *comma = "";

    printf("{\"workload\":\"%s\",\"connections\":%llu,\"records\":%llu,\"rate\":%llu,"
           "\"seconds\":%.3f,\"ops\":%llu,\"ops_per_s\":%.1f,\"rows_per_s\":%.1f,"
           "\"errors\":%llu,\"late\":%llu,\"client_cpu_us_per_op\":%.2f,\"latency_us\":{",
           l->conf.mix->name, (unsigned long long)l->conf.connections,
           (unsigned long long)l->conf.records, (unsigned long long)l->conf.rate, seconds,
           (unsigned long long)l->finished, (double)l->finished / seconds,
           (double)l->rows / seconds, (unsigned long long)l->errors, (unsigned long long)l->late,
           cpu_us);
    for (int k = 0; k < BENCH_KINDS; k++) {
        const struct bench_hist *h = &l->hist[k];

        if (!h->count)
            continue;
        printf("%s\"%s\":{\"count\":%llu,\"mean\":%.1f,\"p50\":%llu,\"p90\":%llu,\"p99\":%llu,"
               "\"p999\":%llu,\"max\":%llu}",
               comma, bench_kind_name((enum bench_kind)k), (unsigned long long)h->count,
               (double)h->sum_us / (double)h->count, (unsigned long long)bench_hist_at(h, 0.5),
               (unsigned long long)bench_hist_at(h, 0.9),
               (unsigned long long)bench_hist_at(h, 0.99),
               (unsigned long long)bench_hist_at(h, 0.999), (unsigned long long)h->max_us);
        comma = ",";
    }
    printf("}}\n");
}

/* ---- the command */

static int read_conf(struct ctx *c, const char *workload, const struct bench_options *o,
                     struct bench_conf *out)
{
    *out = (struct bench_conf){.mix = bench_mix_find(workload),
                               .records = o->records,
                               .columns = (uint32_t)o->fields,
                               .column_bytes = (uint32_t)o->field_bytes,
                               .wide_columns = (uint32_t)o->wide_columns,
                               .cell_bytes = (uint32_t)o->cell_bytes,
                               .ops = o->ops,
                               .seconds = o->seconds,
                               .connections = o->connections,
                               .rate = o->rate,
                               .indexes = (uint32_t)o->indexes,
                               .stream = o->stream,
                               .progress = !o->quiet && isatty(STDERR_FILENO)};
    if (!out->mix)
        return fail(c, WR_E_PARAMETER, "no workload '%s'; --help lists them", workload);
    out->table = bytes_str(o->table ? o->table : bench_table_name(out->mix->needs));
    if (out->mix->needs == BENCH_NEEDS_INDEX && !out->indexes)
        out->indexes = 1;
    out->stream |= out->mix->needs == BENCH_NEEDS_STREAM;
    if (out->indexes > out->columns)
        return fail(c, WR_E_PARAMETER, "--indexes is %u and --fields %u; an index is of a column",
                    out->indexes, out->columns);
    if (o->fields * o->field_bytes > BENCH_ROW_BYTES_MAX)
        return fail(c, WR_E_PARAMETER, "a record of %llu x %llu bytes is over %u",
                    (unsigned long long)o->fields, (unsigned long long)o->field_bytes,
                    BENCH_ROW_BYTES_MAX);
    out->choice = out->mix->choice;
    if (o->keys && strcmp(o->keys, "uniform") == 0)
        out->choice = BENCH_UNIFORM;
    else if (o->keys && strcmp(o->keys, "zipfian") == 0)
        out->choice = BENCH_ZIPFIAN;
    else if (o->keys)
        return fail(c, WR_E_PARAMETER, "--keys is uniform or zipfian, not '%s'", o->keys);
    return 0;
}

static double cpu_seconds(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static int bench(struct ctx *c, struct client *cl, struct cli *cli, void *options)
{
    const struct bench_options *o = options;
    struct bench_conf conf;
    struct bench_load *l;
    double seconds, cpu;
    int code;

    TRY(read_conf(c, cli->argv[0], o, &conf));
    TRY(prepare(c, cl, &conf, o->json));
    if (strcmp(conf.mix->name, "load") == 0)
        return 0;
    if (conf.mix->needs == BENCH_NEEDS_STREAM)
        TRY(bench_shard_read(c, cl, conf.table, &conf.iterators, &conf.iterator_count));
    l = mem_alloc(sizeof(*l));
    bench_load_init(l, &conf, c->clock);
    cpu = cpu_seconds();
    code = run_load(c, l, cl->target);
    seconds = (double)(l->end_us - l->start_us + 1) / 1e6;
    cpu = (cpu_seconds() - cpu) * 1e6 / (double)(l->finished ? l->finished : 1);
    if (code == 0)
        (o->json ? print_json : print_text)(l, seconds, cpu);
    bench_load_release(l);
    mem_free(l);
    return code;
}

const struct command command_bench = {
    .name = "bench",
    .group = GROUP_OTHER,
    .args = "WORKLOAD",
    .summary = "measure how fast a server (or with --dir the library) is",
    .text = "Workloads, on a table of its own:\n"
            "  read     GetRow\n"
            "  write    PutRow over records that are there\n"
            "  insert   PutRow of new records\n"
            "  range    GetRange, full pages\n"
            "  batch    BatchWriteRow of 200 records\n"
            "  hot      increments of one row\n"
            "  load     only load the records\n"
            "  increment                    increments of records\n"
            "  narrow-read, narrow-update   one column of one record\n"
            "  wide-read, wide-update       one column of one row of --wide-columns\n"
            "  update-other                 UpdateRow of a column that no index has (--indexes)\n"
            "  index-range                  GetRange of an index, full pages\n"
            "  stream-read                  GetStreamRecord of one shard, full answers\n"
            "  transaction                  three PutRows and a GetRow of a partition-key value\n"
            "  cell-read, cell-write        a row with one cell of --cell-bytes\n"
            "  ycsb-a   half reads, half updates of one column (zipfian)\n"
            "  ycsb-b   95 % reads, 5 % updates (zipfian)\n"
            "  ycsb-c   reads (zipfian)\n"
            "  ycsb-d   95 % reads of what is new, 5 % inserts\n"
            "  ycsb-e   95 % ranges of up to 100 records, 5 % inserts (zipfian)\n"
            "  ycsb-f   half reads, half reads followed by an update (zipfian)\n"
            "The first run loads the table; `widerow drop bench` removes it.",
    .example = "widerow bench read --seconds 10",
    .options = bench_rows,
    .options_size = sizeof(struct bench_options),
    .defaults = bench_defaults,
    .argc_min = 1,
    .argc_max = 1,
    .makes_folder = true,
    .run_connected = bench,
};
