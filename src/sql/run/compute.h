/* compute.h: the value of an expression without a table. */
#ifndef SQL_RUN_COMPUTE_H
#define SQL_RUN_COMPUTE_H

#include "sql/run/run.h"

/* Constants are taken as they stand, anything else is computed by SQLite. The value is in the
 * arena.
 */
int compute_value(struct run *r, const struct expr *e, struct wr_value *out);

#endif
