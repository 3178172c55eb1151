/* cmd_tables.c: `widerow tables`, `describe` and `drop`. */
#include "cli/command.h"
#include "cli/console/print.h"
#include "cli/console/records.h"
#include "record/type_name.h"

#include <stdio.h>

struct tables_options {
    struct records_options print;
};

/* Without --format they print for people, and for the scripts that have read that all along. */
static const struct option_row tables_rows[] = {RECORDS_ROWS(struct tables_options), {0}};

static int print_tables(struct ctx *c, const struct tables_options *o,
                        const struct wr_table_list *list)
{
    struct records *r;
    int code = 0, more;

    TRY(records_open(c, &o->print, NULL, &r));
    for (size_t i = 0; i < list->count && code == 0; i++) {
        struct record record = {.count = 0};

        record_text(&record, "table", list->tables[i]);
        code = records_put_record(c, r, &record);
    }
    more = records_close(c, r);
    return code ? code : more;
}

static int tables(struct ctx *c, struct client *cl, struct cli *cli, void *options)
{
    const struct tables_options *o = options;
    struct wr_request request = {.op = WR_OP_LIST_TABLE};
    struct wr_reply reply;

    (void)cli;
    TRY(client_exec(c, cl, &request, &reply));
    if (o->print.format)
        return print_tables(c, o, &reply.table_list);
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

/* "user:string,at:integer:desc", as `widerow create --key` takes it. */
static bytes key_text(struct ctx *c, const struct wr_table_description *t)
{
    bytes text = BYTES_LIT("");

    for (size_t i = 0; i < t->key_count; i++)
        text = arena_printf(&c->arena, "%.*s%s%.*s:%s%s%s", BYTES_FMT(text), i ? "," : "",
                            BYTES_FMT(t->key[i].name), type_name(t->key[i].type),
                            t->key[i].descending ? ":desc" : "",
                            t->key[i].auto_increment ? ":auto" : "");
    return text;
}

static bytes columns_text(struct ctx *c, const struct wr_table_description *t)
{
    bytes text = BYTES_LIT("");

    for (size_t i = 0; i < t->defined_count; i++)
        text = arena_printf(&c->arena, "%.*s%s%.*s:%s", BYTES_FMT(text), i ? "," : "",
                            BYTES_FMT(t->defined[i].name), type_name(t->defined[i].type));
    return text;
}

static bytes indexes_text(struct ctx *c, const struct wr_table_description *t)
{
    bytes text = BYTES_LIT("");

    for (size_t i = 0; i < t->index_count; i++)
        text = arena_printf(&c->arena, "%.*s%s%.*s", BYTES_FMT(text), i ? "," : "",
                            BYTES_FMT(t->indexes[i].name));
    return text;
}

static int describe_record(struct ctx *c, const struct tables_options *o,
                           const struct wr_table_description *t, size_t partitions)
{
    struct record r = {.count = 0};

    record_text(&r, "table", t->table);
    record_text(&r, "key", key_text(c, t));
    record_text(&r, "columns", columns_text(c, t));
    record_text(&r, "indexes", indexes_text(c, t));
    record_text(&r, "layout", t->layout);
    record_integer(&r, "ttl", t->options.ttl_s);
    record_integer(&r, "versions", t->options.max_versions);
    record_integer(&r, "deviation", t->options.deviation_s);
    record_integer(&r, "read_cu", t->reserved.read);
    record_integer(&r, "write_cu", t->reserved.write);
    record_integer(&r, "partitions", (int64_t)partitions);
    return records_print_one(c, &o->print, &r);
}

static int describe(struct ctx *c, struct client *cl, struct cli *cli, void *options)
{
    const struct tables_options *o = options;
    struct wr_table_description table;
    size_t partitions;

    TRY(cli_describe(c, cl, bytes_str(cli->argv[0]), &table));
    partitions = count_partitions(c, cl, bytes_str(cli->argv[0]));
    if (o->print.format)
        return describe_record(c, o, &table, partitions);
    print_table(&table, partitions);
    return 0;
}

struct drop_options {
    bool if_exists, yes;
};

static const struct option_row drop_rows[] = {
    {"if-exists", NULL, "a table that is not there is no error", OPTION_FLAG,
     offsetof(struct drop_options, if_exists), 0, 0},
    {"yes", NULL, "nothing: no question is asked", OPTION_FLAG, offsetof(struct drop_options, yes),
     0, 0},
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
    .options = tables_rows,
    .options_size = sizeof(struct tables_options),
    .run_connected = tables,
};

const struct command command_describe = {
    .name = "describe",
    .group = GROUP_TABLES,
    .args = "TABLE",
    .summary = "show a table's key and settings",
    .example = "widerow describe orders\nwiderow describe orders --format json",
    .options = tables_rows,
    .options_size = sizeof(struct tables_options),
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
