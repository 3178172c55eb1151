/* copy_follow.h: what is written to a table while it is copied and afterwards, until its clients
 * switch to the copy.
 *
 * The place in the table's stream is taken before the first row is copied. From there on each
 * record names a row, which is copied again as it is then: so a copy ends up exact whatever was
 * written, whatever the records leave out, and however often some of them are read again. One
 * thread. */
#ifndef CLI_TRANSFER_COPY_FOLLOW_H
#define CLI_TRANSFER_COPY_FOLLOW_H

#include "cli/transfer/copy.h"
#include "cli/transfer/follow.h"

struct copy_follow {
    struct client *from, *to; /* the caller's */
    struct table_copy copy;   /* filled in by the caller before the first round */
    struct follow stream;
    uint64_t changes;  /* records read */
    int64_t behind_us; /* what was written later is not all there; 0: it is */
    bool current;      /* the last round has read to the end */
};

/* Takes the place in the stream of `table`: of all that was or is written since `since_us`, UTC by
 * a clock as right as requests have to be; 0: of the oldest record, for a copy that goes on with
 * what another one has left. Release it in any case. E_NOT_EXIST: no stream. */
int copy_follow_open(struct ctx *c, struct client *from, struct client *to, bytes table,
                     int64_t since_us, struct copy_follow *f);
void copy_follow_release(struct copy_follow *f);

/* Copies the rows that the next records name, some of each shard. */
int copy_follow_round(struct ctx *c, struct copy_follow *f);

#endif
