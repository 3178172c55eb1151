/* row_walk.h: a walk over all rows of a table while it is used, for tasks in the background that
 * copy rows (rekey.h) or derive something from them (index_build.h).
 *
 * It goes through the row records of the table's location, bucket by bucket, in the order of their
 * keys, a page at a time; visits each row under its row lock, whether or not it is still there; and
 * notes in a record how far it has come, so that a restart or a failure costs a slice at most. Rows
 * that come in behind the walk are not visited: whoever walks has seen to it that the changes of
 * all rows do by themselves what a visit does. */
#ifndef TABLE_CORE_ROW_WALK_H
#define TABLE_CORE_ROW_WALK_H

#include "base/scheduler.h"
#include "table/core/db.h"
#include "table/model/batch_builder.h"
#include "table/model/table.h"

#define ROW_WALK_PAGE_ROWS 256
#define ROW_WALK_PAGE_BYTES (1u << 20)

struct row_walk_page;

struct row_walk {
    struct wr_db *db;
    struct table *table; /* a version of it whose location the rows are read at */
    struct ctx *c;       /* the owner's, for a slice */
    struct task_step *step;
    bytes record; /* where the progress is noted, a key in the system partition, */
    uint32_t id;  /* and of what: progress of another is not gone on from */
    /* Under the row lock. What it begins with row_walk_apply() is durable when the page ends. */
    int (*visit)(struct row_walk *w, struct ctx *c, bytes record_key);
    int (*paged)(struct row_walk *w); /* after each page; NULL: nothing */

    bytes position; /* the key of the last row record that was visited; empty: none */
    uint64_t rows;  /* visited so far */
    struct row_walk_page *page;
};

/* Goes on for about 100 ms from where the record says. *ended: all rows were visited; the record
 * stays, to be removed with what the walk was for. Blocks. */
int row_walk_slice(struct row_walk *w, bool *ended);

/* In visit(): begins what was built in the arena of its c; nothing if that is nothing. */
void row_walk_apply(struct row_walk *w, struct ctx *c, const struct batch_builder *e,
                    partition_id partition);

#endif
