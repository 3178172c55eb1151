#include "base/limit.h"

#include "base/port.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum limit_whose { LIMIT_OWN, LIMIT_OPENING, LIMIT_SHARED };

static const struct limit_row {
    const char *name;
    size_t offset;
    int64_t def, strict, min, max;
    enum limit_whose whose;
} rows[] = {
#define LIMIT(name, def, strict, min, max, whose, text)                                            \
    {#name, offsetof(struct limits, name), def, strict, min, max, LIMIT_##whose},
#include "base/limit.def"
#undef LIMIT
};

/* Values that have a name. */
static const struct {
    const char *limit, *word;
    int64_t value;
} words[] = {
    {"enforce_throughput", "off", 0},
    {"enforce_throughput", "reserved", 1},
    {"enforce_throughput", "partition", 2},
};

static bool limit_word(const char *name, const char *value, long long *out)
{
    for (size_t i = 0; i < PORT_COUNT(words); i++)
        if (strcmp(words[i].limit, name) == 0 && strcmp(words[i].word, value) == 0) {
            *out = words[i].value;
            return true;
        }
    return false;
}

/* The words that a limit may be set to, for a message; false if it has none. */
static bool words_of(const char *name, char *out, size_t size)
{
    size_t n = 0;

    for (size_t i = 0; i < PORT_COUNT(words); i++)
        if (strcmp(words[i].limit, name) == 0 && n < size)
            n += (size_t)snprintf(out + n, size - n, "%s%s", n ? ", " : "", words[i].word);
    return n != 0;
}

static bool limit_number(const struct limit_row *row, const char *value, long long *out)
{
    char *end;

    errno = 0;
    *out = strtoll(value, &end, 10);
    return !errno && end != value && !*end && *out >= row->min && *out <= row->max;
}

static _Atomic int64_t *limit_at(struct limits *l, const struct limit_row *row)
{
    return (_Atomic int64_t *)((char *)l + row->offset);
}

void limits_init(struct limits *l, bool strict)
{
    for (size_t i = 0; i < PORT_COUNT(rows); i++)
        *limit_at(l, &rows[i]) = strict ? rows[i].strict : rows[i].def;
    l->table_key_columns = 0;
}

const char *limits_name(size_t i)
{
    return i < PORT_COUNT(rows) ? rows[i].name : NULL;
}

int64_t limits_value(const struct limits *l, size_t i)
{
    return *(const _Atomic int64_t *)((const char *)l + rows[i].offset);
}

size_t limits_find(const char *name)
{
    size_t i = 0;

    while (i < PORT_COUNT(rows) && strcmp(rows[i].name, name) != 0)
        i++;
    return i;
}

bool limits_shared(size_t i)
{
    return rows[i].whose == LIMIT_SHARED;
}

bool limits_of_opening(size_t i)
{
    return rows[i].whose == LIMIT_OPENING;
}

void limits_assign(struct limits *to, const struct limits *from)
{
    for (size_t i = 0; i < PORT_COUNT(rows); i++)
        *limit_at(to, &rows[i]) = limits_value(from, i);
}

const char *limits_set(struct limits *l, const char *name, const char *value, char *message,
                       size_t size)
{
    size_t i = limits_find(name);
    char choices[80];
    long long v;

    if (!limits_name(i)) {
        snprintf(message, size, "%s: no such setting", name);
        return message;
    }
    if (!limit_word(name, value, &v) && !limit_number(&rows[i], value, &v)) {
        if (words_of(name, choices, sizeof(choices)))
            snprintf(message, size, "%s: '%s' is none of %s", name, value, choices);
        else
            snprintf(message, size, "%s: '%s' is not a whole number from %lld to %lld", name, value,
                     (long long)rows[i].min, (long long)rows[i].max);
        return message;
    }
    *limit_at(l, &rows[i]) = v;
    return NULL;
}

static void at_least(_Atomic int64_t *limit, int64_t value)
{
    if (*limit < value)
        *limit = value;
}

void limits_lift(struct limits *l, int64_t cell_bytes)
{
    int64_t row = cell_bytes + LIMIT_CELL_USUAL;

    if (cell_bytes <= LIMIT_CELL_USUAL)
        return;
    at_least(&l->cell_bytes_max, cell_bytes);
    at_least(&l->row_change_bytes_max, row);
    at_least(&l->batch_write_bytes_max, row);
    at_least(&l->body_bytes_max, row + (1 << 20));
    at_least(&l->request_memory_max, 8 * row);
}
