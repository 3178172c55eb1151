/* cmd_advise.c: `widerow advise`: surveys the records of a file or a table and prints which key
 * they should have. */
#include "advisor/advise.h"
#include "cli/command.h"
#include "cli/console/progress.h"
#include "client/walk.h"
#include "record/record.h"

#include <errno.h>

#define BAD_LINES_SHOWN 5
#define PROGRESS_STEP 8192

struct advise_options {
    const char *table, *name, *format, *input, *delimiter, *time, *columns, *output;
    struct option_list queries;
    uint64_t partition_bytes, partitions, buckets, max_errors, limit, show;
    bool unordered, quiet;
};

#define AT(member) offsetof(struct advise_options, member)
static const struct option_row advise_rows[] = {
    {"table", "TABLE", "judge the rows of this table instead of a file's", OPTION_TEXT, AT(table),
     0, 0},
    {"query", "READS", "the reads to serve: \"CardID=, time range; DeviceID=\"", OPTION_LIST,
     AT(queries), 0, 0},
    {"format", "FORM", "text (default), json or html", OPTION_TEXT, AT(format), 0, 0},
    {"output", "FILE", "write there instead of to standard output", OPTION_TEXT, AT(output), 0, 0},
    {"partition-bytes", "N", "the most that one partition may hold (default 10000000000)",
     OPTION_COUNT, AT(partition_bytes), 1, UINT64_MAX},
    {"partitions", "P", "partitions of the simulation (default 16)", OPTION_COUNT, AT(partitions),
     2, SIMULATE_PARTITIONS_MAX},
    {"buckets", "N", "buckets of bucket layouts (default 16)", OPTION_COUNT, AT(buckets), 2, 256},
    {"columns", "COL,...", "look at these columns only (default: the first 32)", OPTION_TEXT,
     AT(columns), 0, 0},
    {"time", "COL", "the column that says when a record was written (default: told from the data)",
     OPTION_TEXT, AT(time), 0, 0},
    {"unordered", NULL, "the file is not in the order of writing and has no column of time",
     OPTION_FLAG, AT(unordered), 0, 0},
    {"name", "TABLE", "the table's name in the create line (default: the file's)", OPTION_TEXT,
     AT(name), 0, 0},
    {"input", "FORM", "what FILE is, csv, jsonl or dynamodb (default: told from its first byte)",
     OPTION_TEXT, AT(input), 0, 0},
    {"delimiter", "CHAR",
     "between the fields of a CSV: one character, or tab (default: told from its first line)",
     OPTION_TEXT, AT(delimiter), 0, 0},
    {"max-errors", "N", "bad lines that may be left out (default 0)", OPTION_COUNT, AT(max_errors),
     0, UINT64_MAX},
    {"limit", "N", "look at the first N records only", OPTION_COUNT, AT(limit), 1, UINT64_MAX},
    {"show", "N", "candidates shown in full as text (default 5)", OPTION_COUNT, AT(show), 0, 1000},
    {"quiet", NULL, "no progress", OPTION_FLAG, AT(quiet), 0, 0},
    {0},
};
#undef AT

static void advise_defaults(void *options)
{
    *(struct advise_options *)options = (struct advise_options){.partition_bytes = 10000000000,
                                                                .partitions = 16,
                                                                .buckets = 16,
                                                                .limit = UINT64_MAX,
                                                                .show = 5,
                                                                .format = "text"};
}

/* One run. */
struct work {
    const struct advise_options *options;
    struct survey survey;
    struct ranks ranks;
    struct advise advise;
    struct progress progress;
    struct advise_head head;
    /* Of a table's columns. */
    struct arena texts;
    enum wr_type types[SURVEY_COLUMNS_MAX];
};

/* ---- columns ---- */

static bool is_chosen(struct work *w, bytes name)
{
    const char *p = w->options->columns;

    if (!p || bytes_equal(name, BYTES_LIT(SURVEY_WRITTEN)))
        return true;
    for (;;) {
        size_t len = strcspn(p, ",");

        if (bytes_equal(name, bytes_of(p, len)))
            return true;
        if (!p[len])
            return false;
        p += len + 1;
    }
}

/* Columns of the reader that are new, into the survey. */
static void add_columns(struct work *w, const bytes *names, size_t *known, size_t count)
{
    for (; *known < count; ++*known)
        if (is_chosen(w, names[*known]) && !survey_add_column(&w->survey, names[*known], *known))
            w->head.left_out++;
}

static size_t find_column(const struct survey *s, bytes name)
{
    for (size_t i = 0; i < s->column_count; i++)
        if (bytes_equal(s->columns[i].name, name))
            return i;
    return SIZE_MAX;
}

static int check_columns(struct ctx *c, struct work *w)
{
    for (const char *p = w->options->columns; p;) {
        size_t len = strcspn(p, ",");

        if (find_column(&w->survey, bytes_of(p, len)) == SIZE_MAX)
            return fail(c, E_PARAMETER, "--columns: there is no column '%.*s'", (int)len, p);
        p = p[len] ? p + len + 1 : NULL;
    }
    return 0;
}

/* The words of --query and --time, once the columns are known. */
static int parse_words(struct ctx *c, struct work *w, size_t *time_column)
{
    const struct survey *s = &w->survey;
    bytes names[SURVEY_COLUMNS_MAX];

    TRY(check_columns(c, w));
    for (size_t i = 0; i < s->column_count; i++)
        names[i] = s->columns[i].name;
    w->advise.query_count = 0;
    for (size_t i = 0; i < w->options->queries.count; i++)
        TRY(query_parse(c, w->options->queries.texts[i], names, s->column_count, w->advise.queries,
                        &w->advise.query_count));
    *time_column = w->options->time ? find_column(s, bytes_str(w->options->time)) : SIZE_MAX;
    if (w->options->time && *time_column == SIZE_MAX)
        return fail(c, E_PARAMETER, "--time: there is no column '%s'", w->options->time);
    return 0;
}

/* ---- reading ---- */

static int bad_line(struct ctx *c, struct work *w, const struct record_reader *r, const char *name)
{
    if (++w->head.bad_lines <= BAD_LINES_SHOWN)
        progress_say(&w->progress, "%s, line %llu: %s", name, (unsigned long long)r->line,
                     r->message);
    if (w->head.bad_lines <= w->options->max_errors)
        return 0;
    return fail(c, E_PARAMETER,
                "%s, line %llu: %s (bad line number %llu; --max-errors N leaves up to N out)", name,
                (unsigned long long)r->line, r->message, (unsigned long long)w->head.bad_lines);
}

static int read_records(struct ctx *c, struct work *w, struct record_reader *r, const char *name)
{
    size_t known = 0, ignored;

    add_columns(w, r->names, &known, r->column_count);
    /* A CSV's header is enough to refuse a wrong --query before hours of reading. */
    if (r->format == RECORD_CSV)
        TRY(parse_words(c, w, &ignored));
    while (w->survey.records < w->options->limit) {
        switch (record_next(r)) {
        case RECORD_OK:
            if (known != r->column_count)
                add_columns(w, r->names, &known, r->column_count);
            survey_add(&w->survey, r->fields);
            break;
        case RECORD_END:
            return 0;
        case RECORD_BAD:
            TRY(bad_line(c, w, r, name));
            break;
        case RECORD_FAILED:
            return fail(c, E_PARAMETER, "%s, line %llu: %s", name, (unsigned long long)r->line,
                        r->message);
        }
        if (w->survey.records % PROGRESS_STEP == 0) {
            atomic_store(&w->progress.records, w->survey.records);
            atomic_store(&w->progress.bytes, r->offset);
        }
    }
    return 0;
}

static int read_file(struct ctx *c, struct work *w, const char *path)
{
    struct record_reader *r = arena_alloc(&c->arena, sizeof(*r));
    const char *name = strcmp(path, "-") ? path : "standard input";
    struct record_form form = {w->options->input, w->options->delimiter};
    int code = record_open(c, r, path, &form);

    progress_start(&w->progress, c->clock, code ? 0 : r->total_bytes, w->options->quiet);
    if (code == 0)
        code = read_records(c, w, r, name);
    w->head.seconds = progress_seconds(&w->progress);
    progress_end(&w->progress);
    record_release(r);
    if (code == 0 && w->survey.records == 0)
        code = fail(c, E_PARAMETER, "%s has no records", name);
    return code;
}

/* ---- reading a table ---- */

/* A value as a file would have it, views of the page or of `texts`. */
static struct csv_field field_of(struct arena *texts, const struct wr_value *v)
{
    switch (v->type) {
    case WR_VARCHAR:
    case WR_VARBINARY:
        return (struct csv_field){v->bytes, true};
    case WR_BIGINT:
        return (struct csv_field){arena_printf(texts, "%lld", (long long)v->integer), false};
    case WR_DOUBLE:
        return (struct csv_field){arena_printf(texts, "%.17g", v->real), false};
    default:
        return (struct csv_field){v->boolean ? BYTES_LIT("true") : BYTES_LIT("false"), false};
    }
}

/* The survey's number of a column, a new one if it is wanted; SIZE_MAX: it is not. Cells come in
 * the order of their names, so the next one is tried first. */
static size_t table_column(struct work *w, bytes name, enum wr_type type, size_t next)
{
    struct survey *s = &w->survey;
    size_t at = next < s->column_count && bytes_equal(s->columns[next].name, name)
                    ? next
                    : find_column(s, name);

    if (at != SIZE_MAX || !is_chosen(w, name))
        return at;
    at = s->column_count;
    if (!survey_add_column(s, arena_copy(&w->texts, name), at))
        return SIZE_MAX;
    w->types[at] = type;
    return at;
}

static int survey_rows(struct ctx *c, void *arg, const struct wr_row *rows, size_t count)
{
    struct work *w = arg;

    for (size_t r = 0; r < count && w->survey.records < w->options->limit; r++) {
        struct csv_field fields[SURVEY_COLUMNS_MAX] = {0};
        int64_t written = 0;
        size_t next = 0;

        for (size_t i = 0; i < rows[r].key.count + rows[r].cell_count; i++) {
            bool key = i < rows[r].key.count;
            const struct wr_cell *cell = key ? NULL : &rows[r].cells[i - rows[r].key.count];
            const struct wr_value *v = key ? &rows[r].key.columns[i].value : &cell->value;
            size_t at =
                table_column(w, key ? rows[r].key.columns[i].name : cell->name, v->type, next);

            if (cell && cell->timestamp_ms > written)
                written = cell->timestamp_ms;
            if (at == SIZE_MAX)
                continue;
            fields[at] = field_of(&c->arena, v);
            next = at + 1;
        }
        if (written > 0) {
            struct wr_value v = {.type = WR_BIGINT, .integer = written};
            size_t at = table_column(w, BYTES_LIT(SURVEY_WRITTEN), WR_BIGINT, next);

            if (at != SIZE_MAX)
                fields[at] = field_of(&c->arena, &v);
        }
        survey_add(&w->survey, fields);
    }
    atomic_store(&w->progress.records, w->survey.records);
    return w->survey.records < w->options->limit ? 0 : WALK_ENOUGH;
}

/* What the server's heat map says of the last hour. A server without one is no failure. */
static void read_traffic(struct ctx *c, struct work *w, struct client *cl, bytes key_column)
{
    struct wr_request request = {
        .op = WR_OP_DESCRIBE_HEAT,
        .describe_heat = {.table = bytes_str(w->options->table), .minutes = 60, .columns = 1}};
    const enum wr_heat_metric metrics[] = {WR_HEAT_READS, WR_HEAT_WRITES, WR_HEAT_REFUSED};
    struct advise_traffic *t = &w->advise.traffic;
    struct wr_reply reply;

    if (client_exec(c, cl, &request, &reply) != 0) {
        ctx_clear(c);
        return;
    }
    for (size_t m = 0; m < PORT_COUNT(metrics); m++) {
        const uint64_t *values = reply.heat.values[metrics[m]];

        for (size_t i = 0; values && i < reply.heat.row_count * reply.heat.column_count; i++)
            t->accesses += (double)values[i];
    }
    t->column = find_column(&w->survey, key_column);
    if (reply.heat.hot_count == 0 || reply.heat.hot[0].place.key.count == 0) {
        t->accesses = 0;
        return;
    }
    t->hottest = (double)(reply.heat.hot[0].count - reply.heat.hot[0].error);
    t->key = arena_copy(&w->texts,
                        field_of(&c->arena, &reply.heat.hot[0].place.key.columns[0].value).text);
}

static int read_table(struct ctx *c, struct work *w, struct client *cl)
{
    struct wr_table_description table;
    int code;

    TRY(cli_describe(c, cl, bytes_str(w->options->table), &table));
    progress_start(&w->progress, c->clock, 0, w->options->quiet);
    code = walk_table(c, cl, &table, 1, survey_rows, w);
    w->head.seconds = progress_seconds(&w->progress);
    progress_end(&w->progress);
    if (code == 0 && w->survey.records == 0)
        code = fail(c, E_PARAMETER, "table %s has no rows", w->options->table);
    if (code == 0 && table.key_count)
        read_traffic(c, w, cl, table.key[0].name);
    return code;
}

/* ---- the advice ---- */

/* "orders" of "data/orders.csv". */
static const char *table_name(struct ctx *c, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t len = strcspn(name, ".");
    char *out = arena_zalloc(&c->arena, len + 8);

    if (len == 0 || strcmp(path, "-") == 0)
        return "mytable";
    for (size_t i = 0; i < len; i++) {
        bool good = (name[i] >= 'a' && name[i] <= 'z') || (name[i] >= 'A' && name[i] <= 'Z') ||
                    (name[i] >= '0' && name[i] <= '9');

        out[i] = good ? name[i] : '_';
    }
    if (out[0] >= '0' && out[0] <= '9')
        out[0] = '_';
    return out;
}

static int print(struct ctx *c, struct work *w)
{
    const struct advise_options *o = w->options;
    FILE *out = o->output ? fopen(o->output, "w") : stdout;
    bool good;

    if (!out)
        return fail(c, E_PARAMETER, "cannot write %s: %s", o->output, strerror(errno));
    if (strcmp(o->format, "json") == 0)
        advise_print_json(&w->advise, &w->head, out);
    else if (strcmp(o->format, "html") == 0)
        advise_print_html(&w->advise, &w->head, out);
    else
        advise_print_text(&w->advise, &w->head, o->show, out);
    good = !ferror(out);
    if (o->output && (fclose(out) != 0 || !good))
        return fail(c, E_NO_SPACE, "cannot write %s: %s", o->output, strerror(errno));
    return 0;
}

static int advise_steps(struct ctx *c, struct work *w, struct client *cl, const char *path)
{
    const struct advise_options *o = w->options;
    struct advise *a = &w->advise;
    size_t time_column;

    if (cl)
        TRY(read_table(c, w, cl));
    else
        TRY(read_file(c, w, path));
    TRY(parse_words(c, w, &time_column));
    w->head.source = cl ? o->table : path;
    w->head.records = w->survey.records;
    w->head.bytes = w->survey.bytes;
    /* Rows of a table come in the order of its key, not in that of writing. */
    ranks_init(&w->ranks, &w->survey, time_column, !o->unordered && !cl, cl ? w->types : NULL);
    a->survey = &w->survey;
    a->ranks = &w->ranks;
    a->partition_bytes = o->partition_bytes;
    a->partitions = (uint32_t)o->partitions;
    a->buckets = (unsigned)o->buckets;
    a->table = o->name ? o->name : cl ? o->table : table_name(c, path);
    advise(c, a);
    return print(c, w);
}

static int run(struct ctx *c, struct client *cl, struct cli *cli, const struct advise_options *o)
{
    struct work *w = arena_zalloc(&c->arena, sizeof(*w));
    int code;

    if (strcmp(o->format, "text") != 0 && strcmp(o->format, "json") != 0 &&
        strcmp(o->format, "html") != 0)
        return fail(c, E_PARAMETER, "--format is text, json or html, not '%s'", o->format);
    if ((cli->argc == 0) != (cl != NULL))
        return fail(c, E_PARAMETER, "of which records? Give a FILE or --table TABLE%s",
                    cl ? ", not both" : "");
    w->options = o;
    arena_init(&w->texts, NULL, 0);
    survey_init(&w->survey, 1);
    code = advise_steps(c, w, cl, cli->argv[0]);
    if (w->ranks.survey)
        ranks_release(&w->ranks);
    survey_release(&w->survey);
    arena_release(&w->texts);
    return code;
}

static int advise_run(struct ctx *c, struct cli *cli, void *options)
{
    return run(c, NULL, cli, options);
}

static int advise_run_connected(struct ctx *c, struct client *cl, struct cli *cli, void *options)
{
    return run(c, cl, cli, options);
}

static bool advise_connects(const void *options)
{
    return ((const struct advise_options *)options)->table != NULL;
}

const struct command command_advise = {
    .name = "advise",
    .group = GROUP_LOAD,
    .args = "FILE | --table TABLE",
    .summary = "say which key a table of these records should have, and why",
    .text =
        "FILE is CSV with a header line or JSON Lines, or - for standard input. With --table\n"
        "the rows of a table are judged, in the order in which their cells were written unless\n"
        "a column holds times.\n"
        "\n"
        "Every column, and combinations of up to three, are judged as partition keys, plain\n"
        "and in bucket layouts: values, skew, the largest value, growth, writes in a narrow\n"
        "range, the load on simulated partitions, reads kept or lost. Best first.\n"
        "\n"
        "--query names the reads that matter, several with ';' between them or each with its own:\n"
        "  \"CardID=\"               all rows of one card\n"
        "  \"CardID=, time range\"   one card's rows in the order of time, or a stretch of it\n"
        "  \"CardID=, time desc\"    the same, newest first\n"
        "  \"time range\"            all rows in the order of time\n"
        "\n"
        "Memory does not grow with the file. Figures of large files are estimates: values to\n"
        "1.6 %, simulations from 32,768 records or more at even distances.",
    .example = "widerow advise orders.csv --query 'user=, at range'",
    .options = advise_rows,
    .options_size = sizeof(struct advise_options),
    .defaults = advise_defaults,
    .argc_min = 0,
    .argc_max = 1,
    .run = advise_run,
    .run_connected = advise_run_connected,
    .connects = advise_connects,
};
