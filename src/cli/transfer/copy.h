/* copy.h: the rows of one table from one place to another, many pages at a time.
 *
 * Ranges of keys wait in a queue. A worker takes one, reads a page of it, puts what is left of the
 * range back for the others, and writes its page: so even a table that is one range is written by
 * all of them. Every row goes with all versions and their timestamps, as a put, which may be
 * repeated. */
#ifndef CLI_TRANSFER_COPY_H
#define CLI_TRANSFER_COPY_H

#include "cli/console/progress.h"
#include "client/client.h"

#define COPY_WORKERS_MAX 256

struct copy_range;

struct table_copy {
    /* Set by the caller, unchanged while workers run. */
    struct target *from, *to;
    struct clock *clock;
    const struct wr_table_description *table;
    struct progress *progress;
    size_t worker_count;
    bool compare; /* rows that stand there already as they are here are not written again */

    /* Shared. */
    pthread_mutex_t mutex; /* over what follows */
    pthread_cond_t wake;   /* a range came, or it is over */
    struct copy_range *ranges;
    size_t busy; /* workers that may still put a range back */
    int code;    /* of the first failure; 0 */
    char failure[512];
    atomic_bool stopped;
    atomic_ullong written; /* rows */
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
