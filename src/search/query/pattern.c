#include "search/query/pattern.h"

/* Bytes of the UTF-8 character at p. */
static size_t character(const uint8_t *p, const uint8_t *end)
{
    size_t n = 1;

    while (p + n < end && (p[n] & 0xc0) == 0x80)
        n++;
    return n;
}

bool pattern_matches(bytes pattern, bytes text)
{
    const uint8_t *p = bytes_u8(pattern), *p_end = p + pattern.len;
    const uint8_t *t = bytes_u8(text), *t_end = t + text.len;
    const uint8_t *star = NULL, *retry = NULL; /* behind the last `*`, and where it was tried */

    while (t < t_end) {
        if (p < p_end && *p == '*') {
            star = ++p;
            retry = t;
        } else if (p < p_end && *p == '?') {
            p++;
            t += character(t, t_end);
        } else if (p < p_end && *p == *t) {
            p++;
            t++;
        } else if (star) {
            retry += character(retry, t_end);
            t = retry;
            p = star;
        } else {
            return false;
        }
    }
    while (p < p_end && *p == '*')
        p++;
    return p == p_end;
}

bytes pattern_prefix(bytes pattern)
{
    const uint8_t *p = bytes_u8(pattern);
    size_t n = 0;

    while (n < pattern.len && p[n] != '*' && p[n] != '?')
        n++;
    return bytes_of(p, n);
}
