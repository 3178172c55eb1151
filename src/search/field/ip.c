#include "search/field/ip.h"

#include <arpa/inet.h>
#include <stdio.h>

#define BITS (8 * IP_BYTES)
#define V4_PREFIX_BYTES 12
#define V4_PREFIX_BITS (8 * V4_PREFIX_BYTES)

static const uint8_t v4_prefix[V4_PREFIX_BYTES] = {[10] = 0xff, [11] = 0xff};

/* inet_pton() is strict: four numbers of up to three digits, no blanks, no zones. */
static bool address(bytes text, uint8_t out[IP_BYTES], bool *is_v4)
{
    char copy[INET6_ADDRSTRLEN];

    if (!text.len || text.len >= sizeof(copy) || memchr(text.ptr, 0, text.len))
        return false;
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = 0;
    *is_v4 = inet_pton(AF_INET, copy, out + V4_PREFIX_BYTES) == 1;
    if (*is_v4)
        memcpy(out, v4_prefix, V4_PREFIX_BYTES);
    return *is_v4 || inet_pton(AF_INET6, copy, out) == 1;
}

bool ip_of_text(bytes text, uint8_t out[IP_BYTES])
{
    bool is_v4;

    return address(text, out, &is_v4);
}

/* One to three digits. */
static bool prefix_length(bytes text, unsigned *out)
{
    const char *p = text.ptr;

    if (!text.len || text.len > 3)
        return false;
    *out = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (p[i] < '0' || p[i] > '9')
            return false;
        *out = *out * 10 + (unsigned)(p[i] - '0');
    }
    return true;
}

bool ip_range_of_cidr(bytes text, uint8_t low[IP_BYTES], uint8_t high[IP_BYTES])
{
    const uint8_t *slash = text.len ? memchr(text.ptr, '/', text.len) : NULL;
    bytes host = slash ? bytes_of(text.ptr, (size_t)(slash - bytes_u8(text))) : text;
    unsigned prefix = 0;
    bool is_v4;

    if (!address(host, low, &is_v4))
        return false;
    if (slash && !prefix_length(bytes_skip(text, host.len + 1), &prefix))
        return false;
    if (!slash)
        prefix = BITS;
    else if (is_v4)
        prefix += V4_PREFIX_BITS;
    if (prefix > BITS)
        return false;
    memcpy(high, low, IP_BYTES);
    for (unsigned bit = prefix; bit < BITS; bit++) {
        uint8_t mask = (uint8_t)(0x80 >> bit % 8);

        low[bit / 8] &= (uint8_t)~mask;
        high[bit / 8] |= mask;
    }
    return true;
}
