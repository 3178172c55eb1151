#include "sql/door/visit.h"

#include "base/arena_full.h"
#include "base/thread.h"

#define SMALL_BYTES 32768 /* that each connection may hold, whatever the others do */

/* ---- memory ---- */

/* What all connections hold together of what clients have sent is bounded. */
static bool is_full(void *arg, size_t used, size_t size)
{
    const struct door *d = arg;

    return used + size > SMALL_BYTES &&
           atomic_load_explicit(&d->held, memory_order_relaxed) + size > d->held_max;
}

void bounded_arena_init(struct visit *v, struct arena *a)
{
    struct door *d = v->connection->door;

    arena_init(a, NULL, 0);
    a->full = is_full;
    a->full_arg = d;
    arena_meter(a, &d->held);
}

bool visit_should_rest(const struct visit *v, int64_t silent_ms)
{
    return session_can_rest(v->session) && (silent_ms >= REST_S * 1000 || session_memory_short());
}

void visit_rest(struct visit *v)
{
    session_rest(v->session);
    thread_rest();
}

/* ---- sending ---- */

void send_begin(struct visit *v, uint8_t number)
{
    arena_release(&v->room);
    arena_init(&v->room, NULL, 0);
    buf_init(&v->buf, &v->room, 1024);
    v->out = (struct packet_out){.buf = &v->buf, .number = number};
}

bool send_now(struct visit *v)
{
    if (v->session)
        session_wait_begin(v->session);
    if (!v->lost && !channel_write(&v->connection->channel, buf_bytes(&v->buf)))
        v->lost = true;
    if (v->session)
        session_wait_end(v->session);
    arena_release(&v->room);
    arena_init(&v->room, NULL, 0);
    buf_init(&v->buf, &v->room, 1024);
    return !v->lost;
}

void send_error(struct visit *v, uint16_t number, const char *state, bytes text)
{
    packet_begin(&v->out);
    reply_error_put(&v->buf, number, state, text);
    packet_end(&v->out);
}

static uint16_t status_of(const struct visit *v)
{
    return !v->session ? REPLY_AUTOCOMMIT
                       : (session_autocommits(v->session) ? REPLY_AUTOCOMMIT : 0) |
                             (session_in_transaction(v->session) ? REPLY_IN_TRANSACTION : 0);
}

void send_done(struct visit *v, uint64_t affected)
{
    packet_begin(&v->out);
    reply_done_put(&v->buf, &(struct reply_done){.affected = affected,
                                                 .status = status_of(v),
                                                 .warnings = v->warnings});
    packet_end(&v->out);
}

void send_end(struct visit *v)
{
    packet_begin(&v->out);
    reply_end_put(&v->buf, v->capabilities, status_of(v), v->warnings);
    packet_end(&v->out);
}

void send_column(struct visit *v, const struct column *column)
{
    packet_begin(&v->out);
    column_put(&v->buf, column);
    packet_end(&v->out);
}
