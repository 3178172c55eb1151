/* loader.h: the workers of an import: batches of rows to BatchWriteRow requests, each on its own
 * connection, until every row is acknowledged, refused, or the load is given up.
 *
 * A row is acknowledged when the server has said OK to it, and only then is it counted and its key
 * written to the acknowledgement file. Rows that failed for a passing reason are sent again; so are
 * rows whose answer was lost, which is harmless because a put of the same row twice is one row. A
 * request that is refused as a whole is split in halves until the row that spoils it stands alone.
 *
 * With `load` a single worker hands the rows to that instead (widerow_load.h); they count once it
 * is finished, which is the caller's. */
#ifndef CLI_TRANSFER_LOADER_H
#define CLI_TRANSFER_LOADER_H

#include "cli/console/progress.h"
#include "cli/transfer/plan.h"
#include "cli/transfer/rate.h"
#include "cli/transfer/rejects.h"
#include "cli/transfer/shuffle_buffer.h"
#include "client/client.h"
#include "widerow_load.h"

struct loader {
    /* Set by the caller, unchanged while workers run. */
    struct target *target;
    struct clock *clock;
    const struct plan *plan;
    bytes table;
    struct shuffle_buffer *shuffle;
    struct progress *progress;
    int64_t retry_ms;    /* how long one batch may go without any success */
    uint64_t errors_max; /* bad lines and refused rows that do not end the load */
    int acked_fd;        /* -1: none */
    size_t worker_count;
    struct rejects *rejects; /* where they are told; NULL: on stderr */
    struct rate *rate;       /* or NULL */
    struct wr_load *load;    /* or NULL */

    /* Shared. */
    atomic_bool unsure;   /* some rows were sent of which nobody knows whether they were stored */
    atomic_ullong errors; /* bad lines and refused rows so far */
    atomic_ullong loaded; /* rows that `load` has taken */
    atomic_bool stopped;
    pthread_mutex_t mutex; /* over `failure` and the acknowledgement file */
    char failure[512];     /* why the load was given up; "": it was not */
    int failure_code;      /* enum wr_error */
    pthread_t *threads;
};

/* Starts the workers; `l` must stay where it is until loader_finish(). */
int loader_start(struct ctx *c, struct loader *l);

/* Waits for the workers to empty the buffer, which must be closed or stopped. */
void loader_finish(struct loader *l);

/* A record that was not loaded. */
struct loader_reject {
    uint64_t line;
    const char *reason;
    bytes raw;                /* as it is written; only for `rejects` */
    struct resume_part *part; /* what it is settled with; NULL: nothing */
};

/* Writes a record that was not loaded into the file of rejects, or says so on stderr; past
 * errors_max that ends the load. Else it is left out, which settles it. Any thread. */
void loader_reject(struct loader *l, const struct loader_reject *reject);

/* The file cannot be read on: the load fails for that reason, once the rows that were read before
 * are sent. So what is loaded of a damaged file does not depend on who was faster. Any thread. */
void loader_end_early(struct loader *l, int code, const char *reason);

/* Ends the load. The first reason stays. Any thread. */
void loader_give_up(struct loader *l, int code, const char *reason);

#endif
