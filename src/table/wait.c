#include "table/wait.h"

struct wait_get {
    struct get get; /* first: the completion gets its address */
    struct waiter w;
};

struct wait_scan {
    struct scan scan;
    struct waiter w;
};

static void get_done(struct get *g)
{
    waiter_wake(&PORT_CONTAINER(g, struct wait_get, get)->w, g->code);
}

int wait_get(struct ctx *c, struct engine *e, struct get *g)
{
    struct wait_get wg = {.get = *g};
    int code;

    wg.get.done = get_done;
    waiter_init(&wg.w);
    code = engine_get(c, e, &wg.get);
    if (code == E_LATER)
        code = waiter_wait(&wg.w);
    *g = wg.get;
    return code;
}

static void scan_done(struct scan *s)
{
    waiter_wake(&PORT_CONTAINER(s, struct wait_scan, scan)->w, s->code);
}

int wait_scan(struct ctx *c, struct engine *e, struct scan *s)
{
    struct wait_scan ws = {.scan = *s};
    int code;

    ws.scan.done = scan_done;
    waiter_init(&ws.w);
    code = engine_scan(c, e, &ws.scan);
    if (code == E_LATER)
        code = waiter_wait(&ws.w);
    *s = ws.scan;
    return code;
}

struct wait_load {
    struct load load;
    struct waiter w;
};

static void load_done(struct load *l)
{
    waiter_wake(&PORT_CONTAINER(l, struct wait_load, load)->w, E_OK);
}

int wait_load(struct load *l)
{
    struct wait_load wl = {.load = *l};
    int code;

    wl.load.done = load_done;
    do {
        waiter_init(&wl.w);
        code = load_run(&wl.load);
        if (code == E_LATER)
            waiter_wait(&wl.w);
    } while (code == E_LATER);
    *l = wl.load;
    return code;
}

int wait_apply(struct ctx *c, struct engine *e, const struct batch *b)
{
    struct waiter w;

    waiter_init(&w);
    engine_apply(c, e, b, waiter_done, &w);
    return waiter_wait(&w);
}
