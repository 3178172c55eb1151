/* content.h: what the rows of the kill test hold, and how a torn one shows.
 *
 * A row has two groups of three columns, and a counter `n`. All columns of a group come from one
 * write and are computed from its tag, a number that is never used twice. So a row tells by itself
 * which writes it is made of, and a group that is not wholly of one write is torn. */
#ifndef CRASH_CONTENT_H
#define CRASH_CONTENT_H

#include "base/ctx.h"
#include "widerow.h"

/* All zero: there is no such row. */
struct state {
    uint64_t a, b; /* tags; 0: the group is not there */
    int64_t n;
    bool has_n;
};

#define CONTENT_CELLS_MAX 7
#define CONTENT_GROUP_CELLS 3

static inline bool state_equal(const struct state *x, const struct state *y)
{
    return x->a == y->a && x->b == y->b && x->has_n == y->has_n && (!x->has_n || x->n == y->n);
}

static inline bool state_present(const struct state *s)
{
    return s->a || s->b || s->has_n;
}

/* The columns of one group ('a' or 'b') of row (owner, id), in the arena. */
void content_group(struct arena *arena, char group, uint64_t tag, int64_t owner, int64_t id,
                   struct wr_cell cells[CONTENT_GROUP_CELLS]);

/* Reads a row's cells. False, with a reason, if the row is torn or holds anything foreign. */
bool content_read(struct arena *arena, const struct wr_row *row, int64_t owner, int64_t id,
                  struct state *out, const char **why);

/* "a=12 b=13 n=4" or "no row". */
const char *content_show(struct arena *arena, const struct state *s);

#endif
