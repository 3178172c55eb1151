/* stream_observer.h: what keeps the records of a table's stream: an observer of its rows' changes
 * (change_point.h).
 *
 * A record stands in the batch of its change, and the engine numbers it when that is appended: so
 * it is there when the write is acknowledged, and the order of records is the order in which the
 * changes become visible. Puts and deletes that were blind stay blind, unless the stream asks for
 * the values of before. A row that expires leaves no record. */
#ifndef TABLE_STREAM_STREAM_OBSERVER_H
#define TABLE_STREAM_STREAM_OBSERVER_H

#include "table/core/db.h"
#include "table/model/change_point.h"
#include "table/model/table.h"

/* Gives a version of a table that nobody has seen yet an observer, if its stream keeps records. */
void stream_observe(struct wr_db *db, struct table *t);

/* The same with another function that records the change, whatever the database keeps. */
void stream_observe_by(struct table *t,
                       void (*record)(const struct row_observer *o, const struct row_change *change,
                                      struct batch_builder *e));

#endif
