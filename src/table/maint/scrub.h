/* scrub.h: a task that reads everything stored, again and again at a set pace, and verifies it
 * against its checksums, so that what rots is found while there is a backup to go back to.
 *
 * Settings: scrub_bytes_per_s_max (0: no scrub) and scrub_pass_s_min. Damage is a log line of level
 * E, and counted; so is what the engine comes upon otherwise, at once and with any setting. */
#ifndef TABLE_MAINT_SCRUB_H
#define TABLE_MAINT_SCRUB_H

#include "widerow.h"

#include <stdint.h>

struct scrubber;

/* NULL if the engine keeps no files. */
struct scrubber *scrubber_start(struct wr_db *db);

/* After the scheduler was stopped. NULL is allowed. */
void scrubber_free(struct scrubber *s);

/* Fills in the members of `out` that begin with scrub. NULL is allowed: all zero. */
void scrubber_stat(struct scrubber *s, struct wr_status *out);

#endif
