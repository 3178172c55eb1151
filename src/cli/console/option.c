#include "cli/console/option.h"

#include "base/port.h"
#include "base/spelling.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES_MAX 48
#define NAMES_MAX 64

const char *option_nearest(const char *text, const char *const *names, size_t count)
{
    struct spelling s;

    spelling_init(&s, text);
    for (size_t i = 0; i < count; i++)
        spelling_offer(&s, names[i]);
    return s.nearest;
}

static const struct option_row *find_row(const struct option_set *sets, size_t set_count,
                                         const char *name, size_t len, void **target)
{
    for (size_t i = 0; i < set_count; i++) {
        for (const struct option_row *row = sets[i].rows; row->name; row++) {
            if (strlen(row->name) == len && memcmp(row->name, name, len) == 0) {
                *target = (char *)sets[i].target + row->offset;
                return row;
            }
        }
    }
    return NULL;
}

/* The short flags of Tablestore's own command line, where a command has the long one; they may
 * stand for more than one. */
static const struct {
    char letter;
    const char *name;
} short_flags[] = {{'t', "table"}, {'k', "pk"},     {'p', "pk"},    {'a', "attr"},
                   {'i', "input"}, {'o', "output"}, {'l', "limit"}, {'y', "yes"}};

/* "--name" of a short flag that one of the sets has; else NULL. */
static const char *long_flag(const struct option_set *sets, size_t set_count, const char *word)
{
    void *target;

    for (size_t i = 0; word[1] && !word[2] && i < PORT_COUNT(short_flags); i++)
        if (short_flags[i].letter == word[1]) {
            const struct option_row *row = find_row(sets, set_count, short_flags[i].name,
                                                    strlen(short_flags[i].name), &target);

            if (row)
                return row->name;
        }
    return NULL;
}

static int unknown_flag(const struct option_set *sets, size_t set_count, const char *name,
                        size_t len, char *message, size_t message_size)
{
    const char *names[NAMES_MAX] = {"help"}, *near;
    char text[NAME_BYTES_MAX + 1];
    size_t count = 1;

    for (size_t i = 0; i < set_count; i++)
        for (const struct option_row *row = sets[i].rows; row->name && count < NAMES_MAX; row++)
            names[count++] = row->name;
    snprintf(text, sizeof(text), "%.*s", (int)len, name);
    if (strcmp(text, "help") == 0) { /* --help alone never comes here */
        snprintf(message, message_size, "--help takes no value");
        return -1;
    }
    near = option_nearest(text, names, count);
    snprintf(message, message_size, "unknown flag --%s%s%s%s", text,
             near ? "; did you mean --" : "", near ? near : "", near ? "?" : "");
    return -1;
}

static int set_count_value(const struct option_row *row, const char *text, uint64_t *out,
                           char *message, size_t message_size)
{
    char *end;

    errno = 0;
    *out = strtoull(text, &end, 10);
    if (*text >= '0' && *text <= '9' && !*end && !errno && *out >= row->min && *out <= row->max)
        return 0;
    snprintf(message, message_size, "--%s takes a whole number from %llu to %llu, not '%s'",
             row->name, (unsigned long long)row->min, (unsigned long long)row->max, text);
    return -1;
}

static int add_to_list(const struct option_row *row, const char *value, struct option_list *out,
                       char *message, size_t message_size)
{
    if (out->count < OPTION_LIST_MAX) {
        out->texts[out->count++] = value;
        return 0;
    }
    snprintf(message, message_size, "--%s may be given %d times", row->name, OPTION_LIST_MAX);
    return -1;
}

/* Handles the flag argv[*at], whose name begins at `name`; moves *at over its value. */
static int parse_flag(int argc, char **argv, int *at, const char *name,
                      const struct option_set *sets, size_t set_count, char *message,
                      size_t message_size)
{
    const char *equals = strchr(name, '='), *value;
    size_t len = equals ? (size_t)(equals - name) : strlen(name);
    void *target = NULL;
    const struct option_row *row = find_row(sets, set_count, name, len, &target);

    if (!row)
        return unknown_flag(sets, set_count, name, len, message, message_size);
    if (row->kind == OPTION_FLAG) {
        *(bool *)target = true;
        if (!equals)
            return 0;
        snprintf(message, message_size, "--%s takes no value", row->name);
        return -1;
    }
    if (!equals && *at + 1 == argc) {
        snprintf(message, message_size, "--%s needs a value: --%s %s", row->name, row->name,
                 row->value);
        return -1;
    }
    value = equals ? equals + 1 : argv[++*at];
    if (row->kind == OPTION_COUNT)
        return set_count_value(row, value, target, message, message_size);
    if (row->kind == OPTION_LIST)
        return add_to_list(row, value, target, message, message_size);
    *(const char **)target = value;
    return 0;
}

int option_parse(int argc, char **argv, const struct option_set *sets, size_t set_count, int *left,
                 bool *help, char *message, size_t message_size)
{
    bool flags = true;
    const char *name;

    *left = 0;
    *help = false;
    for (int i = 0; i < argc; i++) {
        const char *a = argv[i];

        if (flags && strcmp(a, "--") == 0) {
            flags = false;
        } else if (flags && (strcmp(a, "--help") == 0 || strcmp(a, "-h") == 0)) {
            *help = true;
        } else if (flags && a[0] == '-' && a[1] == '-') {
            if (parse_flag(argc, argv, &i, a + 2, sets, set_count, message, message_size))
                return -1;
        } else if (flags && a[0] == '-' && (name = long_flag(sets, set_count, a))) {
            if (parse_flag(argc, argv, &i, name, sets, set_count, message, message_size))
                return -1;
        } else if (flags && a[0] == '-' && a[1] && !(a[1] >= '0' && a[1] <= '9')) {
            snprintf(message, message_size, "unknown flag %s; flags begin with two dashes", a);
            return -1;
        } else {
            argv[(*left)++] = argv[i]; /* "-" and negative numbers are arguments */
        }
    }
    return 0;
}

void option_print(const struct option_row *rows)
{
    for (; rows->name; rows++) {
        char left[64];

        snprintf(left, sizeof(left), "--%s%s%s", rows->name, rows->value ? " " : "",
                 rows->value ? rows->value : "");
        printf("  %-26s %s\n", left, rows->help);
    }
}
