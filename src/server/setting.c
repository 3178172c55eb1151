#include "server/setting.h"

#include "base/spelling.h"
#include "net/address.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const struct setting setting_rows[SETTING_COUNT] = {
#define TEXT SETTING_TEXT, 0, 0
#define ADDRESS SETTING_ADDRESS, 0, 0
#define BOOL SETTING_BOOL, 0, 0
#define SIZE SETTING_SIZE, 0, 0
#define NUMBER(least, most) SETTING_NUMBER, least, most
#define SETTING(name, kind, def, value, text)                                                      \
    {#name, kind, offsetof(struct config, name), def, value, text},
#include "server/setting.def"
#undef SETTING
#undef TEXT
#undef ADDRESS
#undef BOOL
#undef SIZE
#undef NUMBER
};

/* ---- names ---- */

const struct setting *setting_find(const char *name)
{
    for (size_t i = 0; i < SETTING_COUNT; i++)
        if (strcmp(setting_rows[i].name, name) == 0)
            return &setting_rows[i];
    return NULL;
}

bool setting_is_limit(const char *name)
{
    const char *at;

    for (size_t i = 0; (at = limits_name(i)); i++)
        if (strcmp(at, name) == 0)
            return true;
    return false;
}

const char *setting_nearest(const char *name)
{
    struct spelling s;
    const char *at;

    spelling_init(&s, name);
    for (size_t i = 0; i < SETTING_COUNT; i++)
        spelling_offer(&s, setting_rows[i].name);
    for (size_t i = 0; (at = limits_name(i)); i++)
        spelling_offer(&s, at);
    return s.nearest;
}

void setting_spell(const char *name, char underscore, bool capitals, char *out, size_t size)
{
    size_t i;

    for (i = 0; name[i] && i + 1 < size; i++) {
        out[i] = name[i] == '_' ? underscore : name[i];
        if (capitals && out[i] >= 'a' && out[i] <= 'z')
            out[i] = (char)(out[i] - 'a' + 'A');
    }
    out[i] = 0;
}

/* ---- texts to values ---- */

static bool parse_bool(const char *text, bool *out)
{
    static const char *const yes[] = {"true", "yes", "on", "1"}, *const no[] = {"false", "no",
                                                                                "off", "0"};

    for (size_t i = 0; i < PORT_COUNT(yes); i++) {
        if (strcasecmp(text, yes[i]) == 0 || strcasecmp(text, no[i]) == 0) {
            *out = strcasecmp(text, yes[i]) == 0;
            return true;
        }
    }
    return false;
}

static bool setting_parse_number(const char *text, const char **end, int64_t *out)
{
    char *stop;
    long long v;

    errno = 0;
    v = strtoll(text, &stop, 10);
    if (errno || stop == text || v < 0)
        return false;
    *out = v;
    *end = stop;
    return true;
}

/* "4096", "256M", "2G", "2GB", "2GiB": powers of 1024. */
static bool parse_size(const char *text, uint64_t *out)
{
    static const char units[] = "KMGT";
    const char *end, *unit;
    int64_t v;
    int shift = 0;

    if (!setting_parse_number(text, &end, &v))
        return false;
    unit = *end ? strchr(units, *end >= 'a' ? *end - 'a' + 'A' : *end) : NULL;
    if (unit) {
        shift = (int)(unit - units + 1) * 10;
        end++;
        if (strcasecmp(end, "B") == 0 || strcasecmp(end, "iB") == 0)
            end += strlen(end);
    }
    if (*end || v > INT64_MAX >> shift)
        return false;
    *out = (uint64_t)v << shift;
    return true;
}

const char *setting_parse(const struct setting *s, const char *text, struct config *c)
{
    void *at = (char *)c + s->offset;
    const char *end;

    switch (s->kind) {
    case SETTING_TEXT:
        *(const char **)at = text;
        break;
    case SETTING_ADDRESS:
        if (strcmp(text, "off") != 0 && !address_is_well_formed(text))
            return arena_printf(
                       &c->arena,
                       "'%s' is not ADDRESS:PORT. Write it like 127.0.0.1:8600 or [::1]:8600.",
                       text)
                .ptr;
        *(const char **)at = text;
        break;
    case SETTING_BOOL:
        if (!parse_bool(text, at))
            return arena_printf(&c->arena, "'%s' is neither true nor false.", text).ptr;
        break;
    case SETTING_SIZE:
        if (!parse_size(text, at))
            return arena_printf(&c->arena, "'%s' is not a size. Write it like 256M or 2G.", text)
                .ptr;
        break;
    case SETTING_NUMBER:
        if (!setting_parse_number(text, &end, at) || *end || *(int64_t *)at < s->least ||
            *(int64_t *)at > s->most)
            return arena_printf(&c->arena, "'%s' is not a whole number from %lld to %lld.", text,
                                (long long)s->least, (long long)s->most)
                .ptr;
        break;
    }
    return NULL;
}
