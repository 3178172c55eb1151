/* ots_part.h: what the files of the message layer share among themselves (ots.h and ots_client.h
 * are for everybody else).
 *
 *   ots.c         operations by name, decode and encode by operation, errors
 *   ots_table.c   requests and answers of table operations
 *   ots_partition.c  DescribePartitions, both ways
 *   ots_row.c     requests of row operations
 *   ots_reply.c   answers of row operations
 *   ots_filter.c  filters, both ways
 *   ots_heat.c    heat maps and sizes, both ways
 *   ots_client*.c the client's half
 */
#ifndef WIRE_OTS_PART_H
#define WIRE_OTS_PART_H

#include "wire/ots.h"
#include "wire/pb.h"
#include "wire/plain.h"

#include "filter.pb-c.h"
#include "ots.pb-c.h"

/* The first field number of our own in messages of the protocol; clients that do not know a field
 * pass over it. */
#define OTS_FIELD_OWN 1000

/* A message that was read becomes the member of `out` that its operation has; the members of a
 * reply become the body of a 200 answer. One pair for each operation. */
#define OP(constant, member, wire, class, request, ...)                                            \
    int ots_decode_##member(struct ctx *c, const void *message, struct wr_request *out);           \
    bytes ots_encode_##member(struct ctx *c, const struct wr_request *req,                         \
                              const struct wr_reply *reply);
#include "op.def"

/* For forms that protobuf-c lets through and the structs cannot express: the same text as for bytes
 * that are no message. */
extern const char ots_text_parse[];
extern const char ots_text_no_table[]; /* of a GetRow, GetRange or BatchGetRow without a table */
int ots_fail_parse(struct ctx *c);

/* Memory for n things, cleared; n comes from a client. E_MEMORY at the cap. */
int ots_array(struct ctx *c, size_t n, size_t item_bytes, void *out);

/* A repeated text field as an array of views. */
int ots_views(struct ctx *c, size_t n, const ProtobufCBinaryData *fields, const bytes **out,
              size_t *count);

/* Key schemas and column types as numbers of the protocol, and back; false: no such number. */
int ots_key_type(enum wr_type type);
bool ots_key_type_read(int number, enum wr_type *type);
int ots_column_type(enum wr_type type);
bool ots_column_type_read(int number, enum wr_type *type);

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

/* DescribePartitions, the client's half. */
void ots_ask_describe_partitions(struct buf *b, const struct wr_request *req);
int ots_read_describe_partitions(struct ctx *c, bytes body, struct wr_reply *out);

void ots_put_consumed(struct buf *b, unsigned field, const struct wr_capacity *cu, bool sizes);
void ots_put_names(struct buf *b, unsigned field, const bytes *names, size_t n);

/* The client's half of heat maps and sizes. */
void ots_ask_describe_heat(struct buf *b, const struct wr_request *req);
void ots_ask_describe_sizes(struct buf *b, const struct wr_request *req);
int ots_read_describe_heat(struct ctx *c, bytes body, struct wr_reply *out);
int ots_read_describe_sizes(struct ctx *c, bytes body, struct wr_reply *out);

#endif
