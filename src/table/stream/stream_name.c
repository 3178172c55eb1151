#include "table/stream/stream_name.h"

#include <inttypes.h>
#include <xxhash.h>

#define NUMBER_HEX 16
#define SHARD_HEX 4
/* What an iterator has behind its stream: ":shard:number:checksum". */
#define PLACE_LEN (1 + SHARD_HEX + 1 + NUMBER_HEX + 1 + NUMBER_HEX)

bytes stream_shard_name(struct arena *a, uint32_t location, uint16_t shard, int64_t enabled_us)
{
    return arena_printf(a, "%08" PRIx32 "%04" PRIx16 "_%" PRId64, location, shard, enabled_us);
}

bytes stream_iterator(struct arena *a, bytes stream, uint16_t shard, uint64_t number)
{
    bytes text =
        arena_printf(a, "%.*s:%04" PRIx16 ":%016" PRIx64, BYTES_FMT(stream), shard, number);

    return arena_printf(a, "%.*s:%016" PRIx64, BYTES_FMT(text),
                        (uint64_t)XXH3_64bits(text.ptr, text.len));
}

/* Hexadecimal digits, lower case, no more and no fewer. */
static bool hex_read(const char *text, size_t digits, uint64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < digits; i++) {
        char d = text[i];

        if (!((d >= '0' && d <= '9') || (d >= 'a' && d <= 'f')))
            return false;
        *out = *out << 4 | (uint64_t)(d <= '9' ? d - '0' : d - 'a' + 10);
    }
    return true;
}

static bool place_read(bytes iterator, struct stream_place *out)
{
    const char *place;
    uint64_t shard, checksum;
    size_t len;

    if (iterator.len <= PLACE_LEN)
        return false;
    len = iterator.len - PLACE_LEN;
    place = (const char *)iterator.ptr + len;
    out->stream = bytes_of(iterator.ptr, len);
    if (place[0] != ':' || !hex_read(place + 1, SHARD_HEX, &shard) || place[1 + SHARD_HEX] != ':' ||
        !hex_read(place + 2 + SHARD_HEX, NUMBER_HEX, &out->number) ||
        place[2 + SHARD_HEX + NUMBER_HEX] != ':' ||
        !hex_read(place + 3 + SHARD_HEX + NUMBER_HEX, NUMBER_HEX, &checksum))
        return false;
    out->shard = (uint16_t)shard;
    return checksum == XXH3_64bits(iterator.ptr, iterator.len - NUMBER_HEX - 1);
}

int stream_place_read(struct ctx *c, bytes iterator, struct stream_place *out)
{
    if (place_read(iterator, out))
        return E_OK;
    return fail(c, E_PARAMETER,
                "Invalid shard iterator: it was altered, or never given out. Get another one with "
                "GetShardIterator.");
}

bool wr_stream_table(struct wr_bytes text, struct wr_bytes *table)
{
    const char *p = text.ptr;
    const char *colon = text.len ? memchr(p, ':', text.len) : NULL;
    size_t len = colon ? (size_t)(colon - p) : text.len, digits = 0;

    while (digits < len && p[len - digits - 1] >= '0' && p[len - digits - 1] <= '9')
        digits++;
    if (!digits || len < digits + 2 || p[len - digits - 1] != '_')
        return false;
    *table = bytes_of(p, len - digits - 1);
    return true;
}
