/* Streamed bodies and answers over real sockets: consumers and sources that keep up, that say
 * "later", that refuse; clients that are slow, that stop, that leave. */
#include "net/http.h"
#include "net/range.h"

#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "socket.h"

#define TIMEOUT_MS 400
#define PACE 20000
#define HELD_BYTES 20000000 /* more than sockets take */
#define BODY_MAX 200000
#define BODY_MEMORY_MAX 300000

/* What a byte at that place of a stream is. */
static uint8_t byte_at(uint64_t i)
{
    return (uint8_t)(i * 7 + i / 251);
}

static struct server {
    struct http *http;
    struct clock clock;
    struct log log;
    int port;
    atomic_int gone;       /* requests whose hooks have run */
    atomic_ullong pieces;  /* bytes offered to sinks, "later" ones included */
    atomic_bool hold;      /* sinks of /hold say "later" until it is cleared */
    atomic_int on_request; /* calls */
} t;

struct upload {
    struct http_request *r;
    uint64_t got;
    unsigned calls;
    bool wrong;
};

static void pause_ms(int ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

static void on_gone(void *arg)
{
    (void)arg;
    atomic_fetch_add(&t.gone, 1);
}

static void in_thread(void *(*fn)(void *), void *arg)
{
    pthread_t thread;

    pthread_create(&thread, NULL, fn, arg);
    pthread_detach(thread);
}

/* ---- consumers ---- */

static void upload_take(struct upload *u, bytes piece, size_t n)
{
    for (size_t i = 0; i < n; i++)
        u->wrong |= bytes_u8(piece)[i] != byte_at(u->got + i);
    u->got += n;
}

static void upload_answer(struct upload *u)
{
    http_reply(u->r, u->wrong ? 500 : 200, NULL, 0,
               arena_printf(&u->r->ctx.arena, "%llu", (unsigned long long)u->got));
}

static void *answer_soon(void *arg)
{
    pause_ms(5);
    upload_answer(arg);
    return NULL;
}

static void *more_at_once(void *arg)
{
    http_more(arg);
    return NULL;
}

static void *more_unheld(void *arg)
{
    while (atomic_load(&t.hold))
        pause_ms(1);
    http_more(arg);
    return NULL;
}

/* Takes everything. */
static size_t sink_all(void *arg, struct http_request *r, bytes piece)
{
    (void)r;
    atomic_fetch_add(&t.pieces, piece.len);
    upload_take(arg, piece, piece.len);
    if (!piece.len)
        in_thread(answer_soon, arg);
    return piece.len;
}

/* Takes a part of most pieces and has the rest offered again, from here or from another thread. */
static size_t sink_part(void *arg, struct http_request *r, bytes piece)
{
    struct upload *u = arg;
    size_t n = u->calls % 4 ? piece.len / 2 : piece.len;

    upload_take(u, piece, n);
    if (!piece.len)
        upload_answer(u);
    else if (n < piece.len && u->calls % 3 == 1)
        http_more(r);
    else if (n < piece.len)
        in_thread(more_at_once, r);
    u->calls++;
    return n;
}

static size_t sink_hold(void *arg, struct http_request *r, bytes piece)
{
    if (!atomic_load(&t.hold) || !piece.len)
        return sink_all(arg, r, piece);
    atomic_fetch_add(&t.pieces, piece.len);
    in_thread(more_unheld, r);
    return 0;
}

static void refuse(struct http_request *r)
{
    static const struct http_header header[] = {{{"x-why", 5}, {"full", 4}}};

    http_reply(r, 403, header, 1, BYTES_LIT("refused"));
}

static size_t sink_refuse(void *arg, struct http_request *r, bytes piece)
{
    struct upload *u = arg;

    u->got += piece.len;
    if (u->got > 50000)
        refuse(r);
    return piece.len;
}

static void *refuse_soon(void *arg)
{
    pause_ms(5);
    refuse(arg);
    return NULL;
}

/* The refusal comes while the request is parked. */
static size_t sink_refuse_parked(void *arg, struct http_request *r, bytes piece)
{
    struct upload *u = arg;

    u->got += piece.len;
    if (u->got <= 50000)
        return piece.len;
    in_thread(refuse_soon, r);
    return 0;
}

/* ---- sources ---- */

static void *more_soon(void *arg)
{
    pause_ms(1);
    http_more(arg);
    return NULL;
}

struct download {
    struct range range;
    unsigned calls;
    bool slow, broken;
};

static ptrdiff_t source(void *arg, struct http_request *r, uint64_t offset, uint8_t *to,
                        size_t size)
{
    struct download *d = arg;

    if (d->broken && offset > 100000)
        return HTTP_BROKEN;
    if (d->slow && d->calls++ % 2 == 0) {
        if (d->calls % 3)
            in_thread(more_soon, r);
        else
            http_more(r);
        return 0;
    }
    if (size > d->range.length - offset)
        size = d->range.length - offset;
    for (size_t i = 0; i < size; i++)
        to[i] = byte_at(d->range.from + offset + i);
    return (ptrdiff_t)size;
}

static void answer_stream(struct http_request *r, bool slow, bool broken)
{
    struct arena *a = &r->ctx.arena;
    struct download *d = ARENA_NEW(a, struct download);
    struct http_header *header = ARENA_NEW(a, struct http_header);
    uint64_t size = strtoull((const char *)r->path.ptr + 2, NULL, 10);
    int status = range_parse(http_header(r, "range"), size, &d->range);

    d->slow = slow;
    d->broken = broken;
    header->name = BYTES_LIT("Content-Range");
    header->value = range_format(a, status == 206 ? &d->range : NULL, size);
    if (status == 416)
        http_reply(r, 416, header, 1, BYTES_NONE);
    else
        http_reply_stream(r, status, header, status == 206, d->range.length, source, d);
}

/* ---- the server ---- */

static void on_head(void *arg, struct http_request *r)
{
    static const struct {
        const char *path;
        http_sink_fn *sink;
    } sinks[] = {{"/all", sink_all},
                 {"/part", sink_part},
                 {"/hold", sink_hold},
                 {"/refuse", sink_refuse},
                 {"/refuse-parked", sink_refuse_parked}};
    struct upload *u = ARENA_NEW(&r->ctx.arena, struct upload);

    (void)arg;
    arena_on_release(&r->ctx.arena, on_gone, NULL);
    u->r = r;
    for (size_t i = 0; i < PORT_COUNT(sinks); i++)
        if (bytes_equal(r->path, bytes_str(sinks[i].path)))
            http_receive(r, sinks[i].sink, u);
    if (bytes_equal(r->path, BYTES_LIT("/head")))
        refuse(r);
}

static void on_request(void *arg, struct http_request *r)
{
    (void)arg;
    atomic_fetch_add(&t.on_request, 1);
    if (r->fault)
        http_reply(r, r->fault, NULL, 0, arena_printf(&r->ctx.arena, "fault %d", r->fault));
    else if (bytes_starts(r->path, BYTES_LIT("/d")))
        answer_stream(r, false, false);
    else if (bytes_starts(r->path, BYTES_LIT("/s")))
        answer_stream(r, true, false);
    else if (bytes_starts(r->path, BYTES_LIT("/b")))
        answer_stream(r, false, true);
    else
        http_reply(r, 200, NULL, 0, BYTES_LIT("whole"));
}

static int setup_with(int timeout_ms)
{
    struct http_conf conf = {.address = "127.0.0.1:0",
                             .request_timeout_ms = timeout_ms,
                             .answer_timeout_ms = 4 * timeout_ms,
                             .stream_pace = PACE,
                             .body_bytes_max = BODY_MAX,
                             .memory_max = BODY_MEMORY_MAX,
                             .clock = &t.clock,
                             .log = &t.log,
                             .on_head = on_head,
                             .on_request = on_request};

    clock_real_init(&t.clock);
    t.log = (struct log){.level = 'W', .clock = &t.clock};
    t.port = socket_serve(&conf, &t.http);
    return 0;
}

/* For tests of the pace. A machine that stops a client for TIMEOUT_MS makes it too slow. */
static int setup_strict(void **state)
{
    (void)state;
    return setup_with(TIMEOUT_MS);
}

/* For all others: nobody is too slow. */
static int setup_patient(void **state)
{
    (void)state;
    return setup_with(300000);
}

static int teardown(void **state)
{
    (void)state;
    http_close(t.http, 1000);
    return 0;
}

/* ---- clients ---- */

static int dial(void)
{
    return socket_dial(t.port, 10);
}

static void say(int fd, const char *text)
{
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

/* The next n bytes of the stream; false once the server takes no more. */
static bool push(int fd, uint64_t from, size_t n)
{
    uint8_t piece[8192];

    for (size_t k; n; n -= k, from += k) {
        ssize_t sent;

        k = n < sizeof(piece) ? n : sizeof(piece);
        for (size_t i = 0; i < k; i++)
            piece[i] = byte_at(from + i);
        sent = send(fd, piece, k, MSG_NOSIGNAL);
        if (sent != (ssize_t)k)
            return false;
    }
    return true;
}

/* Reads an answer: its status; `body` (NULL: it is checked against the stream from `from` on and
 * dropped) gets the body; *length its length, or what came of it before the connection ended. */
static int answer(int fd, char *body, size_t body_size, uint64_t from, uint64_t *length)
{
    static char head[70000];
    size_t len = 0;
    uint64_t want, got;
    const char *end = NULL, *field;

    while (!end) {
        ssize_t n = recv(fd, head + len, 1, 0);

        if (n <= 0)
            return -1;
        len += (size_t)n;
        head[len] = 0;
        end = strstr(head, "\r\n\r\n");
    }
    field = strstr(head, "Content-Length: ");
    want = field ? strtoull(field + 16, NULL, 10) : 0;
    len = 0;
    for (got = 0; got < want;) {
        char piece[65536];
        ssize_t n = recv(fd, piece, want - got < sizeof(piece) ? want - got : sizeof(piece), 0);

        if (n <= 0)
            break;
        for (ssize_t i = 0; i < n; i++, got++) {
            if (!body)
                assert_int_equal((uint8_t)piece[i], byte_at(from + got));
            else if (got < body_size - 1)
                body[len++] = piece[i];
        }
    }
    if (body)
        body[len] = 0;
    if (length)
        *length = got;
    return atoi(head + 9);
}

static void head_send(int fd, const char *path, uint64_t length)
{
    char head[256];

    snprintf(head, sizeof(head), "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %llu\r\n\r\n",
             path, (unsigned long long)length);
    say(fd, head);
}

/* ---- tests ---- */

static void check_upload(int fd, const char *path, size_t size)
{
    char body[64], want[64];

    head_send(fd, path, size);
    assert_true(push(fd, 0, size));
    assert_int_equal(answer(fd, body, sizeof(body), 0, NULL), 200);
    snprintf(want, sizeof(want), "%zu", size);
    assert_string_equal(body, want);
}

/* Far more than BODY_MAX, on one connection, and ordinary requests between. */
static void test_bodies_in_pieces(void **state)
{
    static const size_t sizes[] = {0, 1, 1000, 16384, 100000, 5000000, 30000000};
    int fd = dial(), before = atomic_load(&t.on_request);
    char body[64];

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(sizes); i++) {
        check_upload(fd, "/all", sizes[i]);
        if (sizes[i] < 1000000)
            check_upload(fd, "/part", sizes[i]);
    }
    assert_int_equal(atomic_load(&t.on_request), before);
    head_send(fd, "/x", 10);
    push(fd, 0, 10);
    assert_int_equal(answer(fd, body, sizeof(body), 0, NULL), 200);
    close(fd);
}

static void test_chunked_body(void **state)
{
    int fd = dial();
    char body[64], size[32];

    (void)state;
    say(fd, "POST /all HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (size_t from = 0, n = 1; from < 1000000; from += n, n = n * 3 % 50000 + 1) {
        snprintf(size, sizeof(size), "%zx\r\n", n);
        say(fd, size);
        assert_true(push(fd, from, n));
        say(fd, "\r\n");
        snprintf(size, sizeof(size), "%zu", from + n);
    }
    say(fd, "0\r\n\r\n");
    assert_int_equal(answer(fd, body, sizeof(body), 0, NULL), 200);
    assert_string_equal(body, size);
    close(fd);
}

/* The status of an upload; -1: none came. */
static void *push_many(void *arg)
{
    char body[64];
    int fd = dial(), *status = arg;

    head_send(fd, "/hold", HELD_BYTES);
    push(fd, 0, HELD_BYTES);
    *status = answer(fd, body, sizeof(body), 0, NULL);
    close(fd);
    return NULL;
}

/* While the consumer says "later" the client is held, and only a piece of its body is in memory;
 * nor is it too slow, however long that takes. What comes after that has to be in pace, hence
 * several tries, as below. */
static void test_back_pressure(void **state)
{
    int status = 0;

    (void)state;
    for (int i = 0; i < 10 && status != 200; i++) {
        uint64_t before = atomic_load(&t.pieces);
        pthread_t thread;

        atomic_store(&t.hold, true);
        pthread_create(&thread, NULL, push_many, &status);
        while (atomic_load(&t.pieces) == before)
            pause_ms(1);
        pause_ms(3 * TIMEOUT_MS);
        assert_in_range(atomic_load(&t.pieces) - before, 1, 65536);
        atomic_store(&t.hold, false);
        pthread_join(thread, NULL);
    }
    assert_int_equal(status, 200);
}

static void test_refusals(void **state)
{
    static const char *const paths[] = {"/refuse", "/refuse-parked", "/head"};
    char body[64];

    (void)state;
    for (size_t i = 0; i < 4 * PORT_COUNT(paths); i++) {
        /* Large ones end with the connection; of small ones the rest is dropped. */
        size_t size = i % 2 ? 3000000 : 60000;
        int fd = dial();

        head_send(fd, paths[i % PORT_COUNT(paths)], size);
        push(fd, 0, size);
        assert_int_equal(answer(fd, body, sizeof(body), 0, NULL), 403);
        assert_string_equal(body, "refused");
        if (size < 100000)
            check_upload(fd, "/all", 1000);
        close(fd);
    }
}

/* Sends a body at five times the pace that is asked for, over more time than any ordinary request
 * may take, and catches up after each pause that was longer than meant. Returns the status. */
static int upload_in_pace(void)
{
    const int64_t size = 150000, start = clock_mono_ms(&t.clock);
    int64_t sent = 0, due;
    char body[64];
    int fd = dial(), status;

    head_send(fd, "/all", size);
    while (sent < size) {
        pause_ms(10);
        due = 100 * (clock_mono_ms(&t.clock) - start);
        due = due < size ? due : size;
        if (!push(fd, (uint64_t)sent, (size_t)(due - sent)))
            break;
        sent = due;
    }
    status = answer(fd, body, sizeof(body), 0, NULL);
    close(fd);
    return status;
}

/* A client below the pace is told so; one that is just fast enough may take longer than any
 * ordinary request. A machine that stops either side for as long as a request may take makes a fast
 * client slow, so that one has several tries. */
static void test_pace_of_bodies(void **state)
{
    int64_t start = clock_mono_ms(&t.clock);
    int fd = dial(), status = 0;
    char body[64];

    (void)state;
    head_send(fd, "/all", 1000000);
    for (int i = 0; i < 100 && push(fd, (uint64_t)i * 10, 10); i++)
        pause_ms(10);
    assert_int_equal(answer(fd, body, sizeof(body), 0, NULL), 408);
    assert_string_equal(body, "fault 408");
    assert_true(clock_mono_ms(&t.clock) - start >= TIMEOUT_MS);
    close(fd);
    for (int i = 0; i < 10 && status != 200; i++)
        status = upload_in_pace();
    assert_int_equal(status, 200);
}

static void test_answers_in_pieces(void **state)
{
    static const char *const paths[] = {"/d0", "/d1", "/d100000", "/d30000000", "/s3000000"};
    int fd = dial();
    uint64_t length;

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(paths); i++) {
        head_send(fd, paths[i], 0);
        assert_int_equal(answer(fd, NULL, 0, 0, &length), 200);
        assert_int_equal(length, strtoull(paths[i] + 2, NULL, 10));
    }
    say(fd, "GET /d5000000000 HTTP/1.1\r\nHost: x\r\nRange: bytes=4999000000-4999999999\r\n\r\n");
    assert_int_equal(answer(fd, NULL, 0, 4999000000, &length), 206);
    assert_int_equal(length, 1000000);
    say(fd, "GET /d100 HTTP/1.1\r\nHost: x\r\nRange: bytes=100-\r\n\r\n");
    assert_int_equal(answer(fd, NULL, 0, 0, &length), 416);
    head_send(fd, "/b1000000", 0);
    assert_int_equal(answer(fd, NULL, 0, 0, &length), 200);
    assert_true(length < 1000000); /* and the connection has ended */
    close(fd);
}

/* A client that takes nothing of its answer is dropped; nothing tells it but the end. */
static void test_pace_of_answers(void **state)
{
    static const char *const paths[] = {"/d300000000", "/s300000000"};
    struct http_stat stat;

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(paths); i++) {
        int fd = dial(), before = atomic_load(&t.gone);
        int64_t start = clock_mono_ms(&t.clock);

        head_send(fd, paths[i], 0);
        for (int k = 0; atomic_load(&t.gone) == before && k < 3000; k++)
            pause_ms(10);
        assert_true(atomic_load(&t.gone) != before);
        assert_true(clock_mono_ms(&t.clock) - start >= TIMEOUT_MS / 2);
        close(fd);
    }
    http_stat(t.http, &stat);
    assert_int_equal(stat.active, 0);
}

/* Who leaves at any stage leaves nothing behind. */
static void test_clients_that_leave(void **state)
{
    static const char *const paths[] = {"/all",    "/part",     "/hold",
                                        "/refuse", "/d9000000", "/s9000000"};
    int before = atomic_load(&t.gone), count = 0;
    struct http_stat stat;

    (void)state;
    for (int i = 0; i < 10; i++) {
        atomic_store(&t.hold, true);
        for (size_t k = 0; k < PORT_COUNT(paths); k++, count++) {
            int fd = dial();

            head_send(fd, paths[k], k < 4 ? 1000000 : 0);
            if (k < 4)
                push(fd, 0, (size_t)i * 3000 + 1);
            pause_ms(i % 3);
            close(fd);
        }
        atomic_store(&t.hold, false);
    }
    for (int i = 0; i < 3000; i++) {
        http_stat(t.http, &stat);
        if (!stat.active && atomic_load(&t.gone) - before >= count)
            break;
        pause_ms(10);
    }
    assert_int_equal(stat.active, 0);
    assert_in_range(atomic_load(&t.gone) - before, count - 20, count); /* some left too early */
}

/* Collected bodies share one budget; what does not fit is refused by its announced length, or as
 * soon as it does not. */
static void test_body_memory(void **state)
{
    int first = dial(), second = dial(), third = dial();
    struct http_stat stat;
    char body[64];

    (void)state;
    head_send(first, "/x", BODY_MAX);
    push(first, 0, BODY_MAX - 1);
    head_send(third, "/x", BODY_MAX / 3); /* fits when it is announced */
    for (int i = 0; i < 3000; i++) { /* until the server has read all that was sent */
        http_stat(t.http, &stat);
        if (stat.memory >= BODY_MAX - 1)
            break;
        pause_ms(10);
    }
    assert_in_range(stat.memory, BODY_MAX - 1, BODY_MAX + 4096);
    head_send(second, "/x", BODY_MAX - 1000);
    assert_int_equal(answer(second, body, sizeof(body), 0, NULL), 503);
    assert_string_equal(body, "fault 503");
    push(first, BODY_MAX - 1, 1);
    assert_int_equal(answer(first, body, sizeof(body), 0, NULL), 200);
    push(third, 0, BODY_MAX / 3);
    assert_int_equal(answer(third, body, sizeof(body), 0, NULL), 200);
    head_send(first, "/x", BODY_MAX - 1000);
    push(first, 0, BODY_MAX - 1000);
    assert_int_equal(answer(first, body, sizeof(body), 0, NULL), 200);
    close(first);
    close(second);
    close(third);
    for (int i = 0; i < 3000; i++) {
        http_stat(t.http, &stat);
        if (!stat.memory)
            break;
        pause_ms(10);
    }
    assert_int_equal(stat.memory, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_bodies_in_pieces, setup_patient, teardown),
        cmocka_unit_test_setup_teardown(test_chunked_body, setup_patient, teardown),
        cmocka_unit_test_setup_teardown(test_back_pressure, setup_strict, teardown),
        cmocka_unit_test_setup_teardown(test_refusals, setup_patient, teardown),
        cmocka_unit_test_setup_teardown(test_pace_of_bodies, setup_strict, teardown),
        cmocka_unit_test_setup_teardown(test_answers_in_pieces, setup_patient, teardown),
        cmocka_unit_test_setup_teardown(test_pace_of_answers, setup_strict, teardown),
        cmocka_unit_test_setup_teardown(test_clients_that_leave, setup_patient, teardown),
        cmocka_unit_test_setup_teardown(test_body_memory, setup_patient, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
