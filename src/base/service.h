/* service.h: a thread in the background that sleeps between its rounds and ends when it is told.
 *
 * `lock` also guards whatever its owner shares with the thread, which may then wait for more than
 * the time: service_wait() in a loop that asks for `stop` and that. */
#ifndef BASE_SERVICE_H
#define BASE_SERVICE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct service {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t woken;
    bool stop; /* under the lock: it is time to end */
};

/* Starts run(arg) on a thread of that name (thread.h), which ends soon after `stop`. False: the
 * system gives no thread; then there is nothing to stop. */
bool service_start(struct service *s, const char *name, void *(*run)(void *arg), void *arg);

/* Tells the thread to end, waits until it has, and releases the lock. Once, if it was started. */
void service_stop(struct service *s);

/* Ends the wait that the thread is in, if any. Not under the lock. */
void service_wake(struct service *s);

/* ---- for the thread itself ---- */

/* Under the lock: until woken, or until `until` (thread_time_in(); NULL: for any time). False: the
 * time is over. */
bool service_wait(struct service *s, const struct timespec *until);

/* Sleeps for that time, whoever wakes it, or until it is time to end: then false. */
bool service_sleep(struct service *s, int64_t us);

bool service_stopping(struct service *s);

#endif
