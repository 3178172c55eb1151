/* get_each.h: many gets on an engine that has no call for them: one after the other. */
#ifndef ENGINE_GET_EACH_H
#define ENGINE_GET_EACH_H

#include "engine/engine.h"

/* As engine_get_many(); m->engine and m->c are set, m->at is the first that is not answered. */
int get_each(struct get_many *m);

#endif
