/* share.c: how much is held for slow clients, in all and for each: the bodies that come, the
 * answers that have not gone, the buffers of streams. It may take half of what all requests may
 * (http_conf.memory_max), so that the other half is always there for requests that nobody has to
 * wait for. Who has to go when it would be more: relief.c.
 *
 * A client is who the handler says it is (http_request.client): the holder of an access key. They
 * are told apart by a hash, so two of them may count as one. */
#include "net/http_own.h"

struct share *share_of(const struct conn *c)
{
    struct http *h = c->http;

    return &h->shares[c->client % PORT_COUNT(h->shares)];
}

static size_t held_max(const struct http *h)
{
    return h->conf.memory_max / 2;
}

bool share_fits(const struct http *h)
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

bool share_set_held(struct conn *c, size_t n)
{
    struct http *h = c->http;
    size_t more = n - c->held; /* may wrap, and the sums with it, back to what they were */
    bool grows = n > c->held;

    if (!c->held)
        ring_add(&c->loop->holders, &c->holder);
    if (!n)
        ring_remove(&c->holder);
    c->held = n;
    atomic_fetch_add_explicit(&h->held, more, memory_order_relaxed);
    atomic_fetch_add_explicit(&share_of(c)->bytes, more, memory_order_relaxed);
    return grows;
}
