/* outbox_observer.h: what keeps a table's indexes where a batch ends at a partition: an observer of
 * its rows' changes that writes the row's outbox record (outbox.h) in the row's own batch.
 *
 * The record is read together with the row (load.with_outbox), and the batch is guarded by it as it
 * was read. Who drains may change it at any time: the change is then decided anew. Of several
 * changes of a row in one batch the record tells the way from the row as it was stored to what the
 * last of them made. Whoever applies the batch puts the record into
 * the queue of those that are to be drained (outbox_queue.h) once it is durable, if
 * row_beside.recorded says so. */
#ifndef TABLE_INDEX_OUTBOX_OBSERVER_H
#define TABLE_INDEX_OUTBOX_OBSERVER_H

#include "table/model/change_point.h"

/* Gives a version of a table with indexes, which nobody has seen yet, its observer. */
void outbox_observe(struct table *t);

/* The row's outbox record was read; `stored` as load.outbox has it, and it stays until the change
 * is durable. The change is stamped above what the record knows. E_CORRUPT, E_FORMAT. */
int outbox_take(struct ctx *c, struct modify *m, bytes stored);

#endif
