/* replay.h: the same rows written, one request each, to several tables that differ in their layout
 * alone, side by side. */
#ifndef CLI_TRANSFER_REPLAY_H
#define CLI_TRANSFER_REPLAY_H

#include "bench/bench_hist.h"
#include "cli/console/progress.h"
#include "cli/transfer/plan.h"
#include "cli/transfer/shuffle_buffer.h"
#include "client/client.h"

#include <stdio.h>

#define REPLAY_SIDES_MAX 8
#define REPLAY_PARTITIONS_MAX 1024

/* One partition's work when it was last looked at. */
struct replay_partition {
    uint64_t id;
    uint64_t units; /* asked of it: capacity units, refused accesses counted as one */
};

/* One layout. */
struct replay_side {
    const char *layout;
    bytes table;
    /* Of all workers; under the replay's mutex. */
    struct bench_hist writes, reads; /* latency of what was answered well */
    uint64_t refused, failed;        /* requests */
    uint64_t units;                  /* capacity units, as answers count them */
    /* Of the partitions; the thread that feeds. */
    struct replay_partition seen[REPLAY_PARTITIONS_MAX];
    size_t partition_count;
    size_t touched;      /* partitions that were asked for anything */
    double peak_to_mean; /* of the windows between looks, added up */
    double windows;
    uint64_t wasted; /* reserved and not used, as the server counts it */
};

struct replay {
    /* Set by the caller. */
    struct target *target;
    struct clock *clock;
    const struct plan *plan;
    struct shuffle_buffer *window;
    struct progress *progress;
    struct replay_side *sides;
    size_t side_count;
    size_t worker_count;
    unsigned read_percent; /* of the rows, that are read again once written */
    /* Shared. */
    pthread_mutex_t mutex; /* over the sides' sums, and `failure` */
    pthread_t *threads;
    atomic_bool stopped;
    char failure[256]; /* why the replay was given up; "": it was not */
};

int replay_start(struct ctx *c, struct replay *r);

/* Waits for the workers to empty the buffer, which must be closed. */
void replay_finish(struct replay *r);

/* Looks at what every side's partitions have done since the last look. `first`: only remembers. */
int replay_look(struct ctx *c, struct client *cl, struct replay *r, bool first);

void replay_print_text(const struct replay *r, FILE *out);
void replay_print_json(const struct replay *r, FILE *out);

#endif
