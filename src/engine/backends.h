/* backends.h: the engines there are. Only engine.c includes this. */
#ifndef ENGINE_BACKENDS_H
#define ENGINE_BACKENDS_H

#include "engine/engine.h"

extern const struct engine_ops engine_mem;
extern const struct engine_ops engine_rocks;

#endif
