#include "table/model/name.h"

#include <stdlib.h>

/* Longer than any legal name, so that clients see in full what they got wrong by a little. */
#define TEXT_BYTES_MAX 1024

static bool name_is_letter(uint8_t ch)
{
    return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || ch == '_';
}

static bool name_is_digit(uint8_t ch)
{
    return ch >= '0' && ch <= '9';
}

static bool table_name_ok(bytes name)
{
    const uint8_t *p = bytes_u8(name);

    if (name.len == 0 || name.len > NAME_BYTES_MAX || !name_is_letter(p[0]))
        return false;
    for (size_t i = 1; i < name.len; i++)
        if (!name_is_letter(p[i]) && !name_is_digit(p[i]))
            return false;
    return true;
}

int name_check_table(struct ctx *c, bytes name)
{
    if (PORT_UNLIKELY(!table_name_ok(name)))
        return fail(c, E_PARAMETER, "Invalid table name: '%.*s'.", BYTES_FMT(name_text(c, name)));
    return 0;
}

int name_check_table_or_period(struct ctx *c, bytes name)
{
    const char *at = name.len ? memchr(name.ptr, '@', name.len) : NULL;
    bytes period;

    if (PORT_LIKELY(!at))
        return name_check_table(c, name);
    period = bytes_skip(name, (size_t)(at + 1 - (const char *)name.ptr));
    for (size_t i = 0; i < period.len; i++)
        if (!name_is_digit(bytes_u8(period)[i]) && bytes_u8(period)[i] != '-' &&
            bytes_u8(period)[i] != 'W')
            return name_check_table(c, name);
    return period.len && name.len <= NAME_BYTES_MAX &&
                   table_name_ok(bytes_of(name.ptr, (size_t)(at - (const char *)name.ptr)))
               ? E_OK
               : name_check_table(c, name);
}

int name_check_column(struct ctx *c, bytes name)
{
    if (PORT_UNLIKELY(name.len == 0 || name.len > NAME_BYTES_MAX || *bytes_u8(name) == '#' ||
                      !bytes_is_utf8(name)))
        return fail(c, E_PARAMETER, "Invalid column name: '%.*s'.", BYTES_FMT(name_text(c, name)));
    return 0;
}

bytes name_text(struct ctx *c, bytes name)
{
    bytes short_name = name;
    uint8_t *p;

    if (short_name.len > TEXT_BYTES_MAX) {
        short_name.len = TEXT_BYTES_MAX;
        while (short_name.len && (bytes_u8(name)[short_name.len] & 0xC0) == 0x80)
            short_name.len--;
    }
    if (bytes_is_utf8(short_name))
        return short_name;
    /* Some clients give up on an answer whose text is not UTF-8. */
    short_name = arena_copy(&c->arena, short_name);
    p = (uint8_t *)short_name.ptr;
    for (size_t i = 0; i < short_name.len; i++)
        if (p[i] >= 0x80)
            p[i] = '?';
    return short_name;
}

static int name_compare_names(const void *a, const void *b)
{
    return bytes_compare(*(const bytes *)a, *(const bytes *)b);
}

void names_sort(bytes *names, size_t count)
{
    if (count > 1)
        qsort(names, count, sizeof(bytes), name_compare_names);
}

size_t names_sort_unique(bytes *names, size_t count)
{
    size_t kept = 0;

    names_sort(names, count);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || !bytes_equal(names[i], names[kept - 1]))
            names[kept++] = names[i];
    return kept;
}

const bytes *names_find(const bytes *names, size_t count, bytes name)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t at = low + (high - low) / 2;

        if (bytes_compare(names[at], name) < 0)
            low = at + 1;
        else
            high = at;
    }
    return low < count && bytes_equal(names[low], name) ? &names[low] : NULL;
}
