/* record_json.c: one line of JSON Lines. Strings are unescaped in place; numbers, true, false and
 * whatever is nested stay as they are written; null is the same as nothing. A line usually has the
 * members of the line before in the same order, so a name is looked up by its place first. */
#include "record/record.h"

#include <stdio.h>

struct json {
    struct record_reader *r;
    char *at, *end;
};

static bool bad(struct json *j, const char *what)
{
    snprintf(j->r->message, sizeof(j->r->message), "%s", what);
    return false;
}

static void skip_space(struct json *j)
{
    while (j->at != j->end && (*j->at == ' ' || *j->at == '\t'))
        j->at++;
}

static bool take(struct json *j, char ch)
{
    skip_space(j);
    if (j->at == j->end || *j->at != ch)
        return false;
    j->at++;
    return true;
}

static char *put_utf8(char *to, uint32_t code)
{
    if (code < 0x80) {
        *to++ = (char)code;
    } else if (code < 0x800) {
        *to++ = (char)(0xc0 | code >> 6);
        *to++ = (char)(0x80 | (code & 63));
    } else if (code < 0x10000) {
        *to++ = (char)(0xe0 | code >> 12);
        *to++ = (char)(0x80 | (code >> 6 & 63));
        *to++ = (char)(0x80 | (code & 63));
    } else {
        *to++ = (char)(0xf0 | code >> 18);
        *to++ = (char)(0x80 | (code >> 12 & 63));
        *to++ = (char)(0x80 | (code >> 6 & 63));
        *to++ = (char)(0x80 | (code & 63));
    }
    return to;
}

static bool take_hex(struct json *j, uint32_t *out)
{
    *out = 0;
    if (j->end - j->at < 4)
        return bad(j, "a \\u escape is cut off");
    for (int i = 0; i < 4; i++) {
        char ch = *j->at++;
        int digit = ch >= '0' && ch <= '9'   ? ch - '0'
                    : ch >= 'a' && ch <= 'f' ? ch - 'a' + 10
                    : ch >= 'A' && ch <= 'F' ? ch - 'A' + 10
                                             : -1;

        if (digit < 0)
            return bad(j, "a \\u escape that is no hexadecimal number");
        *out = *out * 16 + (uint32_t)digit;
    }
    return true;
}

static bool take_code(struct json *j, uint32_t *code)
{
    uint32_t low;

    if (!take_hex(j, code))
        return false;
    if (*code < 0xd800 || *code > 0xdfff)
        return true;
    if (*code > 0xdbff || j->end - j->at < 6 || j->at[0] != '\\' || j->at[1] != 'u')
        return bad(j, "half of a surrogate pair");
    j->at += 2;
    if (!take_hex(j, &low))
        return false;
    if (low < 0xdc00 || low > 0xdfff)
        return bad(j, "half of a surrogate pair");
    *code = 0x10000 + ((*code - 0xd800) << 10) + (low - 0xdc00);
    return true;
}

static bool take_escape(struct json *j, char **to)
{
    static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
    const char *known;
    uint32_t code;

    if (j->at == j->end)
        return bad(j, "a text is opened and never closed");
    if (*j->at == 'u') {
        j->at++;
        if (!take_code(j, &code))
            return false;
        *to = put_utf8(*to, code);
        return true;
    }
    known = *j->at ? strchr(from, *j->at) : NULL;
    if (!known)
        return bad(j, "an unknown escape in a text");
    *(*to)++ = into[known - from];
    j->at++;
    return true;
}

/* A string from behind its first quote. */
static bool take_string(struct json *j, bytes *out)
{
    char *start = j->at, *to = start;

    while (j->at != j->end && *j->at != '"' && *j->at != '\\')
        j->at++;
    to = j->at;
    while (j->at != j->end && *j->at != '"') {
        if (*j->at == '\\') {
            j->at++;
            if (!take_escape(j, &to))
                return false;
        } else {
            *to++ = *j->at++;
        }
    }
    if (j->at == j->end)
        return bad(j, "a text is opened and never closed");
    j->at++;
    *out = bytes_of(start, (size_t)(to - start));
    return true;
}

/* An object or array, as it is written. */
static bool take_nested(struct json *j, bytes *out)
{
    char *start = j->at;
    size_t depth = 0;

    do {
        if (j->at == j->end)
            return bad(j, "an object or array is opened and never closed");
        if (*j->at == '{' || *j->at == '[') {
            depth++;
        } else if (*j->at == '}' || *j->at == ']') {
            depth--;
        } else if (*j->at == '"') {
            for (j->at++; j->at != j->end && *j->at != '"'; j->at++)
                if (*j->at == '\\' && j->at + 1 != j->end)
                    j->at++;
            if (j->at == j->end)
                return bad(j, "a text is opened and never closed");
        }
        j->at++;
    } while (depth);
    *out = bytes_of(start, (size_t)(j->at - start));
    return true;
}

static bool take_value(struct json *j, struct csv_field *out)
{
    char *start;

    skip_space(j);
    *out = (struct csv_field){BYTES_NONE, false};
    if (j->at == j->end)
        return bad(j, "a value is missing");
    if (*j->at == '"') {
        j->at++;
        out->quoted = true;
        return take_string(j, &out->text);
    }
    if (*j->at == '{' || *j->at == '[')
        return take_nested(j, &out->text);
    for (start = j->at; j->at != j->end && !strchr(",} \t", *j->at); j->at++)
        ;
    if (start == j->at)
        return bad(j, "a value is missing");
    if (!strchr("-0123456789tfn", *start))
        return bad(j, "a value that is neither a text, a number, true, false nor null");
    if (j->at - start != 4 || memcmp(start, "null", 4) != 0)
        out->text = bytes_of(start, (size_t)(j->at - start));
    return true;
}

/* The column of a name, a new one if need be; SIZE_MAX: there are too many. */
static size_t column_of(struct record_reader *r, size_t place, bytes name)
{
    size_t column;

    if (place < RECORD_COLUMNS_MAX && r->order[place] < r->column_count &&
        bytes_equal(r->names[r->order[place]], name))
        return r->order[place];
    column = record_column(r, name);
    if (column == SIZE_MAX && r->column_count < RECORD_COLUMNS_MAX) {
        column = r->column_count++;
        r->names[column] = arena_copy(r->arena, name);
    }
    if (column != SIZE_MAX && place < RECORD_COLUMNS_MAX)
        r->order[place] = column;
    return column;
}

bool record_parse_json(struct record_reader *r, char *p, char *end)
{
    struct json j = {r, p, end};

    memset(r->fields, 0, sizeof(r->fields[0]) * r->column_count);
    if (!take(&j, '{'))
        return bad(&j, "not an object: a line must begin with {");
    if (!take(&j, '}')) {
        for (size_t place = 0;; place++) {
            struct csv_field value;
            size_t column;
            bytes name;

            if (!take(&j, '"'))
                return bad(&j, "a member's name is missing");
            if (!take_string(&j, &name))
                return false;
            if (!take(&j, ':'))
                return bad(&j, "a ':' is missing behind a name");
            if (!take_value(&j, &value))
                return false;
            column = column_of(r, place, name);
            if (column == SIZE_MAX)
                return bad(&j, "more different columns than can be looked at (256)");
            r->fields[column] = value;
            if (take(&j, '}'))
                break;
            if (!take(&j, ','))
                return bad(&j, "a ',' or '}' is missing behind a value");
        }
    }
    skip_space(&j);
    return j.at == end || bad(&j, "text behind the closing }");
}
