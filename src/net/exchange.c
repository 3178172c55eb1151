/* One request and its answer. Its life, all on the connection's loop thread:
 *
 *   - exchange_begin(): the head is there; the handler may refuse, or ask for the body in pieces
 *   - exchange_piece(), exchange_end(): the body
 *   - the handler, then what continuations it asks for, until it replies
 *   - exchange_free(): the answer is in the socket or copied, or the connection is lost
 *
 * Where it stands is its `state`, which is the loop thread's own:
 *
 *     READING ◀──▶ TAKING ◀──▶ TAKING_PARKED        TAKING: a sink has a piece of the body
 *      │  │  │        │ │
 *      │  │  └──▶ DROPPING ──┐                      there is a reply before the body has ended:
 *      │  │           │      │                      the rest of it is not wanted
 *      │  └───────────┼──────┼──────┐
 *      ▼              ▼      ▼      ▼
 *     HANDLING ───────┴─────────▶ SENDING ◀──▶ GIVING ◀──▶ GIVING_PARKED
 *        ▲                                          GIVING: a source is asked for a piece
 *        ▼
 *     HANDLING_PARKED
 *
 * Parking. The handler may answer later and from another thread, so both sides meet in `step`:
 *
 *   RUNNING    a handler or continuation runs on the loop thread, or none does
 *   PARKED     it returned without an answer; only another thread can go on
 *   READY      an answer, a continuation or leave to go on has been left for the loop thread
 *
 * When the handler has returned, the loop thread tries RUNNING -> PARKED; the calls that handlers
 * make leave their result and exchange READY for the old step. Whoever finds the other's mark goes
 * on: the loop thread at once, the other by way of the loop's list. From before it tries until the
 * loop goes on, the state is a PARKED one, and neither the exchange nor its connection is freed.
 *
 * Refusals before the end of the body. The client may still be sending. A short body that nobody
 * wants is read, dropped and answered in its turn, so that a client with an ordinary mistake keeps
 * its connection. Otherwise the answer goes out at once, and the socket lingers.
 *
 * Memory. An exchange is one block: the struct and the first bytes of its arena, where the head is
 * copied to. What handlers have put into the arena goes as soon as the answer is in the socket, or
 * copied to wait for it there (conn.c). */
#include "net/address.h"
#include "net/http_own.h"

#include "base/invariant.h"

#include <assert.h>

/* A body of which no more than this is still to come is read and dropped. */
#define DROP_BYTES_MAX 65536

enum step { RUNNING, PARKED, READY };

/* Behind each state in which it can be parked stands the parked one. */
enum exchange_state {
    EXCHANGE_READING, /* the head has come, and the body comes */
    EXCHANGE_TAKING,
    EXCHANGE_TAKING_PARKED,
    EXCHANGE_DROPPING, /* what comes of the body is not wanted; a reply is there */
    EXCHANGE_HANDLING, /* the body has ended */
    EXCHANGE_HANDLING_PARKED,
    EXCHANGE_SENDING, /* the reply is on its way */
    EXCHANGE_GIVING,
    EXCHANGE_GIVING_PARKED,
};

#define STATE(name) (1u << EXCHANGE_##name)
#define PARKED_STATES (STATE(TAKING_PARKED) | STATE(HANDLING_PARKED) | STATE(GIVING_PARKED))
/* A handler has it: those are counted in http->pending. */
#define PENDING_STATES (PARKED_STATES | STATE(TAKING) | STATE(HANDLING) | STATE(GIVING))

struct exchange {
    struct http_request super;
    struct http *http;
    struct conn *conn;
    enum exchange_state state;
    bool no_body;                /* the answer's body is not sent: to HEAD */
    atomic_int refs;             /* the connection's, and those of http_ref() */
    _Atomic int64_t deadline_ms; /* when on_deadline is called if it is parked; 0: never */
    http_fn *on_deadline;
    void *on_deadline_arg;
    struct body body;
    struct chunks chunks;
    uint64_t received;  /* of the body */
    http_sink_fn *sink; /* NULL: the body is collected */
    void *sink_arg;
    http_source_fn *source;
    void *source_arg;
    uint64_t source_length, source_at;
    atomic_int step;             /* enum step */
    struct exchange *next_ready; /* in the loop's list */
    /* What the handler left when `step` became READY: a continuation, or with `replied` the answer,
     * or neither, which is leave to go on. */
    http_fn *next;
    void *next_arg;
    bool replied;
    int status;
    const struct http_header *out;
    size_t out_count;
    bytes out_body;
    struct arena_piece block; /* the body's own memory (conn_send_block()); none: it has none */
};

/* ---- life ---- */

static struct exchange *exchange_new(struct conn *c)
{
    struct exchange *x = mem_alloc(EXCHANGE_BYTES);
    struct http_request *r = &x->super;
    struct http *h = c->http;

    memset(x, 0, sizeof(*x));
    ctx_init(&r->ctx, h->conf.clock, h->conf.log, x + 1, EXCHANGE_BYTES - sizeof(*x));
    r->ctx.arena.cap = h->conf.request_memory_max;
    r->start_us = clock_mono_us(h->conf.clock);
    r->method = r->path = bytes_of("", 0);
    r->body_bytes_max = h->conf.body_bytes_max;
    r->peer = &c->peer.any;
    x->http = h;
    x->conn = c;
    atomic_init(&x->refs, 1);
    c->exchange = x;
    return x;
}

static bool is_in(const struct exchange *x, unsigned states)
{
    return states >> x->state & 1;
}

static void exchange_to(struct exchange *x, enum exchange_state next)
{
    static const unsigned may_follow[] = {
        [EXCHANGE_READING] = STATE(TAKING) | STATE(DROPPING) | STATE(HANDLING) | STATE(SENDING),
        [EXCHANGE_TAKING] = STATE(READING) | STATE(TAKING) | STATE(TAKING_PARKED) |
                            STATE(DROPPING) | STATE(SENDING),
        [EXCHANGE_TAKING_PARKED] = STATE(TAKING),
        [EXCHANGE_DROPPING] = STATE(HANDLING) | STATE(SENDING),
        [EXCHANGE_HANDLING] = STATE(HANDLING_PARKED) | STATE(SENDING),
        [EXCHANGE_HANDLING_PARKED] = STATE(HANDLING),
        [EXCHANGE_SENDING] = STATE(GIVING),
        [EXCHANGE_GIVING] = STATE(GIVING) | STATE(GIVING_PARKED) | STATE(SENDING),
        [EXCHANGE_GIVING_PARKED] = STATE(GIVING),
    };
    bool pending = is_in(x, PENDING_STATES);

    invariant(may_follow[x->state] >> next & 1);
    x->state = next;
    if (pending && !is_in(x, PENDING_STATES))
        atomic_fetch_sub(&x->http->pending, 1);
    else if (!pending && is_in(x, PENDING_STATES))
        atomic_fetch_add(&x->http->pending, 1);
}

static void exchange_unref(struct exchange *x)
{
    if (atomic_fetch_sub(&x->refs, 1) > 1)
        return;
    ctx_release(&x->super.ctx);
    body_release(x->http, &x->body);
    mem_free(x->block.memory);
    mem_free(x);
}

void exchange_free(struct exchange *x)
{
    invariant(!exchange_is_parked(x));
    if (is_in(x, PENDING_STATES))
        atomic_fetch_sub(&x->http->pending, 1);
    x->conn->exchange = NULL;
    exchange_unref(x);
}

void exchange_watch(struct exchange *x, int64_t now)
{
    int64_t deadline_ms = atomic_load(&x->deadline_ms);

    if (!deadline_ms || now < deadline_ms)
        return;
    atomic_store(&x->deadline_ms, 0);
    x->on_deadline(x->on_deadline_arg, &x->super);
}

bool exchange_is_streamed(const struct exchange *x)
{
    return x->state >= EXCHANGE_SENDING ? x->source != NULL : x->sink != NULL;
}

struct http_request *exchange_request(struct exchange *x)
{
    return &x->super;
}

struct conn *exchange_conn(struct http_request *r)
{
    return ((struct exchange *)r)->conn;
}

void exchange_client_gone(struct exchange *x)
{
    if (x->state == EXCHANGE_HANDLING_PARKED)
        __atomic_store_n(&x->super.gone, 1, __ATOMIC_RELAXED);
}

bool exchange_is_parked(const struct exchange *x)
{
    return is_in(x, PARKED_STATES);
}

bool exchange_has_source(const struct exchange *x)
{
    return x->source && x->source_at < x->source_length;
}

uint64_t exchange_body_left(const struct exchange *x)
{
    return x->super.length == HTTP_LENGTH_UNKNOWN ? HTTP_LENGTH_UNKNOWN
                                                  : x->super.length - x->received;
}

struct chunks *exchange_chunks(struct exchange *x)
{
    return x->super.length == HTTP_LENGTH_UNKNOWN ? &x->chunks : NULL;
}

/* ---- calling handlers ---- */

/* A handler is about to have it. False: the server has closed. Counted before `closed` is looked
 * at, and http_close() looks at the count after setting it. */
static bool exchange_enter(struct exchange *x, enum exchange_state state)
{
    struct http *h = x->http;

    if (!x->conn->active)
        atomic_fetch_add(&h->active, 1);
    x->conn->active = true;
    exchange_to(x, state);
    return !atomic_load(&h->closed);
}

static void exchange_unpark(struct exchange *x)
{
    exchange_to(x, x->state - 1);
    conn_unpark(x->conn);
}

static bool exchange_park(struct exchange *x)
{
    int step = RUNNING;

    /* Before the step: from then on another thread may have it woken, and the loop looks. */
    exchange_to(x, x->state + 1);
    conn_park(x->conn);
    if (atomic_compare_exchange_strong(&x->step, &step, PARKED))
        return true;
    exchange_unpark(x);
    return false;
}

/* After a handler has run: true once there is an answer or leave to go on. False: it is parked. */
static bool exchange_resume(struct exchange *x)
{
    while (atomic_load(&x->step) == READY || !exchange_park(x)) {
        http_fn *fn = x->next;

        atomic_store(&x->step, RUNNING);
        if (x->replied || !fn)
            return true;
        x->next = NULL;
        fn(x->next_arg, &x->super);
    }
    return false;
}

/* ---- answers ---- */

static void exchange_answer(struct exchange *x)
{
    struct conn *c = x->conn;
    uint64_t length = x->source ? x->source_length : x->out_body.len;
    bytes head;

    exchange_to(x, EXCHANGE_SENDING);
    share_take_reserved(c);
    if (x->no_body)
        x->source = NULL;
    c->last |= atomic_load_explicit(&x->http->stopping, memory_order_relaxed) ||
               c->tls_version != atomic_load_explicit(&x->http->tls_version, memory_order_relaxed);
    head = answer_head(c->loop, x->status, x->out, x->out_count, length, c->last);
    conn_enter(c, SENDING);
    if (!head.len) {
        log_error(x->http->conf.log, "http: the headers of an answer are too long");
        c->doomed = true;
        return;
    }
    if (x->block.memory && !x->no_body && head.len <= BLOCK_HEAD_BYTES) {
        conn_send_block(c, head, &x->block, x->out_body.len);
        x->block = (struct arena_piece){0};
    } else {
        conn_send(c, head, x->source || x->no_body ? BYTES_NONE : x->out_body);
    }
    if (!x->source)
        exchange_free(x);
}

ptrdiff_t exchange_source(struct exchange *x, uint8_t *to, size_t size)
{
    uint64_t left = x->source_length - x->source_at;
    ptrdiff_t n;

    if (!exchange_enter(x, EXCHANGE_GIVING))
        return HTTP_BROKEN;
    if (size > left)
        size = (size_t)left;
    do {
        atomic_store(&x->step, RUNNING);
        n = x->source(x->source_arg, &x->super, x->source_at, to, size);
        if (n) {
            exchange_to(x, EXCHANGE_SENDING);
            x->source_at += n > 0 ? (uint64_t)n : 0;
            return n;
        }
    } while (!exchange_park(x));
    return 0;
}

/* ---- refusals before the end of the body ---- */

/* Has the handler say what is wrong; it answers at once. */
static void exchange_fault(struct exchange *x, int status)
{
    x->super.fault = status;
    atomic_store(&x->step, RUNNING);
    x->http->conf.on_request(x->http->conf.arg, &x->super);
    assert(x->replied && !x->source);
}

/* There is a reply, and more of the body may come. */
static void exchange_give_up(struct exchange *x, bool drop)
{
    struct conn *c = x->conn;

    if (drop && x->super.length != HTTP_LENGTH_UNKNOWN && exchange_body_left(x) <= DROP_BYTES_MAX) {
        exchange_to(x, EXCHANGE_DROPPING);
        return;
    }
    c->last = c->linger = true;
    exchange_answer(x);
}

void exchange_refuse(struct conn *c, int status)
{
    struct exchange *x = c->exchange ? c->exchange : exchange_new(c);

    if (!x->replied)
        exchange_fault(x, status);
    exchange_give_up(x, false);
}

/* ---- the body ---- */

static size_t exchange_collect(struct exchange *x, bytes piece)
{
    int status = body_reserve(&x->super, x->http, &x->body, piece.len);

    if (!status && !share_hold(x->conn, x->body.charged))
        status = 503;
    if (status) {
        share_hold(x->conn, 0);
        exchange_fault(x, status);
        exchange_give_up(x, true);
        return 0;
    }
    memcpy(x->body.data + x->body.len, piece.ptr, piece.len);
    x->body.len += piece.len;
    return piece.len;
}

static size_t exchange_feed(struct exchange *x, bytes piece)
{
    size_t all = piece.len;

    if (!exchange_enter(x, EXCHANGE_TAKING)) {
        x->conn->doomed = true;
        return 0;
    }
    while (piece.len && !x->replied) {
        size_t taken;

        atomic_store(&x->step, RUNNING);
        taken = x->sink(x->sink_arg, &x->super, piece);
        assert(taken <= piece.len);
        piece = bytes_skip(piece, taken);
        if (piece.len && !exchange_resume(x))
            return all - piece.len;
    }
    if (!x->replied)
        exchange_to(x, EXCHANGE_READING);
    return all - piece.len;
}

size_t exchange_piece(struct conn *c, bytes piece)
{
    struct exchange *x = c->exchange;
    size_t taken;

    if (x->state == EXCHANGE_DROPPING)
        taken = piece.len;
    else if (x->sink)
        taken = exchange_feed(x, piece);
    else
        taken = exchange_collect(x, piece);
    if (c->exchange != x) /* refused, and the answer is on its way */
        return taken;
    x->received += taken;
    if (x->state == EXCHANGE_TAKING && x->replied)
        exchange_give_up(x, true);
    return taken;
}

static void exchange_go_on(struct exchange *x)
{
    if (!exchange_resume(x))
        return;
    assert(x->replied);
    exchange_answer(x);
}

void exchange_end(struct conn *c)
{
    struct exchange *x = c->exchange;
    struct http *h = x->http;

    if (!exchange_enter(x, EXCHANGE_HANDLING)) {
        c->doomed = true;
        return;
    }
    if (x->replied) {
        exchange_answer(x);
        return;
    }
    conn_enter(c, HANDLING);
    if (!c->stream_held)
        share_hold(c, 0); /* nobody waits for the client any more */
    atomic_store(&x->step, RUNNING);
    if (x->sink) {
        x->sink(x->sink_arg, &x->super, bytes_of("", 0));
    } else {
        x->super.body = x->body.data ? bytes_of(x->body.data, x->body.len) : bytes_of("", 0);
        h->conf.on_request(h->conf.arg, &x->super);
    }
    exchange_go_on(x);
}

/* ---- the head ---- */

static void exchange_head(struct exchange *x, bool expect)
{
    struct http *h = x->http;
    struct conn *c = x->conn;
    int status;

    if (h->conf.on_head) {
        atomic_store(&x->step, RUNNING);
        h->conf.on_head(h->conf.arg, &x->super);
    }
    if (!x->replied && !x->sink && (status = body_check_length(&x->super, h)))
        exchange_fault(x, status);
    if (x->replied) {
        exchange_give_up(x, !expect);
        return;
    }
    /* A stranger's does not count: he could fill the budget. */
    arena_meter(&x->super.ctx.arena, h->memory);
    if (expect && x->super.length && c->in.at == c->in.len)
        conn_continue(c);
}

void exchange_begin(struct conn *c, size_t size)
{
    struct exchange *x = exchange_new(c);
    struct http_request *r = &x->super;
    struct head_fault fault = {0};
    struct head head;
    bytes text = arena_copy(&r->ctx.arena, bytes_of(c->in.data + c->in.at, size));

    c->in.at += size;
    conn_enter(c, READING);
    if (!head_parse(&r->ctx.arena, (uint8_t *)(uintptr_t)text.ptr, size, &head, &fault)) {
        conn_refuse(c, &fault);
        return;
    }
    r->method = head.method;
    r->path = head.path;
    r->query = head.query;
    r->headers = head.headers;
    r->header_count = head.header_count;
    r->length = head.length;
    x->no_body = bytes_equal(head.method, BYTES_LIT("HEAD"));
    c->last |= head.close;
    exchange_head(x, head.expect);
}

/* ---- going on after it was parked ---- */

struct exchange *exchange_next_ready(struct exchange *x)
{
    return x->next_ready;
}

void exchange_link_ready(struct exchange *x, struct exchange *next)
{
    x->next_ready = next;
}

void exchange_wake(struct exchange *x)
{
    struct conn *c = x->conn;

    exchange_unpark(x);
    if (c->doomed || atomic_load(&x->http->closed)) {
        conn_close(c);
        return;
    }
    if (x->state == EXCHANGE_HANDLING) {
        exchange_go_on(x);
    } else {
        atomic_store(&x->step, RUNNING);
        if (x->replied && x->state == EXCHANGE_TAKING)
            exchange_give_up(x, true);
    }
    conn_turn(c);
}

/* Has the loop go on with x, which stays in place until then. From any thread. */
static void put_ready(struct loop *l, struct exchange *x)
{
    struct exchange *head = atomic_load(&l->ready);

    do
        x->next_ready = head;
    while (!atomic_compare_exchange_weak(&l->ready, &head, x));
    if (!head)
        bell_call(&l->bell);
}

/* ---- what handlers call ---- */

static void exchange_ready(struct exchange *x)
{
    struct loop *l = x->conn->loop;
    int was;

    atomic_fetch_add(&l->wakers, 1); /* http_close() must not free the loop while it is rung */
    was = atomic_exchange(&x->step, READY);
    assert(was != READY);
    if (was == PARKED)
        put_ready(l, x);
    atomic_fetch_sub(&l->wakers, 1);
}

void http_on_deadline(struct http_request *r, int64_t deadline_ms, http_fn *fn, void *arg)
{
    struct exchange *x = (struct exchange *)r;

    x->on_deadline = fn;
    x->on_deadline_arg = arg;
    atomic_store(&x->deadline_ms, deadline_ms);
}

void http_ref(struct http_request *r)
{
    struct exchange *x = (struct exchange *)r;

    atomic_fetch_add(&x->http->pending, 1);
    atomic_fetch_add(&x->refs, 1);
}

void http_unref(struct http_request *r)
{
    struct exchange *x = (struct exchange *)r;
    struct http *h = x->http;

    exchange_unref(x);
    atomic_fetch_sub(&h->pending, 1); /* the server may be gone from here on */
}

void http_known(struct http_request *r, uint64_t client)
{
    conn_known(((struct exchange *)r)->conn, client);
}

bool http_hold(struct http_request *r, size_t size)
{
    struct conn *c = ((struct exchange *)r)->conn;

    atomic_fetch_add_explicit(c->http->memory, size, memory_order_relaxed);
    c->stream_held += size;
    return share_hold(c, c->held + size);
}

void http_receive(struct http_request *r, http_sink_fn *sink, void *arg)
{
    struct exchange *x = (struct exchange *)r;

    assert(!x->replied && !x->received);
    x->sink = sink;
    x->sink_arg = arg;
}

/* What the socket will not take at once is kept in memory of its own: that in which it was made, or
 * a copy, which is made here, on the thread that answers, and not on the loop's, where others would
 * wait for it. */
static void keep_body(struct exchange *x, bytes body)
{
    size_t size = BLOCK_HEAD_BYTES + body.len;

    if (arena_take(&x->super.ctx.arena, body, BLOCK_HEAD_BYTES, &x->block))
        return;
    x->block = (struct arena_piece){mem_alloc(size), size, BLOCK_HEAD_BYTES};
    memcpy(x->block.memory + BLOCK_HEAD_BYTES, body.ptr, body.len);
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
    if (body.len > TURN_BYTES)
        keep_body(x, body);
    x->replied = true;
    exchange_ready(x);
}

void http_reply_stream(struct http_request *r, int status, const struct http_header *headers,
                       size_t n, uint64_t length, http_source_fn *source, void *arg)
{
    struct exchange *x = (struct exchange *)r;

    x->source = source;
    x->source_arg = arg;
    x->source_length = length;
    http_reply(r, status, headers, n, BYTES_NONE);
}

void http_resume(struct http_request *r, http_fn *fn, void *arg)
{
    struct exchange *x = (struct exchange *)r;

    assert(!x->replied && !x->next);
    x->next = fn;
    x->next_arg = arg;
    exchange_ready(x);
}

void http_more(struct http_request *r)
{
    struct exchange *x = (struct exchange *)r;

    assert(!x->next);
    exchange_ready(x);
}

bytes http_header_find(const struct http_request *r, bytes want)
{
    for (size_t i = 0; i < r->header_count; i++)
        if (bytes_equal(r->headers[i].name, want))
            return r->headers[i].value;
    return BYTES_NONE;
}

bytes http_peer(struct http_request *r)
{
    char text[80] = "?";

    if (r->peer)
        address_format(r->peer, text, sizeof(text));
    return arena_printf(&r->ctx.arena, "%s", text);
}

void exchange_cut(struct conn *c, int status)
{
    if (status == 408)
        atomic_fetch_add(&c->http->late, 1);
    if (c->phase == SHAKING || c->phase == SENDING) {
        conn_close(c);
        return;
    }
    exchange_refuse(c, status);
    loop_again(c->loop, c);
}
