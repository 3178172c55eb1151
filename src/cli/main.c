/* main.c: `widerow COMMAND ...`, and the shell. */
#include "cli/command.h"
#include "cli/manual.h"
#include "cli/shell.h"

#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    const struct command *cmd;

    if (argc < 2 && !isatty(STDIN_FILENO)) {
        command_print_list();
        return EXIT_USAGE;
    }
    if (argc < 2)
        return shell_run(0, argv);
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return manual_help(NULL);
    if (strcmp(argv[1], "help") == 0)
        return manual_help(argc > 2 ? argv[2] : NULL);
    if (strcmp(argv[1], "--version") == 0) {
        printf("widerow %s\n", wr_version());
        return EXIT_DONE;
    }
    if (argv[1][0] == '-')
        return shell_run(argc - 1, argv + 1);
    cmd = command_find(argv[1]);
    if (cmd)
        return command_start(cmd, argc - 2, argv + 2, NULL);
    command_say_unknown(argv[1]);
    return EXIT_USAGE;
}
