/* warm.h: a task that, after a start, reads back what was read often before it, so that a cold
 * cache does not halve service; and that has the engine remember now and then what is read now.
 *
 * Setting: warm_bytes_per_s_max (0: nothing is read back, and it is remembered all the same). It
 * gives way at the first read of a client that has to go to the disk. */
#ifndef TABLE_MAINT_WARM_H
#define TABLE_MAINT_WARM_H

#include "widerow.h"

struct warmer;

/* NULL: the engine keeps no files, or the system gives no thread. */
struct warmer *warmer_start(struct wr_db *db);

/* After the scheduler was stopped. NULL is allowed. */
void warmer_free(struct warmer *w);

#endif
