/* cmd_throughput.c: `widerow throughput`: shows and changes what a table has reserved. */
#include "cli/command.h"
#include "cli/console/records.h"

#include <stdio.h>

#define NOT_GIVEN UINT64_MAX

struct throughput_options {
    struct records_options print;
    uint64_t read, write;
};

static const struct option_row throughput_rows[] = {
    {"read", "CU", "read capacity units a second to reserve", OPTION_COUNT,
     offsetof(struct throughput_options, read), 0, INT32_MAX},
    {"write", "CU", "write capacity units a second to reserve", OPTION_COUNT,
     offsetof(struct throughput_options, write), 0, INT32_MAX},
    RECORDS_ROWS(struct throughput_options),
    {0},
};

static void throughput_defaults(void *options)
{
    *(struct throughput_options *)options =
        (struct throughput_options){.read = NOT_GIVEN, .write = NOT_GIVEN};
}

static int throughput(struct ctx *c, struct client *cl, struct cli *cli, void *options)
{
    const struct throughput_options *o = options;
    bytes name = bytes_str(cli->argv[0]);
    struct wr_request request = {.op = WR_OP_UPDATE_TABLE,
                                 .update_table = {.table = name, .has_reserved = true}};
    struct wr_throughput *reserved = &request.update_table.reserved;
    struct wr_table_description table;
    struct record record = {.count = 0};
    struct wr_reply reply;

    if (o->read != NOT_GIVEN || o->write != NOT_GIVEN) {
        reserved->has_read = o->read != NOT_GIVEN;
        reserved->read = reserved->has_read ? (int32_t)o->read : 0;
        reserved->has_write = o->write != NOT_GIVEN;
        reserved->write = reserved->has_write ? (int32_t)o->write : 0;
        TRY(client_exec(c, cl, &request, &reply));
    }
    TRY(cli_describe(c, cl, name, &table));
    if (o->print.format) {
        record_text(&record, "table", name);
        record_integer(&record, "read_cu", table.reserved.read);
        record_integer(&record, "write_cu", table.reserved.write);
        return records_print_one(c, &o->print, &record);
    }
    printf("%s: %d read and %d write capacity units a second\n", cli->argv[0], table.reserved.read,
           table.reserved.write);
    return 0;
}

const struct command command_throughput = {
    .name = "throughput",
    .group = GROUP_TABLES,
    .args = "TABLE",
    .summary = "show or change the throughput that a table has reserved",
    .example = "widerow throughput orders --read 100 --write 50",
    .options = throughput_rows,
    .options_size = sizeof(struct throughput_options),
    .defaults = throughput_defaults,
    .argc_min = 1,
    .argc_max = 1,
    .run_connected = throughput,
};
