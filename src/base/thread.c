#include "base/thread.h"

bool thread_start(pthread_t *out, const char *name, void *(*run)(void *arg), void *arg)
{
    if (pthread_create(out, NULL, run, arg) != 0)
        return false;
    (void)pthread_setname_np(*out, name); /* a name that is missing is no fault */
    return true;
}

void thread_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t attr;

    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attr);
    pthread_condattr_destroy(&attr);
}

struct timespec thread_time_in(int64_t us)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    us += now.tv_nsec / 1000;
    return (struct timespec){now.tv_sec + us / 1000000, us % 1000000 * 1000};
}
