/* copy.h: the rows of one table from one place to another, many pages at a time.
 *
 * Many workers share its ranges (key_ranges.h). Every row goes with all versions and their
 * timestamps, as a put, which may be repeated. */
#ifndef CLI_TRANSFER_COPY_H
#define CLI_TRANSFER_COPY_H

#include "cli/console/progress.h"
#include "cli/transfer/key_ranges.h"
#include "cli/transfer/rate.h"

#define COPY_WORKERS_MAX 256

struct table_copy {
    /* Set by the caller, unchanged while workers run. */
    struct target *from, *to;
    struct clock *clock;
    const struct wr_table_description *table;
    struct progress *progress;
    size_t worker_count;
    /* What stands there already as it is here is not written again. */
    bool compare;
    bool exact;                       /* with compare: what stands there and not here is deleted */
    int64_t retry_ms;                 /* how long a server may be gone; 0: CLIENT_RETRY_MS */
    struct rate *from_rate, *to_rate; /* at each side; NULL: no limit */

    /* Shared. */
    struct key_ranges ranges;
    atomic_ullong written, deleted; /* rows */
};

/* Copies all rows; returns when they are acknowledged. `cl` is a client of `from`, used for the
 * split points only. */
int copy_rows(struct ctx *c, struct client *cl, struct table_copy *copy);

/* Copies single rows as they are now, after copy_rows(): one that is there no more is deleted. No
 * key may be named twice. `from` and `to` are clients of the two. Returns when they are
 * acknowledged. */
int copy_keys(struct ctx *c, struct table_copy *copy, struct client *from, struct client *to,
              const struct wr_key *keys, size_t n);

#endif
