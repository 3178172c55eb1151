#include "cli/console/width.h"

#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#define ELLIPSIS "\xe2\x80\xa6"

void width_begin(void)
{
    if (!setlocale(LC_CTYPE, "") || strcmp(nl_langinfo(CODESET), "UTF-8") != 0)
        setlocale(LC_CTYPE, "C.UTF-8");
}

/* One character: its bytes, and its columns in *width. */
static size_t measure(const char *text, size_t *width)
{
    mbstate_t state = {0};
    wchar_t ch;
    size_t n = mbrtowc(&ch, text, strlen(text), &state);
    int w;

    *width = 1;
    if (n == 0 || n > 4)
        return 1; /* no character: each byte takes a column */
    w = wcwidth(ch);
    *width = w < 0 ? 1 : (size_t)w;
    return n;
}

size_t width_of(const char *text)
{
    size_t sum = 0, width;

    while (*text) {
        text += measure(text, &width);
        sum += width;
    }
    return sum;
}

const char *width_cut(struct arena *a, const char *text, size_t width)
{
    size_t sum = 0, size = 0, n, one;

    if (width_of(text) <= width)
        return text;
    for (;; sum += one, size += n) {
        n = measure(text + size, &one);
        if (sum + one + 1 > width)
            return arena_printf(a, "%.*s" ELLIPSIS, (int)size, text).ptr;
    }
}

bool width_share(size_t *widths, size_t count, size_t room, size_t least)
{
    size_t sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += widths[i];
    while (sum > room) {
        size_t widest = 0;

        for (size_t i = 1; i < count; i++)
            if (widths[i] > widths[widest])
                widest = i;
        if (!count || widths[widest] <= least)
            return false;
        widths[widest]--;
        sum--;
    }
    return true;
}
