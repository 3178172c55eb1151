/* bytes_short.h: comparing what is mostly a few bytes, such as the names of columns, without a
 * call, which would cost more than they do. */
#ifndef BASE_BYTES_SHORT_H
#define BASE_BYTES_SHORT_H

#include "base/bytes.h"

/* Whether the first n bytes are the same, and the last n: n is 4 or 8, and a constant. */
static inline bool bytes_ends_equal(const void *a, const void *b, size_t len, size_t n)
{
    const uint8_t *p = a, *q = b;

    return memcmp(p, q, n) == 0 && memcmp(p + len - n, q + len - n, n) == 0;
}

/* As bytes_equal(). */
static inline bool bytes_equal_short(bytes a, bytes b)
{
    const uint8_t *p = a.ptr, *q = b.ptr;

    if (a.len != b.len)
        return false;
    if (a.len > 16)
        return memcmp(p, q, a.len) == 0;
    if (a.len >= 8)
        return bytes_ends_equal(p, q, a.len, 8);
    if (a.len >= 4)
        return bytes_ends_equal(p, q, a.len, 4);
    for (size_t i = 0; i < a.len; i++)
        if (p[i] != q[i])
            return false;
    return true;
}

#endif
