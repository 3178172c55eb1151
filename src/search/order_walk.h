/* order_walk.h: hits sorted by a number, read along the order in which a segment keeps its values:
 * as many are looked at as it takes until the page is full, instead of all that match. */
#ifndef SEARCH_ORDER_WALK_H
#define SEARCH_ORDER_WALK_H

#include "search/query/node.h"
#include "search/result/top.h"

struct order_walk {
    struct ctx *c;
    const struct view_segment *segment;
    const struct node *query, *filter; /* filter may be NULL */
    int64_t expired_ms;                /* documents whose stamp is below are not there */
    struct top *top;
};

/* Adds the segment's hits to `top`: all that could come in. False, and
 * nothing is added: the order is not by such a number, the query can't be asked about one document,
 * it would take longer than to look at all, or (*rc, as of parts_hold()) something can't be read.
 * Scores are not made. What the sorters go by is held where there are several; one goes by the
 * order alone, of which nothing needs to be. */
bool order_walk(const struct order_walk *w, int *rc);

#endif
