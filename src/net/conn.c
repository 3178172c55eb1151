/* Deadlines. The library's own timeout starts again with every byte, so a client that drips is
 * never stopped by it. Each loop looks at its connections about once a second, a slice at a time.
 *
 *   - IDLE: a connection that is idle to us may have sent half a request line, which the library
 *     does not show; the kernel's count of received bytes does. It is compared with zero on a fresh
 *     connection and else with its value when the watch first saw the connection idle, so requests
 *     pay nothing for it.
 *   - READING: the whole request has one deadline. A streamed body has none, but a least pace.
 *   - SENDING: every answer has that least pace, by what the client's side has acknowledged; one
 *     that is not streamed has a deadline too.
 *
 * To cut, the loop writes the 408 itself, since the library can answer only between reading headers
 * and body or after the body, and shuts the socket down, which makes the library close the
 * connection. Under TLS the 408 is left out: it would stand unencrypted among encrypted bytes. */
#include "net/door.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

struct conn *conn_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

    return info ? info->socket_context : NULL;
}

static void conn_link(struct conn *c)
{
    c->next = &c->loop->conns;
    c->prev = c->next->prev;
    c->prev->next = c->next->prev = c;
}

static void conn_unlink(struct conn *c)
{
    c->prev->next = c->next;
    c->next->prev = c->prev;
}

struct conn *conn_open(struct loop *l, struct MHD_Connection *connection)
{
    struct conn *c = mem_zalloc(sizeof(*c));

    c->http = l->http;
    c->loop = l;
    c->fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    c->seen_requests = UINT32_MAX;
    conn_link(c);
    l->conn_count++;
    atomic_fetch_add_explicit(&l->http->accepted, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&l->http->connections, 1, memory_order_relaxed);
    return c;
}

void conn_close(struct conn *c)
{
    if (c->linger && !c->http->conf.tls_cert)
        linger_add(c->loop, c->fd);
    conn_unlink(c);
    c->loop->conn_count--;
    atomic_fetch_sub_explicit(&c->http->connections, 1, memory_order_relaxed);
    mem_free(c);
}

void conn_to_back(struct conn *c)
{
    conn_unlink(c);
    conn_link(c);
}

static void conn_measure(struct conn *c, int64_t now)
{
    c->since_ms = now;
    c->waited_ms = 0;
    c->moved = 0;
}

void conn_enter(struct conn *c, enum phase phase)
{
    if (c->phase == CUT)
        return;
    c->phase = phase;
    if (phase == READING || phase == SENDING) {
        c->phase_ms = http_now_ms(c->http);
        conn_measure(c, c->phase_ms);
    }
    if (phase == SENDING)
        c->base_bytes = UINT64_MAX; /* not yet looked at */
    if (phase == IDLE)
        c->requests++;
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

/* ---- the watch ---- */

static struct tcp_info conn_info(const struct conn *c)
{
    struct tcp_info info;
    socklen_t size = sizeof(info);

    memset(&info, 0, sizeof(info));
    if (getsockopt(c->fd, IPPROTO_TCP, TCP_INFO, &info, &size))
        memset(&info, 0, sizeof(info));
    return info;
}

static void conn_cut(struct conn *c, bool say)
{
    struct http *h = c->http;

    atomic_fetch_add(&h->late, 1);
    if (say && !h->conf.tls_cert) {
        exchange_late(c);
        c->linger = true;
    }
    c->phase = CUT;
    shutdown(c->fd, SHUT_RDWR);
}

/* A connection without a request: has it begun to send one? */
static void conn_watch_idle(struct conn *c, int64_t now)
{
    uint64_t received = conn_info(c).tcpi_bytes_received;

    if (c->seen_requests != c->requests) {
        c->seen_requests = c->requests;
        c->base_bytes = c->requests ? received : 0;
        c->first_byte_ms = 0;
    }
    if (received > c->base_bytes && !c->first_byte_ms)
        c->first_byte_ms = now;
    if (c->first_byte_ms && now - c->first_byte_ms > c->http->conf.request_timeout_ms)
        conn_cut(c, true);
}

/* Whether the client of a stream falls behind. Times are taken one after the other, so that one who
 * was fast for an hour cannot rest on it. */
static bool conn_is_slow(struct conn *c, int64_t window_ms, int64_t now)
{
    int64_t took = now - c->since_ms - c->waited_ms;

    if (c->parked_ms || took <= window_ms)
        return false;
    if (c->moved < c->http->conf.stream_pace * (uint64_t)took / 1000)
        return true;
    conn_measure(c, now);
    return false;
}

static void conn_watch_sending(struct conn *c, bool streamed, int64_t now)
{
    int64_t since_ms = c->since_ms, most_ms = c->http->conf.answer_timeout_ms;
    uint64_t acked = conn_info(c).tcpi_bytes_acked;

    if (c->base_bytes == UINT64_MAX)
        c->base_bytes = acked;
    c->moved = acked - c->base_bytes;
    if (conn_is_slow(c, most_ms / 4, now) || (!streamed && now - c->phase_ms > most_ms))
        conn_cut(c, false);
    else if (c->since_ms != since_ms)
        c->base_bytes = acked;
}

void conn_watch(struct conn *c, int64_t now)
{
    bool streamed = c->exchange && exchange_is_streamed(c->exchange);
    int64_t most_ms = c->http->conf.request_timeout_ms;

    if (c->phase == IDLE)
        conn_watch_idle(c, now);
    else if (c->phase == SENDING)
        conn_watch_sending(c, streamed, now);
    else if (c->phase == READING &&
             (streamed ? conn_is_slow(c, most_ms, now) : now - c->phase_ms > most_ms))
        conn_cut(c, true);
}
