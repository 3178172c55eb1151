/* cmd_tables.c: `widerow tables`, `describe` and `drop`. */
#include "cli/command.h"
#include "cli/console/print.h"

#include <stdio.h>

static int tables(struct ctx *c, struct client *cl, struct cli *cli, void *options)
{
    struct wr_request request = {.op = WR_OP_LIST_TABLE};
    struct wr_reply reply;

    (void)cli;
    (void)options;
    TRY(client_exec(c, cl, &request, &reply));
    for (size_t i = 0; i < reply.table_list.count; i++)
        printf("%.*s\n", BYTES_FMT(reply.table_list.tables[i]));
    return 0;
}

/* The description's splits are those of one bucket, and a server of an earlier version, or one
 * whose table is not loaded, tells no more. */
static size_t count_partitions(struct ctx *c, struct client *cl, bytes table)
{
    struct wr_request request = {.op = WR_OP_DESCRIBE_PARTITIONS, .describe_partitions = {table}};
    struct wr_reply reply;
    size_t count = 0;

    if (client_exec(c, cl, &request, &reply) == 0)
        count = reply.partitions.count;
    ctx_clear(c);
    return count;
}

static int describe(struct ctx *c, struct client *cl, struct cli *cli, void *options)
{
    struct wr_table_description table;

    (void)options;
    TRY(client_describe(c, cl, bytes_str(cli->argv[0]), &table));
    print_table(&table, count_partitions(c, cl, bytes_str(cli->argv[0])));
    return 0;
}

struct drop_options {
    bool if_exists;
};

static const struct option_row drop_rows[] = {
    {"if-exists", NULL, "a table that is not there is no error", OPTION_FLAG,
     offsetof(struct drop_options, if_exists), 0, 0},
    {0},
};

static int drop(struct ctx *c, struct client *cl, struct cli *cli, void *options)
{
    struct wr_request request = {.op = WR_OP_DELETE_TABLE,
                                 .delete_table = {bytes_str(cli->argv[0])}};
    const struct drop_options *o = options;
    struct wr_reply reply;
    int code = client_exec(c, cl, &request, &reply);

    if (code != WR_E_NOT_EXIST || !o->if_exists)
        return code;
    ctx_clear(c);
    return 0;
}

const struct command command_tables = {
    .name = "tables",
    .group = GROUP_TABLES,
    .args = "",
    .summary = "list the tables",
    .example = "widerow tables",
    .run_connected = tables,
};

const struct command command_describe = {
    .name = "describe",
    .group = GROUP_TABLES,
    .args = "TABLE",
    .summary = "show a table's key and settings",
    .example = "widerow describe orders",
    .argc_min = 1,
    .argc_max = 1,
    .run_connected = describe,
};

const struct command command_drop = {
    .name = "drop",
    .group = GROUP_TABLES,
    .args = "TABLE",
    .summary = "delete a table and all its rows",
    .example = "widerow drop orders --if-exists",
    .options = drop_rows,
    .options_size = sizeof(struct drop_options),
    .argc_min = 1,
    .argc_max = 1,
    .run_connected = drop,
};
