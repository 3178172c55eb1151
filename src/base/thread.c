#include "base/thread.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BACKGROUND_NICE 10
#define TURN_NS 100000 /* the shortest that Linux has; its own choice is some milliseconds */

bool thread_start(pthread_t *out, const char *name, void *(*run)(void *arg), void *arg)
{
    if (pthread_create(out, NULL, run, arg) != 0)
        return false;
    (void)pthread_setname_np(*out, name); /* a name that is missing is no fault */
    return true;
}

/* Linux since 6.12: for ordinary threads `runtime` is how long a turn is asked for. Older ones pass
 * over it. The C library has neither the call nor the struct. */
void thread_prompt(void)
{
#ifdef SYS_sched_setattr
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime, deadline, period;
    } attr;

    if (syscall(SYS_sched_getattr, 0, &attr, sizeof(attr), 0) != 0 || attr.policy != SCHED_OTHER)
        return; /* who set another policy knows why */
    attr.size = sizeof(attr);
    attr.flags |= 1; /* SCHED_FLAG_RESET_ON_FORK */
    attr.runtime = TURN_NS;
    (void)syscall(SYS_sched_setattr, 0, &attr, 0);
#endif
}

/* On Linux the priority of a process is that of one thread. */
void thread_background(void)
{
    (void)setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), BACKGROUND_NICE);
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
