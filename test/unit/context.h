/* context.h: what tests of plain functions begin with: a request's context, `c`, anew for each.
 * Included behind cmocka. */
#ifndef UNIT_CONTEXT_H
#define UNIT_CONTEXT_H

#include "base/clock.h"
#include "base/ctx.h"

static struct clock clock_now;
static struct ctx c;

static int setup(void **state)
{
    (void)state;
    clock_real_init(&clock_now);
    ctx_init(&c, &clock_now, NULL, NULL, 0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ctx_release(&c);
    return 0;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

#endif
