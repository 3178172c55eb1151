/* variable.h: the system variables that drivers ask for when they begin. None can be changed. */
#ifndef SQL_RUN_VARIABLE_H
#define SQL_RUN_VARIABLE_H

#include "base/bytes.h"

/* `name` may begin with session. or global. */
bool variable_find(bytes name, bytes *value);

/* The i-th; false: there are fewer. */
bool variable_at(size_t i, bytes *name, bytes *value);

#endif
