/* stream_op.h: ListStream, DescribeStream, GetShardIterator and GetStreamRecord.
 *
 * Each does what the `start` of its row of op.def has to do (table/core/call.h): 0, and it has
 * finished the call or will; or the failure that it recorded in call->c. `out` is the member of
 * call->reply that the row names, and `in` that of the request; names of tables and the deadline
 * were checked. What `in` has as its table must be the one that its stream or iterator names; that
 * is checked here again.
 *
 * Errors: E_NOT_EXIST, no such table, or it has no such stream or shard (any more); E_PARAMETER, an
 * iterator that was altered, has expired, or is of a stream that was switched off meanwhile;
 * E_UNSUPPORTED, the engine keeps no streams. */
#ifndef TABLE_STREAM_STREAM_OP_H
#define TABLE_STREAM_STREAM_OP_H

#include "table/core/call.h"

int stream_list(struct call *call, const struct wr_list_stream *in, struct wr_stream_list *out);
int stream_describe(struct call *call, const struct wr_describe_stream *in,
                    struct wr_stream_description *out);
int stream_get_iterator(struct call *call, const struct wr_get_shard_iterator *in,
                        struct wr_shard_iterator *out);
int stream_get_records(struct call *call, const struct wr_get_stream_record *in,
                       struct wr_stream_records *out);

#endif
