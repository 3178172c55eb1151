/* heat_own.h: what the files of a heat map share; for nobody else.
 *
 *   heat.c         buckets: they follow the traffic, split and are joined
 *   heat_step.c    history: steps, and making it smaller
 *   heat_report.c  what is drawn, and maps of several processes */
#ifndef TABLE_STATS_HEAT_OWN_H
#define TABLE_STATS_HEAT_OWN_H

#include "base/rng.h"
#include "table/stats/bound.h"
#include "table/stats/heat.h"

#define HEAT_KEY_BYTES 256 /* of a bound, more than any sample has */
#define HEAT_SAMPLES 3
#define HEAT_FLAG_NEXT 0x20
#define HEAT_FLAG_CU 0x40
#define HEAT_FLAG_STEP                                                                             \
    0x80 /* no cell, but the beginning of a step; only where maps are given away */

struct bucket {
    uint32_t start;
    uint32_t samples[HEAT_SAMPLES];
    uint32_t sampled; /* since the samples were begun */
    float score;      /* rows read, written and refused; halved with each step */
    bool top;         /* the last one of its part */
    uint64_t n[WR_HEAT_METRICS];
};

/* The highest key sampled in a range since the last step: the last bucket of a part has no end of
 * its own, and where keys only grow it is the one that counts. */
struct top {
    uint8_t len;
    uint8_t key[HEAT_KEY_BYTES - 1];
};

struct heat_cell {
    uint32_t begin, end;
    uint64_t n[WR_HEAT_METRICS];
};

struct step {
    int64_t minute;
    uint32_t minutes;
    uint32_t cells;
    uint32_t len;
    uint8_t *data;
};

struct heat {
    struct bounds bounds;
    struct bucket *buckets;
    uint64_t *numbers; /* of each start key the eight bytes behind the first `skip` */
    size_t skip;       /* bytes that all start keys but the first have in common */
    size_t count, room, max;
    struct top *tops; /* by part */
    unsigned ranges;
    struct heat_cell *early; /* of buckets that were split since the last step */
    size_t early_count, early_room;
    struct step *steps; /* oldest first */
    size_t step_count, step_room;
    size_t step_bytes;
    struct rng rng;
};

/* ---- buckets ---- */

/* The bound at which bucket i ends. */
uint32_t heat_end_of(const struct heat *h, size_t i);

/* Does a part of the layout, or the whole, start with bucket i? */
bool heat_is_fixed(const struct heat *h, size_t i);

/* Takes what bucket i has counted as a cell, with references. False: nothing. */
bool heat_take_cell(struct heat *h, size_t i, struct heat_cell *out);

/* Joins cold neighbours where there are too many buckets. */
void heat_join_cold(struct heat *h);

/* Gives back room that is no longer used. */
void heat_fit(struct heat *h);

bool heat_counted(const uint64_t n[WR_HEAT_METRICS]);

/* Bytes that both begin with. */
size_t heat_common(bytes a, bytes b);

/* ---- history ---- */

/* `follows`: it begins where the one before ended. */
void heat_put_cell(struct buf *b, const struct heat_cell *cell, bool follows);

/* `cell` is the one before, and then this one. */
void heat_read_cell(struct reader *r, struct heat_cell *cell);
struct reader heat_step_reader(const struct step *s);

/* A new step behind all, to be filled. */
struct step *heat_steps_add(struct heat *h);

/* Makes the step of these cells, whose references it takes over. */
void heat_step_make(struct heat *h, struct step *s, const struct heat_cell *cells, size_t n);

/* Gives back what it holds; it stays in its place. */
void heat_step_forget(struct heat *h, struct step *s);

uint64_t heat_cell_traffic(const struct heat_cell *cell);

#endif
