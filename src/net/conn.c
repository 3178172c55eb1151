/* A connection, from accept to close. The socket is watched edge by edge: `readable` and `writable`
 * say what is known of it, and conn_run() goes on until one of them is false where it is needed, or
 * the handler is. A connection that could go on for long has its next turn after the others.
 *
 * Memory. A connection that waits has no buffer: what comes is read into the loop's, and only what
 * is left of it when the connection waits again is copied (half a head, the next request of a
 * pipeline). The same with answers: what the socket does not take at once is copied, and the
 * request's memory goes. */
#include "net/http_own.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

/* In one turn a connection may move so many bytes; a request counts as some of them. */
#define TURN_REQUEST_BYTES 16384
#define INPUT_BYTES_MIN 1024
#define MUCH_BYTES 65536 /* with more to send a connection goes behind those that have less */
/* What the TLS library keeps for a connection between its records. */
#define TLS_BYTES (20 << 10)

static size_t unread(const struct conn *c)
{
    return c->in.len - c->in.at;
}

/* ---- life ---- */

/* Of the certificate that counts now. */
static bool conn_secure(struct conn *c)
{
    struct http *h = c->http;
    bool secure;

    pthread_mutex_lock(&h->arrivals_lock);
    c->tls_version = atomic_load(&h->tls_version);
    secure = h->tls_context != NULL;
    c->ssl = secure ? SSL_new(h->tls_context) : NULL;
    pthread_mutex_unlock(&h->arrivals_lock);
    if (!secure)
        return true;
    if (!c->ssl || !SSL_set_fd(c->ssl, c->fd))
        return false;
    SSL_set_accept_state(c->ssl);
    c->phase = SHAKING;
    return true;
}

struct conn *conn_open(struct loop *l, int fd, const struct sockaddr *peer, socklen_t size,
                       struct address_count *per_address)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET};
    struct conn *c = mem_zalloc(sizeof(*c));
    struct http *h = l->http;

    event.data.ptr = c;
    c->http = h;
    c->loop = l;
    c->fd = fd;
    c->per_address = per_address;
    c->phase = IDLE;
    c->open_ms = l->now_ms;
    memcpy(&c->peer, peer, size < sizeof(c->peer) ? size : sizeof(c->peer));
    if (!conn_secure(c) || epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, fd, &event)) {
        SSL_free(c->ssl);
        mem_free(c);
        return NULL;
    }
    ring_add(&l->conns, &c->all);
    ring_add(&l->strangers, &c->stranger);
    ring_init(&c->holder);
    ring_init(&c->queue);
    atomic_fetch_add_explicit(&l->conn_count, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&l->stranger_count, 1, memory_order_relaxed);
    conn_count(c, sizeof(*c));
    atomic_fetch_add_explicit(&h->accepted, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&h->connections, 1, memory_order_relaxed);
    return c;
}

void conn_count(struct conn *c, size_t size)
{
    size_t more = size + (c->ssl ? TLS_BYTES : 0) - c->counted; /* may wrap, and back again */

    if (!more)
        return;
    c->counted += more;
    atomic_fetch_add_explicit(&c->loop->conn_bytes, more, memory_order_relaxed);
    atomic_fetch_add_explicit(c->http->memory, more, memory_order_relaxed);
}

static void out_free(struct conn *c)
{
    atomic_fetch_sub_explicit(c->http->memory, c->out_capacity, memory_order_relaxed);
    mem_free(c->out);
    c->out = NULL;
    c->out_at = c->out_len = c->out_capacity = 0;
}

/* What belongs to a request and its answer. */
static void exchange_over(struct conn *c)
{
    if (c->exchange)
        exchange_free(c->exchange);
    if (c->out)
        out_free(c);
    if (c->stream_held)
        atomic_fetch_sub_explicit(c->http->memory, c->stream_held, memory_order_relaxed);
    c->stream_held = 0;
    share_take_reserved(c);
    if (c->held)
        share_hold(c, 0);
    if (c->active)
        atomic_fetch_sub(&c->http->active, 1);
    c->active = false;
}

static void stranger_leave(struct conn *c)
{
    if (c->known)
        return;
    c->known = true;
    ring_remove(&c->stranger);
    atomic_fetch_sub_explicit(&c->loop->stranger_count, 1, memory_order_relaxed);
}

void conn_known(struct conn *c, uint64_t client)
{
    stranger_leave(c);
    c->client = client;
}

static void socket_close(struct conn *c)
{
    struct loop *l = c->loop;

    if (c->ssl) {
        if (c->phase != SHAKING)
            SSL_shutdown(c->ssl);
        SSL_free(c->ssl);
        c->ssl = NULL;
        ERR_clear_error();
    }
    if (c->linger) {
        epoll_ctl(l->epoll_fd, EPOLL_CTL_DEL, c->fd, NULL);
        linger_add(l, c->fd);
    } else {
        close(c->fd);
    }
}

void conn_close(struct conn *c)
{
    struct loop *l = c->loop;

    if (c->phase == CLOSED)
        return;
    c->doomed = true;
    if (c->exchange && exchange_is_parked(c->exchange))
        return;
    exchange_over(c);
    stranger_leave(c);
    ring_remove(&c->all);
    if (c->in.capacity)
        mem_free(c->in.data);
    c->in = (struct input){0};
    socket_close(c);
    conn_count(c, 0);
    c->phase = CLOSED;
    atomic_fetch_sub_explicit(&l->conn_count, 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(&c->http->connections, 1, memory_order_relaxed);
    address_leave(c->http, c->per_address);
    if (c->queued)
        return; /* the loop finds it in its list */
    c->next = l->dead;
    l->dead = c;
}

void conn_free(struct conn *c)
{
    mem_free(c);
}

/* ---- phases ---- */

void conn_enter(struct conn *c, enum phase phase)
{
    int64_t now = http_now_ms(c->http);

    c->phase = phase;
    c->since_ms = now;
    c->waited_ms = 0;
    c->moved = 0;
    if (phase == SENDING)
        c->acked = UINT64_MAX; /* not yet looked at */
    if (phase == IDLE)
        c->idle_ms = now;
    if (phase == IDLE || phase == SENDING)
        c->phase_ms = phase == IDLE && !unread(c) ? 0 : now;
}

void conn_park(struct conn *c)
{
    c->parked_ms = http_now_ms(c->http);
}

void conn_unpark(struct conn *c)
{
    if (c->parked_ms)
        c->waited_ms += http_now_ms(c->http) - c->parked_ms;
    c->parked_ms = 0;
}

/* ---- the socket: bytes moved; 0: not now; -1: it is of no further use ---- */

static ssize_t tls_result(struct conn *c, int result)
{
    switch (SSL_get_error(c->ssl, result)) {
    case SSL_ERROR_WANT_READ:
        c->readable = false;
        return 0;
    case SSL_ERROR_WANT_WRITE:
        c->writable = false;
        return 0;
    default:
        return -1;
    }
}

static ssize_t socket_result(bool *able)
{
    if (errno != EAGAIN && errno != EINTR)
        return -1;
    *able = errno == EINTR;
    return 0;
}

static ssize_t wire_read(struct conn *c, uint8_t *to, size_t size)
{
    ssize_t n;

    if (!c->readable)
        return 0;
    if (c->ssl) {
        ERR_clear_error();
        n = SSL_read(c->ssl, to, (int)size);
        return n > 0 ? n : tls_result(c, (int)n);
    }
    n = recv(c->fd, to, size, 0);
    if (n < 0)
        return socket_result(&c->readable);
    if ((size_t)n < size)
        c->readable = c->hung_up; /* else the socket is empty, and will say when it is not */
    return n ? n : -1;
}

static ssize_t wire_write(struct conn *c, bytes head, bytes body)
{
    struct iovec parts[2] = {{(void *)(uintptr_t)head.ptr, head.len},
                             {(void *)(uintptr_t)body.ptr, body.len}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = body.len ? 2 : 1};
    ssize_t n;

    if (!c->writable)
        return 0;
    if (c->ssl) {
        ERR_clear_error();
        n = SSL_write(c->ssl, head.ptr, head.len < INT32_MAX ? (int)head.len : INT32_MAX);
        return n > 0 ? n : tls_result(c, (int)n);
    }
    n = sendmsg(c->fd, &message, MSG_NOSIGNAL);
    return n < 0 ? socket_result(&c->writable) : n;
}

/* ---- sending ---- */

static void out_make(struct conn *c, size_t capacity)
{
    out_free(c);
    c->out = mem_alloc(capacity);
    c->out_capacity = capacity;
    atomic_fetch_add_explicit(c->http->memory, capacity, memory_order_relaxed);
}

/* Keeps what is left to be sent. */
static void out_keep(struct conn *c, bytes head, bytes body)
{
    out_make(c, head.len + body.len);
    c->out_len = c->out_capacity;
    memcpy(c->out, head.ptr, head.len);
    if (body.len)
        memcpy(c->out + head.len, body.ptr, body.len);
}

void conn_send(struct conn *c, bytes head, bytes body)
{
    ssize_t n;

    if (c->ssl && body.len && head.ptr == c->loop->out && head.len + body.len <= LOOP_BYTES) {
        memcpy(c->loop->out + head.len, body.ptr, body.len); /* one record for both */
        head.len += body.len;
        body.len = 0;
    }
    do {
        n = wire_write(c, head, body);
        if (n < 0) {
            c->doomed = true;
            return;
        }
        c->moved += (uint64_t)n;
        if ((size_t)n < head.len) {
            head = bytes_skip(head, (size_t)n);
            continue;
        }
        body = bytes_skip(body, (size_t)n - head.len);
        head = body;
        body = BYTES_NONE;
    } while (head.len && c->writable);
    if (head.len)
        out_keep(c, head, body);
}

void conn_send_block(struct conn *c, bytes head, const struct arena_piece *block, size_t size)
{
    out_free(c);
    c->out = block->memory;
    c->out_capacity = block->size - BLOCK_HEAD_BYTES; /* so much at most was reserved */
    c->out_at = block->at - head.len;
    c->out_len = block->at + size;
    memcpy(c->out + c->out_at, head.ptr, head.len);
    atomic_fetch_add_explicit(c->http->memory, c->out_capacity, memory_order_relaxed);
}

void conn_continue(struct conn *c)
{
    static const char text[] = "HTTP/1.1 100 Continue\r\n\r\n";

    /* The socket is empty towards the client, so it takes these all or is broken. */
    if (wire_write(c, BYTES_LIT("HTTP/1.1 100 Continue\r\n\r\n"), BYTES_NONE) != sizeof(text) - 1)
        c->doomed = true;
}

void conn_refuse(struct conn *c, const struct head_fault *fault)
{
    static const struct http_header plain = {{"Content-Type", 12}, {"text/plain", 10}};
    bytes text = bytes_str(fault->text), head;
    char body[256];

    if (c->exchange)
        exchange_free(c->exchange);
    c->in.at = c->in.len;
    c->last = c->linger = true;
    snprintf(body, sizeof(body), "%s\n", fault->text);
    head = answer_head(c->loop, fault->status, &plain, 1, text.len + 1, true);
    conn_enter(c, SENDING);
    conn_send(c, head, bytes_of(body, text.len + 1));
}

/* The answer has gone. */
static void conn_done(struct conn *c)
{
    exchange_over(c);
    if (c->last) {
        c->linger |= unread(c) > 0;
        conn_close(c);
        return;
    }
    conn_enter(c, IDLE);
}

/* All of these return false if the connection has to wait. The kernel copies what it is given
 * before it comes back, and passes it on where the client is on this machine: a piece at a time. */
static bool send_step(struct conn *c, size_t *budget)
{
    ptrdiff_t n;

    if (c->out_at < c->out_len) {
        size_t left = c->out_len - c->out_at;

        n = wire_write(c, bytes_of(c->out + c->out_at, left < *budget ? left : *budget),
                       BYTES_NONE);
        c->doomed |= n < 0;
        if (n <= 0)
            return n < 0 || c->writable;
        c->out_at += (size_t)n;
        c->moved += (uint64_t)n;
        *budget -= (size_t)n < *budget ? (size_t)n : *budget;
        return true;
    }
    if (!c->exchange || !exchange_has_source(c->exchange)) {
        conn_done(c);
        return true;
    }
    if (c->out_capacity < LOOP_BYTES)
        out_make(c, LOOP_BYTES);
    c->out_at = c->out_len = 0;
    n = exchange_source(c->exchange, c->out, LOOP_BYTES);
    c->doomed |= n < 0;
    c->out_len = n > 0 ? (size_t)n : 0;
    return n != 0;
}

/* ---- reading ---- */

static void input_reset(struct conn *c)
{
    if (c->in.capacity)
        mem_free(c->in.data);
    c->in = (struct input){0};
    conn_count(c, sizeof(*c));
}

/* Room behind what has come, in own memory or the loop's. */
static size_t input_room(struct conn *c)
{
    struct input *in = &c->in;

    if (in->at == in->len && in->capacity)
        input_reset(c);
    if (in->at == in->len)
        in->at = in->len = 0;
    if (!in->capacity)
        in->data = c->loop->in;
    if (in->at) { /* half a head behind other requests: it may reach the buffer's end */
        memmove(in->data, in->data + in->at, unread(c));
        in->len -= in->at;
        in->at = 0;
    }
    if (!in->capacity)
        return LOOP_BYTES - in->len;
    if (in->len == in->capacity) {
        in->capacity *= 2;
        in->data = mem_realloc(in->data, in->capacity);
        conn_count(c, sizeof(*c) + in->capacity);
    }
    return in->capacity - in->len;
}

/* Bytes that have come now; 0: none; -1: the client has ended or broken the connection. */
static ssize_t input_more(struct conn *c, size_t *budget)
{
    size_t room = input_room(c);
    ssize_t n = wire_read(c, c->in.data + c->in.len, room);

    if (n <= 0)
        return n;
    c->in.len += (size_t)n;
    *budget -= (size_t)n < *budget ? (size_t)n : *budget;
    return n;
}

/* The connection waits: what is left in the loop's buffer becomes its own. */
static void input_keep(struct conn *c)
{
    size_t left = unread(c), capacity = INPUT_BYTES_MIN;
    uint8_t *own;

    if (c->phase == CLOSED || (c->in.capacity && left))
        return;
    if (!left) {
        input_reset(c);
        return;
    }
    while (capacity < left)
        capacity *= 2;
    own = mem_alloc(capacity);
    memcpy(own, c->in.data + c->in.at, left);
    c->in = (struct input){own, 0, left, capacity};
    conn_count(c, sizeof(*c) + capacity);
}

/* Empty lines in front of a request line are passed over (RFC 9112, section 2.2). */
static void skip_empty_lines(struct conn *c)
{
    while (!c->scan.at && unread(c) >= 2 && memcmp(c->in.data + c->in.at, "\r\n", 2) == 0)
        c->in.at += 2;
}

static bool head_step(struct conn *c, size_t *budget)
{
    struct head_fault fault = {0};
    enum head_state state = HEAD_MORE;
    size_t size;
    ssize_t n;

    skip_empty_lines(c);
    if (unread(c) && !(unread(c) == 1 && !c->scan.at && c->in.data[c->in.at] == '\r')) {
        if (!c->phase_ms)
            c->phase_ms = c->loop->now_ms;
        state = head_scan(&c->scan, c->in.data + c->in.at, unread(c), &fault);
    }
    if (state == HEAD_MORE) {
        n = input_more(c, budget);
        if (n < 0)
            conn_close(c);
        if (n > 0 && !c->phase_ms)
            c->phase_ms = c->loop->now_ms;
        return n != 0;
    }
    size = c->scan.at;
    c->scan = (struct head_scan){0};
    if (state == HEAD_BAD) {
        conn_refuse(c, &fault);
        return true;
    }
    *budget -= TURN_REQUEST_BYTES < *budget ? TURN_REQUEST_BYTES : *budget;
    exchange_begin(c, size);
    return true;
}

/* What of the next bytes belongs to the body's data. False: the phase has changed. */
static bool body_part(struct conn *c, size_t *out)
{
    struct chunks *chunks = exchange_chunks(c->exchange);
    struct head_fault fault = {0};
    uint64_t left = exchange_body_left(c->exchange);

    if (chunks && unread(c))
        c->in.at += chunks_skip(chunks, c->in.data + c->in.at, unread(c), &fault);
    if (fault.status) {
        conn_refuse(c, &fault);
        return false;
    }
    if (chunks ? chunks_ended(chunks) : !left) {
        exchange_end(c);
        return false;
    }
    if (chunks)
        left = chunks->left;
    *out = left < unread(c) ? (size_t)left : unread(c);
    return true;
}

static bool body_step(struct conn *c, size_t *budget)
{
    struct chunks *chunks = exchange_chunks(c->exchange);
    size_t part, taken;
    ssize_t n;

    if (exchange_is_parked(c->exchange))
        return false;
    if (!body_part(c, &part))
        return true;
    if (part) {
        taken = exchange_piece(c, bytes_of(c->in.data + c->in.at, part));
        c->in.at += taken;
        c->moved += taken;
        if (chunks && c->exchange)
            chunks->left -= taken;
        return true;
    }
    n = input_more(c, budget);
    if (n < 0)
        conn_close(c);
    return n != 0;
}

/* ---- all together ---- */

static bool shake_step(struct conn *c)
{
    int result;

    ERR_clear_error();
    result = SSL_do_handshake(c->ssl);
    if (result == 1) {
        conn_enter(c, IDLE);
        c->idle_ms = 0; /* no request has been answered yet */
        return true;
    }
    if (tls_result(c, result) < 0)
        conn_close(c);
    return false;
}

static bool conn_step(struct conn *c, size_t *budget)
{
    switch (c->phase) {
    case SHAKING:
        return (c->readable || c->writable) && shake_step(c);
    case IDLE:
        return head_step(c, budget);
    case READING:
        return body_step(c, budget);
    case SENDING:
        return !(c->exchange && exchange_is_parked(c->exchange)) && send_step(c, budget);
    default:
        return false;
    }
}

size_t conn_run(struct conn *c)
{
    size_t budget = TURN_BYTES;

    c->heard = true;
    while (!c->doomed && conn_step(c, &budget))
        if (!budget) {
            loop_again(c->loop, c);
            break;
        }
    if (c->doomed)
        conn_close(c);
    input_keep(c);
    if (c->phase == SENDING && c->out_capacity && !share_hold(c, c->stream_held + c->out_capacity))
        conn_close(c);
    return TURN_BYTES - budget;
}

/* The kernel takes microseconds for each piece. */
static bool has_much_to_send(const struct conn *c)
{
    return c->phase == SENDING && (c->out_len - c->out_at > MUCH_BYTES ||
                                   (c->exchange && exchange_has_source(c->exchange)));
}

void conn_turn(struct conn *c)
{
    if (has_much_to_send(c))
        loop_again(c->loop, c);
    else
        conn_run(c);
}
