/* engine_get.c: gets, alone and many in one call.
 *
 * On an engine that has no call for many they are asked for one after the other. A get that answers
 * later takes the walk along: whoever completes it asks for the next one. So at most one of them is
 * under way, also where all share a context. */
#include "engine/engine.h"

#include "base/invariant.h"

static void get_clear(struct get *g)
{
    invariant(g->key.len);
    invariant(!g->snapshot || g->view == VIEW_DURABLE);
    g->found = g->durable = false;
    g->depends_on = 0;
    g->value = BYTES_NONE;
    g->code = E_OK;
}

int engine_get(struct ctx *c, struct engine *e, struct get *g)
{
    int code;

    get_clear(g);
    code = e->ops->get(c, e, g);
    /* After E_LATER the struct belongs to the completion, which may already have run. */
    if (code != E_LATER)
        g->code = code;
    return code;
}

static void on_one(struct get *g);

static void take_one(struct get_many *m)
{
    struct get *g = &m->gets[m->at++];
    void (*done)(struct get *) = g->done;

    *g = m->one;
    g->done = done;
}

static int get_each(struct get_many *m)
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

int engine_get_many(struct ctx *c, struct engine *e, struct get_many *m)
{
    int code;

    m->engine = e;
    m->c = c;
    m->at = 0;
    if (!e->ops->get_many)
        return get_each(m);
    for (size_t i = 0; i < m->count; i++)
        get_clear(&m->gets[i]);
    code = e->ops->get_many(c, e, m);
    invariant(code == E_OK || code == E_LATER);
    return code;
}
