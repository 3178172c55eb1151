#include "spec.h"

#include <ctype.h>
#include <stdlib.h>

static bool is_word(int ch)
{
    return isalnum(ch) || ch == '_' || ch >= 0x80;
}

static int hex_digit(int ch)
{
    return isdigit(ch) ? ch - '0' : isxdigit(ch) ? tolower(ch) - 'a' + 10 : -1;
}

/* The text behind an opening quote; *at moves past the closing one and past "*N", which repeats. */
static bytes lex_text(struct script *s, const char **at, const char *end)
{
    const char *p = *at;
    struct buf b;
    bytes once;
    long times = 1;

    buf_init(&b, &s->c.arena, 16);
    for (; p < end && *p != '"'; p++) {
        int ch = (unsigned char)*p;

        if (ch != '\\') {
            buf_put_u8(&b, (uint8_t)ch);
            continue;
        }
        ch = ++p < end ? *p : 0;
        if (ch == 'x' && p + 2 < end) {
            buf_put_u8(&b, (uint8_t)(hex_digit(p[1]) << 4 | hex_digit(p[2])));
            p += 2;
        } else {
            buf_put_u8(&b, ch == 'n'   ? '\n'
                           : ch == 't' ? '\t'
                           : ch == 'r' ? '\r'
                           : ch == '0' ? 0
                                       : (uint8_t)ch);
        }
    }
    if (p >= end)
        script_die(s, "a text has no end");
    p++;
    once = arena_copy(&s->c.arena, buf_bytes(&b));
    if (p + 1 < end && *p == '*' && isdigit((unsigned char)p[1])) {
        times = strtol(p + 1, (char **)&p, 10);
        buf_init(&b, &s->c.arena, once.len * (size_t)times);
        for (long i = 0; i < times; i++)
            buf_put_bytes(&b, once);
        once = arena_copy(&s->c.arena, buf_bytes(&b));
    }
    *at = p;
    return once;
}

/* -5, 1.5, 1e-3; not the dots of 1..5. */
static const char *number_end(const char *p, const char *end)
{
    if (*p == '-')
        p++;
    while (p < end && isdigit((unsigned char)*p))
        p++;
    if (p + 1 < end && *p == '.' && isdigit((unsigned char)p[1]))
        for (p++; p < end && isdigit((unsigned char)*p);)
            p++;
    if (p < end && *p == 'e' &&
        (isdigit((unsigned char)p[1]) ||
         ((p[1] == '-' || p[1] == '+') && isdigit((unsigned char)p[2]))))
        for (p += 2; p < end && isdigit((unsigned char)*p);)
            p++;
    return p;
}

static size_t punct_size(const char *p, const char *end)
{
    static const char *const pairs[] = {"->", "!=", ">=", "<=", "..", "+=", "--"};

    if (p + 2 < end && memcmp(p, "...", 3) == 0)
        return 3;
    for (size_t i = 0; p + 1 < end && i < PORT_COUNT(pairs); i++)
        if (memcmp(p, pairs[i], 2) == 0)
            return 2;
    return 1;
}

static struct token lex_one(struct script *s, const char **at, const char *end)
{
    const char *p = *at, *start = p;
    enum token_kind kind;

    if (*p == '"' || (*p == 'b' && p + 1 < end && p[1] == '"')) {
        kind = *p == '"' ? TOKEN_TEXT : TOKEN_BINARY;
        *at = p + 1 + (kind == TOKEN_BINARY);
        return (struct token){kind, lex_text(s, at, end)};
    }
    if (isdigit((unsigned char)*p) || (*p == '-' && p + 1 < end && isdigit((unsigned char)p[1]))) {
        kind = TOKEN_NUMBER;
        p = number_end(p, end);
    } else if (is_word((unsigned char)*p)) {
        kind = TOKEN_WORD;
        while (p < end && is_word((unsigned char)*p))
            p++;
    } else {
        kind = TOKEN_PUNCT;
        p += punct_size(p, end);
    }
    *at = p;
    return (struct token){kind, bytes_of(start, (size_t)(p - start))};
}

struct tokens lex(struct script *s, bytes text)
{
    const char *p = text.ptr, *end = p + text.len;
    struct token *items = NULL;
    size_t count = 0, capacity = 0;

    for (;;) {
        while (p < end && (isspace((unsigned char)*p) || *p == ','))
            p++;
        if (p < end && *p == '#') {
            while (p < end && *p != '\n')
                p++;
            continue;
        }
        if (count + 1 >= capacity) {
            struct token *more = ARENA_ARRAY(&s->c.arena, struct token, capacity * 2 + 64);

            if (count)
                memcpy(more, items, sizeof(*items) * count);
            items = more;
            capacity = capacity * 2 + 64;
        }
        if (p >= end)
            break;
        items[count++] = lex_one(s, &p, end);
    }
    items[count] = (struct token){TOKEN_END, BYTES_NONE};
    return (struct tokens){items, count};
}

bool token_is(const struct token *t, const char *word)
{
    return (t->kind == TOKEN_WORD || t->kind == TOKEN_PUNCT) &&
           bytes_equal(t->text, bytes_str(word));
}
