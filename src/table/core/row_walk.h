/* row_walk.h: a walk over all rows of a table while it is used, for tasks in the background that
 * copy rows (rekey.h) or derive something from them (index_build.h).
 *
 * It goes through the row records of the table's location, bucket by bucket, in the order of their
 * keys, a page at a time; and notes in a record how far it has come, so that a restart or a failure
 * costs a slice at most. Rows that come in behind the walk are not visited: whoever walks has seen
 * to it that the changes of all rows do by themselves what a visit does.
 *
 * What comes of a visit is applied under the row's lock, and to the row as it is then: walk_page.h
 * says how that comes cheap. Nothing waits for a sync but the end of a slice, before the progress
 * is noted. */
#ifndef TABLE_CORE_ROW_WALK_H
#define TABLE_CORE_ROW_WALK_H

#include "base/scheduler.h"
#include "table/core/walk_page.h"

#ifdef WR_FAULTS
#define ROW_WALK_PAGE_ROWS 256 /* so that the small tables of tests have several pages */
#else
#define ROW_WALK_PAGE_ROWS 4096
#endif
#define ROW_WALK_PAGE_BYTES (1u << 20)

struct row_walk {
    struct walk_visitor visitor;
    struct ctx *c; /* the owner's, for a slice */
    struct task_step *step;
    bytes record; /* where the progress is noted, a key in the system partition, */
    uint32_t id;  /* and of what: progress of another is not gone on from. No key: it is not noted,
                   * and what is visited has to be durable already */
    int64_t slice_ms;                 /* about; 0: 100 */
    int (*paged)(struct row_walk *w); /* after each page; NULL: nothing */

    /* Out, and without a record in, too: */
    bytes position; /* the key of the last row record that was visited; empty: none */
    uint64_t rows;  /* visited so far */
    struct walk_pages *pages;
};

/* Goes on for a slice from where the record says; what was written is durable on return.
 * *ended: all rows were visited; the record stays, to be removed with what the walk was for.
 * Blocks. */
int row_walk_slice(struct row_walk *w, bool *ended);

#endif
