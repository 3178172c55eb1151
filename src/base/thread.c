#include "base/thread.h"

#include <sched.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BACKGROUND_NICE 10
#define TURN_NS 100000 /* the shortest that Linux has; its own choice is some milliseconds */
/* A little longer: whoever asks for shorter turns is let in at once when it wakes. */
#define BACKGROUND_TURN_NS 120000

bool thread_start(pthread_t *out, const char *name, void *(*run)(void *arg), void *arg)
{
    if (pthread_create(out, NULL, run, arg) != 0)
        return false;
    (void)pthread_setname_np(*out, name); /* a name that is missing is no fault */
    return true;
}

/* As Linux takes it. The C library has neither the calls nor the struct. For ordinary threads
 * `runtime` is how long a turn is asked for, since 6.12; older ones pass over it. */
struct scheduling {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
};

#define RESET_ON_FORK 1 /* a flag: SCHED_FLAG_RESET_ON_FORK */

/* False: it is none that we may change; who set another policy knows why. */
static bool scheduling_get(struct scheduling *s)
{
#ifdef SYS_sched_getattr
    if (syscall(SYS_sched_getattr, 0, s, sizeof(*s), 0) == 0 && s->policy == SCHED_OTHER) {
        s->size = sizeof(*s);
        return true;
    }
#endif
    (void)s;
    return false;
}

static void scheduling_set(const struct scheduling *s)
{
#ifdef SYS_sched_setattr
    (void)syscall(SYS_sched_setattr, 0, s, 0);
#else
    (void)s;
#endif
}

void thread_prompt(void)
{
    struct scheduling s;

    if (!scheduling_get(&s))
        return;
    s.flags |= RESET_ON_FORK;
    s.runtime = TURN_NS;
    scheduling_set(&s);
}

/* On Linux the priority of a process is that of one thread. One of SCHED_BATCH does not interrupt
 * another when it wakes, and one with short turns lets others in at their end: without them a
 * request that came would wait until a page's turn of milliseconds is over, whatever the share. */
void thread_background(void)
{
    struct scheduling s;

    (void)setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), BACKGROUND_NICE);
    if (!scheduling_get(&s))
        return;
    s.policy = SCHED_BATCH;
    s.runtime = BACKGROUND_TURN_NS;
    scheduling_set(&s);
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
