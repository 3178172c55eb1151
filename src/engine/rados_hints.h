/* rados_hints.h: about every HINT_STEP-th key of partitions that were listed from end to end, so
 * that a backward page can begin a forward listing near its end.
 *
 * Hints are only that: keys may have come and gone since, and a scan is right with any of them or
 * none. All keys are in stored form (rados_omap.h). Any thread may call. */
#ifndef ENGINE_RADOS_HINTS_H
#define ENGINE_RADOS_HINTS_H

#include "engine/engine.h"

#define HINT_STEP 16

struct rados_hints;

/* `bytes_max` of memory; the partitions unused longest are forgotten first. */
struct rados_hints *rados_hints_new(size_t bytes_max);
void rados_hints_free(struct rados_hints *h); /* NULL is allowed */

/* A hint with at least `want` keys from it to `stop` (empty: the end of the map) when it was
 * noted, in `a` with a NUL behind it; `floor` if there is none above it. */
bytes rados_hints_before(struct rados_hints *h, struct arena *a, partition_id id, bytes floor,
                         bytes stop, size_t want);

/* `keys`, ascending, are every HINT_STEP-th key that was found above `after` and below `stop`. */
void rados_hints_replace(struct rados_hints *h, partition_id id, bytes after, bytes stop,
                         const bytes *keys, size_t count);

void rados_hints_forget(struct rados_hints *h, partition_id id);

#endif
