/* stream_retention.h: how long the records of a stream are kept.
 *
 * A record's number is its time. Readers see none that is older than the stream keeps them; those
 * are removed by a task, an hour of a shard at a time, by whole files; what is left of them in
 * files that have others, too, stays until it is a quarter of what the shard keeps. */
#ifndef TABLE_STREAM_STREAM_RETENTION_H
#define TABLE_STREAM_STREAM_RETENTION_H

#include "table/core/db.h"
#include "table/model/table.h"

#define STREAM_FROM_OLDEST 0 /* the number of an iterator that never expires */

/* The number from which on records can be seen now. */
uint64_t stream_oldest(struct wr_db *db, const struct schema *s);

/* A number for a reader who has found nothing from `number` on: the same; or, once half of the time
 * has passed that records are kept, one closer to now, above which all lies that he has not seen:
 * no write is under way for so long. */
uint64_t stream_refreshed(struct wr_db *db, const struct schema *s, uint64_t number);

/* The task. NULL: the system gives no thread for it. */
struct stream_retention *stream_retention_start(struct wr_db *db);
void stream_retention_free(struct stream_retention *r); /* after the scheduler was stopped; or NULL
                                                         */

/* Removes what has expired of one shard of some stream, up to the last full hour. *more: another
 * one may have some. The task's own, and for tests; one thread at a time. */
int stream_retention_some(struct stream_retention *r, bool *more);

#endif
