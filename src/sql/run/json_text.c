#include "sql/run/json_text.h"

#include <string.h>

/* SQLite, which reads these texts, takes no deeper ones. */
#define DEPTH_MAX 1000

struct scanner {
    const char *at, *end;
    char close[DEPTH_MAX]; /* how each open object or array ends */
    size_t depth;
};

static bool take(struct scanner *s, char ch)
{
    if (s->at == s->end || *s->at != ch)
        return false;
    s->at++;
    return true;
}

static void skip_space(struct scanner *s)
{
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\t' || *s->at == '\n' || *s->at == '\r'))
        s->at++;
}

static bool is_digit(char ch)
{
    return ch >= '0' && ch <= '9';
}

static bool take_digits(struct scanner *s)
{
    const char *from = s->at;

    while (s->at < s->end && is_digit(*s->at))
        s->at++;
    return s->at > from;
}

static bool take_number(struct scanner *s)
{
    take(s, '-');
    if (!take(s, '0') && !take_digits(s))
        return false;
    if (take(s, '.') && !take_digits(s))
        return false;
    if (!take(s, 'e') && !take(s, 'E'))
        return true;
    if (!take(s, '+'))
        take(s, '-');
    return take_digits(s);
}

static bool take_hex(struct scanner *s)
{
    for (int i = 0; i < 4; i++, s->at++)
        if (s->at == s->end || !*s->at || !strchr("0123456789abcdefABCDEF", *s->at))
            return false;
    return true;
}

static bool take_string(struct scanner *s)
{
    if (!take(s, '"'))
        return false;
    while (!take(s, '"')) {
        if (s->at == s->end || (unsigned char)*s->at < ' ')
            return false;
        if (*s->at++ != '\\')
            continue;
        if (s->at == s->end || !*s->at || !strchr("\"\\/bfnrtu", *s->at))
            return false;
        if (*s->at++ == 'u' && !take_hex(s))
            return false;
    }
    return true;
}

static bool take_word(struct scanner *s, const char *word)
{
    size_t n = strlen(word);

    if ((size_t)(s->end - s->at) < n || memcmp(s->at, word, n) != 0)
        return false;
    s->at += n;
    return true;
}

static bool take_scalar(struct scanner *s)
{
    if (s->at == s->end)
        return false;
    if (*s->at == '"')
        return take_string(s);
    if (*s->at == '-' || is_digit(*s->at))
        return take_number(s);
    return take_word(s, "true") || take_word(s, "false") || take_word(s, "null");
}

static bool take_name(struct scanner *s)
{
    skip_space(s);
    if (!take_string(s))
        return false;
    skip_space(s);
    return take(s, ':');
}

/* The ends of what is open, and the comma in front of the next value. */
static bool take_ends(struct scanner *s)
{
    for (skip_space(s); s->depth; skip_space(s)) {
        if (take(s, ','))
            return s->close[s->depth - 1] == ']' || take_name(s);
        if (!take(s, s->close[s->depth - 1]))
            return false;
        s->depth--;
    }
    return true;
}

/* A scalar, or the begin of an object or array; `whole`: nothing of it is missing. */
static bool take_begin(struct scanner *s, bool *whole)
{
    char close = *s->at == '{' ? '}' : ']';

    *whole = true;
    if (*s->at != '{' && *s->at != '[')
        return take_scalar(s);
    if (s->depth == DEPTH_MAX)
        return false;
    s->at++;
    skip_space(s);
    if (take(s, close))
        return true;
    s->close[s->depth++] = close;
    *whole = false;
    return close == ']' || take_name(s);
}

static bool take_all(struct scanner *s)
{
    bool whole;

    do {
        skip_space(s);
        if (s->at == s->end || !take_begin(s, &whole) || (whole && !take_ends(s)))
            return false;
    } while (s->depth);
    return s->at == s->end;
}

bool json_text_valid(bytes text, size_t *at)
{
    struct scanner s = {.at = text.ptr, .end = (const char *)text.ptr + text.len};
    bool valid = text.len && take_all(&s);

    *at = text.len ? (size_t)(s.at - (const char *)text.ptr) : 0;
    return valid;
}
