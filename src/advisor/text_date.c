#include "advisor/text_date.h"

#include "base/port.h"

#include <strings.h>

#define MOST 0.9 /* of a column's values: a few others are mistakes in the data */

/* What a text is. Its first member is no date, its second sorts. */
enum form {
    FORM_NONE,
    FORM_SORTED,
    FORM_DAY_FIRST,
    FORM_MONTH_NAME,
    FORM_UNPADDED,
    FORM_TWELVE_HOURS
};

static const char *const form_names[] = {
    NULL,
    NULL,
    "DD/MM/YYYY or MM/DD/YYYY",
    "month names",
    "year first, without leading zeros",
    "hours of AM and PM",
};

static bool is_digit(char ch)
{
    return ch >= '0' && ch <= '9';
}

static bool is_letter(char ch)
{
    return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z');
}

static size_t digits_at(bytes text, size_t at)
{
    const char *p = text.ptr;
    size_t n = 0;

    while (at + n < text.len && is_digit(p[at + n]))
        n++;
    return n;
}

/* True: one of the words, three letters each, begins a word of the text. */
static bool has_word(bytes text, const char *words)
{
    const char *p = text.ptr;

    for (size_t i = 0; i + 3 <= text.len; i++) {
        if (!is_letter(p[i]) || (i && is_letter(p[i - 1])))
            continue;
        for (const char *w = words; *w; w += 3)
            if (strncasecmp(p + i, w, 3) == 0)
                return true;
    }
    return false;
}

/* Three numbers with the same separator between them: their lengths. */
static bool three_numbers(bytes text, size_t lengths[3], size_t *end)
{
    const char *p = text.ptr;
    char separator = 0;
    size_t at = 0;

    for (int i = 0; i < 3; i++) {
        lengths[i] = digits_at(text, at);
        at += lengths[i];
        if (lengths[i] == 0 || lengths[i] > 4)
            return false;
        if (i == 2)
            break;
        if (at == text.len || !strchr("-/.", p[at]) || (separator && p[at] != separator))
            return false;
        separator = p[at++];
    }
    *end = at;
    return at == text.len || strchr(" T,;", p[at]) != NULL;
}

/* "Jan 5, 2024", "Mon, 05-Jan-2024 10:00": short, a month's name, a day and a year. */
static bool has_month_name(bytes text)
{
    size_t numbers = 0, years = 0;

    if (text.len > 48 || !has_word(text, "janfebmaraprmayjunjulaugsepoctnovdec"))
        return false;
    for (size_t at = 0; at < text.len; at++) {
        size_t n = digits_at(text, at);

        numbers += n > 0;
        years += n == 4;
        at += n;
    }
    return years == 1 && numbers >= 2;
}

/* What stands behind a date that sorts. */
static enum form form_of_time(bytes rest)
{
    const char *p = rest.ptr;

    if (rest.len >= 2 && (strncasecmp(p + rest.len - 2, "am", 2) == 0 ||
                          strncasecmp(p + rest.len - 2, "pm", 2) == 0))
        return FORM_TWELVE_HOURS;
    if (rest.len >= 3 && digits_at(rest, 1) == 1 && p[2] == ':')
        return FORM_UNPADDED;
    return FORM_SORTED;
}

static enum form form_of(bytes text)
{
    size_t lengths[3], end;

    if (!three_numbers(text, lengths, &end))
        return has_month_name(text) ? FORM_MONTH_NAME : FORM_NONE;
    if (lengths[0] <= 2 && lengths[1] <= 2 && lengths[2] == 4)
        return FORM_DAY_FIRST;
    if (lengths[0] != 4 || lengths[1] > 2 || lengths[2] > 2)
        return FORM_NONE;
    if (lengths[1] == 1 || lengths[2] == 1)
        return FORM_UNPADDED;
    return form_of_time(bytes_skip(text, end));
}

const char *text_date_unsorted(const bytes *values, size_t count, bytes *example)
{
    size_t dates = 0, most = 0, of[PORT_COUNT(form_names)] = {0};
    bytes examples[PORT_COUNT(form_names)];
    enum form found = FORM_NONE;

    for (size_t i = 0; i < count; i++) {
        enum form form = form_of(values[i]);

        dates += form != FORM_NONE;
        if (of[form]++ == 0)
            examples[form] = values[i];
    }
    if (count == 0 || (double)dates < MOST * (double)count)
        return NULL;
    for (enum form form = FORM_DAY_FIRST; form <= FORM_TWELVE_HOURS; form++)
        if (of[form] > most) {
            most = of[form];
            found = form;
        }
    if (found != FORM_NONE)
        *example = examples[found];
    return form_names[found];
}
