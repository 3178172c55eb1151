/* user_variable.h: variables of a session's own: SET @a = 1, SELECT @a. Names do not mind case.
 *
 * Used by the session's thread; what a session keeps so is bounded. */
#ifndef SQL_RUN_USER_VARIABLE_H
#define SQL_RUN_USER_VARIABLE_H

#include "sql/run/run.h"

/* user_variable_set.c: `name` with its @. Not 0: the value cannot be had, or is too much. */
int user_variable_set(struct run *r, bytes name, const struct expr *e);

/* The same for a value of the types that there are: NULL, BIGINT, DOUBLE, VARCHAR, VARBINARY. */
int user_variable_keep(struct run *r, bytes name, const struct wr_value *value);

/* NULL, where none was set. The value is the session's, until it is set again. */
void user_variable_get(const struct session *s, bytes name, struct wr_value *out);

void user_variables_forget(struct session *s);

#endif
