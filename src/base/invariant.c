#include "base/invariant.h"

#include <stdio.h>
#include <stdlib.h>

__attribute__((cold)) void invariant_failed(const char *file, int line, const char *condition)
{
    fprintf(stderr,
            "widerow: %s:%d: '%s' does not hold. This is a fault of the program; report it "
            "with this line.\n",
            file, line, condition);
    abort();
}
