/* check.h: is there an order of these operations, each at one moment between its call and its
 * answer, that explains all their answers? */
#ifndef LINEAR_CHECK_H
#define LINEAR_CHECK_H

#include "model.h"

#define SLOT_WORDS 4
#define SLOTS_MAX (64 * SLOT_WORDS) /* operations under way at one moment, in one group */

/* A point that a search has reached: the state, and which of the operations under way have already
 * happened. */
struct config {
    struct state state;
    uint64_t happened[SLOT_WORDS];
};

enum verdict {
    LINEARIZABLE,
    VIOLATION,
    UNDECIDED, /* out of budget, or more than SLOTS_MAX under way */
};

struct result {
    enum verdict verdict;
    size_t configs; /* looked at */
};

/* The operations of one group, in any order; NOTHING is not among them. */
void check_history(const struct op *ops, size_t count, struct result *out);

/* Prints a short history that cannot be explained, made from one that cannot: cut to one row if
 * that row alone shows it, to the first answer that makes it impossible, cut off at a moment when
 * nothing was under way (with all the states that could be reached by then), without the reads that
 * do not matter. */
void check_explain(const struct op *ops, size_t count);

#endif
