/* clock.h: time, real or set by a test.
 *
 * Everything that needs the time takes a `struct clock *` and never asks the system itself. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

struct clock {
    int64_t (*wall_us)(struct clock *self); /* UTC microseconds since 1970; may jump */
    int64_t (*mono_us)(struct clock *self); /* since some start; never goes back, and goes on while
                                               the machine sleeps */
    int64_t set_us;                         /* clock_set_init(): what both give, */
    int64_t set_mono_us;                    /* the monotonic one with this added */
};

/* The system's clocks. */
void clock_real_init(struct clock *c);

/* A clock that stands at `us` until a test sets c->set_us. */
void clock_set_init(struct clock *c, int64_t us);
/* Sets the wall clock of it by so much, while no time passes. */
void clock_set_step(struct clock *c, int64_t us);

static inline int64_t clock_wall_us(struct clock *c)
{
    return c->wall_us(c);
}

static inline int64_t clock_wall_ms(struct clock *c)
{
    return c->wall_us(c) / 1000;
}

static inline int64_t clock_mono_us(struct clock *c)
{
    return c->mono_us(c);
}

static inline int64_t clock_mono_ms(struct clock *c)
{
    return c->mono_us(c) / 1000;
}

#endif
