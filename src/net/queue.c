/* Queues of large answers that have no room. What is held for slow clients has a bound (share.c);
 * an answer of some size takes its room before it is made (http_reserve()), so that clients who do
 * not read what they have asked for are not cut off and served again and again, each time for the
 * price of a whole request. What finds no room waits, one queue for each client and without its
 * rows, until
 *
 *   - answers go, and there is room for the first of its client's queue: that is asked again
 *   - its deadline has passed: it is refused
 *
 * Room. Answers may fill three quarters of what may be held, so that bodies which come in have the
 * rest. Past it a client that holds less than another one still gets room (who holds most is then
 * closed, the slowest connection first), and so does one that holds nothing; all others wait. So a
 * client that does not read waits for itself. An answer that is larger than all of that room has it
 * as soon as no more than a sixteenth of memory_max is held: its client may be sending something.
 *
 * Order. Connections whose client has taken a large answer before and owes nothing stand in front
 * of all others: who reads gets what room there is. Otherwise the first comes first, also where a
 * smaller one behind it would fit, or a very large answer would never have its turn.
 *
 * A request that waits has its head, its body and its connection, and nothing is done for it until
 * it is woken. All of them together may take a sixteenth of memory_max; more are refused at once.
 *
 * Threads: what is here is under http.queue_lock, and may be called from any thread; while a
 * request waits it is parked, so that its connection stays. `reserved` is the request's: of the
 * thread that has it, as its arena is. */
#include "net/http_own.h"

#include <linux/tcp.h>
#include <sys/socket.h>

static size_t bytes_of_share(const struct share *s)
{
    return atomic_load_explicit(&s->bytes, memory_order_relaxed);
}

static size_t answers_max(const struct http *h)
{
    return h->conf.memory_max / 8 * 3;
}

static bool has_room(const struct http *h, const struct share *s, size_t size)
{
    size_t own = bytes_of_share(s), most = answers_max(h) - h->conf.memory_max / 16;
    size_t want = size < most ? size : most;

    return !own || atomic_load_explicit(&h->held, memory_order_relaxed) + want <= answers_max(h) ||
           own + size <= share_largest(h);
}

static void reserve(struct conn *c, size_t size)
{
    c->reserved += size;
    atomic_fetch_add_explicit(&c->http->held, size, memory_order_relaxed);
    atomic_fetch_add_explicit(&share_of(c)->bytes, size, memory_order_relaxed);
}

/* True: what the client was sent before has arrived there, a large answer among it. */
static bool is_reader(const struct conn *c)
{
    struct tcp_info info;
    socklen_t size = sizeof(info);

    memset(&info, 0, sizeof(info));
    return c->took_large && !getsockopt(c->fd, IPPROTO_TCP, TCP_INFO, &info, &size) &&
           !info.tcpi_unacked && !info.tcpi_notsent_bytes;
}

/* ---- under the lock ---- */

static struct ring *queue_first_of(struct share *s)
{
    for (size_t i = 0; i < PORT_COUNT(s->queues); i++)
        if (s->queues[i].next != &s->queues[i])
            return s->queues[i].next;
    return NULL;
}

static void queue_add(struct http *h, struct share *s, struct conn *c, bool reader)
{
    if (!queue_first_of(s))
        ring_add(&h->waiting_shares, &s->waiting);
    ring_add(&s->queues[reader ? 0 : 1], &c->queue);
    h->waiting_bytes += c->waiting.bytes;
    atomic_fetch_add_explicit(&h->waiting, 1, memory_order_relaxed);
}

static void queue_remove(struct http *h, struct share *s, struct conn *c)
{
    ring_remove(&c->queue);
    if (!queue_first_of(s))
        ring_remove(&s->waiting);
    h->waiting_bytes -= c->waiting.bytes;
    atomic_fetch_sub_explicit(&h->waiting, 1, memory_order_relaxed);
}

static void queue_wake(struct http *h, struct conn *c, int fault)
{
    struct http_request *r = exchange_request(c->exchange);

    queue_remove(h, share_of(c), c);
    r->fault = fault;
    http_resume(r, c->waiting.fn, c->waiting.arg); /* c is its loop's from here on */
}

/* Wakes those of the client that have room now. */
static void share_serve(struct http *h, struct share *s)
{
    struct ring *first;

    while ((first = queue_first_of(s))) {
        struct conn *c = PORT_CONTAINER(first, struct conn, queue);

        if (!has_room(h, s, c->waiting.size))
            return;
        reserve(c, c->waiting.size);
        queue_wake(h, c, 0);
    }
}

/* Each has a deadline of its own, whatever stands in front of it. */
static void share_expire(struct http *h, struct share *s, int64_t now)
{
    for (size_t i = 0; i < PORT_COUNT(s->queues); i++) {
        struct ring *at, *next;

        for (at = s->queues[i].next; at != &s->queues[i]; at = next) {
            struct conn *c = PORT_CONTAINER(at, struct conn, queue);

            next = at->next;
            if (now >= c->waiting.deadline_ms)
                queue_wake(h, c, 503);
        }
    }
}

/* Refuses those whose deadline has passed by `now`, and serves the others. All that may have
 * changed at once: another client's share counts for room too. */
static void serve_all(struct http *h, int64_t now)
{
    struct ring *at, *next;

    pthread_mutex_lock(&h->queue_lock);
    for (at = h->waiting_shares.next; at != &h->waiting_shares; at = next) {
        struct share *s = PORT_CONTAINER(at, struct share, waiting);

        next = at->next;
        share_expire(h, s, now);
        share_serve(h, s);
    }
    pthread_mutex_unlock(&h->queue_lock);
}

/* ---- called by others ---- */

void queue_init(struct http *h)
{
    pthread_mutex_init(&h->queue_lock, NULL);
    ring_init(&h->waiting_shares);
    for (size_t i = 0; i < PORT_COUNT(h->shares); i++) {
        ring_init(&h->shares[i].waiting);
        ring_init(&h->shares[i].queues[0]);
        ring_init(&h->shares[i].queues[1]);
    }
}

bool queue_waits(const struct conn *c)
{
    return atomic_load_explicit(&c->http->waiting, memory_order_relaxed) > 0 && c->known;
}

void queue_tick(struct http *h, int64_t now)
{
    if (atomic_load_explicit(&h->waiting, memory_order_relaxed))
        serve_all(h, now);
}

void queue_serve(struct http *h)
{
    queue_tick(h, INT64_MIN);
}

/* Whoever comes to the lock later finds `closed`; who was there before is counted in by now. */
void queue_close(struct http *h)
{
    serve_all(h, INT64_MAX);
}

void queue_end(struct http *h)
{
    pthread_mutex_lock(&h->queue_lock);
    pthread_mutex_unlock(&h->queue_lock);
    pthread_mutex_destroy(&h->queue_lock);
}

/* ---- what handlers call ---- */

bool http_reserve(struct http_request *r, size_t size)
{
    struct conn *c = exchange_conn(r);
    struct http *h = c->http;
    struct share *s = share_of(c);
    bool well;

    if (c->reserved) { /* it has waited; what it takes now may be more or less */
        reserve(c, size - c->reserved);
        return true;
    }
    pthread_mutex_lock(&h->queue_lock);
    well = !queue_first_of(s) && has_room(h, s, size);
    if (well)
        reserve(c, size);
    pthread_mutex_unlock(&h->queue_lock);
    return well;
}

bool http_wait(struct http_request *r, size_t size, int64_t deadline_ms, http_fn *fn, void *arg)
{
    struct conn *c = exchange_conn(r);
    struct http *h = c->http;
    struct share *s = share_of(c);
    bool reader = is_reader(c), well;

    c->waiting = (struct waiting){size, sizeof(*c) + EXCHANGE_BYTES + r->ctx.arena.used,
                                  deadline_ms, fn, arg};
    pthread_mutex_lock(&h->queue_lock);
    well =
        !atomic_load(&h->closed) && h->waiting_bytes + c->waiting.bytes <= h->conf.memory_max / 16;
    if (well) {
        queue_add(h, s, c, reader);
        share_serve(h, s); /* there may be room by now */
    }
    pthread_mutex_unlock(&h->queue_lock);
    return well;
}
