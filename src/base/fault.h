/* fault.h: named fault points. Compiled out unless WR_FAULTS is defined.
 *
 * A place that may fail in the field asks `if (fault_hit(FAULT_commit_before_sync))` and behaves as
 * if the error had happened when the answer is true. What happens is set from outside, by the
 * environment variable WR_FAULT or by fault_arm(), as a list parted by commas:
 *
 *     name:crash:N    the Nth pass ends the process at once (abort), as a kill would
 *     name:stop:N     the Nth pass stops the process (SIGSTOP) until somebody lets it go on
 *     name:error:N    the Nth pass answers true
 *     name:error:N+   the Nth pass and all later ones answer true
 *
 * The registry is one per process, which the house forbids elsewhere: it exists in test builds
 * only. Any thread may call fault_hit(). */
#ifndef BASE_FAULT_H
#define BASE_FAULT_H

#include <stdbool.h>

enum fault {
#define FAULT(name) FAULT_##name,
#include "base/fault.def"
#undef FAULT
    FAULT_COUNT,
};

#ifdef WR_FAULTS

bool fault_hit(enum fault f);

/* Replaces what is armed; NULL or "" disarms all and sets the counts of passes to zero. False, with
 * nothing changed, if the list names an unknown point or cannot be read. */
bool fault_arm(const char *list);

/* How often a point was passed since it was last armed or disarmed. */
unsigned fault_passes(enum fault f);

#else
#define fault_hit(f) ((void)(f), false)
#endif

#endif
