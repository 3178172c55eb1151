#include "table/tunnel/tunnel_name.h"

#include "base/buf.h"
#include "table/tunnel/tunnel_state.h"
#include "widerow.h"

#include <inttypes.h>
#include <xxhash.h>

#define CHECKSUM_BYTES 8
#define COUNT_MAX (UINT64_MAX / 4) /* of what a channel may have read, as a token tells it */

bytes tunnel_id(struct arena *a, bytes table, uint64_t number)
{
    return arena_printf(a, "%.*s_%" PRIu64, BYTES_FMT(table), number);
}

bytes tunnel_client_id(struct arena *a, bytes tag, uint64_t number)
{
    return arena_printf(a, "%.*s_%" PRIx64, BYTES_FMT(tag), number);
}

/* The number behind the last '_', as it is written here and in no other way; 0: there is none. */
static uint64_t number_behind(bytes id, unsigned base)
{
    const uint8_t *p = bytes_u8(id);
    size_t start = id.len;
    uint64_t n = 0;

    while (start > 0 && p[start - 1] != '_')
        start--;
    if (!start || start == id.len || p[start] == '0')
        return 0;
    for (size_t i = start; i < id.len; i++) {
        unsigned digit = p[i] >= 'a' ? p[i] - 'a' + 10u : p[i] - (unsigned)'0';

        if (p[i] < '0' || digit >= base || n > (UINT64_MAX - digit) / base)
            return 0;
        n = n * base + digit;
    }
    return n;
}

bool tunnel_id_read(bytes id, bytes *table, uint64_t *number)
{
    *number = number_behind(id, 10);
    return *number && wr_stream_table(id, table);
}

uint64_t tunnel_client_number(bytes id)
{
    return number_behind(id, 16);
}

/* ---- tokens ---- */

/* A place in a stream is text, since some clients take it for that. */
bytes tunnel_token(struct arena *a, const struct tunnel_place *place)
{
    struct buf b;

    if (place->finished)
        return TUNNEL_FINISHED;
    if (place->stream && place->seen_us)
        return arena_printf(a, "s%" PRIu64 "@%" PRIu64 ":%.*s", place->count, place->seen_us,
                            BYTES_FMT(place->at));
    if (place->stream)
        return arena_printf(a, "s%" PRIu64 ":%.*s", place->count, BYTES_FMT(place->at));
    buf_init(&b, a, 32 + place->at.len);
    buf_put_u8(&b, 'b');
    buf_put_varint(&b, place->count);
    buf_put_bytes(&b, place->at);
    buf_put_u64(&b, XXH3_64bits(b.data, b.len));
    return buf_bytes(&b);
}

/* A number from `*at` on, as it is written here and in no other way; *at: behind it. */
static bool read_decimal(bytes token, size_t *at, uint64_t *out)
{
    const uint8_t *p = bytes_u8(token);
    size_t start = *at, i = start;

    for (*out = 0; i < token.len && p[i] >= '0' && p[i] <= '9' && *out < UINT64_MAX / 16; i++)
        *out = 10 * *out + (uint64_t)(p[i] - '0');
    *at = i;
    return i > start && i < token.len && (p[start] != '0' || i == start + 1);
}

/* The checksum of what follows is the stream's (stream_name.h). */
static bool read_stream_place(bytes token, struct tunnel_place *out)
{
    const uint8_t *p = bytes_u8(token);
    size_t at = 1;

    if (!read_decimal(token, &at, &out->count) || out->count > COUNT_MAX)
        return false;
    if (p[at] == '@') {
        at++;
        if (!read_decimal(token, &at, &out->seen_us) || !out->seen_us ||
            out->seen_us > TUNNEL_TIME_MAX_US)
            return false;
    }
    if (p[at] != ':')
        return false;
    out->stream = true;
    out->at = bytes_skip(token, at + 1);
    return out->at.len && !memchr(token.ptr, 0, token.len);
}

static bool read_row_place(bytes token, struct tunnel_place *out)
{
    struct reader r;
    size_t len;

    if (token.len < 2 + CHECKSUM_BYTES)
        return false;
    len = token.len - CHECKSUM_BYTES;
    r = reader_of(bytes_of(bytes_u8(token) + 1, len - 1));
    out->count = read_varint(&r);
    out->at = read_bytes(&r, reader_left(&r));
    return !r.bad && out->count <= COUNT_MAX &&
           XXH3_64bits(token.ptr, len) == load_u64(bytes_u8(token) + len);
}

int tunnel_token_read(struct ctx *c, bytes token, struct tunnel_place *out)
{
    uint8_t kind = token.len ? *bytes_u8(token) : 0;

    *out = (struct tunnel_place){.finished = bytes_equal(token, TUNNEL_FINISHED)};
    if (out->finished || (kind == 's' && read_stream_place(token, out)) ||
        (kind == 'b' && read_row_place(token, out)))
        return E_OK;
    return fail(c, E_PARAMETER,
                "Invalid token: it was altered, or never given out. GetCheckpoint gives one.");
}
