#include "cli/column_words.h"

#include "record/type_name.h"

#include <string.h>

bytes words_next(bytes *list, char mark)
{
    const char *at = list->len ? memchr(list->ptr, mark, list->len) : NULL;
    bytes part = *list;

    *list = BYTES_NONE;
    if (!at)
        return part;
    *list = bytes_skip(part, (size_t)(at - (const char *)part.ptr) + 1);
    part.len = (size_t)(at - (const char *)part.ptr);
    return part;
}

/* NAME:TYPE; *rest is what stands behind. */
static int parse_column(struct ctx *c, bytes word, bytes *name, enum wr_type *type, bytes *rest)
{
    bytes whole = word;

    *name = words_next(&word, ':');
    if (!name->len || !word.ptr)
        return fail(c, E_PARAMETER, "'%.*s' is no column: NAME:TYPE is wanted", BYTES_FMT(whole));
    if (!type_parse(words_next(&word, ':'), type))
        return fail(c, E_PARAMETER,
                    "the type of column '%.*s' is none of integer, string, binary, double and "
                    "boolean",
                    BYTES_FMT(*name));
    *rest = word;
    return 0;
}

int column_words_key(struct ctx *c, const char *text, struct wr_key_schema *key, size_t *count)
{
    bytes list = bytes_str(text);

    while (list.ptr) {
        bytes word = words_next(&list, ',');
        struct wr_key_schema *k = &key[*count];

        if ((*count)++ == WR_KEY_COLUMNS_MAX)
            return fail(c, E_PARAMETER, "a key has at most %d columns", WR_KEY_COLUMNS_MAX);
        TRY(parse_column(c, word, &k->name, &k->type, &word));
        if (k->type == WR_DOUBLE || k->type == WR_BOOLEAN)
            return fail(c, E_PARAMETER,
                        "the type of key column '%.*s' is none of integer, string and binary",
                        BYTES_FMT(k->name));
        while (word.ptr) {
            bytes flag = words_next(&word, ':');

            if (bytes_equal(flag, BYTES_LIT("desc")))
                k->descending = true;
            else if (bytes_equal(flag, BYTES_LIT("auto")))
                k->auto_increment = true;
            else
                return fail(c, E_PARAMETER, "behind a key column's type stands desc or auto");
        }
    }
    return 0;
}

int column_words_defined(struct ctx *c, const char *text, struct wr_defined_column *columns,
                         size_t *count)
{
    bytes list = text ? bytes_str(text) : BYTES_NONE, rest;

    while (list.ptr) {
        bytes word = words_next(&list, ',');
        struct wr_defined_column *d = &columns[*count];

        if ((*count)++ == COLUMN_WORDS_MAX)
            return fail(c, E_PARAMETER, "more than %d columns", COLUMN_WORDS_MAX);
        TRY(parse_column(c, word, &d->name, &d->type, &rest));
    }
    return 0;
}
