#include "base/number.h"

bool number_integer(bytes text, int64_t *out)
{
    const char *p = text.ptr;
    bool negative = text.len && p[0] == '-';
    uint64_t n = 0, limit = (uint64_t)INT64_MAX + negative;

    if (text.len == negative)
        return false;
    for (size_t i = negative; i < text.len; i++) {
        uint64_t digit = (uint64_t)(p[i] - '0');

        /* Up to 18 digits there is always room. */
        if (digit > 9 || (i >= 18 && n > (limit - digit) / 10))
            return false;
        n = n * 10 + digit;
    }
    *out = negative ? (int64_t)(0 - n) : (int64_t)n;
    return true;
}
