/* New connections, and who goes when there are too many.
 *
 * All loops accept, and each connection goes to the loop that has the fewest, by a list and the
 * bell. Were each kept by whichever loop woke first, of eight streams opened together one loop
 * would often have all. The loop that accepted keeps it where another has hardly fewer, as ringing
 * costs more than a connection that is refused at once.
 *
 * When there are as many as there may be, in number or in memory, a new one takes the place of the
 * oldest stranger: a connection of which no request was ever let in. So strangers can fill every
 * place and a client with a key still comes in, if only it sends its first request before as many
 * strangers as there are places have come after it. If there are no strangers, the connection goes
 * that has been idle longest, for ten seconds at least; a client has to be ready for that at any
 * time (RFC 9112, section 9.5). If there is none such, new ones wait in the listen queue. */
#include "net/http_own.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#define BURST 64     /* accepted at a time, so that a loop comes back to its requests */
#define PAUSE_MS 100 /* after running out of descriptors or memory */
#define IDLE_MS 10000
#define CONN_BYTES_MIN (1 << 20)
#define LOOK_MAX 64 /* the oldest may be at work; so many are looked at for one that is not */

struct arrival {
    struct arrival *next;
    int fd;
    struct address_count *per_address;
    socklen_t size;
    struct sockaddr_storage peer;
};

/* ---- room ---- */

/* What all connections of a loop may take, whatever waits in them included. */
static size_t conn_bytes_max(const struct http *h)
{
    size_t all = h->conf.memory_max / 4 > CONN_BYTES_MIN ? h->conf.memory_max / 4 : CONN_BYTES_MIN;

    return all / (size_t)h->conf.threads;
}

static bool has_room_for(const struct loop *l, size_t more)
{
    return atomic_load_explicit(&l->conn_count, memory_order_relaxed) + more <=
               loop_conns_max(l->http) &&
           atomic_load_explicit(&l->conn_bytes, memory_order_relaxed) <= conn_bytes_max(l->http);
}

/* A connection that can be closed without a loss to anybody we know. One that has just come may be
 * a client whose request has waited with it: two loops may both have taken one for the same place.
 */
static struct conn *oldest_stranger(const struct loop *l)
{
    int looked = 0;

    for (struct ring *at = l->strangers.next; at != &l->strangers && looked < LOOK_MAX;
         at = at->next, looked++) {
        struct conn *c = PORT_CONTAINER(at, struct conn, stranger);

        if (c->heard && !c->doomed && !(c->exchange && exchange_is_parked(c->exchange)))
            return c;
    }
    return NULL;
}

static struct conn *longest_idle(const struct loop *l)
{
    struct conn *best = NULL;

    for (struct ring *at = l->conns.next; at != &l->conns; at = at->next) {
        struct conn *c = PORT_CONTAINER(at, struct conn, all);

        if (c->phase == IDLE && !c->phase_ms && (!best || c->idle_ms < best->idle_ms))
            best = c;
    }
    return best && l->now_ms - best->idle_ms >= IDLE_MS ? best : NULL;
}

static bool evict(struct loop *l, struct conn *c)
{
    if (!c)
        return false;
    atomic_fetch_add_explicit(&l->http->evicted, 1, memory_order_relaxed);
    conn_close(c);
    return true;
}

/* So that `more` of them fit. */
static void make_room_for(struct loop *l, size_t more)
{
    while (!has_room_for(l, more) && (linger_drop_oldest(l) || evict(l, oldest_stranger(l))))
        ;
}

void loop_make_room(struct loop *l)
{
    struct pollfd waiting = {.fd = l->http->listen_fd, .events = POLLIN};

    make_room_for(l, 0);
    if (!has_room_for(l, 1) && !atomic_load(&l->http->stopping) && poll(&waiting, 1, 0) > 0)
        evict(l, longest_idle(l));
}

bool loop_accepts(struct loop *l)
{
    if (atomic_load_explicit(&l->http->stopping, memory_order_relaxed) ||
        l->accept_ms > http_now_ms(l->http))
        return false;
    return has_room_for(l, 1) || l->linger_count || l->stranger_count;
}

/* ---- arrivals ---- */

static size_t accept_load(const struct loop *l)
{
    return atomic_load_explicit(&l->conn_count, memory_order_relaxed) + l->arrival_count;
}

/* True: so many connections are fewer by more than an eighth. */
static bool is_fewer(size_t count, size_t than)
{
    return count + than / 8 < than;
}

/* Where the next goes: to the loop with the fewest connections; if all are full, to the one with
 * the most strangers. With about as many, `here`. NULL: nowhere. */
static struct loop *best_loop(struct loop *here)
{
    struct loop *room = NULL, *strangers = NULL;

    if (has_room_for(here, 1 + here->arrival_count))
        room = here;
    if (here->stranger_count > here->arrival_count)
        strangers = here;
    for (struct loop *l = here->http->loops; l; l = l->next) {
        if (has_room_for(l, 1 + l->arrival_count) &&
            (!room || is_fewer(accept_load(l), accept_load(room))))
            room = l;
        if (l->stranger_count > l->arrival_count &&
            (!strangers || l->stranger_count > strangers->stranger_count))
            strangers = l;
    }
    return room ? room : strangers;
}

/* No lock is held over the system call, as the other loops need it for each connection that ends.
 */
static int accept_fd(struct loop *here, struct arrival *a)
{
    a->size = sizeof(a->peer);
    a->fd = accept4(here->http->listen_fd, (struct sockaddr *)&a->peer, &a->size,
                    SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (a->fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)) {
        here->accept_ms = http_now_ms(here->http) + PAUSE_MS;
        evict(here, oldest_stranger(here));
        errno = ENFILE; /* whatever closing has made of it */
    }
    return a->fd;
}

/* Under the lock. False: its address has as many as it may. */
static bool arrive(struct loop *here, struct arrival *a)
{
    struct http *h = here->http;
    struct loop *to = best_loop(here);
    struct arrival *copy;
    bool first;

    if (h->conf.connections_per_address && !(a->per_address = address_enter(h, &a->peer)))
        return false;
    if (!to) /* there was room a moment ago */
        to = here;
    copy = mem_alloc(sizeof(*copy));
    *copy = *a;
    copy->next = to->arrivals;
    first = !to->arrivals;
    to->arrivals = copy;
    atomic_fetch_add(&to->arrival_count, 1);
    if (first && to != here)
        bell_ring(&to->bell);
    return true;
}

/* False: there is none, or no room for it. */
static bool accept_one(struct loop *here)
{
    struct http *h = here->http;
    struct arrival a = {0};
    bool well;

    pthread_mutex_lock(&h->arrivals_lock);
    well = best_loop(here) != NULL;
    pthread_mutex_unlock(&h->arrivals_lock);
    if (!well)
        return false;
    if (accept_fd(here, &a) < 0)
        return errno == ECONNABORTED || errno == EINTR || errno == EPROTO;
    pthread_mutex_lock(&h->arrivals_lock);
    well = arrive(here, &a);
    pthread_mutex_unlock(&h->arrivals_lock);
    if (!well) {
        atomic_fetch_add_explicit(&h->evicted, 1, memory_order_relaxed);
        close(a.fd);
    }
    return true;
}

void loop_accept(struct loop *l)
{
    for (int i = 0; i < BURST && accept_one(l); i++)
        ;
}

void loop_take_arrivals(struct loop *l)
{
    struct arrival *a, *oldest = NULL, *next;

    if (!atomic_load(&l->arrival_count))
        return; /* whoever adds one rings after that */
    pthread_mutex_lock(&l->http->arrivals_lock);
    a = l->arrivals;
    l->arrivals = NULL;
    atomic_store_explicit(&l->arrival_count, 0, memory_order_relaxed);
    pthread_mutex_unlock(&l->http->arrivals_lock);
    for (; a; a = next) {
        next = a->next;
        a->next = oldest;
        oldest = a;
    }
    for (a = oldest; a; a = next) {
        next = a->next;
        make_room_for(l, 1);
        if (!conn_open(l, a->fd, (struct sockaddr *)&a->peer, a->size, a->per_address)) {
            close(a->fd);
            address_leave(l->http, a->per_address);
        }
        mem_free(a);
    }
}

void loop_drop_arrivals(struct loop *l)
{
    struct arrival *next;

    for (struct arrival *a = l->arrivals; a; a = next) {
        next = a->next;
        close(a->fd);
        address_leave(l->http, a->per_address);
        mem_free(a);
    }
    l->arrivals = NULL;
}
