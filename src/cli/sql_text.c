#include "cli/sql_text.h"

#include <ctype.h>
#include <strings.h>

static bool is_blank(uint8_t c)
{
    return isspace(c);
}

static int at(bytes text, size_t i)
{
    return i < text.len ? bytes_u8(text)[i] : -1;
}

/* Behind the quoted text that begins at i. */
static size_t skip_quoted(bytes text, size_t i)
{
    int quote = at(text, i++);

    for (; i < text.len; i++)
        if (at(text, i) == quote)
            return i + 1;
        else if (at(text, i) == '\\' && quote != '`')
            i++;
    return text.len + 1; /* it goes on */
}

/* Behind the comment that begins at i; i: none does. */
static size_t skip_comment(bytes text, size_t i)
{
    bool dashes = at(text, i) == '-' && at(text, i + 1) == '-' &&
                  (at(text, i + 2) < 0 || is_blank((uint8_t)at(text, i + 2)));

    if (dashes || at(text, i) == '#') {
        while (i < text.len && at(text, i) != '\n')
            i++;
        return i;
    }
    if (at(text, i) != '/' || at(text, i + 1) != '*')
        return i;
    for (i += 2; i < text.len; i++)
        if (at(text, i) == '*' && at(text, i + 1) == '/')
            return i + 2;
    return text.len + 1;
}

static bytes trim(bytes text)
{
    while (text.len && is_blank(bytes_u8(text)[0]))
        text = bytes_skip(text, 1);
    while (text.len && is_blank(bytes_u8(text)[text.len - 1]))
        text.len--;
    return text;
}

bool sql_text_next(bytes text, struct sql_text *out)
{
    size_t i = 0;

    *out = (struct sql_text){.statement = trim(text), .end = text.len};
    while (i < text.len) {
        int c = at(text, i);
        size_t behind = skip_comment(text, i);

        if (behind != i) {
            i = behind;
        } else if (c == '\'' || c == '"' || c == '`') {
            i = skip_quoted(text, i);
        } else if (c == ';' || (c == '\\' && at(text, i + 1) == 'G')) {
            out->vertical = c == '\\';
            out->end = i + 1 + out->vertical;
            out->statement = trim(bytes_of(text.ptr, i));
            return true;
        } else {
            i++;
        }
    }
    return false;
}

bool sql_text_is_empty(bytes text)
{
    size_t i = 0;

    while (i < text.len) {
        size_t behind = skip_comment(text, i);

        if (behind == i && !is_blank(bytes_u8(text)[i]))
            return false;
        i = behind == i ? i + 1 : behind;
    }
    return true;
}

bool sql_text_is_statement(const char *line, bool command)
{
    static const char *const words[] = {"select", "insert",   "upsert",  "show",   "explain",
                                        "create", "describe", "desc",    "update", "delete",
                                        "drop",   "alter",    "truncate"};
    bytes text = trim(bytes_str(line));
    size_t n = 0;

    while (n < text.len && isalpha(bytes_u8(text)[n]))
        n++;
    for (size_t i = 0; i < PORT_COUNT(words); i++)
        if (strlen(words[i]) == n && strncasecmp(words[i], text.ptr, n) == 0)
            return !command || bytes_u8(text)[text.len - 1] == ';' ||
                   (text.len > 2 && memcmp((const char *)text.ptr + text.len - 2, "\\G", 2) == 0);
    return false;
}

/* ---- where a word stands ---- */

static bool is_word(int c)
{
    return c >= 0 && (isalnum(c) || c == '_' || c == '$' || c == '-' || c >= 0x80);
}

/* Words behind which a table's name comes. */
static bool is_before_table(bytes word)
{
    static const char *const words[] = {"from",     "into", "update", "join",
                                        "describe", "desc", "table",  "on"};

    for (size_t i = 0; i < PORT_COUNT(words); i++)
        if (word.len == strlen(words[i]) && strncasecmp(word.ptr, words[i], word.len) == 0)
            return true;
    return false;
}

/* Behind the word that begins at i, or `table.word`. */
static size_t take_word(bytes text, size_t i, struct sql_cursor *out)
{
    size_t start = i;

    while (is_word(at(text, i)))
        i++;
    out->word = bytes_of(bytes_u8(text) + start, i - start);
    if (at(text, i) != '.')
        return i;
    out->table = out->word;
    for (start = ++i; is_word(at(text, i));)
        i++;
    out->word = bytes_of(bytes_u8(text) + start, i - start);
    return i;
}

static enum sql_place place_behind(bytes before)
{
    return !before.ptr               ? SQL_PLACE_STATEMENT
           : is_before_table(before) ? SQL_PLACE_TABLE
                                     : SQL_PLACE_COLUMN;
}

struct sql_cursor sql_text_cursor(bytes text)
{
    struct sql_cursor out = {.word = BYTES_LIT("")};
    bytes before = BYTES_NONE; /* the word or sign in front */
    struct sql_text whole;
    size_t i = 0;

    while (sql_text_next(text, &whole))
        text = bytes_skip(text, whole.end);
    out.text = text;
    while (i < text.len) {
        size_t start = i, behind = skip_comment(text, i);
        int c = at(text, i);
        bool quoted = c == '\'' || c == '"' || c == '`';

        if (behind != i || quoted) {
            i = quoted ? skip_quoted(text, i) : behind;
            before = quoted ? BYTES_LIT("'") : before;
            if (i >= text.len && at(text, text.len - 1) != '\n')
                return out;
        } else if (!is_word(c)) {
            i++;
            before = is_blank((uint8_t)c) ? before : bytes_of(bytes_u8(text) + start, 1);
        } else {
            i = take_word(text, i, &out);
            if (i == text.len)
                break;
            before = out.word;
            out.word = BYTES_LIT("");
            out.table = BYTES_NONE;
        }
    }
    out.place = out.table.ptr ? SQL_PLACE_COLUMN : place_behind(before);
    return out;
}

bool sql_text_names(bytes text, bytes name)
{
    for (size_t i = 0; name.len && i + name.len <= text.len; i++)
        if (memcmp((const char *)text.ptr + i, name.ptr, name.len) == 0 &&
            !(i && is_word(at(text, i - 1))) && !is_word(at(text, i + name.len)))
            return true;
    return false;
}
