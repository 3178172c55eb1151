/* main.c: `widerow COMMAND ...`. */
#include "cli/command.h"

#include <stdio.h>

static const char values_text[] =
    "How values are written, and read, by every command:\n\n"
    "  integer  12             64 bits, exact\n"
    "  double   1.0 5e+22      a point or an exponent shows it\n"
    "  boolean  true false\n"
    "  string   \"a text\"       as JSON writes it\n"
    "  binary   {\"base64\":\"AQI=\"}\n\n"
    "As a word of a command line all else is a string as it stands, and so is 007. "
    "COLUMN:type=VALUE\n"
    "says the type (integer, double, string, boolean, binary), as the table does for key columns "
    "and\n"
    "for the columns that `widerow create --columns` defines.\n\n"
    "--filter and --where compare columns with values: amount > 5 and (state = \"paid\" or not "
    "open =\n"
    "true). Comparators are = != < <= > >=. Numbers compare by what they are worth, integers and\n"
    "doubles. A row without the column does not match; a name that is no plain word stands in\n"
    "backquotes.\n\n"
    "Exit codes: 0 done, 2 a flag or value that cannot be, 3 not found, 4 refused by a condition "
    "or for\n"
    "want of permission, 5 not reachable, 6 partly done, 130 interrupted, 1 any other failure.\n";

static int help(const char *topic)
{
    const struct command *cmd = topic ? command_find(topic) : NULL;

    if (cmd) {
        command_print_help(cmd);
    } else if (topic && strcmp(topic, "connection") == 0) {
        printf("Where the tables are, for every command that asks for any:\n\n");
        option_print(command_connection_rows);
    } else if (topic && strcmp(topic, "values") == 0) {
        printf("%s", values_text);
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
