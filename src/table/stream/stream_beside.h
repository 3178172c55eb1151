/* stream_beside.h: change records where a row's batch cannot reach its shard's log (decision 42).
 *
 * A record is put beside its row, at
 *     location of the table | bucket | kind 4 | key columns | 03 | location of the stream | number
 * in the batch of the change, and the engine gives the number. stream_carry.h takes it into the
 * log. */
#ifndef TABLE_STREAM_STREAM_BESIDE_H
#define TABLE_STREAM_STREAM_BESIDE_H

#include "table/model/table.h"

/* Gives a version of a table that nobody has seen yet an observer that leaves such records, if its
 * stream keeps any. */
void stream_beside_observe(struct table *t);

/* What the key of a record tells. False: something else stands there. */
struct stream_beside {
    bytes cols;      /* the row's key columns, a view into the key */
    uint32_t stream; /* location of the stream */
    uint64_t number;
};
bool stream_beside_read(const struct schema *s, bytes key, struct stream_beside *out);

#endif
