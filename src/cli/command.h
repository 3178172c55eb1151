/* command.h: the commands of `widerow`, one row each: the struct below, at the end of its cmd_*.c.
 * All that tells of commands is made of these rows: parsing, --help, `widerow help`, man page and
 * completion. A new one is its row, and its name in command.def. */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include "cli/console/option.h"
#include "client/client.h"

/* What a command is about, in the order of the help. */
enum command_group {
    GROUP_ROWS,
    GROUP_TABLES,
    GROUP_FILES,
    GROUP_LOAD, /* where reads and writes go */
    GROUP_DATA, /* all data at once */
    GROUP_OTHER,
    GROUP_COUNT
};

extern const char *const command_group_names[GROUP_COUNT];

/* Exit codes, for scripts. */
enum exit_code {
    EXIT_DONE = 0,
    EXIT_OTHER = 1, /* a failure of another kind: the message says which */
    EXIT_USAGE = 2, /* a flag or a value that cannot be */
    EXIT_MISSING = 3,
    EXIT_REFUSED = 4, /* by a condition or for want of permission */
    EXIT_UNREACHABLE = 5,
    EXIT_PARTLY = 6,
    EXIT_INTERRUPTED = 130
};

/* What they mean; text NULL behind the last. */
extern const struct exit_row {
    enum exit_code code;
    const char *text;
} command_exit_codes[];

/* What every command gets. */
struct cli {
    struct clock *clock;
    struct target_conf where; /* from the connection flags */
    int argc;                 /* positional arguments */
    char **argv;
    const char *table; /* the one that the shell's `use` has named, or NULL */
    bool partly;       /* set by a command: some of what was asked is done, though it fails */
    bool interrupted;  /* set by a command that was told to end */
};

struct command {
    const char *name;
    enum command_group group;
    const char *args;    /* "FILE --table T", for the help */
    const char *summary; /* one line */
    const char *text;    /* more for --help, or NULL */
    const char *example; /* lines, as they would be typed */
    const struct option_row *options;
    size_t options_size;             /* of the struct that they fill */
    void (*defaults)(void *options); /* or NULL: all zero */
    int argc_min, argc_max;
    bool makes_folder; /* a data folder of --dir that is not there is made, for new tables */

    /* One of the two, or both and `connects`, which says of the options whether the second is
     * wanted. The second is given a client and makes the connection flags known. Return 0,
     * or a code with the reason recorded in c. `options` is a struct that the rows have filled. */
    int (*run)(struct ctx *c, struct cli *cli, void *options);
    int (*run_connected)(struct ctx *c, struct client *cl, struct cli *cli, void *options);
    bool (*connects)(const void *options);
};

/* All commands, in the order of the help; NULL behind the last. */
extern const struct command *const command_list[];

/* The flags that say where the tables are, of every command that connects; they fill a struct
 * target_conf. */
extern const struct option_row command_connection_rows[];

/* The table that a command is for: `flag` (of --table), or the shell's, else the first word, which
 * is taken away. */
int cli_take_table(struct ctx *c, struct cli *cli, const char *flag, bytes *out);

/* client_describe(); for a table that is not there, the reason ends with the name that was probably
 * meant. */
int cli_describe(struct ctx *c, struct client *cl, bytes table, struct wr_table_description *out);

/* The last line of a report: whose it is. */
void print_source(const struct client *cl, const char *table);

/* The command of that name, or of the one that Tablestore's own command line has for it; or NULL.
 */
const struct command *command_find(const char *name);

/* True: its first word is a table's name. */
bool command_takes_table(const struct command *cmd);

/* One line on stderr: there is no such command, and which was perhaps meant. */
void command_say_unknown(const char *word);

/* The list of commands, by groups. */
void command_print_list(void);

/* All about one of them. */
void command_print_help(const struct command *cmd);

/* Parses flags and runs; argv[0] is the first word behind the command's name, and its order
 * changes. `base` is what holds where no flag says otherwise; NULL: nothing. Returns the exit
 * code. */
int command_start(const struct command *cmd, int argc, char **argv, const struct cli *base);

#endif
