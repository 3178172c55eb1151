/* stream_beside.h: change records where a row's batch cannot reach its shard's log (decision 42).
 *
 * A record is put beside its row, at
 *     location of the table | bucket | kind 4 | key columns | 03 | location of the stream | number
 * in the batch of the change, and the engine gives the number. stream_carry.h takes it into the
 * log. */
#ifndef TABLE_STREAM_STREAM_BESIDE_H
#define TABLE_STREAM_STREAM_BESIDE_H

#include "table/model/change_point.h"
#include "table/model/table.h"

/* Leaves such a record: what an observer does with a change (change_point.h). */
void stream_beside_record(const struct row_observer *o, const struct row_change *change,
                          struct batch_builder *e);

/* What the key of a record tells. False: something else stands there. */
struct stream_beside {
    bytes cols;      /* the row's key columns, a view into the key */
    uint32_t stream; /* location of the stream */
    uint64_t number;
};
bool stream_beside_read(const struct schema *s, bytes key, struct stream_beside *out);

#endif
