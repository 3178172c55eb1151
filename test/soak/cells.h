/* cells.h: what the rows of the soak hold.
 *
 * A row is made of groups of columns. All cells of a group come from one write and follow from its
 * tag, a number that is never used twice, so that a group which is not wholly of one write is torn,
 * and the model need only keep the tags. */
#ifndef SOAK_CELLS_H
#define SOAK_CELLS_H

#include "base/ctx.h"
#include "widerow.h"

#define GROUPS_MAX 6

enum table { TABLE_SMALL, TABLE_WIDE, TABLE_BLOB, TABLES };

struct table_info {
    const char *name;
    int ids;        /* rows of an owner */
    int bucket_ids; /* rows with one partition key */
    int groups;     /* the first two are written by a put */
    int cells_max;  /* of one change */
};

extern const struct table_info tables[TABLES];

/* All zero: there is no such row. */
struct state {
    uint64_t tags[GROUPS_MAX]; /* 0: the group is not there */
    int64_t n;                 /* a counter of its own */
    bool has_n;
};

static inline bool state_equal(const struct state *x, const struct state *y)
{
    for (int g = 0; g < GROUPS_MAX; g++)
        if (x->tags[g] != y->tags[g])
            return false;
    return x->has_n == y->has_n && (!x->has_n || x->n == y->n);
}

static inline bool state_present(const struct state *s)
{
    bool any = s->has_n;

    for (int g = 0; g < GROUPS_MAX; g++)
        any = any || s->tags[g];
    return any;
}

/* The cells of one group of a row, in the arena; at most tables[table].cells_max. `seed` is of the
 * row and the table: the names follow from it alone, so that each write of the group replaces all
 * of the one before. Returns how many. */
int cells_of_group(struct arena *a, enum table table, int group, int64_t bucket, int64_t id,
                   uint64_t tag, struct wr_cell *out);

/* All cells of a row in the order of their names; *count of them. */
struct wr_cell *cells_of_row(struct arena *a, enum table table, int64_t bucket, int64_t id,
                             const struct state *s, size_t *count);

/* Reads a row's state off its cells. False, with a reason, if it is torn or holds anything foreign.
 */
bool state_read(struct arena *a, enum table table, const struct wr_row *row, struct state *out,
                const char **why);

const char *cells_show(struct arena *a, const struct state *s);

struct wr_value cells_integer(int64_t n);

#endif
