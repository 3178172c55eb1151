#include "sql/parse/lex.h"

#include "base/port.h"

#include "sql_grammar.h"

#include <ctype.h>

#define RESERVED true
#define FREE false

static const struct {
    const char *word;
    int token;
    bool reserved;
} words[] = {
#define WORD(name, kind) {#name, TOKEN_##name, kind},
#include "sql/parse/keyword.def"
#undef WORD
};

#define WORD_BYTES_MAX 16

/* ---- words ---- */

/* The number of a word in `words`, -1: it is none. */
static int word_find(bytes name)
{
    char upper[WORD_BYTES_MAX];
    size_t low = 0, high = PORT_COUNT(words);

    if (!name.len || name.len >= sizeof(upper))
        return -1;
    for (size_t i = 0; i < name.len; i++)
        upper[i] = (char)toupper(bytes_u8(name)[i]);
    upper[name.len] = 0;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = strcmp(upper, words[middle].word);

        if (order == 0)
            return (int)middle;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return -1;
}

bool lex_is_reserved(bytes name)
{
    int word = word_find(name);

    return word >= 0 && words[word].reserved;
}

/* ---- characters ---- */

static int peek(const struct lexer *l, size_t ahead)
{
    size_t at = l->at + ahead;

    return at < l->sql.len ? bytes_u8(l->sql)[at] : -1;
}

static bool is_name_start(int c)
{
    return isalpha(c) || c == '_' || c == '$' || c >= 0x80;
}

static bool is_name(int c)
{
    return is_name_start(c) || isdigit(c);
}

static bytes text_since(const struct lexer *l, size_t start)
{
    return bytes_of(bytes_u8(l->sql) + start, l->at - start);
}

static int bad(struct lexer *l, size_t at, const char *fault)
{
    l->at = at;
    l->fault = fault;
    return LEX_BAD;
}

/* ---- blanks, comments and hints ---- */

static bool is_hint(const struct lexer *l)
{
    return peek(l, 0) == '/' && peek(l, 1) == '*' && peek(l, 2) == '+';
}

/* To behind the end of a comment in brackets; false: it has none. */
static bool bracket_skip(struct lexer *l)
{
    for (l->at += 2; l->at + 1 < l->sql.len; l->at++)
        if (peek(l, 0) == '*' && peek(l, 1) == '/') {
            l->at += 2;
            return true;
        }
    return false;
}

static void line_skip(struct lexer *l)
{
    while (peek(l, 0) >= 0 && peek(l, 0) != '\n')
        l->at++;
}

/* Passes over what says nothing. False: the comment that begins there has no end. */
static bool blank_skip(struct lexer *l)
{
    for (;;) {
        size_t start = l->at;
        int c = peek(l, 0);

        if (c >= 0 && isspace(c)) {
            l->at++;
        } else if (c == '#' ||
                   (c == '-' && peek(l, 1) == '-' && (peek(l, 2) < 0 || isspace(peek(l, 2))))) {
            line_skip(l);
        } else if (c == '/' && peek(l, 1) == '*' && !is_hint(l)) {
            if (!bracket_skip(l)) {
                l->at = start;
                return false;
            }
        } else {
            return true;
        }
    }
}

static int hint_take(struct lexer *l, struct token *out)
{
    size_t start = l->at;

    l->at++; /* the plus sign would hide the end of an empty one */
    if (!bracket_skip(l))
        return bad(l, start, "the hint has no end");
    out->text = bytes_of(bytes_u8(l->sql) + start + 3, l->at - start - 5);
    return TOKEN_HINT;
}

/* ---- texts ---- */

/* What stands for itself behind a backslash. */
static int escape_of(int c)
{
    switch (c) {
    case '0':
        return 0;
    case 'b':
        return '\b';
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    case 'Z':
        return 26;
    default:
        return c;
    }
}

/* How long it is with its quotes; 0: it has no end. */
static size_t quoted_length(const struct lexer *l, bool escapes)
{
    int quote = peek(l, 0);

    for (size_t i = 1; peek(l, i) >= 0; i++) {
        int c = peek(l, i);

        if (c == quote && peek(l, i + 1) != quote)
            return i + 1;
        if (c == quote || (c == '\\' && escapes && peek(l, i + 1) >= 0))
            i++;
    }
    return 0;
}

/* A text or a name between two quotes, which may stand doubled in it. */
static int quoted_take(struct lexer *l, int token, bool escapes, struct token *out)
{
    int quote = peek(l, 0);
    size_t length = quoted_length(l, escapes), end = l->at + length - 1, n = 0;
    uint8_t *to;

    if (!length)
        return bad(l, l->at, "the quote has no end");
    to = arena_alloc(l->arena, length);
    for (l->at++; l->at < end; l->at++) {
        int c = peek(l, 0);

        if (c == quote) {
            l->at++;
        } else if (c == '\\' && escapes && peek(l, 1) >= 0) {
            l->at++;
            c = peek(l, 0);
            if (c == '%' || c == '_')
                to[n++] = '\\'; /* LIKE reads it */
            c = escape_of(c);
        }
        to[n++] = (uint8_t)c;
    }
    l->at++;
    out->text = bytes_of(to, n);
    return token;
}

static int nibble(int c)
{
    return isdigit(c) ? c - '0' : isxdigit(c) ? tolower(c) - 'a' + 10 : -1;
}

/* x'00ff' */
static int blob_take(struct lexer *l, struct token *out)
{
    size_t start = l->at, n = 0;
    uint8_t *to;

    while (nibble(peek(l, 2 + 2 * n)) >= 0 && nibble(peek(l, 3 + 2 * n)) >= 0)
        n++;
    to = arena_alloc(l->arena, n);
    for (l->at += 2, n = 0; nibble(peek(l, 0)) >= 0 && nibble(peek(l, 1)) >= 0; l->at += 2)
        to[n++] = (uint8_t)(nibble(peek(l, 0)) << 4 | nibble(peek(l, 1)));
    if (peek(l, 0) != '\'')
        return bad(l, start, "x'...' holds pairs of hexadecimal digits");
    l->at++;
    out->text = bytes_of(to, n);
    return TOKEN_BLOB;
}

/* ---- numbers ---- */

static void digits_skip(struct lexer *l)
{
    while (peek(l, 0) >= 0 && isdigit(peek(l, 0)))
        l->at++;
}

static bool exponent_skip(struct lexer *l)
{
    size_t sign = peek(l, 1) == '+' || peek(l, 1) == '-';

    if (tolower(peek(l, 0)) != 'e' || peek(l, 1 + sign) < 0 || !isdigit(peek(l, 1 + sign)))
        return false;
    l->at += 1 + sign;
    digits_skip(l);
    return true;
}

static int number_take(struct lexer *l, struct token *out)
{
    size_t start = l->at;
    int token = TOKEN_INTEGER;

    digits_skip(l);
    if (peek(l, 0) == '.') {
        l->at++;
        digits_skip(l);
        token = TOKEN_REAL;
    }
    if (exponent_skip(l))
        token = TOKEN_REAL;
    if (peek(l, 0) >= 0 && is_name(peek(l, 0)))
        return bad(l, start, "a name that begins with a digit needs backticks");
    out->text = text_since(l, start);
    return token;
}

/* ---- signs ---- */

static int sign_take(struct lexer *l)
{
    static const struct {
        char text[4];
        int token;
    } signs[] = {
        {"<=>", TOKEN_NULL_SAFE_EQUAL},
        {"<=", TOKEN_LESS_EQUAL},
        {"<>", TOKEN_NOT_EQUAL},
        {"<<", TOKEN_SHIFT_LEFT},
        {"<", TOKEN_LESS},
        {">=", TOKEN_GREATER_EQUAL},
        {">>", TOKEN_SHIFT_RIGHT},
        {">", TOKEN_GREATER},
        {"!=", TOKEN_NOT_EQUAL},
        {"!", TOKEN_EXCLAMATION},
        {"=", TOKEN_EQUAL},
        {"||", TOKEN_OR},
        {"|", TOKEN_BIT_OR},
        {"&&", TOKEN_AND},
        {"&", TOKEN_BIT_AND},
        {"^", TOKEN_BIT_XOR},
        {"~", TOKEN_BIT_NOT},
        {"+", TOKEN_PLUS},
        {"-", TOKEN_MINUS},
        {"*", TOKEN_STAR},
        {"/", TOKEN_SLASH},
        {"%", TOKEN_MOD},
        {"(", TOKEN_LEFT_PAREN},
        {")", TOKEN_RIGHT_PAREN},
        {",", TOKEN_COMMA},
        {".", TOKEN_DOT},
        {";", TOKEN_SEMICOLON},
        {"?", TOKEN_QUESTION},
    };

    for (size_t i = 0; i < PORT_COUNT(signs); i++) {
        size_t n = strlen(signs[i].text);

        if (bytes_starts(bytes_skip(l->sql, l->at), bytes_str(signs[i].text))) {
            l->at += n;
            return signs[i].token;
        }
    }
    return bad(l, l->at, "no statement has this character");
}

/* @name, @@name, @@session.name: the text is what stands behind the signs. */
static int variable_take(struct lexer *l, struct token *out)
{
    size_t start = l->at;

    while (peek(l, 0) == '@')
        l->at++;
    if (l->at > start + 1)
        start = l->at;
    while (peek(l, 0) >= 0 && (is_name(peek(l, 0)) || peek(l, 0) == '.'))
        l->at++;
    out->text = text_since(l, start);
    return TOKEN_VARIABLE;
}

static int name_take(struct lexer *l, struct token *out)
{
    size_t start = l->at;
    int word;

    while (peek(l, 0) >= 0 && is_name(peek(l, 0)))
        l->at++;
    out->text = text_since(l, start);
    word = l->after == TOKEN_DOT ? -1 : word_find(out->text);
    return word >= 0 ? words[word].token : TOKEN_ID;
}

static int word_take(struct lexer *l, struct token *out)
{
    int c = peek(l, 0);

    if (c < 0)
        return 0;
    if (is_hint(l))
        return hint_take(l, out);
    if (c == '\'' || c == '"')
        return quoted_take(l, TOKEN_TEXT, true, out);
    if (c == '`')
        return quoted_take(l, TOKEN_ID, false, out);
    if (tolower(c) == 'x' && peek(l, 1) == '\'')
        return blob_take(l, out);
    if (isdigit(c) || (c == '.' && l->after != TOKEN_ID && peek(l, 1) >= 0 && isdigit(peek(l, 1))))
        return number_take(l, out);
    if (c == '@')
        return variable_take(l, out);
    if (c == ':' && peek(l, 1) == '=') {
        l->at += 2;
        return TOKEN_ASSIGN;
    }
    if (is_name_start(c))
        return name_take(l, out);
    return sign_take(l);
}

int lex_next(struct lexer *l, struct token *out)
{
    bool found = blank_skip(l);
    int token;

    *out = (struct token){.at = l->at};
    if (!found)
        return bad(l, l->at, "the comment has no end");
    token = word_take(l, out);
    if (token > 0 && !out->text.ptr)
        out->text = text_since(l, out->at);
    out->end = l->at;
    l->after = token;
    return token;
}
