/* cmd_replay.c: `widerow replay`: makes a table for each layout, split into partitions alike, and
 * replays a file onto all of them.
 *
 * A plain table is split where a first walk over the file finds equal parts of its first key
 * column, as its partitions would be split in the long run; a table with buckets has a partition
 * for each from the beginning. */
#include "advisor/ranks.h"
#include "cli/command.h"
#include "cli/console/value.h"
#include "cli/transfer/replay.h"
#include "record/csv.h"
#include "record/record.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define GUESS_LINES 1000
#define WINDOW_ROWS 1000
#define CUTS_MAX 64

struct replay_options {
    const char *key, *columns, *prefix, *format;
    struct option_list layouts;
    uint64_t partitions, workers, rate, reads, read_cu, write_cu, look, max_errors;
    bool keep, quiet;
};

#define AT(member) offsetof(struct replay_options, member)
static const struct option_row replay_rows[] = {
    {"key", "COL[:type],...", "key columns in order, for all tables", OPTION_TEXT, AT(key), 0, 0},
    {"layout", "LAYOUT", "a layout to try; give it two times or more", OPTION_LIST, AT(layouts), 0,
     0},
    {"columns", "COL[:type],...", "attribute columns (default: all others)", OPTION_TEXT,
     AT(columns), 0, 0},
    {"partitions", "P", "that tables without buckets are split into at first (default 8)",
     OPTION_COUNT, AT(partitions), 1, CUTS_MAX},
    {"workers", "N", "connections (default 8)", OPTION_COUNT, AT(workers), 1, 256},
    {"rate", "N", "rows a second (default: as fast as they are answered)", OPTION_COUNT, AT(rate),
     1, 10000000},
    {"reads", "PERCENT", "of the rows that are read again at once (default 0)", OPTION_COUNT,
     AT(reads), 0, 100},
    {"read-cu", "N", "read capacity units a second to reserve", OPTION_COUNT, AT(read_cu), 0,
     INT32_MAX},
    {"write-cu", "N", "write capacity units a second to reserve", OPTION_COUNT, AT(write_cu), 0,
     INT32_MAX},
    {"look", "N", "rows between two looks at the partitions (default 2000)", OPTION_COUNT, AT(look),
     1, UINT64_MAX},
    {"prefix", "NAME", "beginning of the tables' names (default replay)", OPTION_TEXT, AT(prefix),
     0, 0},
    {"format", "FORM", "text (default) or json", OPTION_TEXT, AT(format), 0, 0},
    {"max-errors", "N", "bad lines that may be left out (default 0)", OPTION_COUNT, AT(max_errors),
     0, UINT64_MAX},
    {"keep", NULL, "do not drop the tables at the end", OPTION_FLAG, AT(keep), 0, 0},
    {"quiet", NULL, "no progress", OPTION_FLAG, AT(quiet), 0, 0},
    {0},
};
#undef AT

static void replay_defaults(void *options)
{
    *(struct replay_options *)options = (struct replay_options){
        .partitions = 8, .workers = 8, .look = 2000, .prefix = "replay", .format = "text"};
}

/* One run. */
struct work {
    const struct replay_options *options;
    struct client *client;
    const char *path;
    int fd;
    uint64_t total_bytes;
    struct csv csv;
    struct plan plan;
    struct shuffle_buffer window;
    struct progress progress;
    struct replay replay;
    struct wr_partition_range *ranges; /* of tables without buckets */
    size_t range_count;
    uint64_t bad_lines;
};

/* ---- the file ---- */

static ssize_t read_fd(void *arg, void *buf, size_t n)
{
    return read(*(int *)arg, buf, n);
}

static int open_file(struct ctx *c, struct work *w, struct csv_record *header)
{
    w->fd = open(w->path, O_RDONLY | O_CLOEXEC);
    if (w->fd < 0)
        return fail(c, E_PARAMETER, "cannot read %s: %s", w->path, strerror(errno));
    csv_init(&w->csv, read_fd, &w->fd);
    switch (csv_next(&w->csv, header)) {
    case CSV_RECORD:
        return 0;
    case CSV_END:
        return fail(c, E_PARAMETER, "%s is empty; it needs a header line", w->path);
    default:
        return fail(c, E_PARAMETER, "%s, line 1: %s", w->path, w->csv.message);
    }
}

static void close_file(struct work *w)
{
    csv_release(&w->csv);
    if (w->fd >= 0)
        close(w->fd);
    w->fd = -1;
}

/* Types that nobody has said, from the first lines. */
static int make_plan(struct ctx *c, struct work *w)
{
    struct csv_record record;
    int code = open_file(c, w, &record);

    if (code == 0)
        code = plan_parse(c, &w->plan, &record, w->options->key, w->options->columns);
    for (int n = 0; code == 0 && n < GUESS_LINES && csv_next(&w->csv, &record) == CSV_RECORD; n++)
        plan_guess(&w->plan, &record);
    if (code == 0)
        plan_guess_end(&w->plan);
    close_file(w);
    return code;
}

/* Surveys the first key column: its values in order, as often as they come. */
static int survey_file(struct ctx *c, struct work *w, struct record_reader *r, struct survey *s)
{
    size_t column;

    TRY(record_open(c, r, w->path, &(struct record_form){"csv", ","}));
    w->total_bytes = r->total_bytes;
    column = record_column(r, w->plan.keys[0].name);
    if (column == SIZE_MAX)
        return fail(c, E_PARAMETER, "%s has no column %.*s", w->path,
                    BYTES_FMT(w->plan.keys[0].name));
    survey_add_column(s, r->names[column], column);
    for (;;) {
        switch (record_next(r)) {
        case RECORD_OK:
            survey_add(s, r->fields);
            break;
        case RECORD_BAD: /* the replay itself says so */
            break;
        case RECORD_FAILED:
            return fail(c, E_PARAMETER, "%s: %s", w->path, r->message);
        case RECORD_END:
            return s->records ? 0 : fail(c, E_PARAMETER, "%s has no records", w->path);
        }
    }
}

/* Where the surveyed column is split into equal parts. */
static void split_ranges(struct ctx *c, struct work *w, const struct survey *s)
{
    enum wr_type type = w->plan.keys[0].type == WR_BIGINT ? WR_BIGINT : WR_VARCHAR;
    struct wr_value last = {.type = WR_INF_MIN};
    struct ranks ranks;
    uint32_t *counts, below = 0, part = 1;

    ranks_init(&ranks, s, SIZE_MAX, true, &type);
    counts = mem_zalloc(sizeof(*counts) * (ranks.columns[0].value_count + 1));
    for (uint32_t i = 0; i < ranks.count; i++)
        counts[ranks.columns[0].ranks[i]]++;
    w->ranges = ARENA_ARRAY(&c->arena, struct wr_partition_range, w->options->partitions + 1);
    for (uint32_t v = 0; v < ranks.columns[0].value_count; v++) {
        struct wr_value value;
        bytes text = ranks.columns[0].values[v];

        if (v && (uint64_t)below * w->options->partitions >= (uint64_t)part * ranks.count &&
            text.len && text.len <= 64 &&
            value_of_text(arena_copy(&c->arena, text), w->plan.keys[0].type, &value)) {
            w->ranges[w->range_count++] = (struct wr_partition_range){last, value};
            last = value;
            while ((uint64_t)below * w->options->partitions >= (uint64_t)part * ranks.count)
                part++;
        }
        below += counts[v];
    }
    w->ranges[w->range_count++] = (struct wr_partition_range){last, {.type = WR_INF_MAX}};
    mem_free(counts);
    ranks_release(&ranks);
}

static int find_ranges(struct ctx *c, struct work *w)
{
    struct record_reader *r = arena_zalloc(&c->arena, sizeof(*r));
    struct survey survey;
    int code;

    survey_init(&survey, 1);
    code = survey_file(c, w, r, &survey);
    if (code == 0)
        split_ranges(c, w, &survey);
    record_release(r);
    survey_release(&survey);
    return code;
}

/* ---- the tables ---- */

static void drop_table(struct work *w, bytes table)
{
    struct wr_request request = {.op = WR_OP_DELETE_TABLE, .delete_table = {table}};
    struct wr_reply reply;
    struct ctx c;

    ctx_init(&c, w->replay.clock, NULL, NULL, 0);
    client_exec(&c, w->client, &request, &reply);
    ctx_release(&c);
}

static int create_table(struct ctx *c, struct work *w, const struct replay_side *side)
{
    struct wr_key_schema key[WR_KEY_COLUMNS_MAX] = {0};
    struct wr_request request = {
        .op = WR_OP_CREATE_TABLE,
        .create_table = {
            .table = side->table,
            .key = key,
            .key_count = w->plan.key_count,
            .options = {.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS, .ttl_s = -1, .max_versions = 1},
            .reserved = {true, true, (int32_t)w->options->read_cu, (int32_t)w->options->write_cu},
            .layout = bytes_str(side->layout)}};
    struct wr_reply reply;
    bool buckets = strchr(side->layout, ':') && strncmp(side->layout, "splice:", 7) != 0;

    if (!buckets && !strchr(side->layout, '+') && w->range_count > 1) {
        request.create_table.partitions = w->ranges;
        request.create_table.partition_count = w->range_count;
    }
    for (size_t i = 0; i < w->plan.key_count; i++)
        key[i] = (struct wr_key_schema){.name = w->plan.keys[i].name, .type = w->plan.keys[i].type};
    return client_exec(c, w->client, &request, &reply);
}

/* "replay_hash_16" */
static bytes table_name(struct ctx *c, const struct replay_options *o, const char *layout)
{
    bytes name = arena_printf(&c->arena, "%s_%s", o->prefix, layout);
    char *p = (char *)name.ptr;

    for (size_t i = 0; i < name.len; i++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", p[i]))
            p[i] = '_';
    return name;
}

/* All or none: a layout that does not fit is said before anything is replayed. */
static int create_tables(struct ctx *c, struct work *w, size_t *made)
{
    for (*made = 0; *made < w->replay.side_count; ++*made)
        TRY(create_table(c, w, &w->replay.sides[*made]));
    return 0;
}

/* ---- the replay ---- */

static int bad_line(struct ctx *c, struct work *w, uint64_t line, const char *text)
{
    progress_say(&w->progress, "line %llu: %s", (unsigned long long)line, text);
    if (++w->bad_lines <= w->options->max_errors)
        return 0;
    return fail(c, E_PARAMETER, "%s, line %llu: %s (--max-errors N leaves up to N lines out)",
                w->path, (unsigned long long)line, text);
}

/* Waits until row number n may go, at the rate that was asked for. */
static void keep_rate(const struct work *w, uint64_t n, int64_t start_us)
{
    int64_t due_us, wait_us;

    if (!w->options->rate)
        return;
    due_us = start_us + (int64_t)(n * 1000000 / w->options->rate);
    wait_us = due_us - clock_mono_us(w->replay.clock);
    if (wait_us > 0) {
        struct timespec pause = {wait_us / 1000000, wait_us % 1000000 * 1000};

        nanosleep(&pause, NULL);
    }
}

static int feed(struct ctx *c, struct work *w)
{
    int64_t start_us = clock_mono_us(w->replay.clock);
    struct csv_record record;
    enum csv_result result;
    uint64_t n = 0;
    char message[256];

    TRY(open_file(c, w, &record));
    while ((result = csv_next(&w->csv, &record)) != CSV_END && !atomic_load(&w->replay.stopped)) {
        struct import_row *row = NULL;

        if (result == CSV_FAILED)
            return fail(c, E_PARAMETER, "%s: %s", w->path, w->csv.message);
        if (result == CSV_RECORD)
            row = plan_row(&w->plan, &record, message, sizeof(message));
        if (!row) {
            TRY(bad_line(c, w, record.line, result == CSV_BAD ? w->csv.message : message));
            continue;
        }
        keep_rate(w, n, start_us);
        shuffle_buffer_put(&w->window, &row, 1);
        if (++n % w->options->look == 0)
            TRY(replay_look(c, w->client, &w->replay, false));
    }
    return 0;
}

static int run_replay(struct ctx *c, struct work *w)
{
    struct replay *r = &w->replay;
    int code;

    TRY(replay_look(c, w->client, r, true));
    shuffle_buffer_init(&w->window, WINDOW_ROWS, 1, SIZE_MAX, ROWS_AS_THEY_COME, 1);
    progress_start(&w->progress, c->clock, w->total_bytes, w->options->quiet);
    code = replay_start(c, r);
    if (code == 0) {
        code = feed(c, w);
        shuffle_buffer_close(&w->window);
        replay_finish(r);
        close_file(w);
    }
    progress_end(&w->progress);
    shuffle_buffer_release(&w->window);
    if (code == 0 && r->failure[0])
        code = fail(c, E_UNAVAILABLE, "%s", r->failure);
    return code ? code : replay_look(c, w->client, r, false);
}

static int replay_steps(struct ctx *c, struct work *w)
{
    size_t made = 0;
    struct stat st;
    int code;

    if (stat(w->path, &st) == 0 && !S_ISREG(st.st_mode))
        return fail(c, E_PARAMETER, "%s is read twice, so it must be a file", w->path);
    TRY(make_plan(c, w));
    TRY(find_ranges(c, w));
    for (size_t i = 0; i < w->replay.side_count; i++)
        drop_table(w, w->replay.sides[i].table);
    code = create_tables(c, w, &made);
    if (code == 0)
        code = run_replay(c, w);
    for (size_t i = 0; i < made && !w->options->keep; i++)
        drop_table(w, w->replay.sides[i].table);
    if (code)
        return code;
    if (strcmp(w->options->format, "json") == 0)
        replay_print_json(&w->replay, stdout);
    else
        replay_print_text(&w->replay, stdout);
    return 0;
}

static int replay_run(struct ctx *c, struct client *cl, struct cli *cli, void *options)
{
    const struct replay_options *o = options;
    struct work *w = arena_zalloc(&c->arena, sizeof(*w));
    struct replay *r = &w->replay;

    if (!o->key)
        return fail(c, E_PARAMETER, "which key? Give --key COL,...");
    if (o->layouts.count == 0 || o->layouts.count > REPLAY_SIDES_MAX)
        return fail(c, E_PARAMETER, "which layouts? Give --layout once for each, %d at most",
                    REPLAY_SIDES_MAX);
    if (strcmp(o->format, "text") != 0 && strcmp(o->format, "json") != 0)
        return fail(c, E_PARAMETER, "--format is text or json, not '%s'", o->format);
    w->options = o;
    w->client = cl;
    w->path = cli->argv[0];
    w->fd = -1;
    r->target = cl->target;
    r->clock = c->clock;
    r->plan = &w->plan;
    r->window = &w->window;
    r->progress = &w->progress;
    r->worker_count = o->workers;
    r->read_percent = (unsigned)o->reads;
    r->side_count = o->layouts.count;
    r->sides = ARENA_ARRAY(&c->arena, struct replay_side, o->layouts.count);
    for (size_t i = 0; i < r->side_count; i++) {
        r->sides[i].layout = o->layouts.texts[i];
        r->sides[i].table = table_name(c, o, o->layouts.texts[i]);
    }
    return replay_steps(c, w);
}

const struct command command_replay = {
    .name = "replay",
    .group = GROUP_LOAD,
    .args = "FILE --key COL[:type],... --layout A --layout B",
    .summary = "write a file's rows to tables of different layouts side by side, and compare",
    .text =
        "FILE is CSV with a header line. For each layout a table is made anew (replay_hash_16 and\n"
        "the like), every row is written to all of them in the order of the file, one request\n"
        "each, and the tables are dropped at the end. Printed for each: requests answered and\n"
        "refused (with enforce_throughput at the server; a refused one is not sent again),\n"
        "capacity units, partitions touched, the busiest partition's load by the mean between two\n"
        "looks, and the latency of writes.",
    .example = "widerow replay orders.csv --key user,at --layout plain --layout hash:16",
    .options = replay_rows,
    .options_size = sizeof(struct replay_options),
    .defaults = replay_defaults,
    .argc_min = 1,
    .argc_max = 1,
    .makes_folder = true,
    .run_connected = replay_run,
};
