/* heat.h: one table's heat map: what was read and written when, and where in the key space.
 *
 * Keys are stored keys without table and kind: the bucket byte, then the key columns; they may have
 * been cut. The map is made of buckets, ranges of such keys, which follow the traffic. The last 24
 * hours are kept in steps of one minute, or of more where memory is short.
 *
 * Not for threads: the owner (sampler.c) locks. */
#ifndef TABLE_STATS_HEAT_H
#define TABLE_STATS_HEAT_H

#include "base/buf.h"
#include "widerow.h"

#define HEAT_MINUTES (24 * 60)
#define HEAT_BUCKETS_MAX 1536 /* of one table, at most */
#define HEAT_BUCKETS_MIN 16

/* What is counted: by enum wr_heat_metric. */
struct heat_figures {
    uint64_t n[WR_HEAT_METRICS];
};

struct heat;

/* `parts`: buckets of the table's key layout, which are never joined. */
struct heat *heat_new(unsigned ranges, size_t buckets_max, uint64_t seed);
void heat_free(struct heat *h); /* NULL is allowed */

/* Counts something at a key. */
void heat_add(struct heat *h, bytes key, const struct heat_figures *f);

/* Splits the buckets that take more than their share. For every second or so. */
void heat_adapt(struct heat *h);

/* What was counted since the last call becomes the step of `minute` (since 1970); steps that are
 * too old go, and cold buckets are joined if there are too many. */
void heat_step(struct heat *h, int64_t minute);

/* From now on no more buckets than this. */
void heat_set_max(struct heat *h, size_t buckets_max);

/* Makes the history smaller by making its oldest steps coarser, or by forgetting the oldest. False:
 * there is none left. */
bool heat_fold(struct heat *h);

size_t heat_bytes(const struct heat *h); /* of memory */
size_t heat_buckets(const struct heat *h);
size_t heat_steps(const struct heat *h);

/* What was counted in the `minutes` up to and with `minute`, for heat_take(), behind what b has.
 * Where that takes more than bytes_max, older minutes become coarser first. */
void heat_export(const struct heat *h, struct buf *b, int64_t minute, int minutes,
                 size_t bytes_max);

/* Adds what another map has given. False: it is not that; nothing was added. */
bool heat_take(struct heat *h, bytes exported);

/* The map of the `minutes` up to and with `minute`, as a grid. */
struct heat_query {
    int64_t minute;
    int minutes;      /* 1 to HEAT_MINUTES */
    size_t step;      /* minutes of a column */
    size_t rows;      /* about as many: fewer if the map has fewer ranges to tell apart */
    uint32_t metrics; /* bits 1 << enum wr_heat_metric */
};

struct heat_grid {
    int64_t minute; /* the first one */
    size_t columns, rows;
    bytes *starts;                     /* of each row: its first key; the first one is empty */
    uint64_t *values[WR_HEAT_METRICS]; /* NULL: not asked for. Else [row * columns + column] */
};

/* Everything in the arena. Sums are kept: what was counted in a range or a time that is coarser
 * than the grid's is spread evenly over what of the grid it covers. */
void heat_report(const struct heat *h, struct arena *a, const struct heat_query *query,
                 struct heat_grid *out);

#endif
