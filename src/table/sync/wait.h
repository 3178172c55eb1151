/* wait.h: engine calls that wait for their answer, for start-up and threads that may block. Never
 * called from one that serves requests. */
#ifndef TABLE_SYNC_WAIT_H
#define TABLE_SYNC_WAIT_H

#include "base/waiter.h"
#include "engine/engine.h"

int wait_get(struct ctx *c, struct engine *e, struct get *g);
int wait_scan(struct ctx *c, struct engine *e, struct scan *s);
int wait_apply(struct ctx *c, struct engine *e, const struct write_batch *b);
/* Gets each of its partition, all under way at the same time; their values come into c. Each has a
 * code of its own. */
void wait_get_many(struct ctx *c, struct engine *e, struct get *gets, size_t count);
/* Batches, likewise; batches[i] ends with codes[i]. */
void wait_apply_many(struct ctx *c, struct engine *e, const struct write_batch *batches,
                     size_t count, int *codes);

/* The same around another way to ask than the engine's own, on the stack of who waits: begin gives
 * what is asked, end takes what was said to that (E_LATER: it sleeps), fills in *g and gives its
 * code. */
struct wait_get {
    struct get get;
    struct waiter w;
};
struct get *wait_get_begin(struct wait_get *wg, const struct get *g);
int wait_get_end(struct wait_get *wg, struct get *g, int code);

struct wait_scan {
    struct scan scan;
    struct waiter w;
};
struct scan *wait_scan_begin(struct wait_scan *ws, const struct scan *s);
int wait_scan_end(struct wait_scan *ws, struct scan *s, int code);

#endif
