/* simulate.h: the sampled records replayed, window after window of their time, onto a table that is
 * split into partitions of equal size. */
#ifndef ADVISOR_SIMULATE_H
#define ADVISOR_SIMULATE_H

#include "advisor/layout_form.h"
#include "advisor/ranks.h"

#define SIMULATE_PARTITIONS_MAX 64
#define SIMULATE_WINDOWS 64
#define SIMULATE_WINDOW_MIN 64 /* sampled records a window, at least */
#define SIMULATE_PARTS_MAX 3

struct simulation {
    uint32_t partitions, windows;
    uint32_t filled;     /* partitions that hold any record */
    double peak_to_mean; /* the busiest partition's load by the mean load: the windows' average */
    double worst;        /* of the worst window */
    double wasted;       /* the share of the reserved capacity that stays unused, if every partition
                            gets what the busiest one needs: 1 - 1 / peak_to_mean */
    double span;         /* of the key range, that the middle 80 % of a window's writes take */
    double rise;         /* -1 to 1: correlation of time and place in the key range */
    double largest;      /* share of the records with the most frequent partition key */
    uint32_t largest_seen; /* sampled records with it */
    uint32_t different;    /* partition keys among the sampled records */
    uint64_t largest_key;  /* for simulate_left() */
    /* Loads by window and partition, each window's sum 1. */
    float load[SIMULATE_WINDOWS][SIMULATE_PARTITIONS_MAX];
};

/* The partition key is the tuple of `columns` (up to SIMULATE_PARTS_MAX). */
void simulate(const struct ranks *r, const size_t *columns, size_t count, struct layout_form layout,
              uint32_t partitions, struct simulation *out);

/* Of the sampled records with the most frequent tuple of `columns`, the largest share that still
 * stands together when one more column joins the key: 1 means that it divides nothing. *seen:
 * records judged by. */
double simulate_left(const struct ranks *r, const size_t *columns, size_t count, size_t more,
                     uint32_t *seen);

#endif
