/* cost.h: what a request may cost, by its form alone: where it should begin. */
#ifndef TABLE_MODEL_COST_H
#define TABLE_MODEL_COST_H

#include "widerow.h"

enum cost {
    COST_LITTLE, /* one row: on the thread that brought it */
    COST_SOME,   /* several rows: there as well, for clients that do not take too much of it */
    COST_MUCH,   /* a regular expression, a long walk: on a worker (base/pool.h) from the start */
};

enum cost cost_of(const struct wr_request *req);

#endif
