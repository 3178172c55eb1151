/* change.h: a row change as it was asked for, before anything stored is looked at.
 *
 * Rules: doc/data-model.md, "Versions", "Writes". Nothing here blocks. */
#ifndef TABLE_MODEL_CHANGE_H
#define TABLE_MODEL_CHANGE_H

#include "base/limit.h"
#include "table/model/table.h"

#define STAMP_MS_MAX (INT64_MAX / 1000 - 1) /* of a cell */

/* Checks that need no table; in a batch their failure fails the whole request. `many` is true
 * inside batches: the size of one row is then not bounded by itself. */
int change_check_alone(struct ctx *c, const struct limits *limits,
                       const struct wr_row_change *change, bool many);

/* What change_check_alone() could not say without the table: its own limit on cells, and what
 * follows from it. `limits` are the server's. */
int change_check_table(struct ctx *c, const struct limits *limits, const struct table *table,
                       const struct wr_row_change *change, bool many);

/* Of a table with indexes: an entry is made of the newest cells, so clients give no timestamps. */
int change_check_indexed(struct ctx *c, const struct wr_row_change *change);

#endif
