/* aggregate.h: COUNT, MIN, MAX and SUM over a range of a table's key, page by page, without SQLite:
 * nothing of a row is kept but what they are at. */
#ifndef SQL_RUN_AGGREGATE_H
#define SQL_RUN_AGGREGATE_H

#include "sql/run/run.h"

/* Answers the SELECT if it is nothing but that: one table, no WHERE or one that is equalities of
 * the first key columns and bounds of the next with constants, nothing grouped or sorted. *served
 * tells. Other than 0: the fault is said. */
int run_aggregate(struct run *r, const struct select *s, bool *served);

#endif
