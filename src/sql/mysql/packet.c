#include "sql/mysql/packet.h"

void packet_begin(struct packet_out *p)
{
    p->start = p->buf->len;
    buf_reserve(p->buf, PACKET_HEADER_BYTES);
    buf_commit(p->buf, PACKET_HEADER_BYTES);
}

static void header_store(struct packet_out *p, size_t at, size_t length)
{
    store_u32(p->buf->data + at, (uint32_t)length | (uint32_t)p->number++ << 24);
}

void packet_end(struct packet_out *p)
{
    size_t at = p->start, left = p->buf->len - at - PACKET_HEADER_BYTES;

    /* A long payload makes room for a header behind each full packet. */
    for (; left >= PACKET_BYTES_MAX; left -= PACKET_BYTES_MAX) {
        uint8_t *rest;

        header_store(p, at, PACKET_BYTES_MAX);
        at += PACKET_HEADER_BYTES + PACKET_BYTES_MAX;
        buf_reserve(p->buf, PACKET_HEADER_BYTES);
        rest = p->buf->data + at;
        memmove(rest + PACKET_HEADER_BYTES, rest, left - PACKET_BYTES_MAX);
        buf_commit(p->buf, PACKET_HEADER_BYTES);
    }
    header_store(p, at, left);
}

size_t packet_header(const uint8_t header[PACKET_HEADER_BYTES], uint8_t *number)
{
    uint32_t v = load_u32(header);

    *number = (uint8_t)(v >> 24);
    return v & PACKET_BYTES_MAX;
}

void packet_put_length(struct buf *b, uint64_t v)
{
    if (v < 251) {
        buf_put_u8(b, (uint8_t)v);
    } else if (v <= 0xffff) {
        buf_put_u8(b, 0xfc);
        packet_put_u16(b, (uint16_t)v);
    } else if (v <= 0xffffff) {
        buf_put_u8(b, 0xfd);
        packet_put_u16(b, (uint16_t)v);
        buf_put_u8(b, (uint8_t)(v >> 16));
    } else {
        buf_put_u8(b, 0xfe);
        buf_put_u64(b, v);
    }
}

void packet_put_counted(struct buf *b, bytes text)
{
    packet_put_length(b, text.len);
    buf_put_bytes(b, text);
}

void packet_put_string(struct buf *b, bytes text)
{
    buf_put_bytes(b, text);
    buf_put_u8(b, 0);
}

uint16_t packet_read_u16(struct reader *r)
{
    uint16_t low = read_u8(r);

    return (uint16_t)(low | read_u8(r) << 8);
}

uint64_t packet_read_length(struct reader *r)
{
    uint8_t first = read_u8(r);
    uint64_t low;

    switch (first) {
    case 0xfc:
        return packet_read_u16(r);
    case 0xfd:
        low = packet_read_u16(r);
        return low | (uint64_t)read_u8(r) << 16;
    case 0xfe:
        return read_u64(r);
    case 0xfb: /* NULL, where rows may have it */
    case 0xff: /* an error's first byte */
        r->bad = true;
        return 0;
    default:
        return first;
    }
}

bytes packet_read_counted(struct reader *r)
{
    uint64_t n = packet_read_length(r);

    return read_bytes(r, n < SIZE_MAX ? (size_t)n : SIZE_MAX);
}

bytes packet_read_string(struct reader *r)
{
    const uint8_t *end = memchr(r->at, 0, reader_left(r));
    bytes text;

    if (!end) {
        r->bad = true;
        r->at = r->end;
        return BYTES_NONE;
    }
    text = bytes_of(r->at, (size_t)(end - r->at));
    r->at = end + 1;
    return text;
}
