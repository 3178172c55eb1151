/* config.h: what the operator asked for: flags, environment, widerow.conf and defaults, in this
 * order of strength. The settings stand in setting.def. */
#ifndef SERVER_CONFIG_H
#define SERVER_CONFIG_H

#include "base/arena.h"
#include "base/limit.h"
#include "widerow.h"

enum config_action { CONFIG_RUN, CONFIG_HELP, CONFIG_VERSION };

struct config {
    enum config_action action;
#define TEXT const char *
#define BOOL bool
#define SIZE uint64_t
#define NUMBER(least, most) int64_t
#define SETTING(name, kind, def, value, text) kind name;
#include "server/setting.def"
#undef SETTING
#undef TEXT
#undef BOOL
#undef SIZE
#undef NUMBER
    const char *file;                  /* the widerow.conf that was read; NULL: none */
    const char *access_key_id;         /* of the environment; NULL: not given */
    const char *access_key_secret;     /* never logged */
    struct limits limits;              /* with `strict` and `settings` applied */
    const struct wr_setting *settings; /* limits that were set, the weakest first: for wr_open() */
    size_t setting_count;
    struct arena arena; /* holds all texts */
};

/* Reads argv[1] to argv[argc-1], the environment `envp` ("NAME=value", NULL at the end) and the
 * file: --config, else widerow.conf in the data folder if it is there. Returns 0, or E_PARAMETER
 * with one line in `message` that says what is wrong and how to mend it. With --help and --version
 * only `action` counts. config_release() in any case. */
int config_load(struct config *c, int argc, char **argv, char **envp, char *message,
                size_t message_size);
void config_release(struct config *c);

/* The text of --help, in `a`. */
bytes config_help(struct arena *a);

#endif
