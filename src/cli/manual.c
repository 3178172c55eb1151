#include "cli/manual.h"

#include "cli/command.h"

#include <stdio.h>

static const char manual_values[] =
    "Every command writes and reads values so:\n\n"
    "  integer  12             64 bits, exact\n"
    "  double   1.0 5e+22      a point or an exponent shows it\n"
    "  boolean  true false\n"
    "  string   \"a text\"       as JSON writes it\n"
    "  binary   {\"base64\":\"AQI=\"}\n\n"
    "As a word of a command line all else is a string as it stands, and so is 007.\n"
    "COLUMN:type=VALUE says the type (integer, double, string, boolean, binary), as the table\n"
    "does for key columns and for the columns that `widerow create --columns` defines.\n\n"
    "--filter and --where compare columns with values:\n\n"
    "  amount > 5 and (state = \"paid\" or not open = true)\n\n"
    "Comparators are = != < <= > >=. Numbers compare by what they are worth, integers and\n"
    "doubles. A row without the column does not match; a name that is no plain word stands\n"
    "in backquotes.\n";

/* ---- one row of flags ---- */

static bool is_files(const struct option_row *row)
{
    return row->value && (strcmp(row->value, "FILE") == 0 || strcmp(row->value, "DIR") == 0);
}

/* "csv|jsonl": words to choose from, parted by spaces. */
static bool print_choices(const struct option_row *row)
{
    if (!row->value || !strchr(row->value, '|'))
        return false;
    for (const char *p = row->value; *p; p++)
        putchar(*p == '|' ? ' ' : *p);
    return true;
}

static bool has_choices(const struct option_row *row)
{
    return row->value && strchr(row->value, '|');
}

/* Both tables of a command's flags. */
struct flags {
    const struct option_row *sets[2];
};

static struct flags flags_of(const struct command *cmd)
{
    static const struct option_row none[] = {{0}};

    return (struct flags){
        {cmd->options ? cmd->options : none, cmd->run_connected ? command_connection_rows : none}};
}

#define EACH_COMMAND(cmd)                                                                          \
    for (const struct command *cmd, *const *at_ = command_list; (cmd = *at_); at_++)
#define EACH_FLAG(row, cmd)                                                                        \
    for (size_t set_ = 0; set_ < 2; set_++)                                                        \
        for (const struct option_row *row = flags_of(cmd).sets[set_]; row->name; row++)

/* ---- man ---- */

/* Text of a page: no line is taken for a request. */
static void man_text(const char *text)
{
    bool start = true;

    for (; *text; text++) {
        if (start && (*text == '.' || *text == '\''))
            printf("\\&");
        if (*text == '\\')
            printf("\\e");
        else if (*text == '-')
            printf("\\-");
        else
            putchar(*text);
        start = *text == '\n';
    }
    putchar('\n');
}

/* As it stands, line by line. */
static void man_lines(const char *text)
{
    printf(".RS\n.nf\n");
    man_text(text);
    printf(".fi\n.RE\n");
}

static void man_flags(const struct option_row *rows)
{
    for (; rows->name; rows++) {
        printf(".TP\n\\fB\\-\\-");
        for (const char *p = rows->name; *p; p++)
            printf(*p == '-' ? "\\-" : "%c", *p);
        printf("\\fR%s%s%s\n", rows->value ? " \\fI" : "", rows->value ? rows->value : "",
               rows->value ? "\\fR" : "");
        man_text(rows->help);
    }
}

static void man_command(const struct command *cmd)
{
    printf(".SS widerow %s %s\n", cmd->name, cmd->args);
    man_text(cmd->summary);
    if (cmd->text) {
        printf(".PP\n.nf\n");
        man_text(cmd->text);
        printf(".fi\n");
    }
    if (cmd->example) {
        printf(".PP\n");
        man_lines(cmd->example);
    }
    if (cmd->options)
        man_flags(cmd->options);
}

static void print_man(void)
{
    printf(".TH WIDEROW 1 \"\" \"Widerow %s\" \"User Commands\"\n", wr_version());
    printf(".SH NAME\nwiderow \\- command line of the wide\\-column database Widerow\n"
           ".SH SYNOPSIS\n.B widerow\n.I COMMAND\n.RI [ flags ]\n.br\n.B widerow\n"
           ".SH DESCRIPTION\n"
           "Writes, reads and moves rows, and looks after tables, of a server or of a data folder "
           "in this process. Without a command it opens a shell.\n");
    for (int group = 0; group < GROUP_COUNT; group++) {
        printf(".SH \"%s\"\n", command_group_names[group]);
        EACH_COMMAND(cmd)
        {
            if ((int)cmd->group == group)
                man_command(cmd);
        }
    }
    printf(".SH \"WHERE THE TABLES ARE\"\nFor every command that asks for any:\n");
    man_flags(command_connection_rows);
    printf(".SH VALUES\n.nf\n");
    man_text(manual_values);
    printf(".fi\n.SH \"EXIT STATUS\"\n");
    for (size_t i = 0; command_exit_codes[i].text; i++)
        printf(".TP\n%d\n%s\n", command_exit_codes[i].code, command_exit_codes[i].text);
    printf(".SH ENVIRONMENT\n"
           ".TP\nWIDEROW_ENDPOINT, WIDEROW_INSTANCE, WIDEROW_ACCESS_KEY_ID, "
           "WIDEROW_ACCESS_KEY_SECRET, WIDEROW_CA_FILE\nas the flags of the same names\n"
           ".TP\nWIDEROW_PAGER, PAGER\nthe program that tables on a terminal go through\n"
           ".TP\nNO_COLOR\nif it is set, nothing has colors\n"
           ".SH \"SEE ALSO\"\n.BR widerowd (8),\n.BR widerow.conf (5)\n");
}

/* ---- bash ---- */

static void bash_flags(const struct command *cmd)
{
    printf("    %s) flags='--help", cmd->name);
    EACH_FLAG(row, cmd)
    printf(" --%s", row->name);
    printf("';;\n");
}

static void bash_values(const struct command *cmd)
{
    EACH_FLAG(row, cmd)
    {
        if (!row->value)
            continue;
        printf("    %s/--%s) ", cmd->name, row->name);
        if (has_choices(row)) {
            printf("words='");
            print_choices(row);
            printf("';;\n");
        } else {
            printf("%s;;\n", is_files(row)                      ? "files=1"
                             : strcmp(row->value, "TABLE") == 0 ? "tables=1"
                                                                : "return");
        }
    }
}

static void print_bash(void)
{
    printf("# Completion of widerow for bash; made of its table of commands.\n"
           "_widerow() {\n"
           "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
           "    local command=${COMP_WORDS[1]} flags= words= files= tables= i where=()\n"
           "    COMPREPLY=()\n"
           "    if [ \"$COMP_CWORD\" = 1 ]; then\n        COMPREPLY=($(compgen -W 'help");
    EACH_COMMAND(cmd) printf(" %s", cmd->name);
    printf("' -- \"$cur\"))\n        return\n    fi\n    case $command in\n    help) words='"
           "connection values");
    EACH_COMMAND(cmd) printf(" %s", cmd->name);
    printf("';;\n");
    EACH_COMMAND(cmd) bash_flags(cmd);
    printf("    esac\n    case $command/$prev in\n");
    EACH_COMMAND(cmd) bash_values(cmd);
    printf("    *)\n        case $cur in -*) words=$flags;; esac\n"
           "        if [ -z \"$words\" ] && [ \"$COMP_CWORD\" = 2 ]; then\n"
           "            case $command in\n            ");
    EACH_COMMAND(cmd)
    {
        if (command_takes_table(cmd))
            printf("%s|", cmd->name);
    }
    printf("-) tables=1;;\n            *) files=1;;\n            esac\n        fi\n        ;;\n    "
           "esac\n"
           "    if [ -n \"$tables\" ]; then # of the server that the words before name\n"
           "        for ((i = 2; i < COMP_CWORD; i++)); do\n"
           "            case ${COMP_WORDS[i]} in --endpoint|--instance|--data|--dir|--key-id|"
           "--key-secret|--ca-file)\n"
           "                where+=(\"${COMP_WORDS[i]}\" \"${COMP_WORDS[i+1]}\");;\n"
           "            esac\n        done\n"
           "        words=$(command widerow tables \"${where[@]}\" 2>/dev/null)\n    fi\n"
           "    if [ -n \"$files\" ]; then\n        COMPREPLY=($(compgen -f -- \"$cur\"))\n"
           "    else\n        COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n    fi\n}\n"
           "complete -F _widerow widerow\n");
}

/* ---- zsh ---- */

/* Within single quotes; brackets and colons have a meaning of their own there. */
static void zsh_text(const char *text)
{
    for (; *text; text++) {
        if (*text == '\'')
            printf("'\\''");
        else if (strchr("[]:\\", *text))
            printf("\\%c", *text);
        else
            putchar(*text);
    }
}

static void zsh_command(const struct command *cmd)
{
    printf("    %s) _arguments", cmd->name);
    EACH_FLAG(row, cmd)
    {
        printf(" \\\n        '%s--%s[", row->kind == OPTION_LIST ? "*" : "", row->name);
        zsh_text(row->help);
        printf("]");
        if (row->value) {
            printf(":value:");
            if (has_choices(row)) {
                printf("(");
                print_choices(row);
                printf(")");
            } else if (is_files(row)) {
                printf("_files");
            } else if (strcmp(row->value, "TABLE") == 0) {
                printf("_widerow_tables");
            }
        }
        printf("'");
    }
    printf(" \\\n        '%s'",
           command_takes_table(cmd) ? "1:table:_widerow_tables" : "*:file:_files");
    printf(";;\n");
}

static void print_zsh(void)
{
    printf(
        "#compdef widerow\n# Completion of widerow for zsh; made of its table of commands.\n"
        "_widerow_tables() {\n    local -a tables\n"
        "    tables=(${(f)\"$(command widerow tables 2>/dev/null)\"})\n    compadd -a tables\n}\n"
        "_widerow() {\n    local -a commands\n    local command=$words[2]\n    commands=(\n");
    EACH_COMMAND(cmd)
    {
        printf("        '%s:", cmd->name);
        zsh_text(cmd->summary);
        printf("'\n");
    }
    printf("        'help:say more of a command'\n    )\n"
           "    if (( CURRENT == 2 )); then\n        _describe command commands\n        return\n"
           "    fi\n    shift words\n    (( CURRENT-- ))\n    case $command in\n"
           "    help) _describe command commands;;\n");
    EACH_COMMAND(cmd) zsh_command(cmd);
    printf("    esac\n}\nif [ \"$funcstack[1]\" = _widerow ]; then _widerow \"$@\"; else compdef "
           "_widerow widerow; fi\n");
}

/* ---- fish ---- */

static void fish_text(const char *text)
{
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\')
            putchar('\\');
        putchar(*text);
    }
}

static void fish_flag(const struct command *cmd, const struct option_row *row)
{
    printf("complete -c widerow -n '__fish_seen_subcommand_from %s' -l %s", cmd->name, row->name);
    if (has_choices(row)) {
        printf(" -x -a '");
        print_choices(row);
        printf("'");
    } else if (is_files(row)) {
        printf(" -r -F");
    } else if (row->value && strcmp(row->value, "TABLE") == 0) {
        printf(" -x -a '(command widerow tables 2>/dev/null)'");
    } else if (row->value) {
        printf(" -x");
    }
    printf(" -d '");
    fish_text(row->help);
    printf("'\n");
}

static void print_fish(void)
{
    printf("# Completion of widerow for fish; made of its table of commands.\n");
    EACH_COMMAND(cmd)
    {
        printf("complete -c widerow -n __fish_use_subcommand -f -a %s -d '", cmd->name);
        fish_text(cmd->summary);
        printf("'\n");
        if (command_takes_table(cmd))
            printf("complete -c widerow -n '__fish_seen_subcommand_from %s' -f -a '(command "
                   "widerow tables 2>/dev/null)'\n",
                   cmd->name);
        EACH_FLAG(row, cmd) fish_flag(cmd, row);
    }
    printf("complete -c widerow -n __fish_use_subcommand -f -a help -d 'say more of a command'\n");
}

bool manual_print(const char *flag)
{
    static const struct {
        const char *flag;
        void (*print)(void);
    } forms[] = {
        {"--man", print_man}, {"--bash", print_bash}, {"--zsh", print_zsh}, {"--fish", print_fish}};

    for (size_t i = 0; i < PORT_COUNT(forms); i++)
        if (strcmp(flag, forms[i].flag) == 0) {
            forms[i].print();
            return true;
        }
    return false;
}

/* ---- help ---- */

static void print_values(void)
{
    printf("%s\nExit codes:\n", manual_values);
    for (size_t i = 0; command_exit_codes[i].text; i++)
        printf("  %3d  %s\n", command_exit_codes[i].code, command_exit_codes[i].text);
}

int manual_help(const char *topic)
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
