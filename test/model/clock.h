/* clock.h: the wall clock of this program, the database in it included, which a run may set. */
#ifndef MODEL_CLOCK_H
#define MODEL_CLOCK_H

#include <stdint.h>

/* Sets it somewhere within 50 minutes of the true time, forth or back; the same `n` sets the same.
 */
void model_clock_set(uint64_t n);
/* Sets it so far ahead, or behind (below 0). */
void model_clock_shift(int64_t ms);
/* As it is. */
void model_clock_true(void);

#endif
