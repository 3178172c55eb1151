/* later.h: a database whose clocks a test takes ahead while they go on: so that what waits for a grace
 * period is due. */
#ifndef UNIT_LATER_H
#define UNIT_LATER_H

#include "table/core/db.h"
#include "table/maint/sweep.h"

static int64_t later_wall_us(struct clock *c)
{
    struct clock real;

    clock_real_init(&real);
    return clock_wall_us(&real) + c->set_us;
}

static int64_t later_mono_us(struct clock *c)
{
    struct clock real;

    clock_real_init(&real);
    return clock_mono_us(&real) + c->set_us + c->set_mono_us;
}

/* From now on both clocks are so much later; what was given before stays given. */
static void PORT_UNUSED go_later(struct wr_db *db, int64_t ms)
{
    if (db->clock.wall_us != later_wall_us)
        db->clock = (struct clock){.wall_us = later_wall_us, .mono_us = later_mono_us};
    __atomic_fetch_add(&db->clock.set_us, ms * 1000, __ATOMIC_RELAXED);
}

/* The wall clock alone is set, by so much. */
static void PORT_UNUSED step_wall(struct wr_db *db, int64_t ms)
{
    go_later(db, 0);
    clock_set_step(&db->clock, ms * 1000);
}

/* What the sweeper does now and after that time. */
static void PORT_UNUSED sweep_later(struct wr_db *db, int64_t ms)
{
    sweep_run(db);
    go_later(db, ms);
    sweep_run(db);
}

#endif
