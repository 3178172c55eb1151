#include "base/bytes.h"

/* True for eight bytes without a high bit: the common case of ASCII text. */
static bool ascii8(const uint8_t *p)
{
    uint64_t w;

    memcpy(&w, p, 8);
    return (w & 0x8080808080808080ull) == 0;
}

bool bytes_is_utf8(bytes b)
{
    const uint8_t *p = b.ptr, *end = p ? p + b.len : p;

    while (p < end) {
        uint8_t c = *p;
        int more;
        uint8_t low = 0x80, high = 0xBF; /* allowed range of the second byte */

        if (end - p >= 8 && ascii8(p)) {
            p += 8;
            continue;
        }
        if (c < 0x80) {
            p++;
            continue;
        }
        if (c >= 0xC2 && c <= 0xDF) {
            more = 1;
        } else if (c >= 0xE0 && c <= 0xEF) {
            more = 2;
            low = c == 0xE0 ? 0xA0 : 0x80;
            high = c == 0xED ? 0x9F : 0xBF;
        } else if (c >= 0xF0 && c <= 0xF4) {
            more = 3;
            low = c == 0xF0 ? 0x90 : 0x80;
            high = c == 0xF4 ? 0x8F : 0xBF;
        } else {
            return false;
        }
        if (end - p <= more || p[1] < low || p[1] > high)
            return false;
        for (int i = 2; i <= more; i++)
            if ((p[i] & 0xC0) != 0x80)
                return false;
        p += more + 1;
    }
    return true;
}
