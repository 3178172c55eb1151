/* Sockets are in the epoll set edge by edge while the loop has their connections. Whoever has a
 * reply puts its connection on the loop's list, and rings only if the list was empty and the loop
 * sleeps: a committer's thread makes one system call for many replies. */
#include "sql/door/loop.h"

#include "base/bell.h"
#include "base/thread.h"
#include "sql/door/single.h"
#include "sql/door/visit.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define EVENTS 128

struct loop {
    struct door *door;
    pthread_t thread;
    bool running;
    int epoll_fd;
    struct bell bell;
    _Atomic(struct connection *) ready; /* their replies have come, the last one first */
    struct connection *again;           /* have their turn soon; the loop's own, as the next */
    const struct connection *begins;    /* its request is being submitted */
    atomic_int wakers;                  /* threads that are about to ring */
    atomic_bool quit;
};

/* ---- replies ---- */

static void on_reply(void *arg, struct wr_reply *reply)
{
    struct connection *c = arg, *first;
    struct loop *l = c->loop;

    c->reply = reply;
    /* Within its own wr_submit(). Another one's, on this thread, may pass a row's lock on to it. */
    if (pthread_equal(l->thread, pthread_self()) && l->begins == c) {
        c->here = true;
        return;
    }
    atomic_fetch_add(&l->wakers, 1);
    first = atomic_load(&l->ready);
    do
        c->next_ready = first;
    while (!atomic_compare_exchange_weak(&l->ready, &first, c));
    if (!first)
        bell_call(&l->bell);
    atomic_fetch_sub(&l->wakers, 1);
}

/* ---- a connection's steps ---- */

static void give_back(struct loop *l, struct connection *c)
{
    epoll_ctl(l->epoll_fd, EPOLL_CTL_DEL, c->channel.fd, NULL);
    pthread_mutex_lock(&c->lock);
    c->on_loop = false;
    pthread_cond_signal(&c->back);
    pthread_mutex_unlock(&c->lock);
}

static struct wr_reply *reply_take(struct connection *c)
{
    struct wr_reply *reply = c->reply;

    c->reply = NULL;
    c->here = c->queued = false;
    return reply;
}

/* What a step came to. A request begins here; its reply is another step, perhaps at once. */
static void step_end(struct loop *l, struct connection *c, enum single next,
                     const struct wr_request *request)
{
    if (next == SINGLE_REQUEST) {
        c->queued = true; /* its turn comes with the reply */
        l->begins = c;
        wr_submit(l->door->conf.db, request, on_reply, c);
        l->begins = NULL;
        if (!c->here)
            return;
        next = single_end(c, reply_take(c));
    }
    if (next == SINGLE_AGAIN) {
        c->queued = true;
        c->next_ready = l->again;
        l->again = c;
    } else if (next == SINGLE_BACK) {
        give_back(l, c);
    }
}

static void step(struct loop *l, struct connection *c)
{
    const struct wr_request *request = NULL;
    enum single next = single_begin(c, &request);

    step_end(l, c, next, request);
}

static void loop_take_ready(struct loop *l)
{
    struct connection *c = atomic_exchange(&l->ready, NULL), *oldest = NULL, *next;

    for (; c; c = next) {
        next = c->next_ready;
        c->next_ready = oldest;
        oldest = c;
    }
    for (c = oldest; c; c = next) {
        next = c->next_ready;
        step_end(l, c, single_end(c, reply_take(c)), NULL);
    }
}

/* Those that come to the list meanwhile have their turn next time. */
static void loop_run_again(struct loop *l)
{
    struct connection *c = l->again, *next;

    l->again = NULL;
    for (; c; c = next) {
        next = c->next_ready;
        c->queued = false;
        step(l, c);
    }
}

static void loop_event(struct loop *l, const struct epoll_event *event)
{
    struct connection *c = event->data.ptr;

    if (event->data.ptr == l) {
        bell_heard(&l->bell);
        return;
    }
    c->readable = true;
    if (!c->queued)
        step(l, c);
}

static void *loop_main(void *arg)
{
    struct loop *l = arg;
    struct epoll_event events[EVENTS];

    thread_prompt();
    while (!atomic_load(&l->quit)) {
        int n;

        bell_sleep(&l->bell);
        n = epoll_wait(l->epoll_fd, events, EVENTS, l->again || atomic_load(&l->ready) ? 0 : -1);
        bell_woke(&l->bell);
        for (int i = 0; i < n; i++)
            loop_event(l, &events[i]);
        loop_take_ready(l);
        loop_run_again(l);
    }
    return NULL;
}

/* ---- for a connection's thread ---- */

/* Under its lock: until it is back. As long as it is not, its client has said nothing that needs
 * more than a loop. */
static void wait_back(struct connection *c)
{
    struct clock *clock = c->door->conf.clock;
    int64_t since_ms = clock_mono_ms(clock);

    while (c->on_loop) {
        int64_t now_ms = clock_mono_ms(clock), left_ms = c->since_ms + IDLE_S * 1000 - now_ms;
        bool looks = session_can_rest(c->visit->session);
        struct timespec until = thread_time_in((left_ms > 1000 && !looks ? left_ms : 1000) * 1000);

        if (visit_should_rest(c->visit, now_ms - since_ms)) {
            pthread_mutex_unlock(&c->lock);
            visit_rest(c->visit);
            pthread_mutex_lock(&c->lock);
            continue;
        }
        if (left_ms <= 0 && !c->sql_size)
            shutdown(c->channel.fd, SHUT_RDWR); /* the loop sees it, and gives it back */
        pthread_cond_timedwait(&c->back, &c->lock, &until);
    }
}

void loop_serve(struct connection *c)
{
    struct loop *l = c->door->loops[c->number % (uint32_t)c->door->loop_count];
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | EPOLLET, .data.ptr = c};

    pthread_mutex_lock(&c->lock);
    c->loop = l;
    c->readable = c->queued = c->here = false;
    c->on_loop = true;
    if (epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, c->channel.fd, &event))
        c->on_loop = false;
    wait_back(c);
    pthread_mutex_unlock(&c->lock);
}

/* ---- life ---- */

static bool loop_open(struct loop *l)
{
    l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (l->epoll_fd < 0 || !bell_open(&l->bell, l->epoll_fd, l))
        return false;
    l->running = thread_start(&l->thread, "wr-sql-loop", loop_main, l);
    return l->running;
}

bool loops_open(struct door *d)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    int count = processors > 0 ? (int)processors : 1;

    d->loops = mem_zalloc((size_t)count * sizeof(struct loop *));
    while (d->loop_count < count) {
        struct loop *l = d->loops[d->loop_count++] = mem_zalloc(sizeof(*l));

        l->door = d;
        l->epoll_fd = -1;
        bell_init(&l->bell);
        if (!loop_open(l))
            return false;
    }
    return true;
}

static void loop_close(struct loop *l)
{
    atomic_store(&l->quit, true);
    if (l->running) {
        bell_ring(&l->bell);
        pthread_join(l->thread, NULL);
    }
    while (atomic_load(&l->wakers)) /* the last reply's thread may still ring */
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    if (l->epoll_fd >= 0)
        close(l->epoll_fd);
    bell_close(&l->bell);
    mem_free(l);
}

void loops_close(struct door *d)
{
    for (int i = 0; i < d->loop_count; i++)
        loop_close(d->loops[i]);
    mem_free(d->loops);
    d->loops = NULL;
    d->loop_count = 0;
}
