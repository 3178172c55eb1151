/* manual.h: the man page and the completion of shells, made of the table of commands when Widerow
 * is built: `widerow help --man`, `--bash`, `--zsh`, `--fish`. */
#ifndef CLI_MANUAL_H
#define CLI_MANUAL_H

#include <stdbool.h>

/* Prints what `flag` ("--man") names. False: it is none of these. */
bool manual_print(const char *flag);

/* `widerow help TOPIC`: a command, "connection", "values", or one of the above; NULL: the list.
 * Returns the exit code. */
int manual_help(const char *topic);

#endif
