/* recompute.h: UPDATE t SET c = c * 2: values that are computed of the row as it is, and the
 * condition that it still is so when they are written. */
#ifndef SQL_RUN_RECOMPUTE_H
#define SQL_RUN_RECOMPUTE_H

#include "sql/run/table.h"

/* Does the expression name a column, or ask for one? */
bool recompute_is_needed(const struct expr *e);

/* The values of the statement's assignments, in their order and in the arena, of the row that its
 * WHERE names by the whole key; *unchanged: the columns that they name are as they were. *found
 * false: there is no such row. */
int recompute_row(struct run *r, const struct statement *s, const struct sql_table *t,
                  struct wr_value *values, struct wr_filter *unchanged, bool *found);

#endif
