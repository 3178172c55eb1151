/* invariant.h: what must hold whatever comes from outside, checked in every build.
 *
 * A condition that does not hold is a fault of this program, after which nothing in memory can be
 * trusted: going on might store the fault. So the process ends, and the next start goes on from
 * what is stored, as after a crash. What a client, a file or another server can bring about is no
 * matter for an invariant: it is answered with an error.
 *
 * invariant() is for conditions of a few instructions. assert() is for those that cost more; a
 * build with -DNDEBUG leaves them out. Neither condition may change anything. */
#ifndef BASE_INVARIANT_H
#define BASE_INVARIANT_H

#include "base/port.h"

#include <assert.h>

#define invariant(condition)                                                                       \
    (PORT_LIKELY(condition) ? (void)0 : invariant_failed(__FILE__, __LINE__, #condition))

/* Writes file, line and condition to stderr, and ends the process with SIGABRT. */
PORT_NORETURN void invariant_failed(const char *file, int line, const char *condition);

#endif
