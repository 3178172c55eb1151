/* late.h: is the time of a request over? */
#ifndef BASE_LATE_H
#define BASE_LATE_H

#include "base/ctx.h"

static inline bool ctx_late(const struct ctx *c)
{
    return c->deadline_ms && clock_mono_ms(c->clock) > c->deadline_ms;
}

#endif
