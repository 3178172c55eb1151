/* split_key.h: where a partition is split into halves of about as many bytes, and a whole table
 * into many parts. */
#ifndef TABLE_MAINT_SPLIT_KEY_H
#define TABLE_MAINT_SPLIT_KEY_H

#include "table/core/db.h"

/* The bound (partition.h) of a partition-key value, in the arena, such that about half of what is
 * stored in partition i lies below it, and some row on either side. Where a partition is an object
 * and this one is all one value, the bound of a row. found false: there is none, as when the
 * partition is one value, or one row. Blocks. */
int split_key_find(struct ctx *c, struct wr_db *db, const struct table *t, size_t i, bool *found,
                   bytes *out);

/* Divides a location into about `count` partitions of about as many bytes, at least one a bucket;
 * rows of one partition-key value stay together. The list, in the arena, has `start` and `bytes`.
 * Blocks.
 */
int split_key_spread(struct ctx *c, struct wr_db *db, const struct location *at, size_t count,
                     struct schema_partition **list, size_t *made);

#endif
