/* gather.c: the rule of gather.h. Its parts are from a model of two processors, loops, client and
 * disk, and from servers in turns (bench/history/2026-11.md, "Gathering"). */
#include "engine/gather.h"

#include <stdbool.h>

#define WRITES_MIN 4      /* few clients would pay in time for what they do not gain */
#define WAIT_US_MAX 1000  /* nobody waits longer for others */
#define PAUSE_US 100000   /* who comes later than that was not on its way */
#define MEAN_SHARE 8      /* what one round weighs in the mean */
#define QUICK_PERCENT 150 /* of a round's time; writers that take longer are what is short */

void gather_came(struct gather *g, size_t count, int64_t now_us)
{
    g->came += count;
    g->came_us = now_us;
}

void gather_ended(struct gather *g, size_t count, int64_t began_us, int64_t now_us)
{
    int64_t took_us = g->came_us - g->end_us;

    if (g->came >= WRITES_MIN && took_us >= 0 && took_us < PAUSE_US)
        g->apart_ns += (took_us * 1000 / (int64_t)g->came - g->apart_ns) / MEAN_SHARE;
    g->came = 0;
    g->answered = count;
    g->end_us = now_us;
    g->run_us = now_us - began_us;
}

size_t gather_enough(const struct gather *g, size_t coming)
{
    size_t all = coming + g->answered;
    int64_t all_us = (int64_t)all * g->apart_ns / 1000;
    bool quick = g->run_us * QUICK_PERCENT / 100 < all_us;

    if (g->answered < WRITES_MIN)
        return 0;
    return quick ? (all * 2 + 4) / 5 : (all + 1) / 2;
}

int64_t gather_until_us(const struct gather *g)
{
    return g->end_us + (g->run_us < WAIT_US_MAX ? g->run_us : WAIT_US_MAX);
}
