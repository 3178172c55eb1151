/* series_archive.h: frozen periods of series go to the archive that their series names: a task
 * finds the oldest that is not there, has the program's function write it (wr_archive_with()), and
 * then says in the series' description that it is there, which is what a drop waits for.
 *
 * A period is handed over when no request holds a description of its table by which it takes
 * writes: from then on only rows that expire change what it has. Killed at any moment, the period
 * is written once more from its beginning, or is known to be there. Series of which one fails do
 * not keep the others waiting. */
#ifndef TABLE_MAINT_SERIES_ARCHIVE_H
#define TABLE_MAINT_SERIES_ARCHIVE_H

#include "table/core/db.h"

struct series_archiver;

/* The task, from now on. NULL: the system gives no thread. */
struct series_archiver *series_archive_start(struct wr_db *db);
/* The scheduler was stopped. NULL is allowed. */
void series_archive_free(struct series_archiver *a);

/* What is being done for the series of that id, or why it fails; empty: nothing. In the arena. Any
 * thread. */
bytes series_archive_state(struct series_archiver *a, struct arena *arena, uint32_t series);

#endif
