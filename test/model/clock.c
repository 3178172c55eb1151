#include "clock.h"

#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static _Atomic int64_t offset_ms;

/* In place of the C library's, for the whole program. */
int clock_gettime(clockid_t id, struct timespec *t)
{
    int result = (int)syscall(SYS_clock_gettime, id, t);
    int64_t ms = atomic_load(&offset_ms), ns;

    if (result || id != CLOCK_REALTIME || !ms)
        return result;
    ns = t->tv_nsec + ms % 1000 * 1000000 + 1000000000;
    t->tv_sec += ms / 1000 + ns / 1000000000 - 1;
    t->tv_nsec = ns % 1000000000;
    return 0;
}

void model_clock_set(uint64_t n)
{
    static const int64_t to[] = {0,      -20,     -1500,   -4000,    -40000, -600000,
                                 300000, -300000, 3000000, -3000000, 1500,   900};
    uint64_t h = (n + 1) * 0x9E3779B97F4A7C15u;

    atomic_store(&offset_ms, to[(h >> 32) % (sizeof(to) / sizeof(*to))]);
}

void model_clock_shift(int64_t ms)
{
    atomic_store(&offset_ms, ms);
}

void model_clock_true(void)
{
    atomic_store(&offset_ms, 0);
}
