/* index_plan.h: what a secondary index would cost and how it would spread, told from the rows that
 * there are, before it is made.
 *
 * Memory is bounded whatever the number of rows. One thread. */
#ifndef ADVISOR_INDEX_PLAN_H
#define ADVISOR_INDEX_PLAN_H

#include "advisor/sketch.h"
#include "base/rng.h"
#include "widerow.h"

#define INDEX_PLAN_COLUMNS_MAX 64
#define INDEX_PLAN_SAMPLE_MAX 4096
#define INDEX_PLAN_ORDER_BYTES 24

/* Columns come in this order: those that the index is to be on, those of the table's key that
 * complete its key, those that it is to cover. */
struct index_plan_columns {
    bytes names[INDEX_PLAN_COLUMNS_MAX];
    size_t on, completed, covered;
};

static inline size_t index_plan_column_count(const struct index_plan_columns *c)
{
    return c->on + c->completed + c->covered;
}

/* The first column of an entry, so that memcmp() has the order of values, and when its row was
 * written. */
struct index_plan_moment {
    int64_t written;
    uint8_t value[INDEX_PLAN_ORDER_BYTES]; /* longer texts are cut */
};

struct index_plan {
    struct index_plan_columns columns;
    size_t cell_bytes; /* what a covered cell counts besides its name and value: 8, or 0 */
    uint64_t rows, entries;
    uint64_t entry_bytes; /* of all entries, names and values */
    size_t entry_bytes_max;
    uint64_t put_units;    /* of writing, of all entries as they come */
    uint64_t remove_units; /* of all as they go */
    uint64_t look_units;   /* of reading, of all when they change */
    struct sketch_distinct distinct;
    struct sketch_weights weights; /* the first column's values, an entry each */
    struct rng rng;
    struct index_plan_moment sample[INDEX_PLAN_SAMPLE_MAX];
    size_t sampled;
};

/* `p` is zero but for its columns and cell_bytes. */
void index_plan_init(struct index_plan *p);

/* A row: a value for each column, WR_NULL for one that it lacks. `is_cell[i]`: it is no column of
 * the table's key. `written` grows with time. */
void index_plan_add(struct index_plan *p, const struct wr_value *values, const bool *is_cell,
                    int64_t written);

/* How often, of neighbours in the order of writing, the later one has the higher value: 0 to 1, 0.5
 * for values that have nothing to do with time; below 0: it cannot be told. */
double index_plan_rising(struct index_plan *p);

/* The hottest value of the first column; its share of all entries, 0 to 1. After all were added. */
double index_plan_hottest(struct index_plan *p, bytes *text);

#endif
