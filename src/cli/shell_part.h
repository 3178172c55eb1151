/* shell_part.h: the shell's parts: shell.c (lines), shell_process.c (commands) and
 * shell_offer.c (completion). */
#ifndef CLI_SHELL_PART_H
#define CLI_SHELL_PART_H

#include "cli/command.h"
#include "cli/line.h"

#include <sys/types.h>

struct shell {
    struct cli base; /* where the tables are, and the table that `use` has named */
    struct line *line;
    char table[256];
    char profile[64];
    bool ended;
};

/* Words of the shell that are no commands. */
#define SHELL_WORDS "use", "help", "exit", "quit"

/* Splits a line as a shell does: blanks part words, quotes and backslashes keep them together.
 * `open`: the last quote is not closed yet, or no blank follows the last word. Returns how many;
 * -1: too many. The words are in `a`. */
int shell_split(struct arena *a, const char *text, char **words, int most, bool *open);

/* A command as a process of its own: Ctrl-C ends it and not the shell, and nothing of it stays.
 * argv[0] is the name of one that there is; `out` -1, or where it prints instead, with two seconds
 * to do so. -1: the system gives no process. */
pid_t shell_start(struct shell *s, int argc, char **argv, int out);

/* Its exit code; of one that a signal ended 128 and the signal's number. */
int shell_wait(pid_t pid);

/* What a command prints, in `a`; it is given two seconds. */
bytes shell_capture(struct shell *s, struct arena *a, int argc, char **argv);

/* A line_offer_fn. */
void shell_offer(void *arg, const char *text, struct line_offers *out);

#endif
