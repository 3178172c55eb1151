/* ots_part.h: what the files of the message layer share among themselves (ots.h and ots_client.h
 * are for everybody else). Each message is written beside where it is read.
 *
 *   ots.c             the server's half: operations by name, and which functions go with each
 *   ots_client.c      the client's half
 *   ots_table.c       requests of table operations      ots_table_reply.c  answers
 *   ots_row.c         requests of row operations        ots_reply.c        answers with rows
 *   ots_range.c       answers with a range of rows      ots_partition.c    DescribePartitions
 *   ots_heat.c        heat maps and sizes              ots_txn.c          local transactions
 *   ots_stream.c      streams                        ots_tunnel.c       tunnels
 *   ots_search*.c     search indexes (ots_search_part.h)
 *   ots_field.c ots_schema.c ots_filter.c ots_error.c   parts that several messages have
 */
#ifndef WIRE_OTS_PART_H
#define WIRE_OTS_PART_H

#include "wire/pb.h"
#include "wire/plain.h"
#include "widerow.h"

#include "filter.pb-c.h"
#include "ots.pb-c.h"
#include "search.pb-c.h"

/* The first field number of our own in messages of the protocol; clients that do not know a field
 * pass over it. */
#define OTS_FIELD_OWN 1000

/* The four functions of an operation, named by its messages (op.def). The server decodes requests
 * and encodes responses: a message that was read becomes the member of `out` that its operation has
 * (out->op says which), and the members of a reply become the body of a 200 answer. The client does
 * the opposite. What a message must have, protobuf-c has checked. */
#define OP(constant, member, wire, class, request, request_type, reply, ...)                       \
    int ots_decode_##request##_request(struct ctx *c, const void *message,                         \
                                       struct wr_request *out);                                    \
    void ots_encode_##request##_request(struct buf *b, const struct wr_request *req);              \
    bytes ots_encode_##reply##_response(struct ctx *c, const struct wr_request *req,               \
                                        const struct wr_reply *reply);                             \
    int ots_decode_##reply##_response(struct ctx *c, const void *message, struct wr_reply *out);
#include "op.def"

/* For forms that protobuf-c lets through and the structs cannot express: the same text as for bytes
 * that are no message. */
extern const char ots_text_parse[];
extern const char ots_text_no_table[]; /* of a GetRow, GetRange or BatchGetRow without a table */
int ots_fail_parse(struct ctx *c);
extern const char ots_text_reply[]; /* the same for answers */
int ots_fail_reply(struct ctx *c);

/* Memory for n things, cleared; n comes from a client. E_MEMORY at the cap. */
int ots_array(struct ctx *c, size_t n, size_t item_bytes, void *out);

/* A repeated text field as an array of views. */
int ots_views(struct ctx *c, size_t n, const ProtobufCBinaryData *fields, const bytes **out,
              size_t *count);

/* Schemas of both directions. */
int ots_read_keys(struct ctx *c, size_t n, Ots__PrimaryKeySchema **from,
                  const struct wr_key_schema **out, size_t *count);
void ots_put_keys(struct buf *b, unsigned field, const struct wr_key_schema *keys, size_t n);
int ots_read_defined(struct ctx *c, size_t n, Ots__DefinedColumnSchema **from,
                     const struct wr_defined_column **out, size_t *count);
void ots_put_defined(struct buf *b, unsigned field, const struct wr_defined_column *columns,
                     size_t n);
int ots_read_indexes(struct ctx *c, size_t n, Ots__IndexMeta **from,
                     const struct wr_index_meta **out, size_t *count);
void ots_put_indexes(struct buf *b, unsigned field, const struct wr_index_meta *indexes, size_t n);
void ots_read_options(const Ots__TableOptions *from, struct wr_table_options *out);
void ots_put_options(struct buf *b, unsigned field, const struct wr_table_options *o);
void ots_read_sse(const Ots__ServerSideEncryption *from, struct wr_sse_spec *out);
void ots_put_sse(struct buf *b, unsigned field, const struct wr_sse_spec *sse);

/* A serialized Filter. */
int ots_read_filter(struct ctx *c, bytes in, const struct wr_filter **out);
void ots_put_filter(struct buf *b, unsigned field, const struct wr_filter *filter);

void ots_put_names(struct buf *b, unsigned field, const bytes *names, size_t n);

void ots_put_consumed(struct buf *b, unsigned field, const struct wr_capacity *cu, bool sizes);
void ots_read_consumed(const Ots__ConsumedCapacity *m, struct wr_capacity *out);

/* The table that an id of a stream, an iterator or the id of a tunnel names. What names none stands
 * for itself: it is refused as a name, or nothing has it. */
bytes ots_named_table(bytes id);
/* A change record. `key_section`: its old values begin with a key section that has no columns. Go's
 * tunnel worker reads none without; GetStreamRecord in Java's SDK refuses one that is empty. */
void ots_put_change(struct buf *b, const struct wr_stream_record *r, bool key_section);
int ots_read_change(struct ctx *c, const Ots__StreamRecord *m, struct wr_stream_record *out);

/* Bytes of a buffer with this row alone; an absent row is no bytes at all. */
size_t ots_row_bytes(const struct wr_row *row);
/* The same row as a field; `n` is ots_row_bytes(). */
void ots_put_row(struct buf *b, unsigned field, const struct wr_row *row, size_t n);
void ots_put_key(struct buf *b, unsigned field, const struct wr_key *key);
/* A field that holds one row or, with 0 bytes, none. */
int ots_read_row(struct ctx *c, ProtobufCBinaryData field, struct wr_row *out);

#endif
