/* wait.h: engine calls that wait for their answer, for start-up and the sweeper's own thread. Never
 * called from a thread that serves requests. */
#ifndef TABLE_WAIT_H
#define TABLE_WAIT_H

#include "table/load.h"

#include <pthread.h>

/* One answer that is waited for, on the waiter's stack. */
struct waiter {
    pthread_mutex_t lock;
    pthread_cond_t woken;
    bool done;
    int code;
};
void waiter_init(struct waiter *w);
void waiter_wake(struct waiter *w, int code); /* w may be gone when it returns */
int waiter_wait(struct waiter *w);            /* the code; releases w */

int wait_get(struct ctx *c, struct engine *e, struct get *g);
int wait_scan(struct ctx *c, struct engine *e, struct scan *s);
int wait_load(struct load *l); /* l->done is its own */
int wait_apply(struct ctx *c, struct engine *e, const struct batch *b);

#endif
