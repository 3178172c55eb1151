/* cmd_alter.c: `widerow alter`: a table's settings. */
#include "cli/command.h"
#include "cli/console/print.h"
#include "cli/console/value.h"

#define NOT_GIVEN UINT64_MAX

struct alter_options {
    const char *table, *ttl;
    uint64_t versions, deviation_s, read, write;
};

#define AT(member) offsetof(struct alter_options, member)
static const struct option_row alter_rows[] = {
    {"ttl", "SECONDS", "age at which cells vanish; -1: never", OPTION_TEXT, AT(ttl), 0, 0},
    {"versions", "N", "versions kept of each cell", OPTION_COUNT, AT(versions), 1, INT32_MAX},
    {"version", "N", "the same", OPTION_COUNT, AT(versions), 1, INT32_MAX},
    {"deviation", "SECONDS", "how far a cell's time may be from the server's", OPTION_COUNT,
     AT(deviation_s), 1, INT64_MAX},
    {"read", "CU", "read capacity units a second to reserve", OPTION_COUNT, AT(read), 0, INT32_MAX},
    {"write", "CU", "write capacity units a second to reserve", OPTION_COUNT, AT(write), 0,
     INT32_MAX},
    {"read_cu", "CU", "the same as --read", OPTION_COUNT, AT(read), 0, INT32_MAX},
    {"write_cu", "CU", "the same as --write", OPTION_COUNT, AT(write), 0, INT32_MAX},
    {"table", "TABLE", "the table", OPTION_TEXT, AT(table), 0, 0},
    {0},
};
#undef AT

static void alter_defaults(void *options)
{
    *(struct alter_options *)options = (struct alter_options){
        .versions = NOT_GIVEN, .deviation_s = NOT_GIVEN, .read = NOT_GIVEN, .write = NOT_GIVEN};
}

static int read_ttl(struct ctx *c, const char *text, struct wr_table_options *out)
{
    struct wr_value v;

    if (!text)
        return 0;
    if (!value_of_text(bytes_str(text), WR_BIGINT, &v) || v.integer < -1 || v.integer == 0 ||
        v.integer > INT32_MAX)
        return fail(c, E_PARAMETER, "--ttl is a number of seconds, or -1 for never, not '%s'",
                    text);
    out->given |= WR_HAS_TTL;
    out->ttl_s = (int32_t)v.integer;
    return 0;
}

static int alter(struct ctx *c, struct client *cl, struct cli *cli, void *options)
{
    const struct alter_options *o = options;
    struct wr_request request = {.op = WR_OP_UPDATE_TABLE};
    struct wr_update_table *u = &request.update_table;
    struct wr_table_description table;
    struct wr_reply reply;

    TRY(cli_take_table(c, cli, o->table, &u->table));
    TRY(read_ttl(c, o->ttl, &u->options));
    if (o->versions != NOT_GIVEN) {
        u->options.given |= WR_HAS_MAX_VERSIONS;
        u->options.max_versions = (int32_t)o->versions;
    }
    if (o->deviation_s != NOT_GIVEN) {
        u->options.given |= WR_HAS_DEVIATION;
        u->options.deviation_s = (int64_t)o->deviation_s;
    }
    u->has_options = u->options.given != 0;
    u->reserved.has_read = o->read != NOT_GIVEN;
    u->reserved.read = u->reserved.has_read ? (int32_t)o->read : 0;
    u->reserved.has_write = o->write != NOT_GIVEN;
    u->reserved.write = u->reserved.has_write ? (int32_t)o->write : 0;
    u->has_reserved = u->reserved.has_read || u->reserved.has_write;
    if (!u->has_options && !u->has_reserved)
        return fail(c, E_PARAMETER,
                    "what is to change? Give --ttl, --versions, --deviation, --read or --write");
    TRY(client_exec(c, cl, &request, &reply));
    TRY(cli_describe(c, cl, u->table, &table));
    print_table(&table, 0);
    return 0;
}

const struct command command_alter = {
    .name = "alter",
    .group = GROUP_TABLES,
    .args = "TABLE --ttl SECONDS | --versions N | ...",
    .summary = "change a table's settings, and show them",
    .text = "What no flag names stays as it is.",
    .example = "widerow alter orders --ttl 86400 --versions 3\n"
               "widerow alter orders --read 100 --write 50",
    .options = alter_rows,
    .options_size = sizeof(struct alter_options),
    .defaults = alter_defaults,
    .argc_max = 1,
    .run_connected = alter,
};
