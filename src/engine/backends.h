/* backends.h: the engines there are. Only engine.c includes this. */
#ifndef ENGINE_BACKENDS_H
#define ENGINE_BACKENDS_H

#include "engine/engine.h"

extern const struct engine_ops engine_mem;
extern const struct engine_ops engine_rocks;

/* Weak: NULL in a program that is not linked with it, which spares all but the server, and systems
 * without its library, what that brings along. */
#define ENGINE_MAYBE "rados"
extern const struct engine_ops engine_rados __attribute__((weak));

#endif
