/* planted.h: a bug that tests plant, by a fault point (base/fault.h, whose names run.h has for
 * other things). */
#ifndef SQL_RUN_PLANTED_H
#define SQL_RUN_PLANTED_H

#include <stdbool.h>

/* An UPDATE that reads the row is to write it whatever others did in between: test/linear has to
 * find that. Never true but in test builds. */
bool planted_unguarded_update(void);

#endif
