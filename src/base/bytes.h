/* bytes.h: a view of bytes that somebody else owns, and what one can ask of it.
 *
 * `bytes` is the public struct wr_bytes. A view is valid as long as what it points into; it never
 * owns. Order is that of unsigned bytes, a prefix first. */
#ifndef BASE_BYTES_H
#define BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifndef WR_BYTES_DEFINED
#define WR_BYTES_DEFINED
struct wr_bytes {
    const void *ptr;
    size_t len;
};
#endif
typedef struct wr_bytes bytes;

#define BYTES_NONE ((bytes){NULL, 0})
/* The bytes of a string literal. */
#define BYTES_LIT(s) ((bytes){"" s "", sizeof(s) - 1})

static inline bytes bytes_of(const void *ptr, size_t len)
{
    return (bytes){ptr, len};
}

static inline bytes bytes_str(const char *s)
{
    return (bytes){s, strlen(s)};
}

static inline const uint8_t *bytes_u8(bytes b)
{
    return b.ptr;
}

static inline bool bytes_equal(bytes a, bytes b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

/* Below, at or above zero as a sorts before, with or after b. */
static inline int bytes_compare(bytes a, bytes b)
{
    size_t n = a.len < b.len ? a.len : b.len;
    int r = n ? memcmp(a.ptr, b.ptr, n) : 0;

    if (r)
        return r;
    return a.len < b.len ? -1 : a.len > b.len;
}

static inline bool bytes_starts(bytes b, bytes prefix)
{
    return b.len >= prefix.len && (prefix.len == 0 || memcmp(b.ptr, prefix.ptr, prefix.len) == 0);
}

/* As memcpy(), for what is mostly a few bytes: the call would cost more than they do. */
static inline void bytes_copy(uint8_t *to, const void *from, size_t n)
{
    const uint8_t *p = from;

    if (n > 64) {
        memcpy(to, p, n);
    } else if (n > 32) {
        memcpy(to, p, 32);
        memcpy(to + n - 32, p + n - 32, 32);
    } else if (n > 16) {
        memcpy(to, p, 16);
        memcpy(to + n - 16, p + n - 16, 16);
    } else if (n >= 8) {
        memcpy(to, p, 8);
        memcpy(to + n - 8, p + n - 8, 8);
    } else if (n >= 4) {
        memcpy(to, p, 4);
        memcpy(to + n - 4, p + n - 4, 4);
    } else {
        for (size_t i = 0; i < n; i++)
            to[i] = p[i];
    }
}

/* What is left of b after its first n bytes; n must not exceed b.len. */
static inline bytes bytes_skip(bytes b, size_t n)
{
    return (bytes){(const uint8_t *)b.ptr + n, b.len - n};
}

/* True if b is well-formed UTF-8 (no surrogates, no overlong forms). */
bool bytes_is_utf8(bytes b);

#endif
