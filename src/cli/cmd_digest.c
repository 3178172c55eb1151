/* cmd_digest.c: `widerow digest`: one number for all that an instance's tables hold (digest.c says
 * of what), tables by name. */
#include "cli/command.h"
#include "cli/transfer/base_tables.h"
#include "cli/transfer/digest.h"

#include <stdio.h>

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
    struct digest d;
    char hex[DIGEST_TEXT];
    int code;

    (void)options;
    TRY(digest_init(c, &d));
    code = cli->argc ? digest_named(c, cl, cli, &d) : digest_all(c, cl, &d);
    digest_finish(&d, hex);
    if (code)
        return code;
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
    .argc_min = 0,
    .argc_max = 1000,
    .run_connected = digest,
};
