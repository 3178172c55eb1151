/* get_each.c: the gets of a call of get_many(), one after the other.
 *
 * A get that answers later takes the walk along: whoever completes it asks for the next one. So at
 * most one of them is under way, also where all share a context. */
#include "engine/get_each.h"

static void on_one(struct get *g);

static void take_one(struct get_many *m)
{
    struct get *g = &m->gets[m->at++];
    void (*done)(struct get *) = g->done;

    *g = m->one;
    g->done = done;
}

int get_each(struct get_many *m)
{
    while (m->at < m->count) {
        m->one = m->gets[m->at];
        m->one.done = on_one;
        /* After E_LATER the walk is the completion's, which may be under way already. */
        if (engine_get(get_many_ctx(m, m->at), m->engine, &m->one) == E_LATER)
            return E_LATER;
        take_one(m);
    }
    return E_OK;
}

static void on_one(struct get *g)
{
    struct get_many *m = PORT_CONTAINER(g, struct get_many, one);

    take_one(m);
    if (get_each(m) == E_OK)
        m->done(m);
}
