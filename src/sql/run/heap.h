/* heap.h: what SQLite holds for the statements of all sessions together, for the process.
 *
 * It is bounded, and the last quarter of it is for statements that hold little: who holds more than
 * HEAP_SMALL_BYTES gets nothing of it, whoever took the rest. A statement runs on one thread, with
 * an SQLite connection that lives and dies there, so its share is what its thread has taken. */
#ifndef SQL_RUN_HEAP_H
#define SQL_RUN_HEAP_H

#include <stdbool.h>
#include <stdint.h>

#define HEAP_SMALL_BYTES (384 << 10) /* a connection and a simple SELECT take half of it */

/* Bounds it from now on. The first call must come before SQLite is used, or the last quarter is as
 * the rest. */
void heap_bound(int64_t max);

/* More than half of it is taken. Any thread. */
bool heap_is_short(void);

#endif
