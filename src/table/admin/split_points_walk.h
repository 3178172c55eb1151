/* split_points_walk.h: the rows of a table in the order of their keys, whatever its layout, each
 * with the bytes that are stored for it: key and value of its record and of its cells that stand
 * alone, and the length of its big cells. What is counted does not depend on where the engine keeps
 * it, in write buffers or table files, packed or not. Blocks; it minds the deadline of the call. */
#ifndef TABLE_ADMIN_SPLIT_POINTS_WALK_H
#define TABLE_ADMIN_SPLIT_POINTS_WALK_H

#include "table/core/call.h"

struct split_points_stream;

struct split_points_walk {
    struct call *call;
    const struct table *table;
    struct split_points_stream *streams; /* one a bucket */
    struct split_points_stream **order;  /* those that have a row, by the row */
    size_t order_count;
    size_t page_bytes;
    struct buf cols; /* of the row given last */
};

/* Begins at the first row of t, which outlives the walk and whose engine has one key
 * space. Whatever it returns, the walk is to be closed. */
int split_points_walk_open(struct split_points_walk *w, struct call *call, const struct table *t);

/* The next row: its encoded key columns, valid until the next call, and its bytes. *found false:
 * there is none. */
int split_points_walk_next(struct split_points_walk *w, bool *found, bytes *cols, uint64_t *size);

void split_points_walk_close(struct split_points_walk *w);

#endif
