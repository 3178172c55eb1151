/* main.c: `widerow COMMAND ...`: finds the command, parses its flags, runs it. */
#include "cli/command.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXIT_USAGE 2

static const struct command *const commands[] = {
    &command_import, &command_get,        &command_scan,   &command_tables, &command_describe,
    &command_drop,   &command_create,     &command_sample, &command_backup, &command_restore,
    &command_digest, &command_bench,      &command_advise, &command_heat,   &command_sizes,
    &command_export, &command_throughput, &command_cell,   &command_rekey,  &command_partitions,
    &command_replay, &command_copy,
};

static const struct option_row connection_rows[] = {
    {"endpoint", "URL", "the server (default http://127.0.0.1:8600; WIDEROW_ENDPOINT)", OPTION_TEXT,
     offsetof(struct target_conf, endpoint), 0, 0},
    {"instance", "NAME", "the instance (WIDEROW_INSTANCE)", OPTION_TEXT,
     offsetof(struct target_conf, instance), 0, 0},
    {"key-id", "ID", "the access key (WIDEROW_ACCESS_KEY_ID)", OPTION_TEXT,
     offsetof(struct target_conf, key_id), 0, 0},
    {"key-secret", "SECRET",
     "its secret (WIDEROW_ACCESS_KEY_SECRET is safer: others cannot see it)", OPTION_TEXT,
     offsetof(struct target_conf, key_secret), 0, 0},
    {"data", "DIR",
     "the server's data folder: instance and key from its credentials file when none "
     "are given (default data)",
     OPTION_TEXT, offsetof(struct target_conf, data), 0, 0},
    {"ca-file", "FILE",
     "for https: the certificates to trust, PEM, instead of the system's (WIDEROW_CA_FILE)",
     OPTION_TEXT, offsetof(struct target_conf, ca_file), 0, 0},
    {"dir", "DIR", "no server: open the data folder DIR in this process", OPTION_TEXT,
     offsetof(struct target_conf, dir), 0, 0},
    {"embedded", NULL, "no server: a database in this process, in --dir or in memory", OPTION_FLAG,
     offsetof(struct target_conf, embedded), 0, 0},
    {"engine", "rocks|mem",
     "of the database in this process (default rocks); mem needs no folder and ends with the "
     "command",
     OPTION_TEXT, offsetof(struct target_conf, engine), 0, 0},
    {0},
};

static void print_commands(void)
{
    printf("usage: widerow COMMAND ...\n\n");
    for (size_t i = 0; i < PORT_COUNT(commands); i++)
        printf("  %-10s %s\n", commands[i]->name, commands[i]->summary);
    printf("\n`widerow COMMAND --help` says more. Version %s.\n", wr_version());
}

static void print_help(const struct command *cmd)
{
    printf("usage: widerow %s %s%s\n\n%s\n", cmd->name, cmd->args, cmd->options ? " [flags]" : "",
           cmd->summary);
    if (cmd->text)
        printf("\n%s\n", cmd->text);
    if (cmd->options) {
        printf("\nflags:\n");
        option_print(cmd->options);
    }
    if (cmd->run_connected) {
        printf("\nwhere the tables are:\n");
        option_print(connection_rows);
    }
}

static int unknown_command(const char *word)
{
    const char *names[PORT_COUNT(commands)], *near;

    for (size_t i = 0; i < PORT_COUNT(commands); i++)
        names[i] = commands[i]->name;
    near = option_nearest(word, names, PORT_COUNT(commands));
    fprintf(stderr, "widerow: no command '%s'%s%s%s `widerow --help` lists them.\n", word,
            near ? "; did you mean " : ".", near ? near : "", near ? "?" : "");
    return EXIT_USAGE;
}

static int usage_error(const struct command *cmd, const char *text)
{
    fprintf(stderr, "widerow %s: %s\nusage: widerow %s %s (--help says more)\n", cmd->name, text,
            cmd->name, cmd->args);
    return EXIT_USAGE;
}

static int run_connected(struct ctx *c, const struct command *cmd, struct cli *cli, void *options)
{
    struct target target;
    struct client *client = NULL;
    int code = target_open(c, &cli->where, &target);

    if (code == 0)
        code = client_open(c, &target, &client);
    if (code == 0)
        code = cmd->run_connected(c, client, cli, options);
    client_close(client);
    target_release(&target);
    return code;
}

/* What could not be written is worth a message, unless it went to a program that has seen enough
 * (`scan | head`). */
static int output_failed(struct ctx *c, int code)
{
    struct stat st;

    if (code)
        return code;
    if (fstat(STDOUT_FILENO, &st) == 0 && S_ISFIFO(st.st_mode))
        return E_NO_SPACE;
    return fail(c, E_NO_SPACE, "cannot write the output: %s", strerror(errno));
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
    if (fflush(stdout) != 0 || ferror(stdout))
        code = output_failed(&c, code);
    if (c.code)
        fprintf(stderr, "widerow %s: %s\n", cmd->name, c.text);
    ctx_release(&c);
    return code ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int start_command(const struct command *cmd, int argc, char **argv)
{
    static const struct option_row none[] = {{0}};
    struct cli cli = {0};
    void *options = mem_zalloc(cmd->options_size);
    struct option_set sets[] = {{cmd->options ? cmd->options : none, options},
                                {cmd->run_connected ? connection_rows : none, &cli.where}};
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
        print_help(cmd);
        status = EXIT_SUCCESS;
    } else if (cli.argc < cmd->argc_min) {
        status = usage_error(cmd, "an argument is missing");
    } else if (cli.argc > cmd->argc_max) {
        status = usage_error(cmd, "too many arguments");
    } else {
        status = run_command(cmd, &cli, options);
    }
    mem_free(options);
    return status;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        print_commands();
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        print_commands();
        return EXIT_SUCCESS;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("widerow %s\n", wr_version());
        return EXIT_SUCCESS;
    }
    for (size_t i = 0; i < PORT_COUNT(commands); i++)
        if (strcmp(argv[1], commands[i]->name) == 0)
            return start_command(commands[i], argc - 2, argv + 2);
    return unknown_command(argv[1]);
}
