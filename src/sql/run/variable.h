/* variable.h: the system variables that drivers ask for when they begin. None can be changed, but
 * autocommit (transaction.h). */
#ifndef SQL_RUN_VARIABLE_H
#define SQL_RUN_VARIABLE_H

#include "sql/run/session.h"

/* `name` may begin with session. or global. */
bool variable_find(const struct session *s, bytes name, bytes *value);

/* The i-th; false: there are fewer. */
bool variable_at(const struct session *s, size_t i, bytes *name, bytes *value);

#endif
