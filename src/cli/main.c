/* main.c: `widerow COMMAND ...`. */
#include "cli/command.h"
#include "cli/manual.h"

#include <stdio.h>

static void print_values(void)
{
    printf("%s\nExit codes:\n", manual_values);
    for (size_t i = 0; command_exit_codes[i].text; i++)
        printf("  %3d  %s\n", command_exit_codes[i].code, command_exit_codes[i].text);
}

static int help(const char *topic)
{
    const struct command *cmd = topic ? command_find(topic) : NULL;

    if (cmd) {
        command_print_help(cmd);
    } else if (topic && strcmp(topic, "connection") == 0) {
        printf("Where the tables are, for every command that asks for any:\n\n");
        option_print(command_connection_rows);
    } else if (topic && strcmp(topic, "values") == 0) {
        print_values();
    } else if (topic && manual_print(topic)) {
        return EXIT_DONE;
    } else if (topic) {
        command_say_unknown(topic);
        return EXIT_USAGE;
    } else {
        command_print_list();
    }
    return EXIT_DONE;
}

int main(int argc, char **argv)
{
    const struct command *cmd;

    if (argc < 2) {
        command_print_list();
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return help(NULL);
    if (strcmp(argv[1], "help") == 0)
        return help(argc > 2 ? argv[2] : NULL);
    if (strcmp(argv[1], "--version") == 0) {
        printf("widerow %s\n", wr_version());
        return EXIT_DONE;
    }
    cmd = command_find(argv[1]);
    if (cmd)
        return command_start(cmd, argc - 2, argv + 2);
    command_say_unknown(argv[1]);
    return EXIT_USAGE;
}
