/* index_local.h: reads of local indexes where entries follow by outbox records (decision 35).
 *
 * A local index is never behind its table. Its first key column is the table's, so before a read of
 * it begins, the records of the table's rows with the values that it reads are drained. Where
 * nothing was written lately that is one read of a range that is empty. */
#ifndef TABLE_MAINT_INDEX_LOCAL_H
#define TABLE_MAINT_INDEX_LOCAL_H

#include "table/core/call.h"

/* A thread that drains for reads, one after the other. */
struct local_indexes;

/* NULL: the system gives no thread, or (*needed false) none is needed. */
struct local_indexes *local_indexes_start(struct wr_db *db, bool *needed);
void local_indexes_stop(struct local_indexes *all); /* no request is under way; NULL is allowed */

/* The request reads a local index. True: run(call) goes on on a worker when what it may read is
 * there, unless that fails. Once a call. Any thread; it does not block. */
bool local_index_waits(struct local_indexes *all, struct call *call, void (*run)(void *arg));

#endif
