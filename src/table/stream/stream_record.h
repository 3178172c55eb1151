/* stream_record.h: a change record as stored bytes (doc/format.md, "Change records").
 *
 * Its key is   location of the stream | kind 4 | shard | number   where the engine gives the number
 * when the change is appended (EDIT_PUT_NUMBERED): the time in microseconds, ascending. The value
 * holds all that the record tells. It never refers to anything that is stored elsewhere, for what
 * is stored with a row goes long before the record does. */
#ifndef TABLE_STREAM_STREAM_RECORD_H
#define TABLE_STREAM_STREAM_RECORD_H

#include "engine/engine.h"
#include "table/model/change_point.h"
#include "table/model/schema.h"

#define STREAM_KEY_BYTES 16

/* The shard of the row with these key columns. */
uint16_t stream_shard(const struct schema *s, bytes cols);

/* The key of a record but for its number, and all of it: in the arena. */
bytes stream_record_prefix(struct arena *a, uint32_t location, uint16_t shard);
bytes stream_record_key(struct arena *a, uint32_t location, uint16_t shard, uint64_t number);
uint64_t stream_record_number(bytes key);

/* The value of the record of a change that a client asked for. `columns` are those whose values of
 * before the stream asks for, sorted; the change's old row is known if there are any. In the arena.
 */
bytes stream_record_encode(struct arena *a, const struct row_change *change, const bytes *columns,
                           size_t column_count);

/* Reads what is stored under `key`: views into `value` where they can be. `keys` are the table's
 * key columns, whose names the record gets. In the arena of c. E_CORRUPT, E_FORMAT. */
int stream_record_decode(struct ctx *c, bytes key, bytes value, const struct wr_key_schema *keys,
                         size_t key_count, struct wr_stream_record *out);

#endif
