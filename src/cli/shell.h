/* shell.h: the commands, one line after another: on a terminal with history and completion, from a
 * file or pipe as a script that ends at the first failure. */
#ifndef CLI_SHELL_H
#define CLI_SHELL_H

#include "cli/command.h"

/* argv: the connection flags for all commands, and "-" for a script on standard input. Returns the
 * exit code. */
int shell_run(int argc, char **argv);

#endif
