#include "base/thread.h"

#include <stddef.h>
#include <sys/mman.h>
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

/* Of jemalloc, where it is linked in. */
extern int mallctl(const char *name, void *old, size_t *old_size, void *new, size_t new_size)
    __attribute__((weak));

/* Stacks grow downwards; the page below this frame stays, and with it what the call itself needs.
 */
static void stack_rest(void)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), low, high;
    pthread_attr_t attr;
    void *stack;
    size_t size;

    if (pthread_getattr_np(pthread_self(), &attr) != 0)
        return;
    if (pthread_attr_getstack(&attr, &stack, &size) == 0) {
        low = ((uintptr_t)stack + page - 1) / page * page;
        high = ((uintptr_t)&attr / page - 1) * page;
        if (low < high)
            (void)madvise((void *)low, high - low, MADV_DONTNEED);
    }
    pthread_attr_destroy(&attr);
}

void thread_rest(void)
{
    stack_rest();
    if (mallctl)
        (void)mallctl("thread.tcache.flush", NULL, NULL, NULL, 0);
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
