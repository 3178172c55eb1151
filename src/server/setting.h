/* setting.h: the settings there are (setting.def): by name, and a setting's text as its value. */
#ifndef SERVER_SETTING_H
#define SERVER_SETTING_H

#include "base/arena.h"
#include "base/limit.h"
#include "widerow.h"

/* Their values, and what else is asked for on the command line (config.h). */
enum config_action {
    CONFIG_RUN,
    CONFIG_CHECK, /* only say what the settings are */
    CONFIG_HELP,
    CONFIG_DEFAULTS,
    CONFIG_VERSION
};

struct config {
    enum config_action action;
#define TEXT const char *
#define ADDRESS const char *
#define BOOL bool
#define SIZE uint64_t
#define NUMBER(least, most) int64_t
#define SETTING(name, kind, def, value, text) kind name;
#include "server/setting.def"
#undef SETTING
#undef TEXT
#undef ADDRESS
#undef BOOL
#undef SIZE
#undef NUMBER
    const char *file;        /* the widerow.conf that was read; NULL: none */
    const char *http_source; /* where the address was given, for messages: "--http" */
    const char *admin_source;
    const char *sql_source;            /* NULL: not given */
    bytes warnings;                    /* lines about what counts for nothing; may be empty */
    bytes given;                       /* CONFIG_CHECK: a line for each setting that was given */
    const char *access_key_id;         /* of the environment; NULL: not given */
    const char *access_key_secret;     /* never logged */
    struct limits limits;              /* with `strict` and `settings` applied */
    const struct wr_setting *settings; /* limits that were set, the weakest first: for wr_open() */
    size_t setting_count;
    struct arena arena; /* holds all texts */
};

/* An address may be "off"; config_load() knows which may not. */
enum setting_kind { SETTING_TEXT, SETTING_ADDRESS, SETTING_BOOL, SETTING_SIZE, SETTING_NUMBER };

struct setting {
    const char *name;
    enum setting_kind kind;
    int64_t least, most; /* of a number */
    size_t offset;       /* in struct config */
    const char *def, *value, *text;
};

enum setting_id {
#define SETTING(name, kind, def, value, text) SETTING_##name,
#include "server/setting.def"
#undef SETTING
    SETTING_COUNT
};

extern const struct setting setting_rows[SETTING_COUNT];

/* NULL: there is none of that name. */
const struct setting *setting_find(const char *name);

/* Limits may be set, too (base/limit.def). */
bool setting_is_limit(const char *name);

/* The setting or limit that was most likely meant; NULL: none is near. */
const char *setting_nearest(const char *name);

/* Writes a name with another letter for underscore (and in capitals), cut to `size`. */
void setting_spell(const char *name, char underscore, bool capitals, char *out, size_t size);

/* Puts a setting's value into c. NULL, or what is wrong with the text, in c's arena. A value that
 * is a text is not copied. */
const char *setting_parse(const struct setting *s, const char *text, struct config *c);

#endif
