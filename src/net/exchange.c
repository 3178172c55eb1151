/* One request and its answer. Its life, all on the connection's loop thread:
 *
 *   - exchange_on_line(): the request line is there
 *   - exchange_on_access(), first call: headers; next calls: pieces of the body; last: its end
 *   - the handler, then what continuations it asks for, until it replies
 *   - exchange_on_completed(): the answer is sent, or the connection lost
 *
 * Parking. The handler may answer later and from another thread, so both sides meet in `step`:
 *
 *   RUNNING    a handler or continuation runs on the loop thread
 *   PARKED     it returned without an answer and the connection is suspended
 *   READY      an answer, a continuation or leave to go on has been left for the loop thread
 *
 * When the handler has returned, the loop thread tries RUNNING -> PARKED and suspends; the calls
 * that handlers make leave their gift and exchange READY for the old step. Whoever finds the
 * other's mark goes on: the loop thread at once, the other by way of the loop's list. So a
 * connection is resumed exactly once, and one whose handler answers at once is never suspended.
 * Only its loop thread ever suspends or resumes a connection.
 *
 * Refusals before the end of the body. After the headers the library can be told to answer; it
 * closes the connection then, unless there is no body. In the midst of the body it cannot; then the
 * answer is written here, past it, and the connection given up. Either way the client may still be
 * sending, so the socket lingers. A short body that nobody wants is read, dropped and answered in
 * its turn instead, so that a client with an ordinary mistake keeps its connection.
 *
 * Memory. An exchange is one block: the struct and the first bytes of its arena. It is held by the
 * request (until it is completed) and by the answer whose body lies in it (until the library lets
 * the answer go); both end on the loop thread, so the count needs no atomics. */
#include "base/buf.h"
#include "net/address.h"
#include "net/door.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#define EXCHANGE_BYTES 8192 /* struct and first arena block */
#define HEADERS_MAX 100
/* A body of which no more than this is still to come is read and dropped. */
#define DROP_BYTES_MAX 65536
/* Under TLS nothing can be written past the library, so more is dropped before the answer. */
#define DROP_BYTES_MAX_TLS ((uint64_t)64 << 20)
/* Bodies are charged to the common budget in steps; a small one lies in the exchange's own block.
 */
#define CHARGE_BYTES 4096
#define SOURCE_BYTES 65536 /* of a streamed answer at a time */

enum step { RUNNING, PARKED, READY };

struct exchange {
    struct http_request super;
    struct http *http;
    struct conn *conn;
    struct MHD_Connection *connection; /* NULL: no request, only its 408 */
    int refs;
    bool active;   /* counted in http->active */
    bool entered;  /* counted in http->pending */
    bool whole;    /* the body has ended and the handler was called */
    bool dropping; /* what comes of the body is not wanted; a reply is there */
    bool answered; /* the reply was handed to the library, or written */
    uint8_t *body;
    size_t body_len, body_capacity, charged;
    uint64_t received; /* of the body */
    struct http_header *headers;
    http_sink_fn *sink; /* NULL: the body is collected */
    void *sink_arg;
    bool later; /* the sink has not taken all */
    http_source_fn *source;
    void *source_arg;
    uint64_t source_length;
    atomic_int step;             /* enum step */
    struct exchange *next_ready; /* in the loop's list */
    /* The gift: `next`, or `more`, or with `replied` the answer. */
    http_fn *next;
    void *next_arg;
    bool more;
    bool replied;
    int status;
    const struct http_header *out;
    size_t out_count;
    bytes out_body;
};

/* ---- life ---- */

static struct exchange *exchange_alloc(struct http *h, struct conn *c)
{
    struct exchange *x = mem_alloc(EXCHANGE_BYTES);
    struct http_request *r = &x->super;

    memset(x, 0, sizeof(*x));
    ctx_init(&r->ctx, h->conf.clock, h->conf.log, x + 1, EXCHANGE_BYTES - sizeof(*x));
    r->ctx.arena.cap = h->conf.request_memory_max;
    r->start_us = clock_mono_us(h->conf.clock);
    x->http = h;
    x->conn = c;
    x->refs = 1;
    return x;
}

static void exchange_drop(struct exchange *x)
{
    struct http *h = x->http;
    size_t charged = x->charged;

    if (--x->refs)
        return;
    ctx_release(&x->super.ctx);
    mem_free(x);
    if (charged)
        atomic_fetch_sub(h->memory, charged);
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

/* The library has checked that a length is a number. */
static uint64_t body_length(const struct http_request *r)
{
    bytes value = http_header(r, "content-length");

    if (http_header(r, "transfer-encoding").ptr)
        return HTTP_LENGTH_UNKNOWN;
    return value.ptr ? strtoull(value.ptr, NULL, 10) : 0;
}

/* The path and the header values are views of the connection's buffer, which keeps them until the
 * request ends. */
static struct exchange *exchange_new(struct http *h, struct MHD_Connection *connection,
                                     const char *url, const char *method)
{
    const union MHD_ConnectionInfo *peer =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    int headers = MHD_get_connection_values(connection, MHD_HEADER_KIND, NULL, NULL);
    struct exchange *x = exchange_alloc(h, conn_of(connection));
    struct http_request *r = &x->super;

    x->connection = connection;
    r->body_bytes_max = h->conf.body_bytes_max;
    r->method = bytes_str(method);
    r->path = bytes_str(url);
    r->query = MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, NULL, NULL) > 0;
    r->peer = peer ? peer->client_addr : NULL;
    if (headers > HEADERS_MAX)
        headers = HEADERS_MAX;
    x->headers = ARENA_ARRAY(&r->ctx.arena, struct http_header, headers > 0 ? (size_t)headers : 1);
    r->headers = x->headers;
    MHD_get_connection_values_n(connection, MHD_HEADER_KIND, on_header, x);
    r->length = body_length(r);
    return x;
}

bool exchange_is_streamed(const struct exchange *x)
{
    return x->answered ? x->source != NULL : x->sink != NULL;
}

/* ---- calling handlers ---- */

/* Counted before `closed` is looked at, and http_close() looks at the count after setting it. */
static bool exchange_enter(struct exchange *x)
{
    struct http *h = x->http;

    if (!x->active)
        atomic_fetch_add(&h->active, 1);
    if (!x->entered)
        atomic_fetch_add(&h->pending, 1);
    x->active = x->entered = true;
    return !atomic_load(&h->closed);
}

static void exchange_leave(struct exchange *x)
{
    if (x->entered)
        atomic_fetch_sub(&x->http->pending, 1);
    x->entered = false;
}

static void exchange_park(struct exchange *x)
{
    conn_park(x->conn);
    MHD_suspend_connection(x->connection);
}

/* After a handler has run: true once there is an answer or leave to go on. False: the connection is
 * suspended. */
static bool exchange_settle(struct exchange *x)
{
    for (;;) {
        int step = RUNNING;
        http_fn *fn;

        if (atomic_compare_exchange_strong(&x->step, &step, PARKED)) {
            exchange_park(x);
            return false;
        }
        atomic_store(&x->step, RUNNING);
        if (x->replied || x->more)
            return true;
        fn = x->next;
        x->next = NULL;
        fn(x->next_arg, &x->super);
    }
}

/* ---- answers ---- */

static void on_answer_free(void *arg)
{
    exchange_drop(arg);
}

/* The next piece of a streamed answer. */
static ssize_t on_source(void *arg, uint64_t offset, char *to, size_t size)
{
    struct exchange *x = arg;

    if (!exchange_enter(x))
        return MHD_CONTENT_READER_END_WITH_ERROR;
    for (;;) {
        int step = RUNNING;
        ptrdiff_t n;

        x->more = false;
        atomic_store(&x->step, RUNNING);
        n = x->source(x->source_arg, &x->super, offset, (uint8_t *)to, size);
        if (n) {
            exchange_leave(x);
            return n < 0 ? MHD_CONTENT_READER_END_WITH_ERROR : n;
        }
        if (atomic_compare_exchange_strong(&x->step, &step, PARKED)) {
            exchange_park(x);
            return 0;
        }
    }
}

static struct MHD_Response *response_new(struct exchange *x)
{
    if (x->source)
        return MHD_create_response_from_callback(x->source_length, SOURCE_BYTES, on_source, x,
                                                 on_answer_free);
    return MHD_create_response_from_buffer_with_free_callback_cls(
        x->out_body.len, (void *)(uintptr_t)x->out_body.ptr, on_answer_free, x);
}

/* Hands the answer to the library; it holds the exchange until the last byte has gone. */
static enum MHD_Result exchange_answer(struct exchange *x)
{
    struct http *h = x->http;
    struct MHD_Response *response;
    enum MHD_Result result = MHD_YES;

    exchange_leave(x);
    /* What waits for its client is no request any more: clients that do not read must not keep the
     * others out. Their pace is watched (conn.c). */
    arena_unmeter(&x->super.ctx.arena);
    x->answered = true;
    x->refs++;
    response = response_new(x);
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
    conn_enter(x->conn, SENDING);
    if (result == MHD_YES)
        result = MHD_queue_response(x->connection, (unsigned)x->status, response);
    MHD_destroy_response(response);
    return result;
}

/* Writes the answer past the library, if the socket takes it at once; the connection is of no
 * further use. */
static void exchange_write(struct exchange *x)
{
    const char *reason = MHD_get_reason_phrase_for((unsigned)x->status);
    struct arena *a = &x->super.ctx.arena;
    struct buf b;

    buf_init(&b, a, 1024 + x->out_body.len);
    buf_put_bytes(&b, arena_printf(a,
                                   "HTTP/1.1 %d %s\r\nConnection: close\r\n"
                                   "Content-Length: %zu\r\n",
                                   x->status, reason, x->out_body.len));
    for (size_t i = 0; i < x->out_count; i++)
        buf_put_bytes(&b, arena_printf(a, "%.*s: %.*s\r\n", BYTES_FMT(x->out[i].name),
                                       BYTES_FMT(x->out[i].value)));
    buf_put(&b, "\r\n", 2);
    buf_put_bytes(&b, x->out_body);
    (void)!send(x->conn->fd, b.data, b.len, MSG_DONTWAIT | MSG_NOSIGNAL);
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

/* Whether the rest of the body is read and dropped before the answer. */
static bool exchange_may_drop(const struct exchange *x)
{
    uint64_t max = x->http->conf.tls_cert ? DROP_BYTES_MAX_TLS : DROP_BYTES_MAX;

    return x->super.length != HTTP_LENGTH_UNKNOWN && x->super.length - x->received <= max;
}

/* There is a reply, and nothing of the body has been read. */
static enum MHD_Result exchange_refuse_head(struct exchange *x)
{
    x->dropping = true;
    if (exchange_may_drop(x) && !http_header(&x->super, "expect").ptr)
        return MHD_YES;
    x->conn->linger = true;
    return exchange_answer(x);
}

/* There is a reply, and more of the body may come behind this piece. */
static enum MHD_Result exchange_refuse_midway(struct exchange *x, size_t *size)
{
    exchange_leave(x);
    x->dropping = true;
    if (exchange_may_drop(x)) {
        x->received += *size;
        *size = 0;
        return MHD_YES;
    }
    if (!x->http->conf.tls_cert)
        exchange_write(x);
    x->conn->linger = true;
    return MHD_NO;
}

/* ---- bodies that are collected ---- */

/* False: all requests together would take too much. */
static bool exchange_charge(struct exchange *x, size_t len)
{
    struct http *h = x->http;
    size_t more;

    if (len <= CHARGE_BYTES || len <= x->charged)
        return true;
    more = (len + CHARGE_BYTES - 1) / CHARGE_BYTES * CHARGE_BYTES - x->charged;
    if (atomic_fetch_add(h->memory, more) + more > h->conf.memory_max) {
        atomic_fetch_sub(h->memory, more);
        return false;
    }
    x->charged += more;
    return true;
}

/* A body of some size has memory of its own, not the arena's, whose blocks are charged whole. NULL:
 * the request may not take so much. */
static uint8_t *exchange_body(struct exchange *x, size_t size)
{
    struct arena *a = &x->super.ctx.arena;
    uint8_t *body;

    if (size <= CHARGE_BYTES)
        return arena_try_alloc(a, size);
    if (a->cap && (size > a->cap || a->used > a->cap - size))
        return NULL;
    body = mem_alloc(size);
    a->used += size;
    arena_on_release(a, mem_free, body);
    return body;
}

/* Room for n more bytes of body: 0, or the status to refuse it with. A length that was announced is
 * taken at once, so that nothing is copied twice; the pages are touched, and charged, only as bytes
 * arrive. */
static int exchange_reserve(struct exchange *x, size_t n)
{
    size_t max = x->super.body_bytes_max, want = x->body_capacity * 2;
    uint8_t *body;

    if (n > max - x->body_len || x->body_len + n > x->http->conf.memory_max)
        return 413;
    if (!exchange_charge(x, x->body_len + n))
        return 503;
    if (n <= x->body_capacity - x->body_len)
        return 0;
    if (want < x->body_len + n)
        want = x->body_len + n;
    if (!x->body && x->super.length <= max && x->super.length >= n)
        want = (size_t)x->super.length;
    if (want > max)
        want = max;
    body = exchange_body(x, want);
    if (!body)
        return 413;
    if (x->body_len)
        memcpy(body, x->body, x->body_len);
    x->body = body;
    x->body_capacity = want;
    return 0;
}

static enum MHD_Result exchange_collect(struct exchange *x, const char *data, size_t *size)
{
    int status = exchange_reserve(x, *size);

    if (status) {
        exchange_fault(x, status);
        return exchange_refuse_midway(x, size);
    }
    memcpy(x->body + x->body_len, data, *size);
    x->body_len += *size;
    x->received += *size;
    *size = 0;
    return MHD_YES;
}

/* The status that an announced length deserves; 0: none. */
static int exchange_check_length(struct exchange *x)
{
    const struct http_conf *conf = &x->http->conf;
    uint64_t length = x->super.length;

    if (length == HTTP_LENGTH_UNKNOWN || length <= CHARGE_BYTES)
        return 0;
    if (length > x->super.body_bytes_max || length > conf->memory_max)
        return 413;
    return atomic_load(x->http->memory) + length > conf->memory_max ? 503 : 0;
}

/* ---- bodies that are streamed ---- */

static enum MHD_Result exchange_feed(struct exchange *x, const char *data, size_t *size)
{
    if (!exchange_enter(x))
        return MHD_NO;
    if (x->later && !exchange_settle(x))
        return MHD_YES;
    while (*size && !x->replied) {
        size_t taken;

        x->more = x->later = false;
        atomic_store(&x->step, RUNNING);
        taken = x->sink(x->sink_arg, &x->super, bytes_of(data, *size));
        assert(taken <= *size);
        data += taken;
        *size -= taken;
        x->received += taken;
        x->conn->moved += taken;
        x->later = *size > 0;
        if (x->later && !exchange_settle(x))
            return MHD_YES;
    }
    if (x->replied)
        return exchange_refuse_midway(x, size);
    exchange_leave(x);
    return MHD_YES;
}

/* ---- the library's calls ---- */

static enum MHD_Result exchange_head(struct exchange *x)
{
    struct http *h = x->http;
    int status;

    if (h->conf.on_head) {
        atomic_store(&x->step, RUNNING);
        h->conf.on_head(h->conf.arg, &x->super);
    }
    if (!x->replied && !x->sink && (status = exchange_check_length(x)))
        exchange_fault(x, status);
    if (!x->replied) /* a stranger's does not count: he could fill the budget */
        arena_meter(&x->super.ctx.arena, x->http->memory);
    return x->replied ? exchange_refuse_head(x) : MHD_YES;
}

static enum MHD_Result exchange_piece(struct exchange *x, const char *data, size_t *size)
{
    if (x->dropping) { /* those that announced more than is dropped have been refused */
        x->received += *size;
        *size = 0;
        return MHD_YES;
    }
    return x->sink ? exchange_feed(x, data, size) : exchange_collect(x, data, size);
}

static enum MHD_Result exchange_go_on(struct exchange *x)
{
    if (!exchange_settle(x))
        return MHD_YES;
    assert(x->replied);
    return exchange_answer(x);
}

static enum MHD_Result exchange_end(struct exchange *x)
{
    struct http *h = x->http;

    if (!exchange_enter(x))
        return MHD_NO;
    conn_enter(x->conn, HANDLING);
    if (x->replied)
        return exchange_answer(x);
    x->whole = true;
    x->more = x->later = false;
    atomic_store(&x->step, RUNNING);
    if (x->sink) {
        x->sink(x->sink_arg, &x->super, bytes_of("", 0));
    } else {
        x->super.body = x->body ? bytes_of(x->body, x->body_len) : bytes_of("", 0);
        h->conf.on_request(h->conf.arg, &x->super);
    }
    return exchange_go_on(x);
}

void *exchange_on_line(void *cls, const char *uri, struct MHD_Connection *connection)
{
    struct conn *c = conn_of(connection);

    (void)cls;
    (void)uri;
    if (c)
        conn_enter(c, READING);
    return NULL;
}

enum MHD_Result exchange_on_access(void *cls, struct MHD_Connection *connection, const char *url,
                                   const char *method, const char *version, const char *upload_data,
                                   size_t *upload_data_size, void **req_cls)
{
    struct exchange *x = *req_cls;
    struct conn *c = conn_of(connection);

    (void)version;
    if (!c || c->phase == CUT)
        return MHD_NO; /* too late */
    if (!x) {
        *req_cls = c->exchange = x = exchange_new(cls, connection, url, method);
        return exchange_head(x);
    }
    if (x->answered) { /* early: what still arrives of the body is not wanted */
        *upload_data_size = 0;
        return MHD_YES;
    }
    if (x->whole)
        return exchange_go_on(x);
    return *upload_data_size ? exchange_piece(x, upload_data, upload_data_size) : exchange_end(x);
}

void exchange_on_completed(void *cls, struct MHD_Connection *connection, void **req_cls,
                           enum MHD_RequestTerminationCode code)
{
    struct http *h = cls;
    struct exchange *x = *req_cls;

    (void)connection;
    (void)code;
    if (!x)
        return;
    if (x->active)
        atomic_fetch_sub(&h->active, 1);
    exchange_leave(x); /* a client may have left while its request was parked */
    x->conn->exchange = NULL;
    conn_enter(x->conn, IDLE);
    *req_cls = NULL;
    exchange_drop(x);
}

/* ---- too late ---- */

/* For the answer to something that never became a request. */
static struct exchange *exchange_blank(struct conn *c)
{
    struct exchange *x = exchange_alloc(c->http, c);
    struct http_request *r = &x->super;
    socklen_t size = sizeof(struct sockaddr_storage);
    struct sockaddr *peer = arena_zalloc(&r->ctx.arena, size);

    r->method = r->path = bytes_of("", 0);
    if (getpeername(c->fd, peer, &size) == 0)
        r->peer = peer;
    return x;
}

void exchange_late(struct conn *c)
{
    struct exchange *x = c->exchange ? c->exchange : exchange_blank(c);

    if (!x->replied)
        exchange_fault(x, 408);
    exchange_write(x);
    if (!c->exchange)
        exchange_drop(x);
}

/* ---- what handlers call ---- */

struct exchange *exchange_next_ready(struct exchange *x)
{
    return x->next_ready;
}

void exchange_link_ready(struct exchange *x, struct exchange *next)
{
    x->next_ready = next;
}

void exchange_resume(struct exchange *x)
{
    conn_unpark(x->conn);
    MHD_resume_connection(x->connection);
}

static void exchange_ready(struct exchange *x)
{
    struct loop *l = x->conn->loop;

    atomic_fetch_add(&l->ringers, 1); /* http_close() must not free the loop while it is rung */
    if (atomic_exchange(&x->step, READY) == PARKED)
        loop_put_ready(l, x);
    atomic_fetch_sub(&l->ringers, 1);
}

void http_receive(struct http_request *r, http_sink_fn *sink, void *arg)
{
    struct exchange *x = (struct exchange *)r;

    assert(!x->replied && !x->received);
    x->sink = sink;
    x->sink_arg = arg;
}

void http_reply(struct http_request *r, int status, const struct http_header *headers, size_t n,
                bytes body)
{
    struct exchange *x = (struct exchange *)r;

    assert(!x->replied && !x->next && !x->more);
    x->status = status;
    x->out = headers;
    x->out_count = n;
    x->out_body = body;
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

    assert(!x->replied && !x->next && !x->more);
    x->next = fn;
    x->next_arg = arg;
    exchange_ready(x);
}

void http_more(struct http_request *r)
{
    struct exchange *x = (struct exchange *)r;

    assert(!x->next && !x->more);
    x->more = true;
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
