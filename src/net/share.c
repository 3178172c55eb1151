/* What is held for slow clients: the bodies that come, the answers that have not gone, the buffers
 * of streams. It may take half of what all requests may (http_conf.memory_max), so that the other
 * half is always there for requests that nobody has to wait for.
 *
 * When it would be more, somebody has to go, and that is decided by need: a connection of the
 * client for which most is held, the slowest of them that the loop has; again and again until what
 * is held fits. So a client with little is never closed for one with much, and a connection that
 * moves is closed after one that does not. Somebody new has a second before its pace is judged;
 * until then no more than three quarters of memory_max may be taken in all, and past that the one
 * for which the bytes are to be held is given up itself.
 *
 * A client is who the handler says it is (http_request.client): the holder of an access key. They
 * are told apart by a hash, so two of them may count as one. */
#include "net/door.h"

static struct share *share_of(const struct conn *c)
{
    struct http *h = c->http;

    return &h->shares[c->client % PORT_COUNT(h->shares)];
}

static size_t held_max(const struct http *h)
{
    return h->conf.memory_max / 2;
}

static bool fits(const struct http *h)
{
    return atomic_load_explicit(&h->held, memory_order_relaxed) <= held_max(h);
}

size_t share_largest(const struct http *h)
{
    size_t most = 0;

    for (size_t i = 0; i < PORT_COUNT(h->shares); i++) {
        size_t share = atomic_load_explicit(&h->shares[i].bytes, memory_order_relaxed);

        if (share > most)
            most = share;
    }
    return most;
}

/* NULL: that client has none on this loop, or none whose pace can be judged; then it is another
 * loop's turn, or later. */
static struct conn *slowest(const struct loop *l, const struct conn *but)
{
    size_t most = share_largest(l->http);
    struct conn *best = NULL;
    int64_t best_pace = 0, now = http_now_ms(l->http);

    for (struct ring *at = l->holders.next; at != &l->holders; at = at->next) {
        struct conn *c = PORT_CONTAINER(at, struct conn, holder);
        int64_t pace = conn_pace(c, now);

        if (c == but || pace < 0 || c->phase == HANDLING || c->doomed ||
            atomic_load_explicit(&share_of(c)->bytes, memory_order_relaxed) < most)
            continue;
        if (!best || pace < best_pace) {
            best = c;
            best_pace = pace;
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

/* True: what is held fits now. */
static bool relieve(struct loop *l, const struct conn *but)
{
    struct conn *c;

    while (!fits(l->http) && !is_alone(l) && (c = slowest(l, but))) {
        atomic_fetch_add(&l->http->slowest, 1);
        conn_cut(c, 503);
        if (c->held) /* it is told so, and what was held for it goes with that */
            share_hold(c, 0);
    }
    return fits(l->http);
}

void share_relieve(struct loop *l)
{
    if (!fits(l->http))
        relieve(l, NULL);
}

void share_take_reserved(struct conn *c)
{
    if (!c->reserved)
        return;
    if (!c->held)
        ring_add(&c->loop->holders, &c->holder);
    c->held += c->reserved;
    c->reserved = 0;
    c->took_large = true;
}

bool share_hold(struct conn *c, size_t n)
{
    struct http *h = c->http;
    size_t more = n - c->held; /* may wrap, and the sums with it, back to what they were */
    bool grows = n > c->held;

    if (n == c->held)
        return true;
    if (!c->held)
        ring_add(&c->loop->holders, &c->holder);
    if (!n)
        ring_remove(&c->holder);
    c->held = n;
    atomic_fetch_add_explicit(&h->held, more, memory_order_relaxed);
    atomic_fetch_add_explicit(&share_of(c)->bytes, more, memory_order_relaxed);
    if (!grows)
        queue_serve(h);
    return !grows || fits(h) || relieve(c->loop, c) || !pressed(h);
}
