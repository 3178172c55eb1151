/* cmd_import.c: `widerow import`: reads a file of CSV, JSON Lines or Parquet, and hands rows to the
 * loader's workers. */
#include "cli/command.h"
#include "cli/import_verdict.h"
#include "cli/transfer/import_check.h"
#include "cli/transfer/import_load.h"
#include "cli/transfer/import_split.h"
#include "cli/transfer/import_table.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#define MAX_ERRORS_OPEN UINT64_MAX /* nobody has said */
#define REJECTS_USUAL 1000

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
    {"partitions", "N",
     "with --create and layout plain: partitions that the table begins with, split by a sample of "
     "the keys (default: one a 64 MiB of the file, at most 16)",
     OPTION_COUNT, AT(partitions), 1, IMPORT_PARTITIONS_MAX},
    {"max-versions", "N",
     "with --create: versions of each cell that the table keeps, and it takes any timestamps, as "
     "an "
     "export with --versions has them (default 1)",
     OPTION_COUNT, AT(max_versions), 1, INT32_MAX},
    {"input", "csv|jsonl|dynamodb|parquet", "what FILE is (default: told from how it begins)",
     OPTION_TEXT, AT(input), 0, 0},
    {"delimiter", "CHAR",
     "between the fields of a CSV: one character, or tab (default: the one of , ; tab | that its "
     "first line has most of)",
     OPTION_TEXT, AT(delimiter), 0, 0},
    {"null", "TEXT",
     "of CSV: a field of this text and without quotes gives no cell, as an empty one does",
     OPTION_TEXT, AT(null), 0, 0},
    {"workers", "N", "connections that write at the same time (default 8)", OPTION_COUNT,
     AT(workers), 1, 256},
    {"shuffle", NULL, "send rows in random order, out of a window of rows read ahead", OPTION_FLAG,
     AT(shuffle), 0, 0},
    {"window", "N", "rows read ahead (default 50000)", OPTION_COUNT, AT(window), 1, 10000000},
    {"seed", "S", "of the random order (default: another one each time)", OPTION_COUNT, AT(seed), 0,
     UINT64_MAX},
    {"batch", "N", "rows in one request (default 200, the server's limit)", OPTION_COUNT, AT(batch),
     1, 100000},
    {"rate", "N|Ncu",
     "at most so many rows a second, or as many as cost N capacity units (default: no limit)",
     OPTION_TEXT, AT(rate), 0, 0},
    {"max-errors", "N",
     "lines that may fail before the import stops (default 0; with --rejects 1000)", OPTION_COUNT,
     AT(max_errors), 0, UINT64_MAX},
    {"rejects", "FILE",
     "write the lines that are not loaded into FILE, as JSON Lines of line, reason and record",
     OPTION_TEXT, AT(rejects), 0, 0},
    {"dry-run", NULL,
     "read and check all lines, say what would be made and which lines are bad, and write nothing",
     OPTION_FLAG, AT(dry_run), 0, 0},
    {"resume", NULL,
     "note in FILE.resume how far it is, and go on from there if an earlier run has been stopped",
     OPTION_FLAG, AT(resume), 0, 0},
    {"embedded", NULL,
     "with --dir: sort the rows, write table files of storage and take them over, all at once; for "
     "a table without rows",
     OPTION_FLAG, AT(embedded), 0, 0},
    {"acked", "FILE", "append the key of each acknowledged row to FILE", OPTION_TEXT, AT(acked), 0,
     0},
    {"retry", "SECONDS", "how long to try again when the server is busy or gone (default 30)",
     OPTION_COUNT, AT(retry_s), 0, 86400},
    STORE_ROWS(struct import_options),
    {"quiet", NULL, "no progress", OPTION_FLAG, AT(quiet), 0, 0},
    {0},
};
#undef AT

/* Ctrl-C ends the import in order: what is under way is finished and counted. */
static volatile sig_atomic_t interrupted;

static void on_interrupt(int sig)
{
    (void)sig;
    interrupted = 1;
}

static int open_notes(struct ctx *c, struct import *im, const char *path, int fd)
{
    const struct import_options *o = im->options;
    const char *etag = fd < 0 ? im->object.head.etag : NULL;

    if (o->resume && strcmp(path, "-") == 0)
        return fail(c, E_PARAMETER, "--resume is for files: give FILE its name instead of -");
    if (o->acked && rejects_is_input(fd, o->acked))
        return fail(c, E_PARAMETER, "--acked would write into the file that is read, %s", o->acked);
    if (etag && !etag[0])
        etag = arena_printf(&c->arena, "%llu", (unsigned long long)im->object.head.size).ptr;
    if (o->resume)
        TRY(resume_begin(c, &im->resume, path, fd, etag, bytes_str(o->table)));
    return rejects_open(c, &im->rejects, o->rejects, fd, im->resume.offset > 0);
}

static int open_source(struct ctx *c, struct import *im, const char *path)
{
    const struct import_options *o = im->options;
    struct record_form form = {o->input, o->delimiter};
    int fd = STDIN_FILENO;

    im->source.stop = &interrupted;
    im->source.keep_raw = o->rejects;
    if (s3_is_url(path)) {
        TRY(object_open(c, &im->object, &o->s3, path, &interrupted));
        TRY(import_source_open_object(c, &im->source, &im->object, path, &form));
        return open_notes(c, im, path, -1);
    }
    if (strcmp(path, "-") != 0)
        fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fail(c, E_PARAMETER, "cannot read %s: %s", path, strerror(errno));
    TRY(import_source_open(c, &im->source, fd, path, &form));
    return open_notes(c, im, path, fd);
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
static void look(void *arg, const struct csv_record *record)
{
    import_verdict_add(arg, record);
}

static int dry_run(struct ctx *c, struct import *im)
{
    struct import_verdict verdict;
    int code;

    import_verdict_begin(&verdict, &im->plan);
    code = import_check(c, im, look, &verdict);
    if (code == 0)
        import_verdict_print(c, &verdict, im->options->table, im->layout);
    import_verdict_end(&verdict);
    return code;
}

/* A table that is to be made has the key that an export has noted. */
static const char *key_words(struct ctx *c, const struct import *im)
{
    const struct import_options *o = im->options;

    return o->key || !o->create ? o->key : import_source_key(c, &im->source);
}

static int check_embedded(struct ctx *c, const struct cli *cli, struct import *im)
{
    const struct import_options *o = im->options;

    if (!o->embedded)
        return 0;
    if (!cli->where.dir || !im->client->target->db)
        return fail(c, E_PARAMETER,
                    "--embedded writes into a data folder that no server has open: give --dir DIR");
    if (o->resume || o->acked || o->rate || o->shuffle)
        return fail(c, E_PARAMETER,
                    "--embedded loads all rows at once or none: --resume, --acked, --rate and "
                    "--shuffle are for rows that are sent");
    im->dir = cli->where.dir;
    return 0;
}

static int import_steps(struct ctx *c, struct cli *cli, struct import *im)
{
    const struct import_options *o = im->options;
    const char *path = cli->argv[0], *name = strcmp(path, "-") ? path : "standard input";
    struct csv_record header;

    if (o->layout && !o->create)
        return fail(c, E_PARAMETER, "--layout is for a new table: give --create, too");
    if (o->dry_run && o->resume)
        return fail(c, E_PARAMETER, "--dry-run writes nothing, so there is nothing to --resume");
    TRY(check_embedded(c, cli, im));
    TRY(rate_parse(c, o->rate, &im->rate));
    TRY(open_acked(c, im));
    TRY(open_source(c, im, path));
    TRY(import_source_header(c, &im->source, name, o->key, o->columns, &header));
    TRY(plan_parse(c, &im->plan, &header, key_words(c, im), o->columns));
    im->plan.json = im->source.json;
    if (o->null && (im->source.json || im->source.rows))
        return fail(c, E_PARAMETER,
                    "--null is for CSV; JSON has a null of its own, as has Parquet");
    im->plan.has_null = o->null;
    im->plan.null = o->null ? bytes_str(o->null) : BYTES_NONE;
    TRY(import_table_prepare(c, im));
    if (im->resume.offset && !o->quiet)
        fprintf(stderr, "Going on at line %llu\n", (unsigned long long)im->resume.line);
    if (o->dry_run)
        return dry_run(c, im);
    return import_load(c, im);
}

static int import_run(struct ctx *c, struct client *cl, struct cli *cli, void *options)
{
    struct import_options *o = options;
    struct import im = {.options = o, .client = cl, .loader.acked_fd = -1, .rejects.fd = -1};
    struct sigaction action = {.sa_handler = on_interrupt};
    int code;

    if (o->max_errors == MAX_ERRORS_OPEN)
        o->max_errors = o->rejects ? REJECTS_USUAL : 0;
    if (!o->table)
        return fail(c, E_PARAMETER, "into which table? Give --table");
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    code = import_steps(c, cli, &im);
    cli->partly = atomic_load(&im.progress.records) != 0;
    cli->interrupted = interrupted;
    if (code && im.created && atomic_load(&im.progress.records) == 0)
        import_table_remove(c, &im);
    rejects_close(&im.rejects);
    import_source_release(&im.source);
    object_close(&im.object);
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
    o->max_errors = MAX_ERRORS_OPEN;
}

const struct command command_import = {
    .name = "import",
    .group = GROUP_FILES,
    .args = "FILE --table TABLE [--key COL[:type],...]",
    .summary = "load a CSV, JSON Lines or Parquet file into a table",
    .text =
        "FILE is CSV with a header line (RFC 4180 quoting), or JSON Lines, an object a line, or "
        "what\n"
        "DynamoDB exports to S3 (lines of {\"Item\":{...}}), an object s3://BUCKET/KEY of such, or "
        "- for standard input; gzip and "
        "zstd are\n"
        "unpacked on the way. A field with nothing in it, not even quotes, gives no cell, and "
        "null\n"
        "none. Types that nobody says, and the columns of JSON Lines, are those of the first 1000\n"
        "lines and, of a plain file, of about 4000 from all over it. Rows are put: a row that is\n"
        "there already is replaced. Those of a window go by their keys where the table stores\n"
        "them so, each batch to another place of it than the one before. With several workers,\n"
        "or --shuffle, two lines with the same key may land in either order. A line is bad if\n"
        "its fields do not fit the columns' types or the server refuses it, or a column of the\n"
        "key is empty; nothing of it is written. In a column of JSON Lines that holds several\n"
        "types, integers and doubles too, each value keeps its own, unless\n"
        "--columns says NAME:double and the like. Of DynamoDB lists, maps and sets become their "
        "JSON\n"
        "as texts, and numbers beyond 64-bit integers doubles.\n"
        "\n"
        "With --create no table is made if too many of the first 1000 lines are bad, and none "
        "stays\n"
        "of an import that fails before its first row, unless somebody has put rows into it or an\n"
        "answer is missing.\n"
        "\n"
        "Of Parquet files, which are flat, rows count as lines; they have types: signed numbers,\n"
        "days since 1970-01-01 of dates and the file's units of times and timestamps become\n"
        "integers (with --columns NAME:string texts such as 2024-02-29 12:30:00.5), decimals and\n"
        "UUIDs strings, bytes that are no texts binaries. What `widerow export` wrote names its "
        "key.\n"
        "\n"
        "--embedded is the fast way into a data folder that no server has open: rows are sorted\n"
        "beside it and become visible all at once, of lines with the same key the last one. A\n"
        "table with rows, indexes, a stream, search indexes or transactions is refused, as is a\n"
        "row that storage keeps in pieces. Killed, it leaves the table as it was, without rows.\n"
        "\n"
        "--rejects writes {\"line\":7,\"reason\":\"...\",\"record\":\"...\"} for each line that is "
        "left\n"
        "out, as it is written in FILE: mended, it can be loaded. --dry-run also says what\n"
        "`widerow advise` thinks of the key.",
    .example = "widerow import orders.csv --table orders --create --key user:string,at:integer",
    .options = import_rows,
    .options_size = sizeof(struct import_options),
    .defaults = import_defaults,
    .argc_min = 1,
    .argc_max = 1,
    .makes_folder = true,
    .run_connected = import_run,
};
