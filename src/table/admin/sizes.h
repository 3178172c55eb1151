/* sizes.h: the size watch: which partition key values are large.
 *
 * A task in the background walks every table in the order of its keys, at a set pace, and adds up
 * what is stored under each partition key value. What it finds is exact for all that was not
 * written during the walk. Between walks the traffic of the largest values is counted (sampler.h).
 *
 * The results are not stored: after a start a first pass has to end. */
#ifndef TABLE_ADMIN_SIZES_H
#define TABLE_ADMIN_SIZES_H

#include "widerow.h"

struct size_watch;

/* NULL: the system gives no thread. */
struct size_watch *size_watch_start(struct wr_db *db);
void size_watch_free(struct size_watch *w); /* after the scheduler was stopped; NULL is allowed */

#endif
