/* waiter.h: one answer that another thread gives, and sleeping until it is there. */
#ifndef BASE_WAITER_H
#define BASE_WAITER_H

#include <pthread.h>
#include <stdbool.h>

/* On the stack of who waits. */
struct waiter {
    pthread_mutex_t lock;
    pthread_cond_t woken;
    bool done;
    int code;
};

void waiter_init(struct waiter *w);
void waiter_wake(struct waiter *w, int code); /* w may be gone when it returns */
int waiter_wait(struct waiter *w);            /* the code; releases w */
void waiter_release(struct waiter *w);        /* instead of waiting: no answer will come */

/* waiter_wake(arg, code), as what completes a batch. */
void waiter_done(void *arg, int code);

#endif
