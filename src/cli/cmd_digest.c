/* cmd_digest.c: `widerow digest`: one number for all that an instance's tables hold (digest.c says
 * of what), tables by name. */
#include "cli/command.h"
#include "cli/console/records.h"
#include "cli/transfer/base_tables.h"
#include "cli/transfer/digest.h"

#include <stdio.h>

struct digest_options {
    struct records_options print;
};

static const struct option_row digest_rows[] = {RECORDS_ROWS(struct digest_options), {0}};

static int digest_named(struct ctx *c, struct client *cl, struct cli *cli, struct digest *d)
{
    for (int i = 0; i < cli->argc; i++)
        TRY(digest_table(c, cl, d, bytes_str(cli->argv[i])));
    return 0;
}

static int digest_all(struct ctx *c, struct client *cl, struct digest *d)
{
    const bytes *names;
    size_t count;

    TRY(base_tables(c, cl, &names, &count));
    for (size_t i = 0; i < count; i++)
        TRY(digest_table(c, cl, d, names[i]));
    return 0;
}

static int digest(struct ctx *c, struct client *cl, struct cli *cli, void *options)
{
    const struct digest_options *o = options;
    struct record record = {.count = 0};
    struct digest d;
    char hex[DIGEST_TEXT];
    int code;

    TRY(digest_init(c, &d));
    code = cli->argc ? digest_named(c, cl, cli, &d) : digest_all(c, cl, &d);
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

const struct command command_digest = {
    .name = "digest",
    .group = GROUP_FILES,
    .args = "[TABLE...]",
    .summary = "one SHA-256 of all tables' schemas and rows, to compare two places",
    .text = "Of the whole instance, or only of the TABLEs. Rows that are written meanwhile may be "
            "in it or not. Tables of indexes are in it only by name.",
    .example = "widerow digest orders",
    .options = digest_rows,
    .options_size = sizeof(struct digest_options),
    .argc_min = 0,
    .argc_max = 1000,
    .run_connected = digest,
};
