/* cmd_import.c: `widerow import`: reads a file of CSV, and hands rows to the loader's workers.
 *
 * This thread reads, checks and converts, so that bad lines are found in the order of the file; the
 * workers only send. Types that nobody has said are guessed from the first lines, which are read
 * ahead, kept, and taken again. */
#include "cli/command.h"
#include "cli/loader.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define GUESS_LINES 1000
#define GUESS_BYTES_MAX (8 << 20)
#define BATCH_BYTES (4u << 20)
#define BATCH_SPARE_BYTES (256u << 10) /* for what the limits do not count */

struct import_options {
    const char *table, *key, *columns, *acked;
    uint64_t workers, window, batch, max_errors, retry_s, seed;
    bool shuffle, create, quiet;
};

#define AT(member) offsetof(struct import_options, member)
static const struct option_row import_rows[] = {
    {"table", "TABLE", "the table to load", OPTION_TEXT, AT(table), 0, 0},
    {"key", "COL[:type],...",
     "key columns in order (types: integer, string, binary); default: the "
     "table's key",
     OPTION_TEXT, AT(key), 0, 0},
    {"columns", "COL[:type],...",
     "attribute columns (types: integer, double, string, boolean, "
     "binary); default: all others",
     OPTION_TEXT, AT(columns), 0, 0},
    {"create", NULL, "make the table if it is missing", OPTION_FLAG, AT(create), 0, 0},
    {"workers", "N", "connections that write at the same time (default 8)", OPTION_COUNT,
     AT(workers), 1, 256},
    {"shuffle", NULL, "send rows in random order, out of a window of rows read ahead", OPTION_FLAG,
     AT(shuffle), 0, 0},
    {"window", "N", "rows read ahead (default 50000)", OPTION_COUNT, AT(window), 1, 10000000},
    {"seed", "S", "of the random order (default: another one each time)", OPTION_COUNT, AT(seed), 0,
     UINT64_MAX},
    {"batch", "N", "rows in one request (default 200, the server's limit)", OPTION_COUNT, AT(batch),
     1, 100000},
    {"max-errors", "N", "lines that may fail before the import stops (default 0)", OPTION_COUNT,
     AT(max_errors), 0, UINT64_MAX},
    {"acked", "FILE", "append the key of each acknowledged row to FILE", OPTION_TEXT, AT(acked), 0,
     0},
    {"retry", "SECONDS", "how long to try again when the server is busy or gone (default 30)",
     OPTION_COUNT, AT(retry_s), 0, 86400},
    {"quiet", NULL, "no progress", OPTION_FLAG, AT(quiet), 0, 0},
    {0},
};
#undef AT

/* Lines of the file, the first ones read ahead. */
struct source {
    int fd;
    struct csv csv;
    struct csv_record *ahead;
    size_t ahead_count, ahead_at;
    bool has_next; /* what csv_next() said when reading ahead ended */
    enum csv_result next_result;
    struct csv_record next;
};

struct import {
    const struct import_options *options;
    struct client *client;
    struct source source;
    struct plan plan;
    struct window window;
    struct loader loader;
    struct progress progress;
    uint64_t file_bytes; /* 0: not known */
};

/* Ctrl-C ends the import in order: what is under way is finished and counted. */
static volatile sig_atomic_t interrupted;

static void on_interrupt(int sig)
{
    (void)sig;
    interrupted = 1;
}

/* ---- the file */

static ssize_t source_read(void *arg, void *buf, size_t n)
{
    struct source *s = arg;

    if (interrupted) {
        errno = ECANCELED;
        return -1;
    }
    return read(s->fd, buf, n);
}

static int source_open(struct ctx *c, struct import *im, const char *path)
{
    struct stat st;

    im->source.fd = STDIN_FILENO;
    if (strcmp(path, "-") != 0)
        im->source.fd = open(path, O_RDONLY | O_CLOEXEC);
    if (im->source.fd < 0)
        return fail(c, E_PARAMETER, "cannot read %s: %s", path, strerror(errno));
    if (fstat(im->source.fd, &st) == 0 && S_ISREG(st.st_mode))
        im->file_bytes = (uint64_t)st.st_size;
    csv_init(&im->source.csv, source_read, &im->source);
    return 0;
}

static void source_release(struct source *s)
{
    csv_release(&s->csv);
    if (s->fd > STDIN_FILENO)
        close(s->fd);
}

static struct csv_record copy_record(struct ctx *c, const struct csv_record *r)
{
    struct csv_field *fields = ARENA_ARRAY(&c->arena, struct csv_field, r->count);
    struct csv_record copy = *r;

    for (size_t i = 0; i < r->count; i++) {
        fields[i] = r->fields[i];
        fields[i].text = arena_copy(&c->arena, fields[i].text);
    }
    copy.fields = fields;
    return copy;
}

/* Reads the first lines for the plan to look at. */
static void source_read_ahead(struct ctx *c, struct source *s, struct plan *p)
{
    size_t size = 0;

    s->ahead = ARENA_ARRAY(&c->arena, struct csv_record, GUESS_LINES);
    while (s->ahead_count < GUESS_LINES && size < GUESS_BYTES_MAX) {
        s->next_result = csv_next(&s->csv, &s->next);
        if (s->next_result != CSV_RECORD) {
            s->has_next = true;
            break;
        }
        plan_guess(p, &s->next);
        size += s->next.size;
        s->ahead[s->ahead_count++] = copy_record(c, &s->next);
    }
    plan_guess_end(p);
}

static enum csv_result source_next(struct source *s, struct csv_record *out)
{
    if (s->ahead_at < s->ahead_count) {
        *out = s->ahead[s->ahead_at++];
        return CSV_RECORD;
    }
    if (s->has_next) {
        s->has_next = false;
        *out = s->next;
        return s->next_result;
    }
    return csv_next(&s->csv, out);
}

/* ---- the table */

static void say_plan(const struct import *im, bool creates)
{
    const struct plan *p = &im->plan;

    fprintf(stderr, "%s table %s\n  key:     ", creates ? "New" : "Existing", im->options->table);
    for (size_t i = 0; i < p->key_count; i++)
        fprintf(stderr, "%s%.*s %s%s", i ? ", " : "", BYTES_FMT(p->keys[i].name),
                plan_type_name(p->keys[i].type), p->keys[i].guessed ? " (guessed)" : "");
    fprintf(stderr, "\n  columns: ");
    for (size_t i = 0; i < p->column_count; i++)
        fprintf(stderr, "%s%.*s %s%s", i ? ", " : "", BYTES_FMT(p->columns[i].name),
                plan_type_name(p->columns[i].type), p->columns[i].guessed ? " (guessed)" : "");
    fprintf(stderr, "%s\n", p->column_count ? "" : "none");
}

static int create_table(struct ctx *c, struct import *im)
{
    struct wr_key_schema key[WR_KEY_COLUMNS_MAX] = {0};
    struct wr_request request = {
        .op = WR_OP_CREATE_TABLE,
        .create_table = {.table = bytes_str(im->options->table),
                         .key = key,
                         .key_count = im->plan.key_count,
                         .options = {.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS,
                                     .ttl_s = -1,
                                     .max_versions = 1},
                         .reserved = {.has_read = true, .has_write = true}},
    };
    struct wr_reply reply;

    for (size_t i = 0; i < im->plan.key_count; i++)
        key[i] =
            (struct wr_key_schema){.name = im->plan.keys[i].name, .type = im->plan.keys[i].type};
    return client_exec(c, im->client, &request, &reply);
}

/* Brings the plan and the table together. */
static int prepare_table(struct ctx *c, struct import *im)
{
    const struct import_options *o = im->options;
    struct wr_table_description table;
    int code = client_describe(c, im->client, bytes_str(o->table), &table);
    bool creates = code == WR_E_NOT_EXIST;

    if (creates)
        ctx_clear(c);
    else if (code)
        return code;
    if (creates && !o->create)
        return fail(c, code, "there is no table %s; --create makes it", o->table);
    if (creates && !im->plan.keys_given)
        return fail(c, code, "a new table needs --key COL[:type],...");
    if (!creates)
        TRY(plan_use_schema(c, &im->plan, table.key, table.key_count));
    source_read_ahead(c, &im->source, &im->plan);
    say_plan(im, creates);
    return creates ? create_table(c, im) : 0;
}

/* ---- the load */

/* Reads the file into the window. Returns lines read, bad ones included. */
static uint64_t feed(struct import *im)
{
    struct loader *l = &im->loader;
    struct csv_record record;
    enum csv_result result;
    uint64_t lines = 0;

    while ((result = source_next(&im->source, &record)) != CSV_END && !interrupted) {
        struct import_row *row;
        char message[256];

        if (result == CSV_FAILED) {
            loader_give_up(l, im->source.csv.message);
            break;
        }
        lines++;
        if (result == CSV_BAD) {
            loader_bad_line(l, record.line, im->source.csv.message);
        } else if (!(row = plan_row(&im->plan, &record, message, sizeof(message)))) {
            loader_bad_line(l, record.line, message);
        } else if (!window_put(&im->window, row)) {
            mem_free(row);
        }
        if (atomic_load(&l->stopped))
            break;
    }
    if (interrupted)
        loader_give_up(l, "interrupted");
    return lines;
}

static void say_result(const struct import *im, uint64_t lines)
{
    uint64_t done = atomic_load(&im->progress.records), errors = atomic_load(&im->loader.errors);
    double seconds = progress_seconds(&im->progress);
    char count[PROGRESS_TEXT], rate[PROGRESS_TEXT], more[PROGRESS_TEXT];

    printf("%s: %s rows acknowledged in %.1f s (%s rows/s)", im->options->table,
           progress_format_count(done, count), seconds,
           progress_format_count((uint64_t)((double)done / seconds), rate));
    if (errors)
        printf(", %s %s not loaded", progress_format_count(errors, more),
               errors == 1 ? "line" : "lines");
    if (lines > done + errors)
        printf(", %s more read and not acknowledged",
               progress_format_count(lines - done - errors, more));
    printf("\n");
}

static int load(struct ctx *c, struct import *im)
{
    const struct import_options *o = im->options;
    struct loader *l = &im->loader;
    uint64_t seed = o->seed ? o->seed : (uint64_t)clock_wall_us(c->clock);
    uint64_t lines;
    int code;

    window_init(&im->window, o->window, o->batch, BATCH_BYTES - BATCH_SPARE_BYTES, o->shuffle,
                seed);
    progress_start(&im->progress, c->clock, im->file_bytes, o->quiet);
    l->target = im->client->target;
    l->clock = c->clock;
    l->plan = &im->plan;
    l->table = bytes_str(o->table);
    l->window = &im->window;
    l->progress = &im->progress;
    l->retry_ms = (int64_t)o->retry_s * 1000;
    l->errors_max = o->max_errors;
    l->worker_count = o->workers;
    code = loader_start(c, l);
    if (code == 0) {
        lines = feed(im);
        window_close(&im->window);
        loader_finish(l);
        progress_end(&im->progress);
        say_result(im, lines);
        if (l->failure[0])
            code = fail(c, E_UNAVAILABLE, "%s", l->failure);
        else if (atomic_load(&l->errors))
            code = fail(c, E_PARAMETER, "some lines were not loaded");
    } else {
        progress_end(&im->progress);
    }
    window_release(&im->window);
    return code;
}

static int open_acked(struct ctx *c, struct import *im)
{
    const char *path = im->options->acked;

    im->loader.acked_fd = -1;
    if (path)
        im->loader.acked_fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (path && im->loader.acked_fd < 0)
        return fail(c, E_PARAMETER, "cannot write %s: %s", path, strerror(errno));
    return 0;
}

static int import_steps(struct ctx *c, struct cli *cli, struct import *im)
{
    const struct import_options *o = im->options;
    const char *path = cli->argv[0], *name = strcmp(path, "-") ? path : "standard input";
    struct csv_record header;

    TRY(open_acked(c, im));
    TRY(source_open(c, im, path));
    switch (csv_next(&im->source.csv, &header)) {
    case CSV_RECORD:
        break;
    case CSV_END:
        return fail(c, E_PARAMETER, "%s is empty; it needs a header line", name);
    default:
        return fail(c, E_PARAMETER, "%s, line 1: %s", name, im->source.csv.message);
    }
    TRY(plan_parse(c, &im->plan, &header, o->key, o->columns));
    TRY(prepare_table(c, im));
    return load(c, im);
}

static int import_run(struct ctx *c, struct client *cl, struct cli *cli, void *options)
{
    struct import_options *o = options;
    struct import im = {.options = o, .client = cl, .source.fd = -1, .loader.acked_fd = -1};
    struct sigaction action = {.sa_handler = on_interrupt};
    int code;

    if (!o->table)
        return fail(c, E_PARAMETER, "into which table? Give --table");
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    code = import_steps(c, cli, &im);
    source_release(&im.source);
    if (im.loader.acked_fd >= 0)
        close(im.loader.acked_fd);
    return code;
}

static void import_defaults(void *options)
{
    struct import_options *o = options;

    o->workers = 8;
    o->window = 50000;
    o->batch = 200;
    o->retry_s = 30;
}

const struct command command_import = {
    .name = "import",
    .args = "FILE --table TABLE [--key COL[:type],...]",
    .summary = "load a CSV file into a table",
    .text =
        "FILE is CSV with a header line (RFC 4180 quoting), or - for standard input. A field with\n"
        "nothing in it, not even quotes, gives no cell. Rows are put: a row that is there already\n"
        "is replaced. With several workers, or --shuffle, two lines with the same key may land in\n"
        "either order. A line is bad if its fields do not fit the columns' types or the server\n"
        "refuses it; nothing of it is written.",
    .options = import_rows,
    .options_size = sizeof(struct import_options),
    .defaults = import_defaults,
    .argc_min = 1,
    .argc_max = 1,
    .run_connected = import_run,
};
