#include "parquet/codec.h"

#include "base/buf.h"
#include "parquet/format.h"

#include <zlib.h>
#include <zstd.h>

bool codec_is_known(int codec)
{
    return codec == CODEC_NONE || codec == CODEC_SNAPPY || codec == CODEC_GZIP ||
           codec == CODEC_ZSTD || codec == CODEC_LZ4_RAW;
}

const char *codec_name(int codec)
{
    static const char *const names[] = {
        "none", "snappy", "gzip", "LZO", "brotli", "LZ4 (the older one)", "zstd", "lz4_raw"};

    return codec >= 0 && codec < (int)PORT_COUNT(names) ? names[codec] : "unknown";
}

/* What was made so far, for those that copy of it. */
struct made {
    uint8_t *data;
    size_t len, size;
};

static bool put_literal(struct made *m, struct reader *r, size_t n)
{
    bytes from = read_bytes(r, n);

    if (r->bad || n > m->size - m->len)
        return false;
    if (n)
        memcpy(m->data + m->len, from.ptr, n);
    m->len += n;
    return true;
}

/* n bytes from `back` bytes before the end, of which some may be those that it makes. */
static bool put_copy(struct made *m, size_t back, size_t n)
{
    if (back == 0 || back > m->len || n > m->size - m->len)
        return false;
    if (back >= n) {
        memcpy(m->data + m->len, m->data + m->len - back, n);
        m->len += n;
        return true;
    }
    for (; n; n--, m->len++)
        m->data[m->len] = m->data[m->len - back];
    return true;
}

/* ---- Snappy: tags of literals and of copies with 1, 2 or 4 bytes of distance */

static bool snappy_tag(struct made *m, struct reader *r)
{
    uint8_t tag = read_u8(r);
    size_t n = tag >> 2, back;

    switch (tag & 3) {
    case 0:
        if (n >= 60) {
            size_t width = n - 59;

            n = 0;
            for (size_t i = 0; i < width; i++)
                n |= (size_t)read_u8(r) << 8 * i;
        }
        return put_literal(m, r, n + 1);
    case 1:
        back = (size_t)(tag >> 5) << 8;
        back |= read_u8(r);
        return !r->bad && put_copy(m, back, (n & 7) + 4);
    case 2:
        back = read_u8(r);
        back |= (size_t)read_u8(r) << 8;
        return !r->bad && put_copy(m, back, n + 1);
    default:
        back = read_u32(r);
        return !r->bad && put_copy(m, back, n + 1);
    }
}

static bool unpack_snappy(bytes in, uint8_t *out, size_t size)
{
    struct reader r = reader_of(in);
    struct made m = {out, 0, size};

    if (read_varint(&r) != size)
        return false;
    while (reader_left(&r))
        if (!snappy_tag(&m, &r))
            return false;
    return !r.bad && m.len == size;
}

/* ---- LZ4's block: literals, then a copy, by turns; the last one has literals alone */

static size_t lz4_length(struct reader *r, size_t n)
{
    uint8_t more = 255;

    if (n != 15)
        return n;
    while (more == 255 && !r->bad) {
        more = read_u8(r);
        n += more;
    }
    return n;
}

static bool unpack_lz4(bytes in, uint8_t *out, size_t size)
{
    struct reader r = reader_of(in);
    struct made m = {out, 0, size};

    while (reader_left(&r)) {
        uint8_t token = read_u8(&r);
        size_t back;

        if (!put_literal(&m, &r, lz4_length(&r, token >> 4)))
            return false;
        if (!reader_left(&r))
            break;
        back = read_u8(&r);
        back |= (size_t)read_u8(&r) << 8;
        if (!put_copy(&m, back, lz4_length(&r, token & 15) + 4) || r.bad)
            return false;
    }
    return !r.bad && m.len == size;
}

/* ---- gzip, of one or several members */

static bool unpack_gzip(bytes in, uint8_t *out, size_t size)
{
    z_stream z = {.next_in = (uint8_t *)(uintptr_t)in.ptr, .avail_in = (uInt)in.len};
    uint8_t spare;
    int result = Z_OK;

    if (in.len > UINT32_MAX || size > UINT32_MAX || inflateInit2(&z, 15 + 32) != Z_OK)
        return false;
    z.next_out = size ? out : &spare;
    z.avail_out = (uInt)size;
    do {
        if (result == Z_STREAM_END)
            inflateReset(&z);
        result = inflate(&z, Z_NO_FLUSH);
    } while (result == Z_OK || (result == Z_STREAM_END && z.avail_in));
    inflateEnd(&z);
    return result == Z_STREAM_END && z.avail_out == 0;
}

bool codec_unpack(int codec, bytes in, uint8_t *out, size_t size)
{
    switch (codec) {
    case CODEC_NONE:
        if (in.len != size)
            return false;
        if (size)
            memcpy(out, in.ptr, size);
        return true;
    case CODEC_SNAPPY:
        return unpack_snappy(in, out, size);
    case CODEC_GZIP:
        return unpack_gzip(in, out, size);
    case CODEC_ZSTD:
        return ZSTD_decompress(out, size, in.ptr, in.len) == size;
    case CODEC_LZ4_RAW:
        return unpack_lz4(in, out, size);
    default:
        return false;
    }
}
