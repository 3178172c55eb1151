/* index_observer.h: what keeps a table's secondary indexes: an observer of its rows' changes
 * (change_point.h) for each of them.
 *
 * A change brings the difference between the entries of the row before and after it into its own
 * batch, so where one batch may touch any keys an index is never behind. An update that names no
 * column of an index reads nothing for it; all other changes know their old row. What a row of
 * before had that no entry can hold has no entry; new values of that kind are refused. */
#ifndef TABLE_INDEX_INDEX_OBSERVER_H
#define TABLE_INDEX_INDEX_OBSERVER_H

#include "table/core/db.h"
#include "table/model/table.h"

/* wr_db.observe: gives a version of a table that nobody has seen yet an observer for each of its
 * indexes. Where a batch ends at a partition it is that of outbox_observer.h instead. */
void index_observe(struct wr_db *db, struct table *t);

#endif
