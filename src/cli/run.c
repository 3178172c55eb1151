/* run.c: one command, from its words to its exit code. */
#include "cli/command.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- exit codes ---- */

static enum exit_code exit_of(int code)
{
    switch (code) {
    case E_OK:
        return EXIT_DONE;
    case E_PARAMETER:
    case E_INVALID_PK:
    case E_OUT_OF_RANGE:
    case E_BODY_TOO_LARGE:
    case E_METHOD:
        return EXIT_USAGE;
    case E_NOT_EXIST:
    case E_SEARCH_INDEX:
    case E_SESSION:
        return EXIT_MISSING;
    case E_CONDITION:
    case E_EXIST:
    case E_CONFLICT:
    case E_QUOTA:
    case E_TOO_FREQUENT:
    case E_THROUGHPUT_TOO_OFTEN:
    case E_FORBIDDEN_CAPACITY:
    case E_CAPACITY:
    case E_HOT_PARTITION:
    case E_AUTH:
    case E_PERMISSION:
    case E_UNSUPPORTED:
        return EXIT_REFUSED;
    case E_NOT_READY:
    case E_PARTITION:
    case E_BUSY:
    case E_UNSURE:
    case E_UNAVAILABLE:
    case E_REQUEST_TIMEOUT:
    case E_LOCKED:
        return EXIT_UNREACHABLE;
    default:
        return EXIT_OTHER;
    }
}

static int exit_code(const struct cli *cli, int code)
{
    if (cli->interrupted)
        return EXIT_INTERRUPTED;
    return code && cli->partly ? EXIT_PARTLY : (int)exit_of(code);
}

/* ---- running ---- */

/* Opening a data folder makes it; of a folder that is only read the name was mistyped. */
static int check_folder(struct ctx *c, const struct command *cmd, const char *dir)
{
    struct stat st;

    if (!dir || cmd->makes_folder || stat(dir, &st) == 0 || errno != ENOENT)
        return 0;
    return fail(c, E_NOT_EXIST,
                "there is no data folder %s; `widerow create` and `import` make one", dir);
}

static int run_connected(struct ctx *c, const struct command *cmd, struct cli *cli, void *options)
{
    struct target target;
    struct client *client = NULL;
    int code;

    TRY(check_folder(c, cmd, cli->where.dir));
    code = target_open(c, &cli->where, &target);
    if (code == 0)
        code = client_open(c, &target, &client);
    if (code == 0)
        code = cmd->run_connected(c, client, cli, options);
    client_close(client);
    target_release(&target);
    return code;
}

/* What could not be written is worth a message, unless it went to a program that has seen enough
 * (`scan | head`), which is how such a command ends well. */
static int output_failed(struct ctx *c, int code, int why)
{
    struct stat st;

    if (why == EPIPE || (fstat(STDOUT_FILENO, &st) == 0 && S_ISFIFO(st.st_mode)))
        return code;
    return code ? code : fail(c, E_NO_SPACE, "cannot write the output: %s", strerror(why));
}

static int run_command(const struct command *cmd, struct cli *cli, void *options)
{
    struct clock clock;
    struct ctx c;
    bool connects;
    int code;

    clock_real_init(&clock);
    ctx_init(&c, &clock, NULL, NULL, 0);
    cli->clock = &clock;
    /* Without sockets a closed pipe may end the program as it ends others (`sample | head`). */
    connects = cmd->run_connected && (!cmd->connects || cmd->connects(options));
    if (connects)
        signal(SIGPIPE, SIG_IGN);
    code = connects ? run_connected(&c, cmd, cli, options) : cmd->run(&c, cli, options);
    errno = 0;
    if (fflush(stdout) != 0 || ferror(stdout))
        code = output_failed(&c, code, errno);
    if (c.code)
        fprintf(stderr, "widerow %s: %s\n", cmd->name, c.text);
    ctx_release(&c);
    return exit_code(cli, code);
}

/* ---- words ---- */

static int usage_error(const struct command *cmd, const char *text)
{
    fprintf(stderr, "widerow %s: %s\nusage: widerow %s %s (--help says more)\n", cmd->name, text,
            cmd->name, cmd->args);
    return EXIT_USAGE;
}

/* `--table TABLE` of a command that takes the table as its first word, and has no such flag. */
static const struct option_row table_rows[] = {
    {"table", "TABLE", "the table", OPTION_TEXT, 0, 0, 0},
    {0},
};

static bool has_table_flag(const struct command *cmd)
{
    for (const struct option_row *row = cmd->options; row && row->name; row++)
        if (strcmp(row->name, "table") == 0)
            return true;
    return false;
}

/* The table of the flag, or the shell's, as the first word. What makes or drops a table wants its
 * name said. */
static void put_table(const struct command *cmd, struct cli *cli, const char *flag, char **memory)
{
    bool own = has_table_flag(cmd) || !command_takes_table(cmd);
    bool said = strcmp(cmd->name, "drop") == 0 || strcmp(cmd->name, "create") == 0;
    const char *table = flag || said ? flag : cli->table;

    if (own || !table || (!flag && cli->argc >= cmd->argc_max))
        return;
    memory[0] = (char *)(uintptr_t)table;
    for (int i = 0; i < cli->argc; i++)
        memory[i + 1] = cli->argv[i];
    cli->argv = memory;
    cli->argc++;
}

int command_start(const struct command *cmd, int argc, char **argv, const struct cli *base)
{
    static const struct option_row none[] = {{0}};
    struct cli cli = base ? *base : (struct cli){0};
    void *options = mem_zalloc(cmd->options_size);
    char **memory = mem_alloc(sizeof(*memory) * ((size_t)argc + 1));
    const char *table = NULL;
    struct option_set sets[] = {
        {cmd->options ? cmd->options : none, options},
        {cmd->run_connected ? command_connection_rows : none, &cli.where},
        {has_table_flag(cmd) || !command_takes_table(cmd) ? none : table_rows, &table}};
    char message[256];
    bool help;
    int status;

    if (cmd->defaults)
        cmd->defaults(options);
    cli.argv = argv;
    if (option_parse(argc, argv, sets, PORT_COUNT(sets), &cli.argc, &help, message,
                     sizeof(message))) {
        status = usage_error(cmd, message);
    } else if (help) {
        command_print_help(cmd);
        status = EXIT_DONE;
    } else if (put_table(cmd, &cli, table, memory), cli.argc < cmd->argc_min) {
        status = usage_error(cmd, "an argument is missing");
    } else if (cli.argc > cmd->argc_max) {
        status = usage_error(cmd, "too many arguments");
    } else {
        status = run_command(cmd, &cli, options);
    }
    mem_free(memory);
    mem_free(options);
    return status;
}
