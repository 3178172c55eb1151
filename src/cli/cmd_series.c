/* cmd_series.c: `widerow series`: a table that is a series of tables, one a period. */
#include "cli/column_words.h"
#include "cli/command.h"
#include "cli/console/records.h"

#include <stdio.h>
#include <string.h>

struct series_options {
    const char *key, *columns, *layout, *by, *column, *unit, *archive;
    uint64_t hot, warm, warm_read, ttl_s, versions, read, write;
    bool insert_only;
    struct records_options print;
};

static const struct option_row series_rows[] = {
    {"key", "LIST", "create: key columns, as of widerow create", OPTION_TEXT,
     offsetof(struct series_options, key), 0, 0},
    {"columns", "LIST", "create: defined columns, likewise", OPTION_TEXT,
     offsetof(struct series_options, columns), 0, 0},
    {"layout", "LAYOUT", "create: how keys are spread in each period (default plain)", OPTION_TEXT,
     offsetof(struct series_options, layout), 0, 0},
    {"by", "month|week|day", "create: the length of a period", OPTION_TEXT,
     offsetof(struct series_options, by), 0, 0},
    {"column", "NAME", "create: the time of a row, a key column or (--insert-only) an attribute",
     OPTION_TEXT, offsetof(struct series_options, column), 0, 0},
    {"unit", "text|s|ms|us",
     "create: what it holds: a date as text (default), or seconds, milliseconds or microseconds "
     "since 1970",
     OPTION_TEXT, offsetof(struct series_options, unit), 0, 0},
    {"insert-only", NULL, "create: rows are put and never updated", OPTION_FLAG,
     offsetof(struct series_options, insert_only), 0, 0},
    {"hot", "N", "create, age: so many periods take writes, with the current one (default all)",
     OPTION_COUNT, offsetof(struct series_options, hot), 1, INT32_MAX},
    {"warm", "N", "create, age: so many more are kept to be read, then they go (default all)",
     OPTION_COUNT, offsetof(struct series_options, warm), 1, INT32_MAX},
    {"archive", "s3://BUCKET/PREFIX",
     "create, archive: read-only periods are written there, and only then go (default: they go for "
     "good)",
     OPTION_TEXT, offsetof(struct series_options, archive), 0, 0},
    {"warm-read", "N", "create, age: reserved read units of each of these", OPTION_COUNT,
     offsetof(struct series_options, warm_read), 0, INT32_MAX},
    {"read", "N", "create: reserved read units of each other period", OPTION_COUNT,
     offsetof(struct series_options, read), 0, INT32_MAX},
    {"write", "N", "create: reserved write units of each of those", OPTION_COUNT,
     offsetof(struct series_options, write), 0, INT32_MAX},
    {"ttl", "SECONDS", "create: age at which cells vanish (default never)", OPTION_COUNT,
     offsetof(struct series_options, ttl_s), 1, INT32_MAX},
    {"versions", "N", "create: versions kept of each cell (default 1)", OPTION_COUNT,
     offsetof(struct series_options, versions), 1, INT32_MAX},
    RECORDS_ROWS(struct series_options),
    {0},
};

static void series_defaults(void *options)
{
    ((struct series_options *)options)->versions = 1;
}

static const char *const by_words[] = {"", "month", "week", "day", NULL};
static const char *const unit_words[] = {"text", "s", "ms", "us", NULL};

/* The place of a word in a list; -1: it is not there. */
static int place_of(const char *const *list, const char *word)
{
    for (int i = 0; list[i]; i++)
        if (*list[i] && strcmp(list[i], word) == 0)
            return i;
    return -1;
}

/* ---- create ---- */

static int parse_spec(struct ctx *c, const struct series_options *o, struct wr_series_spec *out)
{
    int by = o->by ? place_of(by_words, o->by) : -1;
    int unit = o->unit ? place_of(unit_words, o->unit) : WR_SERIES_TEXT;

    if (by < 0)
        return fail(c, E_PARAMETER, "--by says how long a period is: month, week or day");
    if (unit < 0)
        return fail(c, E_PARAMETER, "--unit is none of text, s, ms and us");
    if (!o->column)
        return fail(c, E_PARAMETER, "--column names the time of a row");
    *out = (struct wr_series_spec){.by = (enum wr_series_by)by,
                                   .column = bytes_str(o->column),
                                   .unit = (enum wr_series_unit)unit,
                                   .hot = (int32_t)o->hot,
                                   .warm = (int32_t)o->warm,
                                   .warm_reserved = {true, true, (int32_t)o->warm_read, 0}};
    return 0;
}

static int series_create(struct ctx *c, struct client *cl, struct cli *cli,
                         const struct series_options *o)
{
    struct wr_key_schema key[WR_KEY_COLUMNS_MAX + 1] = {0};
    struct wr_defined_column *defined =
        ARENA_ARRAY(&c->arena, struct wr_defined_column, COLUMN_WORDS_MAX + 1);
    struct wr_request request = {
        .op = WR_OP_CREATE_SERIES,
        .create_series = {
            .table = {.table = bytes_str(cli->argv[1]),
                      .key = key,
                      .defined = defined,
                      .options = {.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS | WR_HAS_ALLOW_UPDATE,
                                  .ttl_s = o->ttl_s ? (int32_t)o->ttl_s : -1,
                                  .max_versions = (int32_t)o->versions,
                                  .allow_update = !o->insert_only},
                      .reserved = {true, true, (int32_t)o->read, (int32_t)o->write},
                      .layout = o->layout ? bytes_str(o->layout) : BYTES_NONE},
            .archive = o->archive ? bytes_str(o->archive) : BYTES_NONE}};
    struct wr_create_table *t = &request.create_series.table;
    struct wr_reply reply;

    if (!o->key)
        return fail(c, E_PARAMETER,
                    "--key says which columns are the key, as in "
                    "--key 'card:integer,time:string'");
    TRY(column_words_key(c, o->key, key, &t->key_count));
    TRY(column_words_defined(c, o->columns, defined, &t->defined_count));
    TRY(parse_spec(c, o, &request.create_series.series));
    return client_exec(c, cl, &request, &reply);
}

/* ---- status ---- */

static const char *age_text(struct ctx *c, const struct wr_series_spec *s)
{
    if (!s->hot)
        return "all periods take writes";
    if (!s->warm)
        return arena_printf(&c->arena, "%d take writes, all others are kept", (int)s->hot).ptr;
    return arena_printf(&c->arena, "%d take writes, %d more are kept, older ones go", (int)s->hot,
                        (int)s->warm)
        .ptr;
}

/* Is a period of that name, as wide as all others, in the archive? */
static bool is_archived(const struct wr_series_result *r, bytes name)
{
    return r->archived.len && bytes_compare(name, r->archived) <= 0;
}

static const char *state_of(const struct wr_series_result *r, const struct wr_series_period *p)
{
    return !p->frozen ? "hot" : is_archived(r, p->name) ? "archived" : "read-only";
}

static void say(struct ctx *c, const struct wr_series_result *r)
{
    printf("by %s of %.*s (%s); %s\n", by_words[r->spec.by & 3], BYTES_FMT(r->spec.column),
           unit_words[r->spec.unit & 3], age_text(c, &r->spec));
    if (r->frozen.len)
        printf("read-only up to %.*s\n", BYTES_FMT(r->frozen));
    if (r->dropped.len)
        printf("dropped up to %.*s\n", BYTES_FMT(r->dropped));
    if (r->archive.len)
        printf("archive %.*s: %s%.*s%s%.*s\n", BYTES_FMT(r->archive),
               r->archived.len ? "periods up to " : "no period yet", BYTES_FMT(r->archived),
               r->archive_state.len ? "; " : "", BYTES_FMT(r->archive_state));
    for (size_t i = 0; i < r->count; i++)
        printf("%.*s  %-9s  about %llu bytes\n", BYTES_FMT(r->periods[i].name),
               state_of(r, &r->periods[i]), (unsigned long long)r->periods[i].stored_bytes);
}

static int print_periods(struct ctx *c, const struct series_options *o,
                         const struct wr_series_result *r)
{
    struct records *out;
    int code = 0, more;

    TRY(records_open(c, &o->print, NULL, &out));
    for (size_t i = 0; i < r->count && code == 0; i++) {
        struct record record = {.count = 0};

        record_text(&record, "period", r->periods[i].name);
        record_text(&record, "state", bytes_str(state_of(r, &r->periods[i])));
        record_integer(&record, "bytes", (int64_t)r->periods[i].stored_bytes);
        code = records_put_record(c, out, &record);
    }
    more = records_close(c, out);
    return code ? code : more;
}

static int series_print(struct ctx *c, const struct series_options *o,
                        const struct wr_series_result *r)
{
    if (o->print.format)
        return print_periods(c, o, r);
    say(c, r);
    return 0;
}

static int series_status(struct ctx *c, struct client *cl, struct cli *cli,
                         const struct series_options *o)
{
    struct wr_request request = {.op = WR_OP_DESCRIBE_SERIES,
                                 .describe_series = {bytes_str(cli->argv[1])}};
    struct wr_reply reply;

    TRY(client_exec(c, cl, &request, &reply));
    return series_print(c, o, &reply.series);
}

/* ---- changes ---- */

static int series_change(struct ctx *c, struct client *cl, const struct wr_change_series *change,
                         const struct series_options *o)
{
    struct wr_request request = {.op = WR_OP_CHANGE_SERIES, .change_series = *change};
    struct wr_reply reply;

    TRY(client_exec(c, cl, &request, &reply));
    return series_print(c, o, &reply.series);
}

static int series_age(struct ctx *c, struct client *cl, struct cli *cli,
                      const struct series_options *o)
{
    struct wr_change_series change = {.table = bytes_str(cli->argv[1]), .action = WR_SERIES_AGE};

    /* The rest of the description stays, whatever is sent. */
    change.spec = (struct wr_series_spec){.by = WR_SERIES_BY_MONTH,
                                          .column = BYTES_LIT(""),
                                          .hot = (int32_t)o->hot,
                                          .warm = (int32_t)o->warm,
                                          .warm_reserved = {true, true, (int32_t)o->warm_read, 0}};
    return series_change(c, cl, &change, o);
}

static int series_archive(struct ctx *c, struct client *cl, struct cli *cli,
                          const struct series_options *o)
{
    return series_change(
        c, cl,
        &(struct wr_change_series){.table = bytes_str(cli->argv[1]),
                                   .action = WR_SERIES_ARCHIVE,
                                   .archive = o->archive ? bytes_str(o->archive) : BYTES_NONE},
        o);
}

static int series_until(struct ctx *c, struct client *cl, struct cli *cli,
                        const struct series_options *o, enum wr_series_action action)
{
    return series_change(c, cl,
                         &(struct wr_change_series){.table = bytes_str(cli->argv[1]),
                                                    .action = action,
                                                    .period = bytes_str(cli->argv[2])},
                         o);
}

static int series_freeze(struct ctx *c, struct client *cl, struct cli *cli,
                         const struct series_options *o)
{
    return series_until(c, cl, cli, o, WR_SERIES_FREEZE);
}

static int series_drop(struct ctx *c, struct client *cl, struct cli *cli,
                       const struct series_options *o)
{
    return series_until(c, cl, cli, o, WR_SERIES_DROP);
}

/* ---- the command ---- */

static const struct series_action {
    const char *name, *words;
    int argc;
    int (*run)(struct ctx *c, struct client *cl, struct cli *cli, const struct series_options *o);
} actions[] = {
    {"create", "TABLE", 2, series_create},
    {"status", "TABLE", 2, series_status},
    {"age", "TABLE", 2, series_age},
    {"archive", "TABLE", 2, series_archive},
    {"freeze", "TABLE PERIOD", 3, series_freeze},
    {"drop", "TABLE PERIOD", 3, series_drop},
};

static int series_run(struct ctx *c, struct client *cl, struct cli *cli, void *options)
{
    for (size_t i = 0; i < PORT_COUNT(actions); i++) {
        const struct series_action *a = &actions[i];

        if (strcmp(cli->argv[0], a->name) != 0)
            continue;
        if (cli->argc != a->argc)
            return fail(c, E_PARAMETER, "widerow series %s is followed by %s", a->name, a->words);
        return a->run(c, cl, cli, options);
    }
    return fail(c, E_PARAMETER, "'%s' is none of create, status, age, archive, freeze and drop",
                cli->argv[0]);
}

const struct command command_series = {
    .name = "series",
    .group = GROUP_TABLES,
    .args = "create TABLE | status TABLE | age TABLE | archive TABLE | freeze TABLE PERIOD | "
            "drop TABLE PERIOD",
    .summary = "a table that is a series of tables, one a month, week or day",
    .text =
        "Clients use a series as any table; each period has its own inside, which old rows leave\n"
        "with at no cost. Periods are those of UTC: 2025-03, 2025-W11 or 2025-03-14.\n"
        "\n"
        "create makes one, with the periods that rows come for. age sets how many take writes and\n"
        "how many more are kept. freeze makes all up to a period read-only; drop removes all up "
        "to\n"
        "a period, which must be read-only, with their rows. widerow drop removes the whole "
        "series.\n"
        "\n"
        "Of a series with an archive (--archive, of create and of archive) a read-only period is\n"
        "written there by the server, read back and compared, and dropped only then; widerow "
        "archive\n"
        "lists, verifies and restores what is there. archive without --archive takes it off.",
    .example = "widerow series create purchases --key 'card:integer,time:string' --by month "
               "--column time --hot 2 --warm 12\n"
               "widerow series status purchases\n"
               "widerow series freeze purchases 2025-01",
    .options = series_rows,
    .options_size = sizeof(struct series_options),
    .defaults = series_defaults,
    .argc_min = 2,
    .argc_max = 3,
    .makes_folder = true,
    .run_connected = series_run,
};
