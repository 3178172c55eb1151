/* pb.h: protobuf bytes in arenas.
 *
 * Reading goes through protobuf-c, which checks form and required fields; the messages live in the
 * request's arena and outgrow neither its cap nor some times their bytes, whatever a body claims.
 * Messages that hold messages of their own kind are read by pb_read.h.
 * Writing is done straight into a buf: fields in the order of their numbers, sub-messages between
 * pb_open() and pb_close(). */
#ifndef WIRE_PB_H
#define WIRE_PB_H

#include "base/buf.h"
#include "base/ctx.h"

#include <protobuf-c/protobuf-c.h>

/* Reads a message. `text` is what E_PARAMETER says if the bytes do not parse; E_MEMORY at the cap,
 * or where a capped arena would give far more than so many bytes are worth. Texts and blobs of the
 * message do not point into `in`. */
int pb_unpack(struct ctx *c, const ProtobufCMessageDescriptor *type, bytes in, const char *text,
              const void **out);

/* A field of a message as a view; ptr is never NULL, so that "given, empty" stays given. */
static inline bytes pb_view(ProtobufCBinaryData field)
{
    return bytes_of(field.data ? (const void *)field.data : "", field.len);
}

/* Bytes that v takes as a varint. */
static inline size_t pb_varint_size(uint64_t v)
{
    return (size_t)(70 - __builtin_clzll(v | 1)) / 7;
}

void pb_put_int(struct buf *b, unsigned field, int64_t v);
void pb_put_bytes(struct buf *b, unsigned field, bytes v);
void pb_put_double(struct buf *b, unsigned field, double v);
void pb_put_float(struct buf *b, unsigned field, double v);

/* The head of a bytes field of n bytes, which the caller writes behind it. */
void pb_put_head(struct buf *b, unsigned field, size_t n);

/* Starts a sub-message; `guess` is its size as far as it is known: if it takes another number of
 * bytes to write down than the real size, the sub-message is moved once it is closed. */
size_t pb_open(struct buf *b, unsigned field, size_t guess);

/* Ends it; `start` is what pb_open() gave, `guess` must be the same. */
void pb_close(struct buf *b, size_t start, size_t guess);

#endif
