/* Loops on epoll: a few threads, each with its own connections.
 *
 * Sockets are in the epoll set once, edge by edge, for as long as they are open: no system call but
 * reading and writing is made for a request. Beside them a loop watches the listening socket, while
 * there is room, and its bell. Whoever has an answer for a parked request puts it on the loop's
 * list and rings only if the list was empty; the loop takes the whole list at once. So a
 * committer's thread makes one system call for many answers.
 *
 * A turn: what is ready is run, then what had more to do than one turn allows or has much to send,
 * then the slice of connections whose deadlines are looked at now. Connections that were closed are
 * freed at its end, since the list of events may still name them. */
#include "base/thread.h"
#include "net/http_own.h"

#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#define EVENTS 256
#define WATCH_MS 1000  /* each connection is looked at so often, or four times a deadline */
#define WATCH_SLICES 8 /* in which all of them are seen */

/* ---- lists ---- */

/* Goes on with what has been answered, oldest first. */
static void loop_take_ready(struct loop *l)
{
    struct exchange *x = atomic_exchange(&l->ready, NULL), *oldest = NULL, *next;

    for (; x; x = next) {
        next = exchange_next_ready(x);
        exchange_link_ready(x, oldest);
        oldest = x;
    }
    for (x = oldest; x; x = next) {
        next = exchange_next_ready(x);
        exchange_wake(x);
    }
}

/* Those that were on the list when the turn began, oldest first, until they have moved as many
 * bytes as one of them may. The others have theirs later, behind the requests that come meanwhile:
 * these would else wait until each of many large answers is a piece further. */
static void loop_run_again(struct loop *l)
{
    struct conn *last = l->again ? l->again_last : NULL, *c = NULL;
    size_t left = TURN_BYTES, moved;

    while (c != last && left) {
        c = l->again;
        l->again = c->next;
        c->queued = false;
        if (c->phase == CLOSED) {
            c->next = l->dead;
            l->dead = c;
            continue;
        }
        moved = conn_run(c);
        left -= moved < left ? moved : left;
    }
}

static void loop_bury(struct loop *l)
{
    struct conn *next;

    for (struct conn *c = l->dead; c; c = next) {
        next = c->next;
        conn_free(c);
    }
    l->dead = NULL;
}

/* ---- turns ---- */

/* Looks at the next of the connections: so many that each has its turn in WATCH_MS (or a few times
 * within a shorter deadline). */
static void loop_watch(struct loop *l)
{
    int64_t now = l->now_ms, round_ms = l->http->conf.request_timeout_ms / 4, slice_ms, n, count;

    if (l->linger_count && now >= l->linger_ms)
        linger_tick(l, now);
    count = (int64_t)atomic_load_explicit(&l->conn_count, memory_order_relaxed);
    if (now < l->watch_ms || !count)
        return;
    if (round_ms > WATCH_MS)
        round_ms = WATCH_MS;
    slice_ms = round_ms / WATCH_SLICES < 10 ? 10 : round_ms / WATCH_SLICES;
    /* As much time as has passed counts, so that a busy loop does not fall behind. */
    n = count * (now - l->watch_ms + slice_ms) / round_ms + 1;
    l->watch_ms = now + slice_ms;
    for (n = n < count ? n : count; n-- && l->conns.next != &l->conns;) {
        struct ring *first = l->conns.next;

        ring_remove(first);
        ring_add(&l->conns, first);
        conn_watch(PORT_CONTAINER(first, struct conn, all), now);
    }
    share_relieve(l);
    queue_tick(l->http, now);
    loop_make_room(l);
}

/* Milliseconds until there is something to do without a socket asking for it; -1: nothing. */
static int loop_timeout_ms(struct loop *l)
{
    int64_t least = INT64_MAX, now = http_now_ms(l->http);

    if (l->again)
        return 0;
    if (l->accept_ms > now)
        least = l->accept_ms - now;
    if (l->conn_count && l->watch_ms - now < least)
        least = l->watch_ms - now;
    if (l->linger_count && l->linger_ms - now < least)
        least = l->linger_ms - now;
    if (least == INT64_MAX)
        return -1;
    return least > 0 ? (int)least : 0;
}

/* Hears of new connections only while they can be taken; one loop hears of each. */
static void loop_listen(struct loop *l)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLEXCLUSIVE, .data.ptr = l->http};
    bool want = loop_accepts(l);

    if (want != l->listening)
        epoll_ctl(l->epoll_fd, want ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, l->http->listen_fd, &event);
    l->listening = want;
}

static void loop_event(struct loop *l, const struct epoll_event *event)
{
    struct conn *c = event->data.ptr;

    if (event->data.ptr == l->http) {
        loop_accept(l);
        return;
    }
    if (event->data.ptr == l) {
        bell_heard(&l->bell);
        return;
    }
    if (c->phase == CLOSED)
        return;
    if (event->events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) {
        c->hung_up = true;
        if (c->exchange)
            exchange_client_gone(c->exchange);
    }
    if (event->events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR))
        c->readable = true;
    if (event->events & (EPOLLOUT | EPOLLHUP | EPOLLERR))
        c->writable = true;
    if (!c->queued)
        conn_turn(c);
}

static void *loop_main(void *arg)
{
    struct loop *l = arg;
    struct epoll_event events[EVENTS];
    sigset_t pipe_signal;

    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_signal, NULL); /* lost clients show as errors of send() */
    thread_prompt();
    while (!atomic_load(&l->http->loops_quit)) {
        int n;

        loop_listen(l);
        bell_sleep(&l->bell);
        n = epoll_wait(l->epoll_fd, events, EVENTS,
                       atomic_load(&l->ready) ? 0 : loop_timeout_ms(l));
        bell_woke(&l->bell);
        l->now_ms = http_now_ms(l->http);
        for (int i = 0; i < n; i++)
            loop_event(l, &events[i]);
        loop_take_arrivals(l);
        loop_take_ready(l);
        loop_run_again(l);
        loop_watch(l);
        loop_bury(l);
    }
    return NULL;
}

/* ---- life ---- */

static bool loop_start(struct loop *l)
{
    l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (l->epoll_fd < 0 || !bell_open(&l->bell, l->epoll_fd, l))
        return false;
    l->running = thread_start(&l->thread, "wr-loop", loop_main, l);
    return l->running;
}

static void loop_pause_ms(int ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

/* Waits for the loop's end; frees what loop_start() made, all of it or a part. */
static void loop_free(struct loop *l)
{
    if (l->running) {
        bell_ring(&l->bell);
        pthread_join(l->thread, NULL);
    }
    while (atomic_load(&l->wakers))
        loop_pause_ms(1);
    loop_take_ready(l); /* the server is closed: they are only freed */
    while (l->conns.next != &l->conns)
        conn_close(PORT_CONTAINER(l->conns.next, struct conn, all));
    loop_run_again(l);
    loop_bury(l);
    linger_free(l);
    loop_drop_arrivals(l);
    if (l->epoll_fd >= 0)
        close(l->epoll_fd);
    bell_close(&l->bell);
    mem_free(l->in);
    mem_free(l->out);
    mem_free(l);
}

bool loops_start(struct http *h)
{
    for (int i = 0; i < h->conf.threads; i++) {
        struct loop *l = mem_zalloc(sizeof(*l));

        l->http = h;
        l->in = mem_alloc(LOOP_BYTES);
        l->out = mem_alloc(LOOP_BYTES);
        l->epoll_fd = -1;
        bell_init(&l->bell);
        ring_init(&l->conns);
        ring_init(&l->strangers);
        ring_init(&l->holders);
        l->next = h->loops;
        h->loops = l;
    }
    for (struct loop *l = h->loops; l; l = l->next)
        if (!loop_start(l))
            return false;
    return true;
}

void loops_stop(struct http *h)
{
    struct loop *l;

    atomic_store(&h->loops_quit, true);
    for (l = h->loops; l; l = l->next)
        if (l->running) {
            bell_ring(&l->bell);
            pthread_join(l->thread, NULL);
            l->running = false;
        }
    while ((l = h->loops)) {
        h->loops = l->next;
        loop_free(l);
    }
}
