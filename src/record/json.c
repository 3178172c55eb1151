#include "record/json.h"

struct json_reader json_reader_of(char *text, size_t size)
{
    return (struct json_reader){text, text + size, NULL};
}

static bool bad(struct json_reader *j, const char *what)
{
    j->fault = what;
    return false;
}

void json_skip_space(struct json_reader *j)
{
    while (j->at != j->end && (*j->at == ' ' || *j->at == '\t' || *j->at == '\n' || *j->at == '\r'))
        j->at++;
}

bool json_take(struct json_reader *j, char ch)
{
    json_skip_space(j);
    if (j->at == j->end || *j->at != ch)
        return false;
    j->at++;
    return true;
}

char *json_put_utf8(char *to, uint32_t code)
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

static bool take_hex(struct json_reader *j, uint32_t *out)
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

static bool take_code(struct json_reader *j, uint32_t *code)
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

static bool take_escape(struct json_reader *j, char **to)
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
        *to = json_put_utf8(*to, code);
        return true;
    }
    known = *j->at ? strchr(from, *j->at) : NULL;
    if (!known)
        return bad(j, "an unknown escape in a text");
    *(*to)++ = into[known - from];
    j->at++;
    return true;
}

bool json_take_string(struct json_reader *j, bytes *out)
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
static bool take_nested(struct json_reader *j, bytes *out)
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

bool json_take_value(struct json_reader *j, struct csv_field *out)
{
    char *start;

    json_skip_space(j);
    *out = (struct csv_field){BYTES_NONE, false};
    if (j->at == j->end)
        return bad(j, "a value is missing");
    if (*j->at == '"') {
        j->at++;
        out->quoted = true;
        return json_take_string(j, &out->text);
    }
    if (*j->at == '{' || *j->at == '[')
        return take_nested(j, &out->text);
    for (start = j->at; j->at != j->end && !strchr(",}] \t\r\n", *j->at); j->at++)
        ;
    if (start == j->at)
        return bad(j, "a value is missing");
    if (!strchr("-0123456789tfn", *start))
        return bad(j, "a value that is neither a text, a number, true, false nor null");
    if (j->at - start != 4 || memcmp(start, "null", 4) != 0)
        out->text = bytes_of(start, (size_t)(j->at - start));
    return true;
}

bool json_take_name(struct json_reader *j, bytes *out)
{
    if (!json_take(j, '"'))
        return bad(j, "a member's name is missing");
    if (!json_take_string(j, out))
        return false;
    return json_take(j, ':') || bad(j, "a ':' is missing behind a name");
}

bool json_take_next(struct json_reader *j, char close)
{
    if (json_take(j, close))
        return false;
    return json_take(j, ',') || bad(j, close == '}' ? "a ',' or '}' is missing behind a value"
                                                    : "a ',' or ']' is missing behind a value");
}
