/* cmd_digest.c: `widerow digest`: one number for all that an instance's tables hold (digest.c says
 * of what), tables by name; or, with --content, a number for each table of what its readers find
 * there (content.h). */
#include "cli/command.h"
#include "cli/console/records.h"
#include "cli/transfer/base_tables.h"
#include "cli/transfer/content.h"
#include "cli/transfer/digest.h"

#include <stdio.h>

struct digest_options {
    struct records_options print;
    bool content, versions;
    uint64_t workers;
};

static const struct option_row digest_rows[] = {
    {"content", NULL,
     "of each table, only what its rows hold: the same on any server and after export and import",
     OPTION_FLAG, offsetof(struct digest_options, content), 0, 0},
    {"versions", NULL, "with --content: all versions of each cell, with their timestamps",
     OPTION_FLAG, offsetof(struct digest_options, versions), 0, 0},
    {"workers", "N", "with --content: pages under way at a time (default 4)", OPTION_COUNT,
     offsetof(struct digest_options, workers), 1, 256},
    RECORDS_ROWS(struct digest_options),
    {0},
};

/* The tables that are named, or all. */
static int choose_tables(struct ctx *c, struct client *cl, struct cli *cli, const bytes **names,
                         size_t *count)
{
    bytes *named;

    if (cli->argc == 0)
        return base_tables(c, cl, names, count);
    *count = (size_t)cli->argc;
    named = ARENA_ARRAY(&c->arena, bytes, *count);
    for (size_t i = 0; i < *count; i++)
        named[i] = bytes_str(cli->argv[i]);
    *names = named;
    return 0;
}

/* ---- what a server tells of its tables ---- */

static int digest_tables(struct ctx *c, struct client *cl, const bytes *names, size_t count,
                         struct digest *d)
{
    for (size_t i = 0; i < count; i++)
        TRY(digest_table(c, cl, d, names[i]));
    return 0;
}

static int digest_all(struct ctx *c, struct client *cl, const struct digest_options *o,
                      const bytes *names, size_t count)
{
    struct record record = {.count = 0};
    struct digest d;
    char hex[DIGEST_TEXT];
    int code;

    TRY(digest_init(c, &d));
    code = digest_tables(c, cl, names, count, &d);
    digest_finish(&d, hex);
    if (code)
        return code;
    if (o->print.format) {
        record_text(&record, "digest", bytes_str(hex));
        record_integer(&record, "tables", (int64_t)d.tables);
        record_integer(&record, "rows", (int64_t)d.rows);
        record_integer(&record, "cells", (int64_t)d.cells);
        return records_print_one(c, &o->print, &record);
    }
    printf("%s  %llu tables, %llu rows, %llu cells\n", hex, (unsigned long long)d.tables,
           (unsigned long long)d.rows, (unsigned long long)d.cells);
    return 0;
}

/* ---- what tables hold ---- */

static int print_content(struct ctx *c, struct records *records, bytes table,
                         const struct content *content)
{
    struct record record = {.count = 0};

    if (!records) {
        printf("%s  %.*s: %llu rows, %llu cells\n", content->hex, BYTES_FMT(table),
               (unsigned long long)content->rows, (unsigned long long)content->cells);
        return 0;
    }
    record_text(&record, "digest", bytes_str(content->hex));
    record_text(&record, "table", table);
    record_integer(&record, "rows", (int64_t)content->rows);
    record_integer(&record, "cells", (int64_t)content->cells);
    return records_put_record(c, records, &record);
}

static int digest_contents(struct ctx *c, struct client *cl, const struct digest_options *o,
                           const bytes *names, size_t count)
{
    const struct content_options options = {.versions = o->versions,
                                            .worker_count = (size_t)o->workers};
    struct records *records = NULL;
    struct content content;
    int code = 0, closed;

    if (o->print.format)
        TRY(records_open(c, &o->print, NULL, &records));
    for (size_t i = 0; i < count && code == 0; i++) {
        code = content_digest(c, cl->target, names[i], &options, &content);
        if (code == 0)
            code = print_content(c, records, names[i], &content);
    }
    closed = records_close(c, records);
    return code ? code : closed;
}

/* ---- the command ---- */

static int digest(struct ctx *c, struct client *cl, struct cli *cli, void *options)
{
    const struct digest_options *o = options;
    const bytes *names;
    size_t count;

    if (o->versions && !o->content)
        return fail(c, E_PARAMETER, "--versions is for --content: the digest of all has them");
    TRY(choose_tables(c, cl, cli, &names, &count));
    return o->content ? digest_contents(c, cl, o, names, count)
                      : digest_all(c, cl, o, names, count);
}

static void digest_defaults(void *options)
{
    ((struct digest_options *)options)->workers = 4;
}

const struct command command_digest = {
    .name = "digest",
    .group = GROUP_FILES,
    .args = "[TABLE...]",
    .summary = "one SHA-256 of all tables' schemas and rows, to compare two places",
    .text =
        "Of the whole instance, or only of the TABLEs. Rows that are written meanwhile may be "
        "in it\nor not. Tables of indexes are in it only by name.\n"
        "\n"
        "With --content each table has a digest of its own, of what its rows hold and nothing "
        "else:\n"
        "names and types of the key columns, the rows' keys, and name, type and newest value of\n"
        "each cell. It is the same on any server of the protocol, whatever the engine, layout,\n"
        "partitions and order of writing, and after `widerow export` and `widerow import` in any\n"
        "format. Left out are the table's name and options, throughput, layout, partitions,\n"
        "indexes, streams and defined columns, and that a key column counts up by itself; and\n"
        "older versions and all timestamps, unless --versions is given, as export and import have\n"
        "it, too.",
    .example = "widerow digest orders\n"
               "widerow digest --content --versions orders",
    .options = digest_rows,
    .options_size = sizeof(struct digest_options),
    .defaults = digest_defaults,
    .argc_min = 0,
    .argc_max = 1000,
    .run_connected = digest,
};
