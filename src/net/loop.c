/* Loops on libmicrohttpd: epoll, a few threads, suspend and resume.
 *
 * Each loop thread runs one instance of the library, on its own epoll set; connections are given to
 * it (accept.c). The library could make such threads itself, but then every resume of a
 * connection is a system call in the thread that resumes (a committer's, say) and a wake-up of the
 * loop. So a loop waits for the library's epoll set and for its own bell: whoever has an answer
 * puts the request on the loop's list and rings only if the list was empty; the loop takes the
 * whole list at once. (Measured on 2 busy cores, 256 connections, 200-byte bodies, answers from
 * another thread: 26 to 29 us of processor time a request against 29 to 34 with the library's
 * threads, and that difference is taken off the committer.)
 *
 * Between two runs of the library a loop looks after what the library does not: deadlines (conn.c)
 * and sockets that linger (linger.c). */
#include "base/thread.h"
#include "net/door.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

/* The library's buffer for headers and a piece of body. It clears it for each request, so a larger
 * one makes small requests slower. */
#define CONNECTION_BYTES 16384
/* What has been the common ground of current clients for years. */
#define TLS_PRIORITIES "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"
#define WATCH_MS 1000  /* each connection is looked at so often, or four times a deadline */
#define WATCH_SLICES 8 /* in which all of them are seen */

/* ---- the bell ---- */

void loop_ring(struct loop *l)
{
    /* Were the ring lost all the same, the loop would see the list at its next look at the
     * connections. */
    while (write(l->bell_fd, &(uint64_t){1}, sizeof(uint64_t)) < 0 && errno == EINTR)
        ;
}

void loop_put_ready(struct loop *l, struct exchange *x)
{
    struct exchange *head = atomic_load(&l->ready);

    do
        exchange_link_ready(x, head);
    while (!atomic_compare_exchange_weak(&l->ready, &head, x));
    if (!head)
        loop_ring(l);
}

/* ---- the library ---- */

static void on_library_log(void *cls, const char *fmt, va_list args) PORT_PRINTF(2, 0);

static void on_library_log(void *cls, const char *fmt, va_list args)
{
    struct http *h = cls;
    char text[512];
    size_t n;

    vsnprintf(text, sizeof(text), fmt, args);
    n = strlen(text);
    while (n && text[n - 1] == '\n')
        text[--n] = 0;
    log_debug(h->conf.log, "http: %s", text);
}

static void on_connection(void *cls, struct MHD_Connection *connection, void **socket_context,
                          enum MHD_ConnectionNotificationCode code)
{
    if (code == MHD_CONNECTION_NOTIFY_STARTED)
        *socket_context = conn_open(cls, connection);
    else if (*socket_context)
        conn_close(*socket_context);
}

/* The path stays as it was sent. */
static size_t on_unescape(void *cls, struct MHD_Connection *connection, char *text)
{
    (void)cls;
    (void)connection;
    return strlen(text);
}

size_t loop_conns_max(const struct http *h)
{
    return (size_t)(h->conf.connections_max + h->conf.threads - 1) / (size_t)h->conf.threads;
}

static struct MHD_Daemon *daemon_start(struct loop *l)
{
    struct http *h = l->http;
    const struct http_conf *conf = &h->conf;
    unsigned flags =
        MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
    struct MHD_OptionItem tls[] = {{MHD_OPTION_HTTPS_MEM_CERT, 0, h->tls.cert},
                                   {MHD_OPTION_HTTPS_MEM_KEY, 0, h->tls.key},
                                   {MHD_OPTION_HTTPS_PRIORITIES, 0, (char[]){TLS_PRIORITIES}},
                                   {MHD_OPTION_END, 0, NULL}};
    struct MHD_OptionItem *options = conf->tls_cert ? tls : &tls[PORT_COUNT(tls) - 1];

    if (conf->tls_cert)
        flags |= MHD_USE_TLS;
    return MHD_start_daemon(
        flags, 0, NULL, NULL, exchange_on_access, h, MHD_OPTION_EXTERNAL_LOGGER, on_library_log,
        (void *)h, MHD_OPTION_CONNECTION_LIMIT, (unsigned)loop_conns_max(h),
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)conf->idle_timeout_s,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES, MHD_OPTION_NOTIFY_CONNECTION,
        on_connection, (void *)l, MHD_OPTION_URI_LOG_CALLBACK, exchange_on_line, (void *)h,
        MHD_OPTION_UNESCAPE_CALLBACK, on_unescape, NULL, MHD_OPTION_NOTIFY_COMPLETED,
        exchange_on_completed, (void *)h, MHD_OPTION_ARRAY, options, MHD_OPTION_END);
}

/* ---- the thread ---- */

/* Resumes what has been answered, oldest first. */
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
        exchange_resume(x);
    }
}

/* Milliseconds until there is something to do without a socket asking for it; -1: nothing. */
static int loop_timeout_ms(struct loop *l, int64_t now)
{
    MHD_UNSIGNED_LONG_LONG ms;
    int64_t least = INT64_MAX;

    if (MHD_get_timeout(l->daemon, &ms) == MHD_YES)
        least = ms < 60000 ? (int64_t)ms : 60000;
    if (l->accept_ms > now && l->accept_ms - now < least)
        least = l->accept_ms - now;
    if (!least || (!l->conn_count && !l->linger_count))
        return least == INT64_MAX ? -1 : (int)least;
    if (l->conn_count && l->watch_ms - now < least)
        least = l->watch_ms - now;
    if (l->linger_count && l->linger_ms - now < least)
        least = l->linger_ms - now;
    return least > 0 ? (int)least : 0;
}

/* Looks at the next of the connections: so many that each has its turn in WATCH_MS (or a few times
 * within a shorter deadline). */
static void loop_watch(struct loop *l)
{
    int64_t now = http_now_ms(l->http), round_ms = l->http->conf.request_timeout_ms / 4, slice_ms,
            n;

    if (l->linger_count && now >= l->linger_ms)
        linger_tick(l, now);
    if (now < l->watch_ms || !l->conn_count)
        return;
    if (round_ms > WATCH_MS)
        round_ms = WATCH_MS;
    slice_ms = round_ms / WATCH_SLICES < 10 ? 10 : round_ms / WATCH_SLICES;
    /* As much time as has passed counts, so that a busy loop does not fall behind. */
    n = (int64_t)l->conn_count * (now - l->watch_ms + slice_ms) / round_ms + 1;
    l->watch_ms = now + slice_ms;
    if (n > (int64_t)l->conn_count)
        n = (int64_t)l->conn_count;
    while (n--) {
        struct conn *c = l->conns.next;

        conn_to_back(c);
        conn_watch(c, now);
    }
}

static void loop_quiesce(struct loop *l)
{
    close(l->listen_fd);
    l->listen_fd = -1;
    l->quiesced = true;
}

static bool loop_is_empty(struct loop *l)
{
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(l->daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);

    return !info || info->num_connections == 0;
}

static void *loop_main(void *arg)
{
    struct loop *l = arg;
    struct pollfd fds[3] = {{.fd = l->epoll_fd, .events = POLLIN},
                            {.fd = l->bell_fd, .events = POLLIN},
                            {.events = POLLIN}};
    uint64_t rung;
    int64_t now;
    sigset_t pipe_signal;

    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_signal, NULL); /* lost clients show as errors of send() */
    thread_prompt();
    while (!atomic_load(&l->http->loops_quit)) {
        now = http_now_ms(l->http);
        fds[2].fd = loop_accepts(l, now) ? l->listen_fd : -1; /* -1 is passed over */
        poll(fds, 3, loop_timeout_ms(l, now));
        if (fds[1].revents)
            (void)!read(l->bell_fd, &rung, sizeof(rung));
        if ((atomic_load_explicit(&l->http->stopping, memory_order_relaxed) ||
             atomic_load_explicit(&l->retired, memory_order_relaxed)) &&
            !l->quiesced)
            loop_quiesce(l);
        else if (fds[2].revents)
            loop_accept(l);
        loop_take_arrivals(l);
        loop_take_ready(l);
        loop_watch(l);
        MHD_run(l->daemon);
        if (atomic_load(&l->retired) && loop_is_empty(l) && !loop_has_arrivals(l))
            break;
    }
    atomic_store(&l->ended, true);
    return NULL;
}

static bool loop_start(struct loop *l)
{
    l->listen_fd = fcntl(l->http->listen_fd, F_DUPFD_CLOEXEC, 0);
    l->bell_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (l->listen_fd < 0 || l->bell_fd < 0)
        return false;
    l->daemon = daemon_start(l);
    if (!l->daemon)
        return false;
    l->epoll_fd = MHD_get_daemon_info(l->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    l->running = thread_start(&l->thread, "wr-loop", loop_main, l);
    return l->running;
}

static void pause_ms(int ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

/* Waits for the loop's end; frees what loop_start() made, all of it or a part. */
static void loop_free(struct loop *l)
{
    if (l->running) {
        loop_ring(l);
        pthread_join(l->thread, NULL);
    }
    while (atomic_load(&l->ringers))
        pause_ms(1);
    if (l->daemon)
        MHD_stop_daemon(l->daemon);
    linger_free(l);
    loop_drop_arrivals(l);
    if (l->listen_fd >= 0)
        close(l->listen_fd);
    if (l->bell_fd > 0)
        close(l->bell_fd);
    mem_free(l);
}

bool loops_start(struct http *h)
{
    for (int i = 0; i < h->conf.threads; i++) {
        struct loop *l = mem_zalloc(sizeof(*l));
        bool started;

        l->http = h;
        l->conns.next = l->conns.prev = &l->conns;
        started = loop_start(l);
        if (!started)
            atomic_store(&l->ended, true);
        pthread_mutex_lock(&h->loops_lock);
        l->next = h->loops;
        h->loops = l;
        pthread_mutex_unlock(&h->loops_lock);
        if (!started)
            return false;
    }
    return true;
}

/* Under the lock, so that none is given another connection from now on. */
void loops_retire(struct http *h, struct loop *l, const struct loop *end)
{
    pthread_mutex_lock(&h->loops_lock);
    for (; l != end; l = l->next) {
        atomic_store(&l->retired, true);
        if (l->running)
            loop_ring(l);
    }
    pthread_mutex_unlock(&h->loops_lock);
}

void loops_free_ended(struct http *h)
{
    for (struct loop **at = &h->loops; *at;) {
        struct loop *l = *at;

        if (atomic_load(&l->ended)) {
            pthread_mutex_lock(&h->loops_lock);
            *at = l->next;
            pthread_mutex_unlock(&h->loops_lock);
            loop_free(l);
        } else {
            at = &l->next;
        }
    }
}

void loops_stop(struct http *h)
{
    struct loop *l;

    atomic_store(&h->loops_quit, true);
    while ((l = h->loops)) {
        pthread_mutex_lock(&h->loops_lock);
        h->loops = l->next;
        pthread_mutex_unlock(&h->loops_lock);
        loop_free(l);
    }
}
