/* stream_carry.h: takes change records from beside their rows into the logs of their shards
 * (decision 42).
 *
 * Any number of threads and processes may carry the same records, be paused or die at any moment,
 * and do so again: each record comes into its log once, those of a row in the order of its changes.
 * It blocks. */
#ifndef TABLE_STREAM_STREAM_CARRY_H
#define TABLE_STREAM_STREAM_CARRY_H

#include "table/model/table.h"
#include "table/stream/stream_log.h"

/* A walk over the records beside the rows of a table; the owner sets the first two. */
struct stream_carry {
    struct table *table;
    struct ctx *c; /* for the whole walk */

    size_t bucket; /* how far it has come, */
    bytes after;   /* and behind which key there; ptr NULL: at the beginning */
    bool ended;
    size_t carried;                       /* records that this walk has appended */
    bool removes_only;                    /* in: nothing is appended */
    bool crowded;                         /* a tail lists many, whose records may be gone */
    uint32_t segments[SCHEMA_SHARDS_MAX]; /* the last ones, as they were seen */
    struct record_id *removed;            /* of the page before; tails may list them still */
    size_t removed_count;
};

/* A page of records; what it has appended is durable on return. E_BUSY: others are at it, or a
 * partition is being split; go on, or begin anew. */
int stream_carry_page(struct stream_carry *w);

/* All that was there when it was called is in the logs on E_OK; E_BUSY: others are at it all the
 * time. */
int stream_carry_all(struct ctx *c, struct table *t, size_t *carried);

#endif
