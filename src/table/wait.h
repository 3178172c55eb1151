/* wait.h: engine calls that wait for their answer, for start-up and the sweeper's own thread. Never
 * called from a thread that serves requests. */
#ifndef TABLE_WAIT_H
#define TABLE_WAIT_H

#include "base/waiter.h"
#include "table/load.h"

int wait_get(struct ctx *c, struct engine *e, struct get *g);
int wait_scan(struct ctx *c, struct engine *e, struct scan *s);
int wait_load(struct load *l); /* l->done is its own */
int wait_apply(struct ctx *c, struct engine *e, const struct batch *b);

#endif
