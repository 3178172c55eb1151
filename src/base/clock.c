#include "base/clock.h"

#include <time.h>

static int64_t read_clock(clockid_t id)
{
    struct timespec ts;

    clock_gettime(id, &ts);
    return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

static int64_t real_wall_us(struct clock *self)
{
    (void)self;
    return read_clock(CLOCK_REALTIME);
}

static int64_t real_mono_us(struct clock *self)
{
    (void)self;
    return read_clock(CLOCK_BOOTTIME);
}

static int64_t set_us(struct clock *self)
{
    return __atomic_load_n(&self->set_us, __ATOMIC_RELAXED);
}

static int64_t set_mono_us(struct clock *self)
{
    return set_us(self) + __atomic_load_n(&self->set_mono_us, __ATOMIC_RELAXED);
}

void clock_real_init(struct clock *c)
{
    *c = (struct clock){.wall_us = real_wall_us, .mono_us = real_mono_us};
}

void clock_set_init(struct clock *c, int64_t us)
{
    *c = (struct clock){.wall_us = set_us, .mono_us = set_mono_us, .set_us = us};
}

void clock_set_step(struct clock *c, int64_t us)
{
    __atomic_fetch_sub(&c->set_mono_us, us, __ATOMIC_RELAXED);
    __atomic_fetch_add(&c->set_us, us, __ATOMIC_RELAXED);
}
