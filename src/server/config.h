/* config.h: what the operator asked for: flags, environment, widerow.conf and defaults, the
 * strongest first. The settings stand in setting.def, and struct config in setting.h. One thread,
 * at the start. */
#ifndef SERVER_CONFIG_H
#define SERVER_CONFIG_H

#include "server/setting.h"

/* Reads argv[1] to argv[argc-1], the environment `envp` ("NAME=value", NULL at the end) and the
 * file: --config, else widerow.conf in the data folder if it is there. Returns 0, or E_PARAMETER
 * with one line in `message` that says what is wrong and how to mend it. With --help, --version and
 * --print-defaults only `action` counts. config_release() in any case. */
int config_load(struct config *c, int argc, char **argv, char **envp, char *message,
                size_t message_size);
void config_release(struct config *c);

/* The text of --help, in `a`. */
bytes config_help(struct arena *a);

/* A widerow.conf with every setting and limit at its default, each as a comment below what it does,
 * in `a`. */
bytes config_defaults(struct arena *a);

#endif
