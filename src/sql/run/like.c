#include "sql/run/like.h"

bool is_like(bytes text, bytes pattern)
{
    size_t t = 0, p = 0, star = SIZE_MAX, again = 0;

    while (t < text.len) {
        uint8_t sign = p < pattern.len ? bytes_u8(pattern)[p] : 0;
        bool escaped = sign == '\\' && p + 1 < pattern.len; /* the next one is itself */

        if (escaped && bytes_u8(pattern)[p + 1] == bytes_u8(text)[t]) {
            p += 2;
            t++;
        } else if (!escaped && sign == '%') {
            star = p++;
            again = t;
        } else if (!escaped && p < pattern.len && (sign == '_' || sign == bytes_u8(text)[t])) {
            p++;
            t++;
        } else if (star != SIZE_MAX) {
            p = star + 1;
            t = ++again;
        } else {
            return false;
        }
    }
    while (p < pattern.len && bytes_u8(pattern)[p] == '%')
        p++;
    return p == pattern.len;
}
