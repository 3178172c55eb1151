/* sweep.h: the task that removes what nobody can see any more: dropped tables, data out of line
 * without a row, rows past their TTL.
 *
 * Nothing that a client sees depends on when any of this runs. */
#ifndef TABLE_MAINT_SWEEP_H
#define TABLE_MAINT_SWEEP_H

#include "widerow.h"

struct sweeper;

/* NULL: the system gives no thread. */
struct sweeper *sweeper_start(struct wr_db *db);

/* After the scheduler was stopped. NULL is allowed. */
void sweeper_free(struct sweeper *s);

/* One round of removals, on the caller's thread; the task does one every few seconds. */
void sweep_run(struct wr_db *db);

/* Goes on with the task's round for about so many microseconds, but for one record at least. True:
 * the round has ended. */
bool sweep_some(struct wr_db *db, int64_t us);

#endif
