/* thread.h: threads with a name, as `top -H` and profilers show it. */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* Starts a thread that is to be joined, or left by its starter with pthread_detach(): one that
 * calls that itself may be gone before it has got its name. `name`: at most 15 bytes. False: the
 * system gives none. */
bool thread_start(pthread_t *out, const char *name, void *(*run)(void *arg), void *arg);

/* The calling thread answers others in a short time: it asks for short turns on the processor, for
 * which it is let in sooner when it wakes. It gets no larger share by that and needs no right.
 * Where the system knows no such thing, all stays as it is. Threads that it starts do not inherit
 * it. */
void thread_prompt(void);

/* The calling thread gives way to others that want the processor: it gets about a tenth of what one
 * of them gets, and all of it while nobody else wants any. It has short turns, too, so that who
 * wakes does not wait for the end of a long one. */
void thread_background(void);

/* The calling thread is about to wait for long: the part of its stack that it does not use now, and
 * what the allocator keeps for it, go back to the system. */
void thread_rest(void);

/* A condition whose timed waits count in the monotonic clock, which nobody sets. */
void thread_cond_init(pthread_cond_t *cond);

/* What that clock shows `us` from now, as its timed waits take it. */
struct timespec thread_time_in(int64_t us);

#endif
