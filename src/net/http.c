/* HTTP on libmicrohttpd: epoll, a few loop threads, suspend and resume.
 *
 * Loops. Each loop thread runs one instance of the library, on its own epoll set and a duplicate of
 * the one listening socket. The library could make such threads itself, but then every resume of a
 * connection is a system call in the thread that resumes (a committer's, say) and a wake-up of the
 * loop. So a loop waits for the library's epoll set and for its own bell: whoever has an answer
 * puts the request on the loop's list and rings only if the list was empty; the loop takes the
 * whole list at once. (Measured on 2 busy cores, 256 connections, 200-byte bodies, answers from
 * another thread: 26 to 29 us of processor time a request against 29 to 34 with the library's
 * threads, and that difference is taken off the committer.)
 *
 * One request is one `struct exchange`. Its life, all on the connection's loop thread:
 *
 *   - on_line(): the request line is there; the connection's phase becomes READING
 *   - on_access(), first call: headers; next calls: pieces of the body; last: the body is whole
 *   - exchange_run(): calls the handler, then what continuations it asks for, until it replies
 *   - on_completed(): the answer is sent, or the connection lost
 *
 * Parking. The handler may answer later and from another thread, so both sides meet in `step`:
 *
 *   RUNNING    a handler or continuation runs on the loop thread
 *   PARKED     it returned without an answer and the connection is suspended
 *   READY      an answer or a continuation has been left for the loop thread
 *
 * When the handler has returned, the loop thread tries RUNNING -> PARKED and suspends; http_reply()
 * and http_resume() leave their gift and exchange READY for the old step. Whoever finds the other's
 * mark goes on: the loop thread at once, the other by way of the loop's list. So a connection is
 * resumed exactly once, and one whose handler answers at once is never suspended. Only its loop
 * thread ever suspends or resumes a connection.
 *
 * Memory. An exchange is one block: the struct and the first bytes of its arena. It is held by the
 * request (until on_completed) and by the answer whose body lies in it (until the library lets the
 * answer go); both end on the loop thread, so the count needs no atomics.
 *
 * Deadlines. The library's own timeout starts again with every byte, so a client that drips is
 * never stopped by it. A watch thread looks at all connections about once a second. Each has a
 * phase:
 *
 *   IDLE -> READING -> HANDLING -> SENDING -> IDLE
 *
 * READING and SENDING that last too long are cut. A connection that is IDLE to us may have sent
 * half a request line, which the library does not show; the kernel's count of received bytes does.
 * It is compared with zero on a fresh connection and else with its value when the watch first saw
 * the connection idle, so requests pay nothing for it.
 *
 * To cut, the watch moves the phase to LATE by compare-and-swap (the loop thread makes all its own
 * moves the same way, and gives the connection up when it loses), writes the 408 itself, since the
 * library can answer only between reading headers and body or after the body, and shuts the socket
 * down. The descriptor cannot be reused meanwhile: the library closes it only after on_connection()
 * has taken the connection off the list, under the same lock. Under TLS the 408 is left out: it
 * would stand unencrypted among encrypted bytes.
 *
 * Certificates. An instance of the library reads its certificate once. So new files mean new loops:
 * they are started on the same listening socket, and the old ones are retired: they accept no more,
 * close each connection with its next answer, and end with their last connection. They are freed
 * when the next retire, or with the server. */
#include "net/http.h"

#include "base/thread.h"
#include "net/tls.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/tcp.h>
#include <microhttpd.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define EXCHANGE_BYTES 8192 /* struct and first arena block */
/* The library's buffer for headers and a piece of body. It clears it for each request, so a larger
 * one makes small requests slower. */
#define CONNECTION_BYTES 16384
#define DRAIN_BYTES_MAX ((uint64_t)64 << 20) /* read and dropped so that a 413 arrives */
/* Of an answer, so much may lie in the kernel before it can be sent. The kernel would take 4 MB for
 * each client that does not read, and a few hundred of those slow down every socket of the machine.
 */
#define UNSENT_BYTES_MAX (256 << 10)
#define HEADERS_MAX 100
/* What has been the common ground of current clients for years. */
#define TLS_PRIORITIES "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"
/* A server that closes waits for so long without a request: clients that had their last answer
 * before it said Connection: close may have sent another request. */
#define QUIET_MS 30

enum phase { IDLE, READING, HANDLING, SENDING, LATE };
enum step { RUNNING, PARKED, READY };

struct exchange;

struct loop {
    struct loop *next;
    struct http *http;
    struct MHD_Daemon *daemon;
    int epoll_fd; /* the library's */
    int bell_fd;  /* readable: the list is not empty, or `stopping` or `quit` was set */
    _Atomic(struct exchange *) ready; /* parked requests to resume, newest first */
    atomic_int ringers;               /* threads inside exchange_ready(), which use this struct */
    atomic_bool retired;              /* accept no more, end with the last connection */
    atomic_bool ended;                /* so it has */
    bool quiesced;                    /* the loop thread's own */
    bool closed_some;                 /* the loop thread's own: the last run closed a connection */
    bool running;                     /* the thread was started */
    pthread_t thread;
};

struct conn {
    struct http *http;
    struct loop *loop;
    struct conn *prev, *next;
    int fd;
    atomic_int phase;      /* enum phase */
    atomic_llong since_ms; /* when the phase began; READING and SENDING only */
    atomic_uint requests;  /* completed; tells one idle time from the next */
    /* The watch thread's own. */
    unsigned seen_requests; /* `requests` when base_bytes was taken */
    uint64_t base_bytes;    /* received when this idle time began */
    int64_t first_byte_ms;  /* when bytes past base_bytes were first seen; 0: none yet */
};

struct exchange {
    struct http_request super;
    struct http *http;
    struct conn *conn;
    struct MHD_Connection *connection;
    int refs;
    bool begun;    /* counted in http->active, handler called */
    bool answered; /* no longer counted in http->pending */
    bool dropping; /* the body is too large and not kept */
    uint8_t *body;
    size_t body_len, body_capacity;
    uint64_t dropped;
    struct http_header *headers;
    atomic_int step;             /* enum step */
    struct exchange *next_ready; /* in the loop's list */
    /* The gift: either `next`, or with `replied` the answer. */
    http_fn *next;
    void *next_arg;
    bool replied;
    int status;
    const struct http_header *out;
    size_t out_count;
    bytes out_body;
};

struct http {
    struct http_conf conf;
    struct loop *loops; /* the newest first: conf.threads of them, then retired ones */
    int listen_fd;      /* the loops have duplicates; -1: none */
    struct tls_pair tls;
    char address[80];
    atomic_bool stopping;  /* answers say Connection: close */
    atomic_bool closed;    /* no handler is called any more */
    atomic_ullong active;  /* handler called, on_completed still to come */
    atomic_ullong pending; /* handler called, answer not yet handed over */
    atomic_ullong accepted, late;
    pthread_mutex_t lock; /* guards the list, count and `quit` */
    struct conn *conns;
    uint64_t conn_count;
    bool quit;
    atomic_bool loops_quit;
    pthread_cond_t wake;
    pthread_t watch;
};

static int64_t now_ms(struct http *h)
{
    return clock_mono_ms(h->conf.clock);
}

/* ---- connections ---- */

static struct conn *conn_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

    return info ? info->socket_context : NULL;
}

static bool conn_move(struct conn *c, int from, int to)
{
    return atomic_compare_exchange_strong(&c->phase, &from, to);
}

static void conn_opened(struct loop *l, struct MHD_Connection *connection, void **socket_context)
{
    struct http *h = l->http;
    struct conn *c = mem_zalloc(sizeof(*c));

    c->http = h;
    c->loop = l;
    c->fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    c->seen_requests = UINT32_MAX;
    atomic_init(&c->phase, IDLE);
    *socket_context = c;
    atomic_fetch_add(&h->accepted, 1);
    pthread_mutex_lock(&h->lock);
    c->next = h->conns;
    if (c->next)
        c->next->prev = c;
    h->conns = c;
    h->conn_count++;
    pthread_mutex_unlock(&h->lock);
}

static void conn_closed(struct http *h, struct conn *c)
{
    pthread_mutex_lock(&h->lock);
    if (c->next)
        c->next->prev = c->prev;
    if (c->prev)
        c->prev->next = c->next;
    else
        h->conns = c->next;
    h->conn_count--;
    pthread_mutex_unlock(&h->lock);
    mem_free(c);
}

static void on_connection(void *cls, struct MHD_Connection *connection, void **socket_context,
                          enum MHD_ConnectionNotificationCode code)
{
    struct loop *l = cls;

    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        conn_opened(l, connection, socket_context);
        return;
    }
    l->closed_some = true;
    if (*socket_context)
        conn_closed(l->http, *socket_context);
}

/* ---- the watch ---- */

static void conn_cut(struct conn *c, int from, bool say)
{
    struct http *h = c->http;
    char answer[256];
    int n;

    if (!conn_move(c, from, LATE))
        return;
    atomic_fetch_add(&h->late, 1);
    if (say && !h->conf.tls_cert) {
        n = snprintf(
            answer, sizeof(answer),
            "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n",
            h->conf.late_body.len);
        if (send(c->fd, answer, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL) == n &&
            h->conf.late_body.len)
            (void)!send(c->fd, h->conf.late_body.ptr, h->conf.late_body.len,
                        MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    shutdown(c->fd, SHUT_RDWR);
}

static uint64_t conn_received(struct conn *c)
{
    struct tcp_info info;
    socklen_t size = sizeof(info);

    memset(&info, 0, sizeof(info));
    if (getsockopt(c->fd, IPPROTO_TCP, TCP_INFO, &info, &size))
        return 0;
    return info.tcpi_bytes_received;
}

/* A connection without a request: has it begun to send one? */
static void conn_watch_idle(struct conn *c, int64_t now)
{
    unsigned requests = atomic_load(&c->requests);
    uint64_t received = conn_received(c);

    if (c->seen_requests != requests) {
        c->seen_requests = requests;
        c->base_bytes = requests ? received : 0;
        c->first_byte_ms = 0;
    }
    if (received > c->base_bytes && !c->first_byte_ms)
        c->first_byte_ms = now;
    /* Had a whole request come and gone since, `requests` would have changed; look once more, since
     * it may have done so after it was read above. */
    if (c->first_byte_ms && now - c->first_byte_ms > c->http->conf.request_timeout_ms &&
        atomic_load(&c->requests) == requests)
        conn_cut(c, IDLE, true);
}

static void conn_watch(struct conn *c, int64_t now)
{
    struct http_conf *conf = &c->http->conf;
    int phase = atomic_load(&c->phase);
    int64_t since = atomic_load(&c->since_ms);

    if (phase == IDLE)
        conn_watch_idle(c, now);
    else if (phase == READING && now - since > conf->request_timeout_ms)
        conn_cut(c, READING, true);
    else if (phase == SENDING && now - since > conf->answer_timeout_ms)
        conn_cut(c, SENDING, false);
}

static void *watch_main(void *arg)
{
    struct http *h = arg;
    int64_t pause_ms = h->conf.request_timeout_ms / 4;

    if (pause_ms > 1000)
        pause_ms = 1000;
    if (pause_ms < 10)
        pause_ms = 10;
    pthread_mutex_lock(&h->lock);
    while (!h->quit) {
        struct timespec until;
        int64_t now;

        clock_gettime(CLOCK_MONOTONIC, &until); /* of the wait itself; never seen by a request */
        until.tv_sec += pause_ms / 1000;
        until.tv_nsec += pause_ms % 1000 * 1000000;
        if (until.tv_nsec >= 1000000000) {
            until.tv_sec++;
            until.tv_nsec -= 1000000000;
        }
        pthread_cond_timedwait(&h->wake, &h->lock, &until);
        now = now_ms(h);
        for (struct conn *c = h->conns; c; c = c->next)
            conn_watch(c, now);
    }
    pthread_mutex_unlock(&h->lock);
    return NULL;
}

/* ---- one request ---- */

static void exchange_drop(struct exchange *x)
{
    if (--x->refs == 0) {
        ctx_release(&x->super.ctx);
        mem_free(x);
    }
}

static void on_answer_free(void *arg)
{
    exchange_drop(arg);
}

static enum MHD_Result on_header(void *cls, enum MHD_ValueKind kind, const char *name,
                                 size_t name_len, const char *value, size_t value_len)
{
    struct exchange *x = cls;
    char *lower;

    (void)kind;
    if (x->super.header_count == HEADERS_MAX)
        return MHD_NO;
    while (value_len && (value[value_len - 1] == ' ' || value[value_len - 1] == '\t'))
        value_len--; /* the library trims in front only */
    lower = arena_alloc(&x->super.ctx.arena, name_len ? name_len : 1);
    for (size_t i = 0; i < name_len; i++)
        lower[i] = (char)(name[i] >= 'A' && name[i] <= 'Z' ? name[i] | 0x20 : name[i]);
    x->headers[x->super.header_count++] =
        (struct http_header){bytes_of(lower, name_len), bytes_of(value ? value : "", value_len)};
    return MHD_YES;
}

/* The library has checked that it is a number. UINT64_MAX: no such header (chunked, or no body). */
static uint64_t content_length(const struct http_request *r)
{
    bytes value = http_header(r, "content-length");

    return value.ptr ? strtoull(value.ptr, NULL, 10) : UINT64_MAX;
}

/* The path and the header values are views of the connection's buffer, which keeps them until the
 * request ends. */
static struct exchange *exchange_new(struct http *h, struct MHD_Connection *connection,
                                     const char *url, const char *method)
{
    struct exchange *x = mem_alloc(EXCHANGE_BYTES);
    const union MHD_ConnectionInfo *peer =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    struct http_request *r = &x->super;
    int headers = MHD_get_connection_values(connection, MHD_HEADER_KIND, NULL, NULL);

    memset(x, 0, sizeof(*x));
    ctx_init(&r->ctx, h->conf.clock, h->conf.log, x + 1, EXCHANGE_BYTES - sizeof(*x));
    r->ctx.arena.cap = h->conf.request_memory_max;
    x->http = h;
    x->conn = conn_of(connection);
    x->connection = connection;
    x->refs = 1;
    r->method = bytes_str(method);
    r->path = bytes_str(url);
    r->query = MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, NULL, NULL) > 0;
    r->peer = peer ? peer->client_addr : NULL;
    r->start_us = clock_mono_us(h->conf.clock);
    if (headers > HEADERS_MAX)
        headers = HEADERS_MAX;
    x->headers = ARENA_ARRAY(&r->ctx.arena, struct http_header, headers > 0 ? (size_t)headers : 1);
    r->headers = x->headers;
    MHD_get_connection_values_n(connection, MHD_HEADER_KIND, on_header, x);
    return x;
}

static void exchange_refuse_body(struct exchange *x)
{
    x->dropping = true;
    x->super.fault = 413;
    x->body = NULL;
    x->body_len = 0;
}

/* Room for n more bytes of body. A length that was announced is taken at once, so that nothing is
 * copied twice; the pages are touched only as bytes arrive. */
static bool exchange_reserve(struct exchange *x, size_t n)
{
    size_t max = x->http->conf.body_bytes_max, want = x->body_capacity * 2;
    uint64_t announced = content_length(&x->super);
    uint8_t *body;

    if (n > max - x->body_len)
        return false;
    if (n <= x->body_capacity - x->body_len)
        return true;
    if (want < x->body_len + n)
        want = x->body_len + n;
    if (!x->body && announced <= max && announced >= n)
        want = (size_t)announced;
    if (want > max)
        want = max;
    body = arena_try_alloc(&x->super.ctx.arena, want);
    if (!body)
        return false;
    if (x->body_len)
        memcpy(body, x->body, x->body_len);
    x->body = body;
    x->body_capacity = want;
    return true;
}

/* A piece of the body. Too large a body is read to its end and dropped, since a client that is
 * still sending would not see the answer; but not without end. */
static enum MHD_Result exchange_body(struct exchange *x, const char *data, size_t n)
{
    if (!x->dropping && !exchange_reserve(x, n))
        exchange_refuse_body(x);
    if (x->dropping) {
        x->dropped += n;
        return x->dropped > DRAIN_BYTES_MAX ? MHD_NO : MHD_YES;
    }
    memcpy(x->body + x->body_len, data, n);
    x->body_len += n;
    return MHD_YES;
}

/* Says whether to refuse before the body is sent: when the client waits for leave to send it, or
 * when it is too long even to be read and dropped. The library closes the connection after such an
 * answer. */
static bool exchange_refused_early(struct exchange *x)
{
    uint64_t length = content_length(&x->super);

    if (length == UINT64_MAX || length <= x->http->conf.body_bytes_max)
        return false;
    exchange_refuse_body(x);
    return length > DRAIN_BYTES_MAX || http_header(&x->super, "expect").ptr;
}

/* Hands the answer to the library; it holds the exchange until the last byte has gone. */
static enum MHD_Result exchange_answer(struct exchange *x)
{
    struct http *h = x->http;
    struct MHD_Response *response;
    enum MHD_Result result = MHD_YES;

    x->answered = true;
    atomic_fetch_sub(&h->pending, 1);
    x->refs++;
    response = MHD_create_response_from_buffer_with_free_callback_cls(
        x->out_body.len, (void *)(uintptr_t)x->out_body.ptr, on_answer_free, x);
    if (!response) {
        x->refs--;
        return MHD_NO;
    }
    for (size_t i = 0; i < x->out_count && result == MHD_YES; i++) {
        /* Names and values are built with a closing NUL or are literals. */
        result = MHD_add_response_header(response, x->out[i].name.ptr, x->out[i].value.ptr);
        if (result != MHD_YES)
            log_error(h->conf.log, "http: header %s cannot be sent",
                      (const char *)x->out[i].name.ptr);
    }
    if (atomic_load_explicit(&h->stopping, memory_order_relaxed) || x->conn->loop->quiesced)
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
    atomic_store(&x->conn->since_ms, now_ms(h));
    conn_move(x->conn, HANDLING, SENDING);
    if (result == MHD_YES)
        result = MHD_queue_response(x->connection, (unsigned)x->status, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result exchange_run(struct exchange *x)
{
    while (!x->replied) {
        http_fn *fn = x->next;
        int step = RUNNING;

        atomic_store(&x->step, RUNNING);
        x->next = NULL;
        fn(x->next_arg, &x->super);
        if (atomic_compare_exchange_strong(&x->step, &step, PARKED)) {
            MHD_suspend_connection(x->connection);
            return MHD_YES;
        }
    }
    return exchange_answer(x);
}

static enum MHD_Result exchange_begin(struct exchange *x)
{
    struct http *h = x->http;

    if (!conn_move(x->conn, READING, HANDLING))
        return MHD_NO;
    /* Counted before `closed` is looked at, and http_close() looks at the count after setting it.
     */
    x->begun = true;
    atomic_fetch_add(&h->active, 1);
    atomic_fetch_add(&h->pending, 1);
    if (atomic_load(&h->closed))
        return MHD_NO;
    x->super.body = x->body ? bytes_of(x->body, x->body_len) : bytes_of("", 0);
    x->next = h->conf.on_request;
    x->next_arg = h->conf.arg;
    return exchange_run(x);
}

static void *on_line(void *cls, const char *uri, struct MHD_Connection *connection)
{
    struct http *h = cls;
    struct conn *c = conn_of(connection);

    (void)uri;
    if (c) {
        atomic_store(&c->since_ms, now_ms(h));
        conn_move(c, IDLE, READING);
    }
    return NULL;
}

static enum MHD_Result on_access(void *cls, struct MHD_Connection *connection, const char *url,
                                 const char *method, const char *version, const char *upload_data,
                                 size_t *upload_data_size, void **req_cls)
{
    struct exchange *x = *req_cls;

    (void)version;
    if (!x) {
        x = exchange_new(cls, connection, url, method);
        *req_cls = x;
        if (!x->conn || atomic_load(&x->conn->phase) != READING)
            return MHD_NO; /* too late */
        return exchange_refused_early(x) ? exchange_begin(x) : MHD_YES;
    }
    if (x->answered) { /* early: what still arrives of the body is not wanted */
        *upload_data_size = 0;
        return MHD_YES;
    }
    if (x->begun)
        return exchange_run(x);
    if (*upload_data_size) {
        size_t n = *upload_data_size;

        *upload_data_size = 0;
        return exchange_body(x, upload_data, n);
    }
    return exchange_begin(x);
}

static void on_completed(void *cls, struct MHD_Connection *connection, void **req_cls,
                         enum MHD_RequestTerminationCode code)
{
    struct http *h = cls;
    struct exchange *x = *req_cls;
    struct conn *c;
    int phase;

    (void)connection;
    (void)code;
    if (!x)
        return;
    c = x->conn;
    if (x->begun)
        atomic_fetch_sub(&h->active, 1);
    /* A client that left while its request was parked is noticed before the handler's answer. */
    if (x->begun && !x->answered)
        atomic_fetch_sub(&h->pending, 1);
    *req_cls = NULL;
    exchange_drop(x);
    if (!c)
        return;
    atomic_fetch_add(&c->requests, 1);
    phase = atomic_load(&c->phase);
    if (phase != LATE)
        conn_move(c, phase, IDLE);
}

/* ---- what handlers call ---- */

static void loop_ring(struct loop *l)
{
    (void)!write(l->bell_fd, &(uint64_t){1}, sizeof(uint64_t));
}

/* Puts a parked exchange on its loop's list. It stays in place, and its connection suspended, until
 * the loop thread has taken it from there; then both may go at any moment. */
static void loop_put_ready(struct loop *l, struct exchange *x)
{
    struct exchange *head = atomic_load(&l->ready);

    do
        x->next_ready = head;
    while (!atomic_compare_exchange_weak(&l->ready, &head, x));
    if (!head)
        loop_ring(l);
}

static void exchange_ready(struct exchange *x)
{
    struct loop *l = x->conn->loop;

    atomic_fetch_add(&l->ringers, 1); /* http_close() must not free the loop while it is rung */
    if (atomic_exchange(&x->step, READY) == PARKED)
        loop_put_ready(l, x);
    atomic_fetch_sub(&l->ringers, 1);
}

void http_reply(struct http_request *r, int status, const struct http_header *headers, size_t n,
                bytes body)
{
    struct exchange *x = (struct exchange *)r;

    assert(!x->replied && !x->next);
    x->status = status;
    x->out = headers;
    x->out_count = n;
    x->out_body = body;
    x->replied = true;
    exchange_ready(x);
}

void http_resume(struct http_request *r, http_fn *fn, void *arg)
{
    struct exchange *x = (struct exchange *)r;

    assert(!x->replied && !x->next);
    x->next = fn;
    x->next_arg = arg;
    exchange_ready(x);
}

bytes http_header(const struct http_request *r, const char *name)
{
    bytes want = bytes_str(name);

    for (size_t i = 0; i < r->header_count; i++)
        if (bytes_equal(r->headers[i].name, want))
            return r->headers[i].value;
    return BYTES_NONE;
}

/* ---- addresses ---- */

static void address_format(const struct sockaddr *sa, char *out, size_t size)
{
    char host[INET6_ADDRSTRLEN] = "?";

    if (sa->sa_family == AF_INET) {
        const struct sockaddr_in *v4 = (const void *)sa;

        inet_ntop(AF_INET, &v4->sin_addr, host, sizeof(host));
        snprintf(out, size, "%s:%u", host, ntohs(v4->sin_port));
    } else if (sa->sa_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const void *)sa;

        inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof(host));
        snprintf(out, size, "[%s]:%u", host, ntohs(v6->sin6_port));
    } else {
        snprintf(out, size, "?");
    }
}

bytes http_peer(struct http_request *r)
{
    char text[80] = "?";

    if (r->peer)
        address_format(r->peer, text, sizeof(text));
    return arena_printf(&r->ctx.arena, "%s", text);
}

/* Splits "host:port" or "[v6]:port". False: it is neither. */
static bool address_split(const char *address, char *host, size_t host_size, char *port,
                          size_t port_size)
{
    const char *colon = strrchr(address, ':');
    const char *from = address, *to = colon;
    char *end;
    unsigned long number;

    if (!colon || !colon[1])
        return false;
    if (*from == '[') {
        from++;
        if (to == from || to[-1] != ']')
            return false;
        to--;
    } else if (memchr(from, ':', (size_t)(to - from))) {
        return false;
    }
    number = strtoul(colon + 1, &end, 10);
    if (colon[1] < '0' || colon[1] > '9' || *end || number > 65535 || to == from ||
        (size_t)(to - from) >= host_size)
        return false;
    memcpy(host, from, (size_t)(to - from));
    host[to - from] = 0;
    snprintf(port, port_size, "%lu", number);
    return true;
}

static const char *bind_advice(int error)
{
    switch (error) {
    case EADDRINUSE:
        return "Stop the server that has it, or choose another port";
    case EACCES:
        return "Ports below 1024 need a privilege; choose another port";
    case EADDRNOTAVAIL:
        return "This machine has no such address; choose one of its own";
    default:
        return "Choose another address";
    }
}

static int listen_on(const struct addrinfo *at)
{
    int fd = socket(at->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), one = 1,
        unsent = UNSENT_BYTES_MAX;

    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof(unsent)); /* inherited */
    if (bind(fd, at->ai_addr, at->ai_addrlen) || listen(fd, 1024)) {
        int error = errno;

        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

/* Returns the listening socket, or -1 with the message. */
static int address_listen(const struct http_conf *conf, char *message, size_t size)
{
    struct addrinfo hints = {.ai_flags = AI_PASSIVE | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    char host[256], port[8];
    int fd = -1, error;

    if (!address_split(conf->address, host, sizeof(host), port, sizeof(port))) {
        snprintf(message, size,
                 "%s: '%s' is not ADDRESS:PORT. Write it like 127.0.0.1:8600 or [::1]:8600.",
                 conf->setting, conf->address);
        return -1;
    }
    error = getaddrinfo(host, port, &hints, &found);
    if (error) {
        snprintf(message, size, "%s: no address is known for '%s' (%s). Give a numeric address.",
                 conf->setting, host, gai_strerror(error));
        return -1;
    }
    for (struct addrinfo *at = found; at && fd < 0; at = at->ai_next)
        fd = listen_on(at);
    if (fd < 0)
        snprintf(message, size, "cannot listen on %s: %s. %s with %s ADDRESS:PORT.", conf->address,
                 strerror(errno), bind_advice(errno), conf->setting);
    freeaddrinfo(found);
    return fd;
}

/* ---- open and close ---- */

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

static void conf_defaults(struct http_conf *conf)
{
    if (conf->tls_cert && !conf->tls_cert[0])
        conf->tls_cert = NULL;
    if (!conf->setting)
        conf->setting = "address";
    if (!conf->threads)
        conf->threads = 2;
    if (!conf->connections_max)
        conf->connections_max = 10000;
    if (!conf->idle_timeout_s)
        conf->idle_timeout_s = 75;
    if (!conf->request_timeout_ms)
        conf->request_timeout_ms = 30000;
    if (!conf->answer_timeout_ms)
        conf->answer_timeout_ms = 120000;
    if (!conf->body_bytes_max)
        conf->body_bytes_max = 5 << 20;
    if (!conf->request_memory_max)
        conf->request_memory_max = (size_t)256 << 20;
}

/* The path stays as it was sent. */
static size_t on_unescape(void *cls, struct MHD_Connection *connection, char *text)
{
    (void)cls;
    (void)connection;
    return strlen(text);
}

static struct MHD_Daemon *daemon_start(struct loop *l, int listen_fd)
{
    struct http *h = l->http;
    const struct http_conf *conf = &h->conf;
    unsigned connections = (unsigned)((conf->connections_max + conf->threads - 1) / conf->threads);
    unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
    struct MHD_OptionItem tls[] = {{MHD_OPTION_HTTPS_MEM_CERT, 0, h->tls.cert},
                                   {MHD_OPTION_HTTPS_MEM_KEY, 0, h->tls.key},
                                   {MHD_OPTION_HTTPS_PRIORITIES, 0, (char[]){TLS_PRIORITIES}},
                                   {MHD_OPTION_END, 0, NULL}};
    struct MHD_OptionItem *options = conf->tls_cert ? tls : &tls[PORT_COUNT(tls) - 1];

    if (conf->tls_cert)
        flags |= MHD_USE_TLS;
    return MHD_start_daemon(
        flags, 0, NULL, NULL, on_access, h, MHD_OPTION_EXTERNAL_LOGGER, on_library_log, (void *)h,
        MHD_OPTION_LISTEN_SOCKET, listen_fd, MHD_OPTION_CONNECTION_LIMIT, connections,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)conf->idle_timeout_s,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES, MHD_OPTION_NOTIFY_CONNECTION,
        on_connection, (void *)l, MHD_OPTION_URI_LOG_CALLBACK, on_line, (void *)h,
        MHD_OPTION_UNESCAPE_CALLBACK, on_unescape, NULL, MHD_OPTION_NOTIFY_COMPLETED, on_completed,
        (void *)h, MHD_OPTION_ARRAY, options, MHD_OPTION_END);
}

/* ---- loops ---- */

/* Resumes what has been answered, oldest first. */
static void loop_take_ready(struct loop *l)
{
    struct exchange *x = atomic_exchange(&l->ready, NULL), *oldest = NULL, *next;

    for (; x; x = next) {
        next = x->next_ready;
        x->next_ready = oldest;
        oldest = x;
    }
    for (x = oldest; x; x = next) {
        next = x->next_ready;
        MHD_resume_connection(x->connection);
    }
}

/* Milliseconds until the library has something to do by itself; -1: nothing. */
static int loop_timeout_ms(struct loop *l)
{
    MHD_UNSIGNED_LONG_LONG ms;

    if (MHD_get_timeout(l->daemon, &ms) != MHD_YES)
        return -1;
    return ms < 60000 ? (int)ms : 60000;
}

static void loop_quiesce(struct loop *l)
{
    MHD_socket fd = MHD_quiesce_daemon(l->daemon);

    if (fd != MHD_INVALID_SOCKET)
        close(fd);
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
    struct pollfd fds[2] = {{.fd = l->epoll_fd, .events = POLLIN},
                            {.fd = l->bell_fd, .events = POLLIN}};
    uint64_t rung;
    sigset_t pipe_signal;

    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_signal, NULL); /* lost clients show as errors of send() */
    while (!atomic_load(&l->http->loops_quit)) {
        poll(fds, 2, loop_timeout_ms(l));
        if (fds[1].revents)
            (void)!read(l->bell_fd, &rung, sizeof(rung));
        if ((atomic_load_explicit(&l->http->stopping, memory_order_relaxed) ||
             atomic_load_explicit(&l->retired, memory_order_relaxed)) &&
            !l->quiesced)
            loop_quiesce(l);
        loop_take_ready(l);
        /* At its connection limit the library stops to watch the listening socket, and a run that
         * closes connections does not take it up again: only the next one does, which might never
         * come. */
        do {
            l->closed_some = false;
            MHD_run(l->daemon);
        } while (l->closed_some);
        if (atomic_load_explicit(&l->retired, memory_order_relaxed) && loop_is_empty(l))
            break;
    }
    atomic_store(&l->ended, true);
    return NULL;
}

static bool loop_start(struct loop *l)
{
    int fd = fcntl(l->http->listen_fd, F_DUPFD_CLOEXEC, 0);

    l->bell_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (fd < 0 || l->bell_fd < 0)
        return false;
    l->daemon = daemon_start(l, fd);
    if (!l->daemon) {
        close(fd);
        return false;
    }
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
    if (l->bell_fd > 0)
        close(l->bell_fd);
    mem_free(l);
}

/* Adds conf.threads loops. False: not all of them could be started. */
static bool loops_start(struct http *h)
{
    for (int i = 0; i < h->conf.threads; i++) {
        struct loop *l = mem_zalloc(sizeof(*l));

        l->http = h;
        l->next = h->loops;
        h->loops = l;
        if (!loop_start(l)) {
            atomic_store(&l->ended, true);
            return false;
        }
    }
    return true;
}

/* From `l` up to and without `end`. */
static void loops_retire(struct loop *l, const struct loop *end)
{
    for (; l != end; l = l->next) {
        atomic_store(&l->retired, true);
        if (l->running)
            loop_ring(l);
    }
}

static void loops_free_ended(struct http *h)
{
    for (struct loop **at = &h->loops; *at;) {
        struct loop *l = *at;

        if (atomic_load(&l->ended)) {
            *at = l->next;
            loop_free(l);
        } else {
            at = &l->next;
        }
    }
}

static void loops_stop(struct http *h)
{
    struct loop *l;

    atomic_store(&h->loops_quit, true);
    while ((l = h->loops)) {
        h->loops = l->next;
        loop_free(l);
    }
}

static void http_free(struct http *h)
{
    pthread_cond_destroy(&h->wake);
    pthread_mutex_destroy(&h->lock);
    tls_pair_release(&h->tls);
    if (h->listen_fd >= 0)
        close(h->listen_fd);
    mem_free(h);
}

static struct http *http_new(const struct http_conf *conf)
{
    struct http *h = mem_zalloc(sizeof(*h));
    pthread_condattr_t monotonic;

    h->conf = *conf;
    conf_defaults(&h->conf);
    h->listen_fd = -1;
    pthread_mutex_init(&h->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&h->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return h;
}

static bool http_start(struct http *h)
{
    struct sockaddr_storage sa = {.ss_family = AF_UNSPEC};
    socklen_t size = sizeof(sa);

    getsockname(h->listen_fd, (struct sockaddr *)&sa, &size);
    address_format((struct sockaddr *)&sa, h->address, sizeof(h->address));
    return loops_start(h) && thread_start(&h->watch, "wr-watch", watch_main, h);
}

/* The second half of opening: with listening socket and certificate at hand. */
static int http_run(struct http *h, char *message, size_t message_size)
{
    if (http_start(h))
        return E_OK;
    snprintf(message, message_size,
             "cannot start the HTTP loops on %s: %s. Check the limits on threads and open files "
             "(ulimit -u, ulimit -n).",
             h->address, strerror(errno));
    loops_stop(h);
    return E_UNAVAILABLE;
}

static int tls_load(struct http *h, struct tls_pair *out, char *message, size_t message_size)
{
    if (MHD_is_feature_supported(MHD_FEATURE_TLS) == MHD_YES)
        return tls_pair_load(h->conf.tls_cert, h->conf.tls_key, out, message, message_size);
    snprintf(message, message_size,
             "this build of libmicrohttpd has no TLS. Install one with GnuTLS, or put a proxy in "
             "front.");
    return E_UNSUPPORTED;
}

int http_open(const struct http_conf *conf, struct http **out, char *message, size_t message_size)
{
    struct http *h = http_new(conf);
    int code = E_OK;

    *out = NULL;
    if (h->conf.tls_cert)
        code = tls_load(h, &h->tls, message, message_size);
    if (!code) {
        h->listen_fd = address_listen(&h->conf, message, message_size);
        code = h->listen_fd < 0 ? E_UNAVAILABLE : http_run(h, message, message_size);
    }
    if (code) {
        http_free(h);
        return code;
    }
    *out = h;
    return E_OK;
}

int http_reload(struct http *h, char *message, size_t message_size)
{
    struct loop *before;
    struct tls_pair pair, old = h->tls;

    loops_free_ended(h);
    before = h->loops;
    if (!h->conf.tls_cert)
        return E_OK;
    TRY(tls_load(h, &pair, message, message_size));
    if (tls_pair_equal(&pair, &old)) {
        tls_pair_release(&pair);
        return E_OK;
    }
    h->tls = pair;
    if (!loops_start(h)) {
        snprintf(message, message_size, "cannot start loops for the new certificate in %s.",
                 h->conf.tls_cert);
        loops_retire(h->loops, before);
        h->tls = old;
        tls_pair_release(&pair);
        return E_UNAVAILABLE;
    }
    loops_retire(before, NULL);
    tls_pair_release(&old);
    return E_OK;
}

void http_close(struct http *h, int grace_ms)
{
    int64_t end;

    if (!h)
        return;
    atomic_store(&h->stopping, true);
    for (struct loop *l = h->loops; l; l = l->next)
        loop_ring(l); /* each stops accepting */
    close(h->listen_fd);
    h->listen_fd = -1;
    end = now_ms(h) + grace_ms;
    for (int quiet_ms = 0; quiet_ms < QUIET_MS && now_ms(h) < end; quiet_ms += 2) {
        pause_ms(2);
        if (atomic_load(&h->active))
            quiet_ms = 0;
    }
    atomic_store(&h->closed, true);
    while (atomic_load(&h->pending)) /* the library must not be stopped while one is suspended */
        pause_ms(2);
    for (struct loop *l = h->loops; l; l = l->next)
        while (atomic_load(&l->ringers))
            pause_ms(1);
    loops_stop(h);
    pthread_mutex_lock(&h->lock);
    h->quit = true;
    pthread_cond_signal(&h->wake);
    pthread_mutex_unlock(&h->lock);
    pthread_join(h->watch, NULL);
    http_free(h);
}

const char *http_address(const struct http *h)
{
    return h->address;
}

void http_stat(struct http *h, struct http_stat *out)
{
    pthread_mutex_lock(&h->lock);
    out->connections = h->conn_count;
    pthread_mutex_unlock(&h->lock);
    out->accepted = atomic_load(&h->accepted);
    out->late = atomic_load(&h->late);
    out->active = atomic_load(&h->active);
}
