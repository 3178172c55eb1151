/* Deadlines. Each loop looks at its connections about once a second, a slice at a time.
 *
 *   - SHAKING, and IDLE before the first request: the whole head has to be there within
 *     head_timeout_ms of the connection's beginning.
 *   - IDLE with a part of a head, and READING: the whole request has one deadline, from its first
 *     byte. A streamed body has none, but a least rate.
 *   - IDLE without a byte, after an answer: idle_timeout_s.
 *   - SENDING: every answer has that least rate, by what the client's side has acknowledged; one
 *     that is not streamed has a deadline too. While others wait for room (queue.c) a stall shows
 *     sooner.
 *
 * Whoever is late in the first two is told so with a 408, which the handler words. */
#include "net/http_own.h"

#include <linux/tcp.h>
#include <sys/socket.h>

static uint64_t acknowledged(const struct conn *c)
{
    struct tcp_info info;
    socklen_t size = sizeof(info);

    memset(&info, 0, sizeof(info));
    if (getsockopt(c->fd, IPPROTO_TCP, TCP_INFO, &info, &size))
        return 0;
    return info.tcpi_bytes_acked;
}

static void watch_idle(struct conn *c, int64_t now)
{
    const struct http_conf *conf = &c->http->conf;

    if (c->phase_ms && now - c->phase_ms > conf->request_timeout_ms)
        exchange_cut(c, 408);
    else if (!c->idle_ms && now - c->open_ms > conf->head_timeout_ms && c->phase_ms)
        exchange_cut(c, 408);
    else if (!c->phase_ms && (c->idle_ms ? now - c->idle_ms > (int64_t)conf->idle_timeout_s * 1000
                                         : now - c->open_ms > conf->head_timeout_ms))
        conn_close(c);
}

/* True: the client of a stream, which has moved so many bytes, falls behind. Times are taken one
 * after the other, so that one who was fast for an hour cannot rest on it. */
static bool is_slow(struct conn *c, uint64_t moved, int64_t interval_ms, int64_t now)
{
    int64_t took = now - c->since_ms - c->waited_ms;

    if (c->parked_ms || took <= interval_ms)
        return false;
    if (moved < c->http->conf.stream_pace * (uint64_t)took / 1000)
        return true;
    c->since_ms = now;
    c->waited_ms = 0;
    c->moved = 0;
    c->acked = UINT64_MAX;
    return false;
}

static void watch_sending(struct conn *c, bool streamed, int64_t now)
{
    int64_t most_ms = c->http->conf.answer_timeout_ms;
    int64_t interval_ms = queue_waits(c) ? most_ms / 12 : most_ms / 4;
    uint64_t acked = acknowledged(c);

    if (c->acked == UINT64_MAX)
        c->acked = acked;
    if (is_slow(c, acked - c->acked, interval_ms, now) ||
        (!streamed && now - c->phase_ms > most_ms))
        exchange_cut(c, 408);
}

void conn_watch(struct conn *c, int64_t now)
{
    bool streamed = c->exchange && exchange_is_streamed(c->exchange);
    int64_t most_ms = c->http->conf.request_timeout_ms;

    if (c->exchange && exchange_is_parked(c->exchange)) {
        exchange_watch(c->exchange, now);
        return;
    }
    if (c->phase == SHAKING && now - c->open_ms > c->http->conf.head_timeout_ms)
        exchange_cut(c, 408);
    else if (c->phase == IDLE)
        watch_idle(c, now);
    else if (c->phase == SENDING)
        watch_sending(c, streamed, now);
    else if (c->phase == READING &&
             (streamed ? is_slow(c, c->moved, most_ms, now) : now - c->phase_ms > most_ms))
        exchange_cut(c, 408);
}
