/* New connections. The library could accept for itself, but then a burst of them goes to whichever
 * loop wakes first: of eight streams opened together one loop often had all eight, and the other
 * processor was idle. So the loops accept here, and each connection goes to the loop that has the
 * fewest; it is handed over by a list and the bell. */
#include "net/door.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#define BURST 64     /* accepted at a time, so that a loop comes back to its requests */
#define PAUSE_MS 100 /* after running out of descriptors or memory */

struct arrival {
    struct arrival *next;
    int fd;
    socklen_t size;
    struct sockaddr_storage peer;
};

static size_t load(const struct loop *l)
{
    return atomic_load_explicit(&l->conn_count, memory_order_relaxed) + l->arrival_count;
}

bool loop_accepts(struct loop *l, int64_t now)
{
    if (l->quiesced || now < l->accept_ms)
        return false;
    return atomic_load_explicit(&l->conn_count, memory_order_relaxed) < loop_conns_max(l->http);
}

/* Whose connections are fewest; with as many, `here`. NULL: all are full. */
static struct loop *fewest(struct loop *here)
{
    struct http *h = here->http;
    size_t least = loop_conns_max(h), n;
    struct loop *best = NULL;

    if (load(here) < least) {
        best = here;
        least = load(here);
    }
    for (struct loop *l = h->loops; l; l = l->next) {
        n = load(l);
        if (n < least && !atomic_load(&l->retired) && !atomic_load(&l->ended)) {
            best = l;
            least = n;
        }
    }
    return best;
}

/* False: there is none, or no room for it. */
static bool accept_one(struct loop *here)
{
    struct http *h = here->http;
    struct arrival a = {.size = sizeof(a.peer)}, *copy;
    struct loop *to;
    bool ring;

    pthread_mutex_lock(&h->loops_lock);
    to = fewest(here);
    if (to)
        a.fd = accept4(here->listen_fd, (struct sockaddr *)&a.peer, &a.size,
                       SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (!to || a.fd < 0) {
        pthread_mutex_unlock(&h->loops_lock);
        if (to && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM))
            here->accept_ms = http_now_ms(h) + PAUSE_MS;
        return to && (errno == ECONNABORTED || errno == EINTR || errno == EPROTO);
    }
    copy = mem_alloc(sizeof(*copy));
    *copy = a;
    copy->next = to->arrivals;
    ring = !to->arrivals && to != here;
    to->arrivals = copy;
    to->arrival_count++;
    if (ring)
        loop_ring(to); /* under the lock, which keeps the loop */
    pthread_mutex_unlock(&h->loops_lock);
    return true;
}

void loop_accept(struct loop *l)
{
    for (int i = 0; i < BURST && accept_one(l); i++)
        ;
}

void loop_take_arrivals(struct loop *l)
{
    struct arrival *a, *next;

    pthread_mutex_lock(&l->http->loops_lock);
    a = l->arrivals;
    l->arrivals = NULL;
    pthread_mutex_unlock(&l->http->loops_lock);
    for (; a; a = next) {
        next = a->next;
        /* What the library does not want it closes. */
        MHD_add_connection(l->daemon, a->fd, (struct sockaddr *)&a->peer, a->size);
        mem_free(a);
        pthread_mutex_lock(&l->http->loops_lock);
        l->arrival_count--;
        pthread_mutex_unlock(&l->http->loops_lock);
    }
}

bool loop_has_arrivals(struct loop *l)
{
    bool has;

    pthread_mutex_lock(&l->http->loops_lock);
    has = l->arrivals != NULL;
    pthread_mutex_unlock(&l->http->loops_lock);
    return has;
}

void loop_drop_arrivals(struct loop *l)
{
    struct arrival *next;

    for (struct arrival *a = l->arrivals; a; a = next) {
        next = a->next;
        close(a->fd);
        mem_free(a);
    }
    l->arrivals = NULL;
}
