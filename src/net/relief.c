/* relief.c: who has to go when more would be held for slow clients (share.c) than may be.
 *
 * That is decided by need: a connection of the client for which most is held, the slowest of them
 * that the loop has; again and again until what is held fits. So a client with little is never
 * closed for one with much, and a connection that moves is closed after one that does not. Somebody
 * new has a second before its rate is judged; until then no more than three quarters of memory_max
 * may be taken in all, and past that the one for which the bytes are to be held is given up
 * itself. */
#include "net/http_own.h"

#define RATE_MS_MIN 1000 /* of a shorter time no rate is taken */

/* Bytes a second of the client in the measured time; -1: too early to say. */
static int64_t pace_of(const struct conn *c, int64_t now)
{
    int64_t took = now - c->since_ms - c->waited_ms;

    return c->parked_ms || took < RATE_MS_MIN ? -1 : (int64_t)(c->moved * 1000) / took;
}

/* NULL: that client has none on this loop, or none whose rate can be judged; then it is another
 * loop's turn, or later. */
static struct conn *slowest(const struct loop *l, const struct conn *but)
{
    size_t most = share_largest(l->http);
    struct conn *best = NULL;
    int64_t best_rate = 0, now = http_now_ms(l->http);

    for (struct ring *at = l->holders.next; at != &l->holders; at = at->next) {
        struct conn *c = PORT_CONTAINER(at, struct conn, holder);
        int64_t rate = pace_of(c, now);

        if (c == but || rate < 0 || c->phase == HANDLING || c->doomed ||
            atomic_load_explicit(&share_of(c)->bytes, memory_order_relaxed) < most)
            continue;
        if (!best || rate < best_rate) {
            best = c;
            best_rate = rate;
        }
    }
    return best;
}

static bool pressed(const struct http *h)
{
    return atomic_load_explicit(h->memory, memory_order_relaxed) > h->conf.memory_max / 4 * 3;
}

/* One alone, on all loops, may hold more than all together, as long as there is memory. */
static bool is_alone(const struct loop *l)
{
    const struct conn *c = PORT_CONTAINER(l->holders.next, struct conn, holder);

    return l->holders.next == l->holders.prev && l->holders.next != &l->holders &&
           c->held == atomic_load_explicit(&l->http->held, memory_order_relaxed) &&
           !pressed(l->http);
}

/* The next who has to go; NULL: what is held fits, or none of this loop can be chosen. What it held
 * is counted as gone at once: two loops that choose at the same time would each cut one where one
 * is enough. */
static struct conn *choose(struct loop *l, const struct conn *but)
{
    struct http *h = l->http;
    struct conn *c = NULL;

    pthread_mutex_lock(&h->relief_lock);
    if (!share_fits(h) && !is_alone(l) && (c = slowest(l, but)))
        share_set_held(c, 0);
    pthread_mutex_unlock(&h->relief_lock);
    return c;
}

/* True: what is held fits now. */
static bool relieve(struct loop *l, const struct conn *but)
{
    struct conn *c;

    while ((c = choose(l, but))) {
        atomic_fetch_add(&l->http->slowest, 1);
        exchange_cut(c, 503);
        if (c->held) /* it is told so, and what was held for that goes with it */
            share_set_held(c, 0);
        queue_serve(l->http);
    }
    return share_fits(l->http);
}

void share_relieve(struct loop *l)
{
    if (!share_fits(l->http))
        relieve(l, NULL);
}

bool share_hold(struct conn *c, size_t n)
{
    struct http *h = c->http;

    if (n == c->held)
        return true;
    if (!share_set_held(c, n)) {
        queue_serve(h);
        return true;
    }
    return share_fits(h) || relieve(c->loop, c) || !pressed(h);
}
