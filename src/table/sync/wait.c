#include "table/sync/wait.h"

#include <stdatomic.h>

/* Sleeps if need be. */
static int wait_answer(struct waiter *w, int code)
{
    if (code == E_LATER)
        return waiter_wait(w);
    waiter_release(w);
    return code;
}

static void wait_get_done(struct get *g)
{
    waiter_wake(&PORT_CONTAINER(g, struct wait_get, get)->w, g->code);
}

struct get *wait_get_begin(struct wait_get *wg, const struct get *g)
{
    wg->get = *g;
    wg->get.done = wait_get_done;
    waiter_init(&wg->w);
    return &wg->get;
}

int wait_get_end(struct wait_get *wg, struct get *g, int code)
{
    code = wait_answer(&wg->w, code);
    *g = wg->get;
    return code;
}

int wait_get(struct ctx *c, struct engine *e, struct get *g)
{
    struct wait_get wg;

    return wait_get_end(&wg, g, engine_get(c, e, wait_get_begin(&wg, g)));
}

static void wait_scan_done(struct scan *s)
{
    waiter_wake(&PORT_CONTAINER(s, struct wait_scan, scan)->w, s->code);
}

struct scan *wait_scan_begin(struct wait_scan *ws, const struct scan *s)
{
    ws->scan = *s;
    ws->scan.done = wait_scan_done;
    waiter_init(&ws->w);
    return &ws->scan;
}

int wait_scan_end(struct wait_scan *ws, struct scan *s, int code)
{
    code = wait_answer(&ws->w, code);
    *s = ws->scan;
    return code;
}

int wait_scan(struct ctx *c, struct engine *e, struct scan *s)
{
    struct wait_scan ws;

    return wait_scan_end(&ws, s, engine_scan(c, e, wait_scan_begin(&ws, s)));
}

int wait_apply(struct ctx *c, struct engine *e, const struct write_batch *b)
{
    struct waiter w;

    waiter_init(&w);
    engine_apply(c, e, b, waiter_done, &w);
    return waiter_wait(&w);
}

/* ---- many at once ---- */

struct many_gets {
    struct get_many m;
    struct waiter w;
};

static void many_gets_done(struct get_many *m)
{
    waiter_wake(&PORT_CONTAINER(m, struct many_gets, m)->w, E_OK);
}

void wait_get_many(struct ctx *c, struct engine *e, struct get *gets, size_t count)
{
    struct many_gets many = {.m = {.gets = gets, .count = count, .done = many_gets_done}};

    waiter_init(&many.w);
    (void)wait_answer(&many.w, engine_get_many(c, e, &many.m));
}

struct many_batches {
    struct waiter w;
    atomic_size_t left; /* batches under way, and whoever sends them */
};

struct one_batch {
    struct many_batches *all;
    int *code;
};

static void leave_batches(struct many_batches *all)
{
    if (atomic_fetch_sub(&all->left, 1) == 1)
        waiter_wake(&all->w, E_OK);
}

static void one_batch_done(void *arg, int code)
{
    struct one_batch *one = arg;

    *one->code = code;
    leave_batches(one->all);
}

void wait_apply_many(struct ctx *c, struct engine *e, const struct write_batch *batches,
                     size_t count, int *codes)
{
    struct one_batch *each = ARENA_ARRAY(&c->arena, struct one_batch, count);
    struct many_batches all;

    waiter_init(&all.w);
    atomic_init(&all.left, count + 1);
    for (size_t i = 0; i < count; i++) {
        each[i] = (struct one_batch){&all, &codes[i]};
        engine_apply(c, e, &batches[i], one_batch_done, &each[i]);
    }
    leave_batches(&all);
    (void)waiter_wait(&all.w);
}
