/* stream_name.h: the texts by which clients name streams, shards and places in them.
 *
 *   stream     TABLE_MICROSECONDS, of when it was switched on; none of a table is like another
 *   shard      LLLLLLLLSSSS_MICROSECONDS: the location of its records and its number, in hex
 *   iterator   STREAM:SSSS:NNNNNNNNNNNNNNNN:CCCCCCCCCCCCCCCC: the records of a shard from number N
 *              on; C is XXH3 of what stands before it
 *
 * To clients they are opaque. An iterator means the same on every server and after a restart. Its
 * checksum finds what was altered or cut; it keeps nobody out, since all that an iterator gives is
 * what its table's readers may see. */
#ifndef TABLE_STREAM_STREAM_NAME_H
#define TABLE_STREAM_STREAM_NAME_H

#include "base/ctx.h"
#include "widerow.h"

/* In the arena. `shard`: its number in the stream. */
bytes stream_shard_name(struct arena *a, uint32_t location, uint16_t shard, int64_t enabled_us);
bytes stream_iterator(struct arena *a, bytes stream, uint16_t shard, uint64_t number);

/* What an iterator names; `stream` is a view into it. E_PARAMETER. */
struct stream_place {
    bytes stream;
    uint16_t shard;
    uint64_t number; /* of the first record that is wanted */
};
int stream_place_read(struct ctx *c, bytes iterator, struct stream_place *out);

#endif
