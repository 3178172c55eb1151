/* sweep.h: the database's own threads: one for jobs that may block, two for news of other
 * processes, one for the removal of what nobody can see any more: dropped tables, detached data
 * without a row, rows past their TTL.
 *
 * Nothing that a client sees depends on when any of this runs. */
#ifndef TABLE_MAINT_SWEEP_H
#define TABLE_MAINT_SWEEP_H

#include "base/workers.h"
#include "widerow.h"

struct sweeper;

/* NULL: the system gives no threads. */
struct sweeper *sweeper_start(struct wr_db *db);

/* Runs the jobs that are queued, and stops. NULL is allowed. */
void sweeper_stop(struct sweeper *s);

/* Runs it on the thread for jobs, in turn, where engine calls may block. */
void sweeper_submit(struct sweeper *s, struct job *job);

/* The same on one of the threads for news, in no order, where there are others that tell some: they
 * wait for it, so it is for what ends soon. */
void sweeper_hear(struct sweeper *s, struct job *job);

/* One round of removals, on the caller's thread; the sweeper's own does one every few seconds. */
void sweep_run(struct wr_db *db);

#endif
