#include "engine/rados_omap.h"

#include "base/buf.h"

#include <xxhash.h>

#define ESCAPE 0x02
#define VALUE_PLAIN 'v'
#define VALUE_HASHED 'w'

/* Everything but the end mark; room for it and a NUL is left. */
static size_t put_key(uint8_t *out, bytes key)
{
    const uint8_t *from = bytes_u8(key);
    size_t n = 0;

    out[n++] = (uint8_t)OMAP_FIRST[0];
    for (size_t i = 0; i < key.len; i++) {
        if (from[i] <= ESCAPE) {
            out[n++] = ESCAPE;
            out[n++] = (uint8_t)(from[i] + ESCAPE);
        } else {
            out[n++] = from[i];
        }
    }
    return n;
}

bytes omap_before(struct arena *a, bytes key)
{
    uint8_t *out = arena_alloc(a, 2 * key.len + 3);
    size_t n = put_key(out, key);

    out[n] = 0;
    return bytes_of(out, n);
}

bytes omap_key(struct arena *a, bytes key)
{
    uint8_t *out = arena_alloc(a, 2 * key.len + 3);
    size_t n = put_key(out, key);

    out[n++] = OMAP_END;
    out[n] = 0;
    return bytes_of(out, n);
}

bytes omap_prefix(struct arena *a, bytes start, bytes end)
{
    bytes low = omap_key(a, start), high;
    size_t n = 0;

    if (!end.len)
        return BYTES_LIT(OMAP_FIRST);
    /* One key alone. */
    if (end.len == start.len + 1 && bytes_starts(end, start) && !bytes_u8(end)[start.len])
        return low;
    high = omap_key(a, end);
    while (n < low.len && n < high.len && bytes_u8(low)[n] == bytes_u8(high)[n])
        n++;
    ((uint8_t *)low.ptr)[n] = 0;
    return bytes_of(low.ptr, n);
}

bool omap_key_decode(struct arena *a, bytes stored, bytes *key)
{
    const uint8_t *from = bytes_u8(stored);
    uint8_t *out;
    size_t n = 0;

    if (stored.len < 2 || from[0] != (uint8_t)OMAP_FIRST[0] || from[stored.len - 1] != OMAP_END)
        return false;
    out = arena_alloc(a, stored.len);
    for (size_t i = 1; i < stored.len - 1; i++) {
        if (from[i] == ESCAPE) {
            i++;
            if (i == stored.len - 1 || from[i] < ESCAPE || from[i] > 2 * ESCAPE)
                return false;
            out[n++] = (uint8_t)(from[i] - ESCAPE);
        } else {
            out[n++] = from[i];
        }
    }
    *key = bytes_of(out, n);
    return true;
}

/* Characters from 0x21 to 0x60, so that ' ' is below and 'a' above all of them. */
static void put_hash(uint8_t *out, bytes value)
{
    XXH128_hash_t hash = XXH3_128bits(value.ptr, value.len);
    uint64_t words[2] = {hash.high64, hash.low64};

    for (int i = 0; i < OMAP_HASH_CHARS; i++) {
        out[i] = (uint8_t)(0x21 + (words[i / 11] & 63));
        words[i / 11] >>= 6;
    }
}

bytes omap_value(struct arena *a, bytes value)
{
    bool hashed = value.len >= OMAP_HASH_MIN;
    size_t head = hashed ? OMAP_HEAD_HASHED : 1;
    uint8_t *out = arena_alloc(a, head + value.len);

    out[0] = hashed ? VALUE_HASHED : VALUE_PLAIN;
    if (hashed) {
        put_hash(out + 1, value);
        out[OMAP_HEAD_HASHED - 1] = ' ';
    }
    if (value.len)
        memcpy(out + head, value.ptr, value.len);
    return bytes_of(out, head + value.len);
}

bool omap_value_decode(bytes stored, bytes *value)
{
    size_t head;

    if (!stored.len)
        return false;
    switch (bytes_u8(stored)[0]) {
    case VALUE_PLAIN:
        head = 1;
        break;
    case VALUE_HASHED:
        head = OMAP_HEAD_HASHED;
        break;
    default:
        return false;
    }
    if (stored.len < head)
        return false;
    *value = bytes_skip(stored, head);
    return true;
}

void omap_hash_bounds(struct arena *a, bytes value, bytes *low, bytes *high)
{
    uint8_t *out = arena_alloc(a, 2 * OMAP_HEAD_HASHED);

    out[0] = VALUE_HASHED;
    put_hash(out + 1, value);
    memcpy(out + OMAP_HEAD_HASHED, out, OMAP_HEAD_HASHED - 1);
    out[2 * OMAP_HEAD_HASHED - 1] = ' ' + 1;
    *low = bytes_of(out, OMAP_HEAD_HASHED - 1);
    *high = bytes_of(out + OMAP_HEAD_HASHED, OMAP_HEAD_HASHED);
}
