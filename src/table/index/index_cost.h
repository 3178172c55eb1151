/* index_cost.h: what upkeep of indexes costs, in capacity units (doc/data-model.md, "Capacity").
 *
 * Reading, once a change: a new row that touches an index 1; an old one the size of its values in
 * the indexes' key columns, rounded up, at least 1; an update of other columns, a row whose key was
 * generated, or that was not there, nothing. Writing, for each index: the entry that comes, and the
 * key of the one that goes, each rounded up; nothing if the entry stays as it is. */
#ifndef TABLE_INDEX_INDEX_COST_H
#define TABLE_INDEX_INDEX_COST_H

#include "table/model/modify.h"

/* Adds it to *cost, for a change behind modify_run() whose table has indexes. In the arena of c. */
void index_cost(struct ctx *c, const struct modify *m, struct wr_capacity *cost);

#endif
