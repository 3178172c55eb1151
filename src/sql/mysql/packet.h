/* packet.h: MySQL's framing of what is said in both directions, and the numbers and texts in it.
 *
 * A packet is a header of four bytes (a length of three bytes, a number that counts up) and a
 * payload. A payload of PACKET_BYTES_MAX or more goes on in the next packet, and one of less, of
 * none perhaps, ends it. All integers are little-endian. Pure: no sockets. */
#ifndef SQL_MYSQL_PACKET_H
#define SQL_MYSQL_PACKET_H

#include "base/buf.h"

#define PACKET_HEADER_BYTES 4
#define PACKET_BYTES_MAX 0xffffff

/* Writes packets into a buffer, one after the other. The buffer is the caller's. */
struct packet_out {
    struct buf *buf;
    uint8_t number; /* of the next packet; 0 when a command begins */
    size_t start;   /* of the packet that is being written */
};

/* What is put into p->buf between the two is the payload, of any length. */
void packet_begin(struct packet_out *p);
void packet_end(struct packet_out *p);

/* The length and the number in the header of a packet. */
size_t packet_header(const uint8_t header[PACKET_HEADER_BYTES], uint8_t *number);

static inline void packet_put_u16(struct buf *b, uint16_t v)
{
    buf_put_u8(b, (uint8_t)v);
    buf_put_u8(b, (uint8_t)(v >> 8));
}

/* The protocol's integers of 1, 3, 4 or 9 bytes, whatever the value needs. */
void packet_put_length(struct buf *b, uint64_t v);

/* A text with its length in front, and one with a NUL behind. */
void packet_put_counted(struct buf *b, bytes text);
void packet_put_string(struct buf *b, bytes text);

uint16_t packet_read_u16(struct reader *r);
/* r->bad for the two first bytes that begin no length. */
uint64_t packet_read_length(struct reader *r);
bytes packet_read_counted(struct reader *r);
/* Up to a NUL, which is passed over. Without one r->bad is set. */
bytes packet_read_string(struct reader *r);

#endif
