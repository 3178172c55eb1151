/* setting.h: the settings there are (setting.def): by name, and a setting's text as its value. */
#ifndef SERVER_SETTING_H
#define SERVER_SETTING_H

#include "server/config.h"

enum setting_kind { SETTING_TEXT, SETTING_BOOL, SETTING_SIZE, SETTING_NUMBER };

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
