/* bench_http.c: many connections on one thread, one request under way on each.
 *
 * The load shares the machine's cores with the server it measures, so what libcurl does for a
 * request is too much: here a request is encoded, signed and written with one send(), and an answer
 * is looked at closely (digest, rows) only once in CHECK_EVERY; of the others status and length
 * count. */
#include "bench/bench_front.h"

#include "bench/bench_post.h"
#include "wire/ots_client.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CHECK_EVERY 64
#define SILENCE_US (30 * 1000000LL) /* without any answer, with requests under way */
#define FIRST_IN_BYTES 16384
#define ANSWER_BYTES_MAX (64u << 20)
#define EVENTS 64

/* Bytes that grow and are used again. */
struct space {
    char *data;
    size_t len, size;
};

struct conn {
    int fd;               /* -1: not open; opened for the next request */
    bool under_way;       /* a request was sent, or is being sent, and not answered */
    bool wants_out;       /* epoll was asked to say when more can be sent */
    struct space in, out; /* the answer so far; the request */
    size_t sent;          /* of `out` */
    bool headed;          /* the answer's head is complete, and `answer` filled */
    struct bench_answer answer;
    enum wr_op op;
    struct bench_job job;
};

struct http_front {
    struct ctx *c;
    struct bench_load *load;
    const struct target *target;
    struct bench_post *posts[WR_OP_COUNT]; /* made when first needed */
    char host[256], port[16];
    struct addrinfo *addresses;
    struct conn *conns;
    struct conn **idle; /* a stack */
    size_t conn_count, idle_count;
    int epoll;
    char date[SIGN_DATE_TEXT + 1];
    int64_t date_us, heard_us; /* of the date's making; of the last answer */
    uint64_t answers;
    double row_bytes; /* of a row in a range's answer, from the last one that was checked */
    uint8_t scratch[256 * 1024]; /* first memory of a request's arena */
};

static void space_reserve(struct space *s, size_t n)
{
    if (s->size - s->len >= n)
        return;
    s->size = s->len + n + s->size / 2;
    s->data = mem_realloc(s->data, s->size);
}

/* ---- connections */

static int parse_endpoint(struct http_front *d)
{
    const char *at = d->target->endpoint, *colon;
    size_t len;

    if (strncmp(at, "http://", 7) != 0)
        return fail(d->c, WR_E_PARAMETER, "bench speaks plain HTTP only, not %s", at);
    at += 7;
    len = strcspn(at, "/");
    colon = memchr(at, ':', len);
    snprintf(d->host, sizeof(d->host), "%.*s", (int)(colon ? (size_t)(colon - at) : len), at);
    snprintf(d->port, sizeof(d->port), "%.*s", colon ? (int)(at + len - colon - 1) : 2,
             colon ? colon + 1 : "80");
    return 0;
}

/* Only with its first request: a server cuts connections that are opened and stay silent. */
static int conn_open(struct http_front *d, struct conn *conn)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = conn};
    const struct addrinfo *to = d->addresses;
    int on = 1;

    conn->fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (conn->fd < 0 || connect(conn->fd, to->ai_addr, to->ai_addrlen) != 0)
        return fail(d->c, WR_E_UNAVAILABLE, "cannot connect to %s: %s", d->target->endpoint,
                    strerror(errno));
    setsockopt(conn->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    epoll_ctl(d->epoll, EPOLL_CTL_ADD, conn->fd, &event);
    return 0;
}

static void conn_close(struct conn *conn)
{
    if (conn->fd >= 0)
        close(conn->fd);
    conn->fd = -1;
    conn->wants_out = false;
}

static int find_server(struct http_front *d)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    int code = getaddrinfo(d->host, d->port, &hints, &d->addresses);

    if (code)
        return fail(d->c, WR_E_UNAVAILABLE, "cannot find %s: %s", d->host, gai_strerror(code));
    return 0;
}

static void close_all(struct http_front *d)
{
    for (size_t i = 0; i < d->conn_count; i++) {
        conn_close(&d->conns[i]);
        mem_free(d->conns[i].in.data);
        mem_free(d->conns[i].out.data);
    }
    if (d->epoll >= 0)
        close(d->epoll);
    if (d->addresses)
        freeaddrinfo(d->addresses);
}

/* ---- sending */

static int conn_flush(struct http_front *d, struct conn *conn)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = conn};
    ssize_t n;

    while (conn->sent < conn->out.len) {
        n = send(conn->fd, conn->out.data + conn->sent, conn->out.len - conn->sent,
                 MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            break;
        if (n < 0)
            return fail(d->c, WR_E_UNSURE, "a connection broke: %s", strerror(errno));
        conn->sent += (size_t)n;
    }
    if (conn->wants_out != (conn->sent < conn->out.len)) {
        conn->wants_out = !conn->wants_out;
        if (conn->wants_out)
            event.events |= EPOLLOUT;
        epoll_ctl(d->epoll, EPOLL_CTL_MOD, conn->fd, &event);
    }
    return 0;
}

/* The form of requests of this operation; NULL with the reason recorded. */
static struct bench_post *post_of(struct http_front *d, enum wr_op op)
{
    const struct target *t = d->target;
    char host[sizeof(d->host) + sizeof(d->port)];
    struct bench_post_conf conf = {.host = host,
                                   .path = ots_client_path(op),
                                   .instance = t->instance,
                                   .key_id = t->key_id,
                                   .key_secret = t->key_secret};

    if (d->posts[op])
        return d->posts[op];
    snprintf(host, sizeof(host), "%s:%s", d->host, d->port);
    d->posts[op] = mem_zalloc(sizeof(*d->posts[op]));
    if (bench_post_init(d->posts[op], &conf))
        return d->posts[op];
    fail(d->c, WR_E_PARAMETER, "the names of instance and access key are too long");
    return NULL;
}

/* Head and body into conn->out. */
static void write_request(struct http_front *d, struct conn *conn, struct bench_post *post,
                          bytes body)
{
    conn->out.len = conn->sent = 0;
    space_reserve(&conn->out, post->head_len + body.len);
    bench_post_write(post, d->date, body, conn->out.data);
    if (body.len)
        memcpy(conn->out.data + post->head_len, body.ptr, body.len);
    conn->out.len = post->head_len + body.len;
}

static int conn_send(struct http_front *d, struct conn *conn, int64_t now_us)
{
    struct wr_request request;
    struct bench_post *post;
    struct ctx c;

    if (conn->fd < 0)
        TRY(conn_open(d, conn));
    conn->under_way = true;
    if (!d->date_us || now_us - d->date_us > 1000000) {
        sign_date_format(clock_wall_us(d->c->clock), d->date);
        d->date_us = now_us;
    }
    ctx_init(&c, d->c->clock, NULL, d->scratch, sizeof(d->scratch));
    bench_load_request(d->load, &conn->job, &c, &request);
    conn->op = request.op;
    post = post_of(d, request.op);
    if (post)
        write_request(d, conn, post, ots_encode_request(&c, &request));
    ctx_release(&c);
    conn->in.len = 0;
    conn->headed = false;
    return post ? conn_flush(d, conn) : d->c->code;
}

/* ---- answers */

/* Sets `headed` once the answer's head is there. */
static int read_head(struct http_front *d, struct conn *conn)
{
    enum bench_answer_found found = bench_answer_read(&conn->answer, conn->in.data, conn->in.len);

    if (found == ANSWER_STRANGE)
        return fail(d->c, WR_E_UNSURE, "%s does not answer as a Widerow server does",
                    d->target->endpoint);
    conn->headed = found == ANSWER_WHOLE;
    if (conn->headed && conn->answer.body > ANSWER_BYTES_MAX)
        return fail(d->c, WR_E_UNSURE, "an answer of %zu bytes", conn->answer.body);
    return 0;
}

/* Digest and rows of an answer. */
static int check_answer(struct http_front *d, struct conn *conn, bytes body)
{
    char md5[SIGN_MD5_TEXT + 1];
    struct wr_reply reply;
    struct ctx c;
    int code;

    sign_md5(body, md5);
    if (!bytes_equal(bench_answer_header(conn->in.data, conn->answer.head, "x-ots-contentmd5"),
                     bytes_str(md5)))
        return fail(d->c, WR_E_UNSURE, "an answer was damaged on its way (digest mismatch)");
    ctx_init(&c, d->c->clock, NULL, d->scratch, sizeof(d->scratch));
    code = ots_decode_reply(&c, conn->op, body, &reply);
    if (code)
        code = fail(d->c, code, "%s", c.text);
    else if (conn->op == WR_OP_GET_ROW &&
             !bench_load_fits(d->load, &conn->job, reply.row.row.cell_count))
        code = fail(d->c, WR_E_CONDITION,
                    "a record is missing or of another shape; `widerow drop` the table");
    else if (code == 0 && conn->op == WR_OP_GET_RANGE && reply.range.row_count)
        d->row_bytes = (double)body.len / (double)reply.range.row_count;
    else if (code == 0 && conn->op == WR_OP_GET_STREAM_RECORD && reply.stream_records.count)
        d->row_bytes = (double)body.len / (double)reply.stream_records.count;
    else if (code == 0 && conn->op == WR_OP_START_LOCAL_TRANSACTION)
        code = bench_load_began(d->c, &conn->job, &reply);
    for (size_t i = 0;
         code == 0 && conn->op == WR_OP_BATCH_WRITE_ROW && i < reply.batch.table_count; i++)
        for (size_t k = 0; code == 0 && k < reply.batch.tables[i].row_count; k++)
            if (reply.batch.tables[i].rows[k].code)
                code = fail(d->c, reply.batch.tables[i].rows[k].code, "a row of a batch: %s",
                            reply.batch.tables[i].rows[k].message);
    ctx_release(&c);
    return code;
}

/* An answer that is not 200: its code if another try may help, else the failure of the run. */
static int read_error(struct http_front *d, const struct conn *conn, bytes body, int *code)
{
    bytes name, text;
    struct ctx c;
    int result = 0;

    ctx_init(&c, d->c->clock, NULL, d->scratch, sizeof(d->scratch));
    if (ots_decode_error(&c, body, &name, &text))
        result = fail(d->c, WR_E_UNSURE, "an answer with HTTP status %d and no Tablestore error",
                      conn->answer.status);
    else if (*code = ots_error_of(name, text),
             *code == WR_E_INTERNAL || !client_may_retry(*code, true))
        result = fail(d->c, *code, "%.*s: %.*s", BYTES_FMT(name), BYTES_FMT(text));
    ctx_release(&c);
    return result;
}

static uint64_t rows_of(const struct http_front *d, const struct conn *conn)
{
    switch (conn->op) {
    case WR_OP_BATCH_WRITE_ROW:
        return bench_batch_rows(&d->load->conf);
    case WR_OP_GET_RANGE:
    case WR_OP_GET_STREAM_RECORD:
        return d->row_bytes > 0 ? (uint64_t)((double)conn->answer.body / d->row_bytes + 0.5) : 0;
    default:
        return 1;
    }
}

/* A whole answer is there. */
static int finish(struct http_front *d, struct conn *conn)
{
    bytes body = bytes_of(conn->in.data + conn->answer.head, conn->answer.body);
    int64_t now_us = clock_mono_us(d->c->clock);
    int code = 0;

    d->heard_us = now_us;
    conn->under_way = false;
    if (conn->answer.status != 200)
        TRY(read_error(d, conn, body, &code));
    else if (d->answers++ % CHECK_EVERY == 0 || conn->op == WR_OP_START_LOCAL_TRANSACTION)
        TRY(check_answer(d, conn, body));
    if (bench_load_done(d->load, &conn->job, code, code ? 0 : rows_of(d, conn), now_us))
        return conn_send(d, conn, now_us);
    d->idle[d->idle_count++] = conn;
    return 0;
}

static int conn_read(struct http_front *d, struct conn *conn)
{
    const struct bench_answer *a = &conn->answer;
    size_t want = conn->headed ? a->head + a->body - conn->in.len : FIRST_IN_BYTES;
    ssize_t n;

    space_reserve(&conn->in, want);
    n = recv(conn->fd, conn->in.data + conn->in.len, want, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n <= 0 && !conn->under_way) {
        conn_close(conn); /* it was idle for too long */
        return 0;
    }
    if (n <= 0)
        return fail(d->c, WR_E_UNSURE, "the server closed a connection%s%s", n ? ": " : "",
                    n ? strerror(errno) : "");
    conn->in.len += (size_t)n;
    if (!conn->headed)
        TRY(read_head(d, conn));
    if (conn->headed && conn->in.len >= a->head + a->body)
        return finish(d, conn);
    return 0;
}

/* ---- the loop */

static int serve(struct http_front *d, int64_t wait_us)
{
    struct timespec wait = {wait_us / 1000000, wait_us % 1000000 * 1000};
    struct epoll_event events[EVENTS];
    struct conn *conn;
    int n = epoll_pwait2(d->epoll, events, EVENTS, &wait, NULL);

    for (int i = 0; i < n; i++) {
        conn = events[i].data.ptr;
        if (events[i].events & EPOLLOUT)
            TRY(conn_flush(d, conn));
        if (events[i].events & ~(uint32_t)EPOLLOUT)
            TRY(conn_read(d, conn));
    }
    if (d->idle_count < d->conn_count && clock_mono_us(d->c->clock) - d->heard_us > SILENCE_US)
        return fail(d->c, WR_E_UNSURE, "no answer for %lld s", SILENCE_US / 1000000);
    return 0;
}

static int run(struct http_front *d)
{
    int64_t now_us, wait_us;
    struct conn *conn;

    bench_load_start(d->load);
    for (;;) {
        wait_us = 1000000;
        while (d->idle_count) {
            now_us = clock_mono_us(d->c->clock);
            conn = d->idle[d->idle_count - 1];
            if (!bench_load_next(d->load, now_us, &conn->job, &wait_us))
                break;
            if (d->idle_count-- == d->conn_count)
                d->heard_us = now_us;
            TRY(conn_send(d, conn, now_us));
        }
        if (d->idle_count == d->conn_count && wait_us < 0)
            return 0;
        TRY(serve(d, wait_us < 0 || wait_us > 1000000 ? 1000000 : wait_us));
    }
}

int bench_run_http(struct ctx *c, struct bench_load *l, const struct target *t)
{
    struct http_front *d = mem_zalloc(sizeof(*d));
    int code;

    d->c = c;
    d->load = l;
    d->target = t;
    d->conn_count = l->conf.connections;
    d->conns = mem_zalloc(d->conn_count * sizeof(*d->conns));
    d->idle = mem_zalloc(d->conn_count * sizeof(struct conn *));
    for (size_t i = 0; i < d->conn_count; i++) {
        d->conns[i].fd = -1;
        d->idle[d->idle_count++] = &d->conns[i];
    }
    d->epoll = epoll_create1(EPOLL_CLOEXEC);
    code = parse_endpoint(d);
    if (code == 0)
        code = find_server(d);
    if (code == 0)
        code = run(d);
    bench_load_end(l);
    close_all(d);
    for (int op = 0; op < WR_OP_COUNT; op++)
        mem_free(d->posts[op]);
    mem_free(d->idle);
    mem_free(d->conns);
    mem_free(d);
    return code;
}
