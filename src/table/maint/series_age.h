/* series_age.h: periods of series age: a task makes them read-only, and drops them, by the numbers
 * of hot and warm periods that the series was given (wr_series_spec).
 *
 * It goes by the time at which rows expire (clock_watch_removal_ms()): a wall clock that jumps
 * ahead makes nothing old, and one that steps back makes nothing young again, as what was reached
 * stands in the description. */
#ifndef TABLE_MAINT_SERIES_AGE_H
#define TABLE_MAINT_SERIES_AGE_H

#include "table/core/db.h"

/* The task, from now on. False: the system gives no thread. */
bool series_age_start(struct wr_db *db);

/* Below which period number a series should take no writes, and below which it should have no
 * periods, at that time; PERIOD_NONE: all stay. What is to be in the archive first stays. Pure. */
void series_age_due(const struct schema_series *s, int64_t now_ms, int64_t *frozen, int64_t *gone);

/* One change that is due of some series. *more: there was one. The task's own, and for tests. */
int series_age_some(struct wr_db *db, bool *more);

#endif
