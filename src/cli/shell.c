#include "cli/shell.h"

#include "cli/manual.h"
#include "cli/shell_part.h"
#include "cli/sql_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define WORDS_MAX 1024

/* ---- commands ---- */

/* `use orders`, or as Tablestore's own has it, `use -t orders` and `use --wc -t orders`; alone it
 * ends that. */
static int use_table(struct shell *s, int argc, char **argv)
{
    const char *name = argc > 1 ? argv[argc - 1] : "";

    if (strlen(name) >= sizeof(s->table)) {
        fprintf(stderr, "use: that is no table's name\n");
        return EXIT_USAGE;
    }
    snprintf(s->table, sizeof(s->table), "%s", name);
    s->base.table = *s->table ? s->table : NULL;
    return EXIT_DONE;
}

/* `login NAME` alone goes on with a profile that is kept; else the command makes it, and the shell
 * goes on with that. */
static int log_in(struct shell *s, int argc, char **argv)
{
    const char *name = argc > 1 && argv[1][0] != '-' ? argv[1] : "default";
    bool makes = argc > 2 || (argc == 2 && argv[1][0] == '-');
    int code = makes ? shell_wait(shell_start(s, argc, argv, -1)) : EXIT_DONE;

    if (code)
        return code;
    snprintf(s->profile, sizeof(s->profile), "%s", name);
    s->base.where = (struct target_conf){.profile = s->profile};
    return EXIT_DONE;
}

static int run_words(struct shell *s, int argc, char **argv)
{
    if (strcmp(argv[0], "widerow") == 0 && argc > 1) {
        argc--;
        argv++;
    }
    if (strcmp(argv[0], "exit") == 0 || strcmp(argv[0], "quit") == 0) {
        s->ended = true;
        return EXIT_DONE;
    }
    if (strcmp(argv[0], "help") == 0)
        return manual_help(argc > 1 ? argv[1] : NULL);
    if (strcmp(argv[0], "use") == 0)
        return use_table(s, argc, argv);
    if (strcmp(argv[0], "login") == 0 || strcmp(argv[0], "config") == 0)
        return log_in(s, argc, argv);
    if (!command_find(argv[0])) {
        command_say_unknown(argv[0]);
        return EXIT_USAGE;
    }
    return shell_wait(shell_start(s, argc, argv, -1));
}

/* Secrets do not go into the history. */
static bool is_secret(int argc, char **argv)
{
    if (strcmp(argv[0], "login") == 0 || strcmp(argv[0], "config") == 0)
        return true;
    for (int i = 0; i < argc; i++)
        if (strstr(argv[i], "secret") || strstr(argv[i], "SECRET"))
            return true;
    return false;
}

/* A line of SQL is the one word of `widerow sql`, as it was typed. */
static int run_sql(struct shell *s, const char *text)
{
    char *words[] = {(char *)(uintptr_t) "sql", (char *)(uintptr_t)text, NULL};

    line_keep(s->line, text);
    return shell_wait(shell_start(s, 2, words, -1));
}

static int run_line(struct shell *s, const char *text)
{
    char *words[WORDS_MAX];
    int argc, code = EXIT_DONE;
    struct arena a;
    bool open;

    arena_init(&a, NULL, 0);
    argc = shell_split(&a, text, words, WORDS_MAX - 1, &open);
    if (argc > 0 && sql_text_is_statement(text, command_find(words[0]))) {
        code = run_sql(s, arena_printf(&a, "%s", text).ptr);
    } else if (argc < 0) {
        fprintf(stderr, "more than %d words in a line\n", WORDS_MAX);
        code = EXIT_USAGE;
    } else if (argc > 0 && words[0][0] != '#') {
        words[argc] = NULL;
        if (!is_secret(argc, words))
            line_keep(s->line, text);
        code = run_words(s, argc, words);
    }
    arena_release(&a);
    return code;
}

/* ---- the shell ---- */

static int parse_flags(struct shell *s, int argc, char **argv, bool *script)
{
    struct option_set set = {command_connection_rows, &s->base.where};
    char message[256];
    bool help = false;
    int left = 0;

    if (option_parse(argc, argv, &set, 1, &left, &help, message, sizeof(message)) == 0 && !help &&
        (left == 0 || (left == 1 && strcmp(argv[0], "-") == 0))) {
        *script = left == 1;
        return EXIT_DONE;
    }
    if (help)
        return manual_help(NULL);
    if (left)
        fprintf(stderr,
                "widerow: the command comes first, its flags behind it: widerow %s --help\n",
                argv[0]);
    else
        fprintf(stderr, "widerow: %s. `widerow --help` lists the commands.\n", message);
    return EXIT_USAGE;
}

static const char *history_path(struct arena *a)
{
    const char *home = getenv("HOME");

    return home && *home ? arena_printf(a, "%s/.widerow_history", home).ptr : NULL;
}

static int run_script(struct shell *s)
{
    const char *text;
    int code = EXIT_DONE;

    while (code == EXIT_DONE && !s->ended && (text = line_read(s->line, "")))
        code = run_line(s, text);
    return code;
}

static int run_terminal(struct shell *s)
{
    char prompt[300];
    const char *text;
    int code = EXIT_DONE;

    printf("Widerow %s. `help` lists the commands, Tab completes, `exit` ends.\n", wr_version());
    do {
        snprintf(prompt, sizeof(prompt), "%s> ", s->base.table ? s->base.table : "widerow");
        text = line_read(s->line, prompt);
        if (text)
            code = run_line(s, text);
    } while (text && !s->ended);
    if (!text)
        printf("\n");
    return code;
}

int shell_run(int argc, char **argv)
{
    struct shell s = {0};
    bool script = false;
    struct arena a;
    int code = parse_flags(&s, argc, argv, &script);

    if (code || (argc && !script && !isatty(STDIN_FILENO))) {
        if (!code)
            command_print_list();
        return code ? code : EXIT_USAGE;
    }
    arena_init(&a, NULL, 0);
    s.line = line_open(!script, history_path(&a), shell_offer, &s);
    code = script ? run_script(&s) : run_terminal(&s);
    line_close(s.line);
    arena_release(&a);
    return code;
}
