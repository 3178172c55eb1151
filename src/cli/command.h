/* command.h: the commands of `widerow`, one row each in main.c's table. */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include "cli/console/option.h"
#include "client/client.h"

/* What every command gets. */
struct cli {
    struct clock *clock;
    struct target_conf where; /* from the connection flags */
    int argc;                 /* positional arguments */
    char **argv;
};

struct command {
    const char *name;
    const char *args;    /* "FILE --table T", for the help */
    const char *summary; /* one line */
    const char *text;    /* more for --help, or NULL */
    const struct option_row *options;
    size_t options_size;             /* of the struct that they fill */
    void (*defaults)(void *options); /* or NULL: all zero */
    int argc_min, argc_max;

    /* One of the two, or both and `connects`, which says of the options whether the second is
     * wanted. The second is given a client and makes the connection flags known. Return 0,
     * or a code with the reason recorded in c. `options` is a struct that the rows have filled. */
    int (*run)(struct ctx *c, struct cli *cli, void *options);
    int (*run_connected)(struct ctx *c, struct client *cl, struct cli *cli, void *options);
    bool (*connects)(const void *options);
};

extern const struct command command_cell;
extern const struct command command_sample;
extern const struct command command_import;
extern const struct command command_get;
extern const struct command command_scan;
extern const struct command command_tables;
extern const struct command command_create;
extern const struct command command_rekey;
extern const struct command command_describe;
extern const struct command command_drop;
extern const struct command command_partitions;
extern const struct command command_backup;
extern const struct command command_restore;
extern const struct command command_digest;
extern const struct command command_bench;
extern const struct command command_advise;
extern const struct command command_heat;
extern const struct command command_sizes;
extern const struct command command_export;
extern const struct command command_copy;
extern const struct command command_replay;
extern const struct command command_throughput;

#endif
