/* middle.h: where a partition's bytes are halved. */
#ifndef TABLE_MIDDLE_H
#define TABLE_MIDDLE_H

#include "table/db.h"

/* The bound (partition.h) of a partition-key value, in the arena, such that about half of what is
 * stored in partition i lies below it, and some row on either side. found false: there is none, as
 * when the partition is one value. Blocks. */
int middle_find(struct ctx *c, struct wr_db *db, const struct table *t, size_t i, bool *found,
                bytes *out);

#endif
