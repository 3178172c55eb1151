/* cmd_import.c: `widerow import`: reads a file of CSV or JSON Lines, and hands rows to the loader's
 * workers.
 *
 * This thread reads, checks and converts, so that bad lines are found in the order of the file; the
 * workers only send. Types that nobody has said are guessed from the first lines, which are read
 * ahead, kept, and taken again. */
#include "cli/command.h"
#include "cli/transfer/loader.h"
#include "cli/transfer/resume.h"
#include "record/record.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define GUESS_LINES 1000
#define COLUMNS_SAID 20 /* before the load */
#define IDLE_MS 200     /* without a line: those before it do not wait for it */
#define GUESS_BYTES_MAX (8 << 20)
#define BATCH_BYTES (4u << 20)
#define BATCH_SPARE_BYTES (256u << 10) /* for what the limits do not count */

struct import_options {
    const char *table, *key, *columns, *layout, *input, *delimiter, *acked;
    uint64_t workers, window, batch, max_errors, retry_s, seed;
    bool shuffle, create, resume, quiet;
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
     "binary; of JSON Lines also any: as each value is written); default: all others",
     OPTION_TEXT, AT(columns), 0, 0},
    {"create", NULL, "make the table if it is missing", OPTION_FLAG, AT(create), 0, 0},
    {"layout", "LAYOUT",
     "with --create: how keys are spread (default plain; see widerow create --help)", OPTION_TEXT,
     AT(layout), 0, 0},
    {"input", "csv|jsonl", "what FILE is (default: told from its first byte)", OPTION_TEXT,
     AT(input), 0, 0},
    {"delimiter", "CHAR",
     "between the fields of a CSV: one character, or tab (default: the one of , ; tab | that its "
     "first line has most of)",
     OPTION_TEXT, AT(delimiter), 0, 0},
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
    {"resume", NULL,
     "note in FILE.resume how far it is, and go on from there if an earlier run has been stopped",
     OPTION_FLAG, AT(resume), 0, 0},
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
    struct record_reader records; /* reads JSON Lines; of CSV it only told the format */
    struct csv csv;
    bool json;
    bool hurry; /* no line has to be read ahead */
    struct csv_record *ahead;
    const char **ahead_bad; /* what is wrong with that one; NULL: nothing */
    size_t ahead_count, ahead_at;
    const char *bad; /* the last one was of these; NULL: it was read just now */
    bool has_next;   /* what was said when reading ahead ended */
    enum csv_result next_result;
    struct csv_record next;
};

struct import {
    const struct import_options *options;
    struct client *client;
    struct source source;
    struct plan plan;
    struct shuffle_buffer shuffle;
    struct loader loader;
    struct progress progress;
    struct resume resume;
    uint64_t file_bytes; /* 0: not known */
    bool created;        /* the table is of this import */
};

/* Ctrl-C ends the import in order: what is under way is finished and counted. */
static volatile sig_atomic_t interrupted;

static void on_interrupt(int sig)
{
    (void)sig;
    interrupted = 1;
}

/* ---- the file */

/* For CSV: first what was read to tell the format. */
static ssize_t source_read(void *arg, void *buf, size_t n)
{
    struct source *s = arg;
    struct record_reader *r = &s->records;

    if (interrupted) {
        errno = ECANCELED;
        return -1;
    }
    if (r->at == r->end)
        return input_read(r->input, buf, n);
    if (n > r->end - r->at)
        n = r->end - r->at;
    memcpy(buf, r->data + r->at, n);
    r->at += n;
    return (ssize_t)n;
}

static int source_open(struct ctx *c, struct import *im, const char *path)
{
    struct source *s = &im->source;
    struct record_form form = {im->options->input, im->options->delimiter};
    int fd = STDIN_FILENO;

    if (strcmp(path, "-") != 0)
        fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fail(c, E_PARAMETER, "cannot read %s: %s", path, strerror(errno));
    s->records.stop = &interrupted;
    TRY(record_begin(c, &s->records, fd, path, &form));
    if (im->options->resume)
        TRY(resume_begin(c, &im->resume, path, fd, bytes_str(im->options->table)));
    im->file_bytes = s->records.total_bytes;
    s->json = s->records.format == RECORD_JSONL;
    csv_init(&s->csv, source_read, s);
    s->csv.delimiter = s->records.delimiter;
    return 0;
}

static void source_release(struct source *s)
{
    csv_release(&s->csv);
    record_release(&s->records);
}

static const char *source_message(const struct source *s)
{
    if (s->bad)
        return s->bad;
    if (s->records.input && input_fault(s->records.input))
        return input_fault(s->records.input);
    return s->json ? s->records.message : s->csv.message;
}

/* The next one of the file. */
static enum csv_result source_take(struct source *s, struct csv_record *out)
{
    static const enum csv_result results[] = {[RECORD_OK] = CSV_RECORD,
                                              [RECORD_END] = CSV_END,
                                              [RECORD_BAD] = CSV_BAD,
                                              [RECORD_FAILED] = CSV_FAILED};
    struct record_reader *r = &s->records;
    uint64_t before = r->offset;
    enum csv_result result;

    if (!s->json)
        return csv_next(&s->csv, out);
    result = results[record_next(r)];
    *out = (struct csv_record){r->fields, r->column_count, r->line, before, r->offset - before};
    return result;
}

static struct csv_record copy_record(struct ctx *c, const struct csv_record *r)
{
    struct csv_field *fields = ARENA_ARRAY(&c->arena, struct csv_field, r->count);
    struct csv_record copy = *r;

    for (size_t i = 0; i < r->count; i++) {
        fields[i] = r->fields[i];
        if (fields[i].text.ptr) /* none is other than an empty one */
            fields[i].text = arena_copy(&c->arena, fields[i].text);
    }
    copy.fields = fields;
    return copy;
}

/* The last line did not fail, it has not come yet. */
static bool source_is_idle(const struct source *s)
{
    return input_is_idle(s->records.input);
}

/* Reads the first lines; only those that are there, if nothing is guessed from them. */
static void source_read_ahead(struct ctx *c, struct source *s)
{
    size_t size = 0;

    s->ahead = ARENA_ARRAY(&c->arena, struct csv_record, GUESS_LINES);
    s->ahead_bad = ARENA_ARRAY(&c->arena, const char *, GUESS_LINES);
    while (s->ahead_count < GUESS_LINES && size < GUESS_BYTES_MAX) {
        s->next_result = source_take(s, &s->next);
        if (source_is_idle(s) && s->hurry)
            break;
        if (source_is_idle(s))
            continue;
        if (s->next_result == CSV_END || s->next_result == CSV_FAILED) {
            s->has_next = true;
            break;
        }
        size += s->next.size;
        if (s->next_result == CSV_BAD)
            s->ahead_bad[s->ahead_count] = arena_printf(&c->arena, "%s", source_message(s)).ptr;
        s->ahead[s->ahead_count++] = copy_record(c, &s->next);
    }
}

/* Columns that the user names need not be among the first lines. */
static int add_names(struct ctx *c, struct record_reader *r, const char *words)
{
    for (const char *p = words, *end; p; p = *end ? end + 1 : NULL) {
        end = strchrnul(p, ',');
        if (!record_add_column(r, bytes_of(p, strcspn(p, ":,"))))
            return fail(c, E_PARAMETER, "more than %d columns", RECORD_COLUMNS_MAX);
    }
    return 0;
}

/* The columns of JSON Lines are those of the first lines; a record that ends early has no cells in
 * the columns that came later. */
static int json_header(struct ctx *c, struct import *im, const char *name,
                       struct csv_record *header)
{
    struct source *s = &im->source;
    struct csv_field *names;

    TRY(add_names(c, &s->records, im->options->key));
    TRY(add_names(c, &s->records, im->options->columns));
    s->hurry = im->options->key && im->options->columns;
    source_read_ahead(c, s);
    if (s->has_next && s->next_result == CSV_FAILED && !s->ahead_count)
        return fail(c, E_PARAMETER, "%s: %s", name, source_message(s));
    if (!s->records.column_count)
        return fail(c, E_PARAMETER, "there is no record in %s%s%s", name,
                    s->ahead_count ? "; line 1: " : "", s->ahead_count ? s->ahead_bad[0] : "");
    names = ARENA_ARRAY(&c->arena, struct csv_field, RECORD_COLUMNS_MAX);
    for (size_t i = 0; i < s->records.column_count; i++)
        names[i].text = s->records.names[i];
    *header = (struct csv_record){.fields = names, .count = s->records.column_count};
    for (size_t i = 0; i < s->ahead_count; i++) {
        struct csv_field *fields = ARENA_ARRAY(&c->arena, struct csv_field, header->count);

        for (size_t k = 0; k < header->count; k++)
            fields[k] = k < s->ahead[i].count ? s->ahead[i].fields[k] : (struct csv_field){0};
        s->ahead[i].fields = fields;
        s->ahead[i].count = header->count;
    }
    return 0;
}

static enum csv_result source_next(struct source *s, struct csv_record *out)
{
    s->bad = NULL;
    if (s->ahead_at < s->ahead_count) {
        s->bad = s->ahead_bad[s->ahead_at];
        *out = s->ahead[s->ahead_at++];
        return s->bad ? CSV_BAD : CSV_RECORD;
    }
    if (s->has_next) {
        s->has_next = false;
        *out = s->next;
        return s->next_result;
    }
    return source_take(s, out);
}

/* ---- the table */

static void say_columns(const struct plan_column *columns, size_t count)
{
    for (size_t i = 0; i < count && i < COLUMNS_SAID; i++)
        fprintf(stderr, "%s%.*s %s%s", i ? ", " : "", BYTES_FMT(columns[i].name),
                plan_column_type(&columns[i]), columns[i].guessed ? " (guessed)" : "");
    if (count > COLUMNS_SAID)
        fprintf(stderr, " and %zu more", count - COLUMNS_SAID);
    fprintf(stderr, "%s\n", count ? "" : "none");
}

static void say_plan(const struct import *im, bool creates)
{
    const struct plan *p = &im->plan;

    if (im->options->quiet)
        return;
    fprintf(stderr, "%s table %s\n  key:     ", creates ? "New" : "Existing", im->options->table);
    say_columns(p->keys, p->key_count);
    fprintf(stderr, "  columns: ");
    say_columns(p->columns, p->column_count);
}

static int create_table(struct ctx *c, struct import *im)
{
    struct wr_key_schema key[WR_KEY_COLUMNS_MAX] = {0};
    struct wr_request request = {
        .op = WR_OP_CREATE_TABLE,
        .create_table =
            {.table = bytes_str(im->options->table),
             .key = key,
             .key_count = im->plan.key_count,
             .options = {.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS, .ttl_s = -1, .max_versions = 1},
             .reserved = {.has_read = true, .has_write = true},
             .layout = im->options->layout ? bytes_str(im->options->layout) : BYTES_NONE},
    };
    struct wr_reply reply;

    for (size_t i = 0; i < im->plan.key_count; i++)
        key[i] =
            (struct wr_key_schema){.name = im->plan.keys[i].name, .type = im->plan.keys[i].type};
    return client_exec(c, im->client, &request, &reply);
}

/* What is wrong with a line that was read ahead; NULL: nothing. */
static const char *ahead_fault(const struct import *im, size_t i, char *message, size_t size)
{
    const struct source *s = &im->source;
    struct import_row *row;

    if (s->ahead_bad[i])
        return s->ahead_bad[i];
    row = plan_row(&im->plan, &s->ahead[i], message, size);
    mem_free(row);
    return row ? NULL : message;
}

/* A table is not made for lines that cannot be loaded, under types that were guessed from them. */
static int check_ahead(struct ctx *c, const struct import *im)
{
    const struct source *s = &im->source;
    uint64_t bad = 0, max = im->options->max_errors;
    char message[256];
    const char *why;

    for (size_t i = 0; i < s->ahead_count; i++)
        bad += ahead_fault(im, i, message, sizeof(message)) != NULL;
    if (bad <= max)
        return 0;
    for (size_t i = 0, said = 0; i < s->ahead_count && said <= max; i++) {
        why = ahead_fault(im, i, message, sizeof(message));
        if (why)
            fprintf(stderr, "line %llu: %s\n", (unsigned long long)s->ahead[i].line, why);
        said += why != NULL;
    }
    return fail(c, E_PARAMETER,
                "%llu of the first %zu lines cannot be loaded (--max-errors allows %llu): the "
                "table was not made",
                (unsigned long long)bad, s->ahead_count, (unsigned long long)max);
}

/* An import that made its table and loaded nothing takes it away again. */
static void remove_table(struct ctx *c, struct import *im)
{
    const char *name = im->options->table;
    struct wr_request request = {.op = WR_OP_DELETE_TABLE, .delete_table = {bytes_str(name)}};
    struct wr_reply reply;
    struct ctx own;

    ctx_init(&own, c->clock, NULL, NULL, 0);
    if (client_exec(&own, im->client, &request, &reply) == 0)
        fprintf(stderr, "No row was loaded: the new table %s is gone again.\n", name);
    else
        fprintf(stderr, "No row was loaded; the new table %s stays: %s\n", name, own.text);
    ctx_release(&own);
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
    if (!creates && o->layout && !bytes_equal(table.layout, bytes_str(o->layout)))
        return fail(c, E_PARAMETER,
                    "table %s is there and has the layout %.*s; widerow rekey %s --layout %s "
                    "changes that",
                    o->table, BYTES_FMT(table.layout), o->table, o->layout);
    if (!creates)
        TRY(plan_use_schema(c, &im->plan, table.key, table.key_count));
    im->source.hurry = !plan_guesses(&im->plan);
    if (!im->source.json)
        source_read_ahead(c, &im->source);
    for (size_t i = 0; i < im->source.ahead_count; i++)
        if (!im->source.ahead_bad[i])
            plan_guess(&im->plan, &im->source.ahead[i]);
    plan_guess_end(&im->plan);
    say_plan(im, creates);
    if (!creates)
        return 0;
    TRY(check_ahead(c, im));
    TRY(create_table(c, im));
    im->created = true;
    return 0;
}

/* ---- the load */

/* A JSON line's columns that the plan does not know came behind the lines that it was made from. */
static bool has_news(const struct import *im, struct csv_record *record, char *message, size_t size)
{
    size_t known = im->plan.field_count;

    if (!im->source.json)
        return false;
    for (size_t i = known; i < record->count && im->plan.all_columns; i++)
        if (record->fields[i].text.ptr) {
            snprintf(message, size,
                     "column %.*s is in none of the first lines; say --columns, with it or without",
                     BYTES_FMT(im->source.records.names[i]));
            return true;
        }
    record->count = known;
    return false;
}

/* One line: into the buffer, or told as bad. */
static void feed_line(struct import *im, enum csv_result result, struct csv_record *record)
{
    struct resume_part *part = resume_line(&im->resume, record->offset, record->line);
    struct loader *l = &im->loader;
    struct import_row *row;
    char message[256];

    if (result == CSV_BAD) {
        loader_bad_line(l, record->line, source_message(&im->source), part);
        return;
    }
    if (has_news(im, record, message, sizeof(message)) ||
        !(row = plan_row(&im->plan, record, message, sizeof(message)))) {
        loader_bad_line(l, record->line, message, part);
        return;
    }
    row->part = part;
    if (!shuffle_buffer_put(&im->shuffle, row))
        mem_free(row);
}

/* Reads the file into the buffer. Returns lines read, bad ones included. */
static uint64_t feed(struct ctx *c, struct import *im)
{
    struct loader *l = &im->loader;
    struct csv_record record;
    enum csv_result result;
    uint64_t lines = 0;

    while ((result = source_next(&im->source, &record)) != CSV_END && !interrupted) {
        if (result == CSV_FAILED && source_is_idle(&im->source)) {
            shuffle_buffer_flush(&im->shuffle);
            continue;
        }
        if (result == CSV_FAILED) {
            loader_give_up(l, E_PARAMETER, source_message(&im->source));
            break;
        }
        if (record.offset < im->resume.offset)
            continue; /* settled by an earlier run */
        lines++;
        feed_line(im, result, &record);
        if (resume_note(c, &im->resume))
            loader_give_up(l, c->code, c->text);
        if (atomic_load(&l->stopped))
            break;
    }
    if (interrupted)
        loader_give_up(l, E_UNAVAILABLE, "interrupted");
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

/* An import that has done nothing leaves no notes. */
static int end_notes(struct ctx *c, struct import *im)
{
    bool failed = im->loader.failure[0] != 0;
    bool began = im->resume.offset || atomic_load(&im->progress.records);

    TRY(resume_end(c, &im->resume, !failed || !began));
    if (failed && began && im->resume.path)
        fprintf(stderr, "How far it is stands in %s: the same command goes on there.\n",
                im->resume.path);
    return 0;
}

static int load(struct ctx *c, struct import *im)
{
    const struct import_options *o = im->options;
    struct loader *l = &im->loader;
    uint64_t seed = o->seed ? o->seed : (uint64_t)clock_wall_us(c->clock);
    uint64_t lines;
    int code;

    shuffle_buffer_init(&im->shuffle, o->window, o->batch, BATCH_BYTES - BATCH_SPARE_BYTES,
                        o->shuffle, seed);
    progress_start(&im->progress, c->clock, im->file_bytes, o->quiet);
    l->target = im->client->target;
    l->clock = c->clock;
    l->plan = &im->plan;
    l->table = bytes_str(o->table);
    l->shuffle = &im->shuffle;
    l->progress = &im->progress;
    l->retry_ms = (int64_t)o->retry_s * 1000;
    l->errors_max = o->max_errors;
    atomic_store(&l->errors, im->resume.errors);
    l->worker_count = o->workers;
    code = loader_start(c, l);
    if (code == 0) {
        lines = feed(c, im);
        shuffle_buffer_close(&im->shuffle);
        loader_finish(l);
        progress_end(&im->progress);
        say_result(im, lines);
        code = end_notes(c, im);
        if (!code && l->failure[0])
            code = fail(c, (enum err)l->failure_code, "%s", l->failure);
        else if (!code && atomic_load(&l->errors))
            code = fail(c, E_PARAMETER, "some lines were not loaded");
    } else {
        progress_end(&im->progress);
    }
    shuffle_buffer_release(&im->shuffle);
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

static int read_header(struct ctx *c, struct import *im, const char *name,
                       struct csv_record *header)
{
    if (im->source.json) {
        input_set_patience(im->source.records.input, IDLE_MS);
        return json_header(c, im, name, header);
    }
    switch (csv_next(&im->source.csv, header)) {
    case CSV_RECORD:
        input_set_patience(im->source.records.input, IDLE_MS); /* behind the header */
        return 0;
    case CSV_END:
        return fail(c, E_PARAMETER, "%s is empty; it needs a header line", name);
    default:
        return fail(c, E_PARAMETER, "%s, line 1: %s", name, im->source.csv.message);
    }
}

static int import_steps(struct ctx *c, struct cli *cli, struct import *im)
{
    const struct import_options *o = im->options;
    const char *path = cli->argv[0], *name = strcmp(path, "-") ? path : "standard input";
    struct csv_record header;

    if (o->layout && !o->create)
        return fail(c, E_PARAMETER, "--layout is for a new table: give --create, too");
    TRY(open_acked(c, im));
    TRY(source_open(c, im, path));
    TRY(read_header(c, im, name, &header));
    TRY(plan_parse(c, &im->plan, &header, o->key, o->columns));
    im->plan.json = im->source.json;
    TRY(prepare_table(c, im));
    if (im->resume.offset && !o->quiet)
        fprintf(stderr, "Going on at line %llu\n", (unsigned long long)im->resume.line);
    return load(c, im);
}

static int import_run(struct ctx *c, struct client *cl, struct cli *cli, void *options)
{
    struct import_options *o = options;
    struct import im = {.options = o, .client = cl, .loader.acked_fd = -1};
    struct sigaction action = {.sa_handler = on_interrupt};
    int code;

    if (!o->table)
        return fail(c, E_PARAMETER, "into which table? Give --table");
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    code = import_steps(c, cli, &im);
    cli->partly = atomic_load(&im.progress.records) != 0;
    cli->interrupted = interrupted;
    if (code && im.created && atomic_load(&im.progress.records) == 0)
        remove_table(c, &im);
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
    .group = GROUP_FILES,
    .args = "FILE --table TABLE [--key COL[:type],...]",
    .summary = "load a CSV or JSON Lines file into a table",
    .text =
        "FILE is CSV with a header line (RFC 4180 quoting), or JSON Lines, an object a line, or - "
        "for\n"
        "standard input; gzip and zstd are unpacked on the way. A field with nothing in it, not "
        "even quotes, gives no cell, and null "
        "none.\n"
        "Of JSON Lines the columns are those of the first 1000 lines and those named here. Rows "
        "are put: a row that is there already\n"
        "is replaced. With several workers, or --shuffle, two lines with the same key may land in\n"
        "either order. A line is bad if its fields do not fit the columns' types or the server\n"
        "refuses it, or a column of the key is empty; nothing of it is written. In a column of "
        "JSON Lines that\n"
        "holds several types, integers and doubles too, each value keeps its own, unless --columns "
        "says\n"
        "NAME:double and the like. With --create no table is made if too many of the first 1000 "
        "lines are bad, and "
        "none stays of an\n"
        "import that fails before its first row.",
    .example = "widerow import orders.csv --table orders --create --key user:string,at:integer",
    .options = import_rows,
    .options_size = sizeof(struct import_options),
    .defaults = import_defaults,
    .argc_min = 1,
    .argc_max = 1,
    .run_connected = import_run,
};
