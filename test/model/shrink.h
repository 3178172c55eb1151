/* shrink.h: the fewest of a run's requests that still show a difference. */
#ifndef MODEL_SHRINK_H
#define MODEL_SHRINK_H

#include "run.h"

/* Leaves out requests as long as a fresh database still differs, for at most `budget_s` seconds.
 * `requests` (in order, the last one failed) is cut in place; the new count is returned, 0 if the
 * difference does not show again at all. Reopening is not tried. */
size_t shrink(const struct run_conf *conf, const struct wr_request **requests, size_t count,
              int budget_s);

#endif
