/* command.c: the table of commands, and what is said of them. */
#include "cli/command.h"

#include <stdio.h>

#define COMMAND(name) extern const struct command command_##name;
#include "cli/command.def"
#undef COMMAND

const struct command *const command_list[] = {
#define COMMAND(name) &command_##name,
#include "cli/command.def"
#undef COMMAND
    NULL};

const char *const command_group_names[GROUP_COUNT] = {
    [GROUP_ROWS] = "Rows",          [GROUP_TABLES] = "Tables", [GROUP_FILES] = "Files and copies",
    [GROUP_LOAD] = "Keys and load", [GROUP_DATA] = "Backups",  [GROUP_OTHER] = "To try it",
};

const struct exit_row command_exit_codes[] = {
    {EXIT_DONE, "done"},
    {EXIT_OTHER, "a failure of another kind"},
    {EXIT_USAGE, "a flag or a value that cannot be"},
    {EXIT_MISSING, "not found"},
    {EXIT_REFUSED,
     "refused: a condition is not true, something is there already, or no permission"},
    {EXIT_UNREACHABLE, "not reachable, or too busy"},
    {EXIT_PARTLY, "partly done"},
    {EXIT_INTERRUPTED, "interrupted"},
    {0, NULL},
};

const struct option_row command_connection_rows[] = {
    {"endpoint", "URL", "the server (default http://127.0.0.1:8600; WIDEROW_ENDPOINT)", OPTION_TEXT,
     offsetof(struct target_conf, endpoint), 0, 0},
    {"instance", "NAME", "the instance (WIDEROW_INSTANCE)", OPTION_TEXT,
     offsetof(struct target_conf, instance), 0, 0},
    {"key-id", "ID", "the access key (WIDEROW_ACCESS_KEY_ID)", OPTION_TEXT,
     offsetof(struct target_conf, key_id), 0, 0},
    {"key-secret", "SECRET",
     "its secret (WIDEROW_ACCESS_KEY_SECRET is safer: others cannot see it)", OPTION_TEXT,
     offsetof(struct target_conf, key_secret), 0, 0},
    {"profile", "NAME", "a server that `widerow login` has kept (WIDEROW_PROFILE)", OPTION_TEXT,
     offsetof(struct target_conf, profile), 0, 0},
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

/* Words of Tablestore's own command line. */
static const struct {
    const char *alias, *name;
} aliases[] = {{"list", "tables"}, {"desc", "describe"}, {"config", "login"}};

const struct command *command_find(const char *name)
{
    for (size_t i = 0; i < PORT_COUNT(aliases); i++)
        if (strcmp(aliases[i].alias, name) == 0)
            name = aliases[i].name;
    for (size_t i = 0; command_list[i]; i++)
        if (strcmp(command_list[i]->name, name) == 0)
            return command_list[i];
    return NULL;
}

bool command_takes_table(const struct command *cmd)
{
    return strncmp(cmd->args, "TABLE", 5) == 0 || strncmp(cmd->args, "[TABLE", 6) == 0;
}

void command_say_unknown(const char *word)
{
    const char *names[PORT_COUNT(command_list)], *near;
    size_t count = PORT_COUNT(command_list) - 1;

    for (size_t i = 0; i < count; i++)
        names[i] = command_list[i]->name;
    near = option_nearest(word, names, count);
    fprintf(stderr, "widerow: no command '%s'%s%s%s `widerow --help` lists them.\n", word,
            near ? "; did you mean " : ".", near ? near : "", near ? "?" : "");
}

void command_print_list(void)
{
    printf("usage: widerow COMMAND ...\n       widerow [connection flags]     a shell, where the "
           "same words go\n");
    for (int group = 0; group < GROUP_COUNT; group++) {
        printf("\n%s\n", command_group_names[group]);
        for (size_t i = 0; command_list[i]; i++)
            if ((int)command_list[i]->group == group)
                printf("  %-10s %s\n", command_list[i]->name, command_list[i]->summary);
    }
    printf("\n`widerow help COMMAND` says more of one, `widerow help connection` how a command "
           "finds\nits server, `widerow help values` how values, conditions and exit codes go. "
           "Version "
           "%s.\n",
           wr_version());
}

static void print_lines(const char *lines)
{
    for (const char *end; *lines; lines = *end ? end + 1 : end) {
        end = strchrnul(lines, '\n');
        printf("  %.*s\n", (int)(end - lines), lines);
    }
}

void command_print_help(const struct command *cmd)
{
    printf("usage: widerow %s %s%s\n\n%s\n", cmd->name, cmd->args, cmd->options ? " [flags]" : "",
           cmd->summary);
    if (cmd->text)
        printf("\n%s\n", cmd->text);
    if (cmd->example) {
        printf("\nexample:\n");
        print_lines(cmd->example);
    }
    if (cmd->options) {
        printf("\nflags:\n");
        option_print(cmd->options);
    }
    if (cmd->run_connected)
        printf("\n--endpoint, --instance and other flags say where the tables are: "
               "`widerow help connection`.\n");
}
