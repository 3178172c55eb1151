/* size_probe.h: which of many partitions hold nothing, where partitions are objects
 * (engine_one_key_space() is false). */
#ifndef TABLE_ADMIN_SIZE_PROBE_H
#define TABLE_ADMIN_SIZE_PROBE_H

#include "table/core/call.h"

/* Asks for the first key of each of these partitions of t (indexes of its map), many at a time, and
 * notes those that have none as measured: empty. One that cannot be asked stays as it was. Blocks;
 * minds the deadline of the call. */
int size_probe(struct call *call, const struct table *t, const size_t *which, size_t count);

#endif
