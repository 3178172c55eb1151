/* What a request must look like, over real sockets: each case is sent whole, byte by byte, and with
 * a good request behind it, which must not be taken for a part of it. */
#include "net/http.h"

#include <netinet/in.h>
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

static struct server {
    struct http *http;
    struct clock clock;
    struct log log;
    int port;
    atomic_int smuggled; /* requests for /next */
} t;

/* Answers with "METHOD PATH LENGTH BODY". */
static void on_request(void *arg, struct http_request *r)
{
    (void)arg;
    if (bytes_equal(r->path, BYTES_LIT("/next")))
        atomic_fetch_add(&t.smuggled, 1);
    if (r->fault)
        http_reply(r, r->fault, NULL, 0, BYTES_LIT("fault"));
    else if (r->query)
        http_reply(r, 400, NULL, 0, BYTES_LIT("query"));
    else
        http_reply(r, 200, NULL, 0,
                   arena_printf(&r->ctx.arena, "%.*s %.*s %zu %.*s", BYTES_FMT(r->method),
                                BYTES_FMT(r->path), r->body.len, BYTES_FMT(r->body)));
}

static int setup(void **state)
{
    struct http_conf conf = {.address = "127.0.0.1:0",
                             .request_timeout_ms = 5000,
                             .body_bytes_max = 100000,
                             .clock = &t.clock,
                             .log = &t.log,
                             .on_request = on_request};

    (void)state;
    clock_real_init(&t.clock);
    t.log = (struct log){.level = 'W', .clock = &t.clock};
    t.port = socket_serve(&conf, &t.http);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    http_close(t.http, 1000);
    return 0;
}

static int dial(void)
{
    return socket_dial(t.port, 20);
}

/* Reads until the server closes; with `one`, until a whole answer has come. */
static size_t answer(int fd, char *text, size_t size, bool one)
{
    size_t len = 0;
    ssize_t n = 1;
    char *body, *length;

    text[0] = 0;
    for (;;) {
        body = strstr(text, "\r\n\r\n");
        length = strstr(text, "Content-Length: ");
        if (one && body && length &&
            len >= (size_t)(body + 4 - text) + strtoul(length + 16, NULL, 10))
            break;
        n = recv(fd, text + len, size - 1 - len, 0);
        if (n <= 0)
            break;
        len += (size_t)n;
        text[len] = 0;
    }
    return len;
}

static void send_slowly(int fd, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (send(fd, text + i, 1, MSG_NOSIGNAL) != 1)
            break; /* it has had enough */
}

/* ---- what is refused, and ends the connection ---- */

#define HOST "Host: x\r\n"
#define NEXT "POST /next HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n"

static const struct refusal {
    const char *name;
    int status;
    const char *text;
    size_t len; /* 0: as long as the text */
} refusals[] = {
    {"two lengths", 400,
     "POST /x HTTP/1.1\r\n" HOST "Content-Length: 3\r\nContent-Length: 5\r\n\r\nabcde", 0},
    {"two equal lengths", 400,
     "POST /x HTTP/1.1\r\n" HOST "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc", 0},
    {"a list of lengths", 400, "POST /x HTTP/1.1\r\n" HOST "Content-Length: 3, 3\r\n\r\nabc", 0},
    {"a length with a sign", 400, "POST /x HTTP/1.1\r\n" HOST "Content-Length: +3\r\n\r\nabc", 0},
    {"a length below zero", 400, "POST /x HTTP/1.1\r\n" HOST "Content-Length: -3\r\n\r\nabc", 0},
    {"a length in hex", 400, "POST /x HTTP/1.1\r\n" HOST "Content-Length: 0x3\r\n\r\nabc", 0},
    {"an empty length", 400, "POST /x HTTP/1.1\r\n" HOST "Content-Length:\r\n\r\nabc", 0},
    {"a length past 64 bits", 413,
     "POST /x HTTP/1.1\r\n" HOST "Content-Length: 18446744073709551619\r\n\r\nabc", 0},
    {"length and chunks", 400,
     "POST /x HTTP/1.1\r\n" HOST
     "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
     0},
    {"chunks and length", 400,
     "POST /x HTTP/1.1\r\n" HOST
     "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
     0},
    {"a blank before the colon", 400,
     "POST /x HTTP/1.1\r\n" HOST "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n", 0},
    {"a tab before the colon", 400, "POST /x HTTP/1.1\r\n" HOST "Content-Length\t: 3\r\n\r\nabc",
     0},
    {"a folded header", 400,
     "POST /x HTTP/1.1\r\n" HOST "X-A: b\r\n c\r\nContent-Length: 0\r\n\r\n", 0},
    {"a folded length", 400, "POST /x HTTP/1.1\r\n" HOST "Content-Length:\r\n 3\r\n\r\nabc", 0},
    {"white space behind the request line", 400, "POST /x HTTP/1.1\r\n X-A: b\r\n" HOST "\r\n", 0},
    {"identity, chunked", 501,
     "POST /x HTTP/1.1\r\n" HOST "Transfer-Encoding: identity, chunked\r\n\r\n0\r\n\r\n", 0},
    {"gzip, chunked", 501,
     "POST /x HTTP/1.1\r\n" HOST "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 0},
    {"chunked, identity", 400,
     "POST /x HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n", 0},
    {"an unknown coding", 400,
     "POST /x HTTP/1.1\r\n" HOST "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 0},
    {"two headers of coding", 400,
     "POST /x HTTP/1.1\r\n" HOST
     "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
     0},
    {"chunks in HTTP/1.0", 400,
     "POST /x HTTP/1.0\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 0},
    {"LF alone behind the request line", 400, "POST /x HTTP/1.1\n" HOST "\r\n", 0},
    {"LF alone behind a header", 400, "POST /x HTTP/1.1\r\nHost: x\n\r\n", 0},
    {"LF alone at the end", 400, "POST /x HTTP/1.1\r\n" HOST "\n", 0},
    {"CR alone in a header", 400, "POST /x HTTP/1.1\r\n" HOST "X-A: b\rX-B: c\r\n\r\n", 0},
    {"NUL in a value", 400, "POST /x HTTP/1.1\r\nHost: x\0y\r\n\r\n", 30},
    {"NUL in a name", 400, "POST /x HTTP/1.1\r\nHo\0st: x\r\n\r\n", 29},
    {"a control character", 400,
     "POST /x HTTP/1.1\r\n" HOST "X-A: \x0b"
     "b\r\n\r\n",
     0},
    {"a line that is no header", 400, "POST /x HTTP/1.1\r\n" HOST "nonsense\r\n\r\n", 0},
    {"a header without a name", 400, "POST /x HTTP/1.1\r\n" HOST ": x\r\n\r\n", 0},
    {"no Host", 400, "POST /x HTTP/1.1\r\nContent-Length: 0\r\n\r\n", 0},
    {"two Hosts", 400, "POST /x HTTP/1.1\r\n" HOST HOST "Content-Length: 0\r\n\r\n", 0},
    {"two blanks in the request line", 400, "POST  /x HTTP/1.1\r\n" HOST "\r\n", 0},
    {"a blank behind the version", 400, "POST /x HTTP/1.1 \r\n" HOST "\r\n", 0},
    {"a path with a blank", 400, "POST /x y HTTP/1.1\r\n" HOST "\r\n", 0},
    {"a path that is not ASCII", 400, "POST /\xc3\xa4 HTTP/1.1\r\n" HOST "\r\n", 0},
    {"a path without a slash", 400, "POST x HTTP/1.1\r\n" HOST "\r\n", 0},
    {"a fragment", 400, "POST /x#y HTTP/1.1\r\n" HOST "\r\n", 0},
    {"HTTP/0.9", 400, "POST /x\r\n\r\n", 0},
    {"HTTP/2", 505, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 0},
    {"HTTP/1.", 400, "POST /x HTTP/1.\r\n" HOST "\r\n", 0},
    {"http/1.1", 400, "POST /x http/1.1\r\n" HOST "\r\n", 0},
    {"an expectation that nobody knows", 417,
     "POST /x HTTP/1.1\r\n" HOST "Expect: tea\r\nContent-Length: 0\r\n\r\n", 0},
#define CHUNKED "POST /x HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n"
    {"a chunk's size past 64 bits", 400, CHUNKED "10000000000000003\r\nabc\r\n0\r\n\r\n", 0},
    {"a chunk's size with a sign", 400, CHUNKED "+3\r\nabc\r\n0\r\n\r\n", 0},
    {"a chunk's size with 0x", 400, CHUNKED "0x3\r\nabc\r\n0\r\n\r\n", 0},
    {"a chunk's size with a blank", 400, CHUNKED "3 \r\nabc\r\n0\r\n\r\n", 0},
    {"a chunk without a size", 400, CHUNKED "\r\nabc\r\n0\r\n\r\n", 0},
    {"LF alone behind a chunk's size", 400, CHUNKED "3\nabc\r\n0\r\n\r\n", 0},
    {"LF alone behind a chunk", 400, CHUNKED "3\r\nabc\n0\r\n\r\n", 0},
    {"LF alone in an extension", 400, CHUNKED "3;a=b\nabc\r\n0\r\n\r\n", 0},
    {"a chunk longer than its size", 400, CHUNKED "3\r\nabcd\r\n0\r\n\r\n", 0},
    {"LF alone at the chunks' end", 400, CHUNKED "0\r\n\n", 0},
    {"a trailer that is none", 400, CHUNKED "0\r\n x: y\r\n\r\n", 0},
};

static void check_refusal(const struct refusal *c, bool slowly)
{
    size_t len = c->len ? c->len : strlen(c->text);
    char text[4096];
    int fd = dial();

    if (slowly) {
        send_slowly(fd, c->text, len);
        send_slowly(fd, NEXT, sizeof(NEXT) - 1);
    } else {
        char both[4096];

        memcpy(both, c->text, len);
        memcpy(both + len, NEXT, sizeof(NEXT) - 1);
        send(fd, both, len + sizeof(NEXT) - 1, MSG_NOSIGNAL);
    }
    answer(fd, text, sizeof(text), false);
    close(fd);
    if (strncmp(text, "HTTP/1.1 ", 9) != 0 || atoi(text + 9) != c->status)
        fail_msg("%s: %d expected, got: %.200s", c->name, c->status, text);
    if (!strstr(text, "Connection: close"))
        fail_msg("%s: the answer does not say that the connection ends", c->name);
    if (strstr(text + 9, "\nHTTP/1.1 "))
        fail_msg("%s: there are two answers: %s", c->name, text);
}

static void test_refusals(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * PORT_COUNT(refusals); i++)
        check_refusal(&refusals[i / 2], i % 2);
    assert_int_equal(atomic_load(&t.smuggled), 0);
}

/* ---- what is long ---- */

static int status_of(const char *head, const char *unit, int count, const char *tail)
{
    size_t len = strlen(head), n = strlen(unit);
    char *text = mem_alloc(len + n * (size_t)count + strlen(tail) + 1), in[4096];
    int fd = dial();

    memcpy(text, head, len);
    for (int i = 0; i < count; i++, len += n)
        memcpy(text + len, unit, n);
    strcpy(text + len, tail);
    for (size_t at = 0, part; at < strlen(text); at += part) {
        part = strlen(text) - at < 5000 ? strlen(text) - at : 5000;
        if (send(fd, text + at, part, MSG_NOSIGNAL) < 0)
            break;
    }
    answer(fd, in, sizeof(in), true);
    close(fd);
    mem_free(text);
    return strncmp(in, "HTTP/1.1 ", 9) == 0 ? atoi(in + 9) : 0;
}

static void test_long_heads(void **state)
{
    static const char line[] = "POST /x HTTP/1.1\r\n" HOST, end[] = "Content-Length: 0\r\n\r\n";

    (void)state;
    assert_int_equal(status_of(line, "X-A: b\r\n", 98, end), 200);
    assert_int_equal(status_of(line, "X-A: b\r\n", 99, end), 431);
    assert_int_equal(status_of(line, "X-A: b\r\n", 5000, end), 431);
    assert_int_equal(status_of("POST /x HTTP/1.1\r\n" HOST "X-A: ", "a", 16000, "\r\n\r\n"), 200);
    assert_int_equal(status_of("POST /x HTTP/1.1\r\n" HOST "X-A: ", "a", 17000, "\r\n\r\n"), 431);
    assert_int_equal(status_of("POST /", "a", 16000, " HTTP/1.1\r\n" HOST "\r\n"), 200);
    assert_int_equal(status_of("POST /", "a", 17000, " HTTP/1.1\r\n" HOST "\r\n"), 414);
    assert_int_equal(status_of("", "A", 200, " /x HTTP/1.1\r\n" HOST "\r\n"), 400);
    assert_int_equal(status_of(CHUNKED "3;", "a", 200, "\r\nabc\r\n0\r\n\r\n"), 200);
    assert_int_equal(status_of(CHUNKED "3;", "a", 300, "\r\nabc\r\n0\r\n\r\n"), 400);
    assert_int_equal(status_of(CHUNKED "0\r\n", "X-A: b\r\n", 1000, "\r\n"), 431);
}

/* ---- what is taken ---- */

static const struct accepted {
    const char *name, *text, *says;
    bool closes;
} accepted[] = {
    {"a length", "POST /x HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\nabc", "POST /x 3 abc",
     false},
    {"white space around a value", "POST /x HTTP/1.1\r\n" HOST "Content-Length: \t 3 \t\r\n\r\nabc",
     "POST /x 3 abc", false},
    {"no white space", "POST /x HTTP/1.1\r\nHost:x\r\nCONTENT-LENGTH:3\r\n\r\nabc", "POST /x 3 abc",
     false},
    {"no length and no chunks", "POST /x HTTP/1.1\r\n" HOST "\r\n", "POST /x 0 ", false},
    {"chunks", CHUNKED "3\r\nabc\r\n00A\r\n0123456789\r\n0\r\n\r\n", "POST /x 13 abc0123456789",
     false},
    {"extensions and a trailer", CHUNKED "3;a=b;c=\"d\"\r\nabc\r\n0;e\r\nX-Sum: 1\r\n\r\n",
     "POST /x 3 abc", false},
    {"CHUNKED", "POST /x HTTP/1.1\r\n" HOST "Transfer-Encoding: CHUNKED\r\n\r\n0\r\n\r\n",
     "POST /x 0 ", false},
    {"empty lines in front", "\r\n\r\nPOST /x HTTP/1.1\r\n" HOST "\r\n", "POST /x 0 ", false},
    {"a whole URL", "POST http://a.b:80/x HTTP/1.1\r\n" HOST "\r\n", "POST /x 0 ", false},
    {"HTTP/1.0", "POST /x HTTP/1.0\r\nContent-Length: 3\r\n\r\nabc", "POST /x 3 abc", true},
    {"HTTP/1.0 that stays",
     "POST /x HTTP/1.0\r\nConnection: Keep-Alive\r\nContent-Length: 3\r\n\r\nabc", "POST /x 3 abc",
     false},
    {"Connection: close", "POST /x HTTP/1.1\r\n" HOST "Connection: foo, Close\r\n\r\n",
     "POST /x 0 ", true},
    {"OPTIONS", "OPTIONS * HTTP/1.1\r\n" HOST "\r\n", "OPTIONS * 0 ", false},
    {"a query", "POST /x?a=b HTTP/1.1\r\n" HOST "\r\n", "query", false},
    {"an empty query", "POST /x? HTTP/1.1\r\n" HOST "\r\n", "query", false},
};

static void check_accepted(const struct accepted *c, bool slowly)
{
    char text[4096];
    int fd = dial();

    if (slowly)
        send_slowly(fd, c->text, strlen(c->text));
    else
        send(fd, c->text, strlen(c->text), MSG_NOSIGNAL);
    answer(fd, text, sizeof(text), !c->closes);
    if (!strstr(text, "\r\n\r\n") || strcmp(strstr(text, "\r\n\r\n") + 4, c->says) != 0)
        fail_msg("%s: '%s' expected, got: %s", c->name, c->says, text);
    if (!strstr(text, "Connection: close") == c->closes)
        fail_msg("%s: wrong about the connection's end: %s", c->name, text);
    if (!c->closes) { /* it goes on with the next */
        send(fd, NEXT, sizeof(NEXT) - 1, MSG_NOSIGNAL);
        answer(fd, text, sizeof(text), true);
        assert_non_null(strstr(text, "\r\n\r\nPOST /next 0 "));
    }
    close(fd);
}

static void test_accepted(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * PORT_COUNT(accepted); i++)
        check_accepted(&accepted[i / 2], i % 2);
}

/* All of them in one piece: the answers come one after the other. */
static void test_pipelined(void **state)
{
    char text[8192] = "", in[8192], *at = in;
    size_t len = 0;
    int fd = dial(), count = 0;

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(accepted); i++)
        if (!accepted[i].closes && ++count)
            strcat(text, accepted[i].text);
    strcat(text, "POST /end HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n");
    send(fd, text, strlen(text), MSG_NOSIGNAL);
    len = answer(fd, in, sizeof(in), false);
    assert_in_range(len, 1, sizeof(in) - 1);
    for (size_t i = 0; i < PORT_COUNT(accepted); i++)
        if (!accepted[i].closes) {
            at = strstr(at, "\r\n\r\n");
            assert_non_null(at);
            assert_memory_equal(at + 4, accepted[i].says, strlen(accepted[i].says));
            at += 4;
        }
    assert_non_null(strstr(at, "POST /end 0 "));
    close(fd);
}

/* Heads of 9000 bytes, more of them than the server reads at once: one lies over the end. */
static void test_pipelined_large_heads(void **state)
{
    static char text[200000], in[16384];
    int count = 12;
    char *end = text;

    (void)state;
    for (int i = 0; i < count; i++)
        end += sprintf(end, "POST /large HTTP/1.1\r\n" HOST "X: %09000d\r\n%s\r\n", 0,
                       i == count - 1 ? "Connection: close\r\n" : "");
    for (int tries = 0; tries < 20; tries++) {
        int fd = dial(), answers = 0;

        assert_int_equal(send(fd, text, (size_t)(end - text), MSG_NOSIGNAL), end - text);
        answer(fd, in, sizeof(in), false);
        for (char *at = in; (at = strstr(at, "POST /large 0 ")); at++)
            answers++;
        assert_int_equal(answers, count);
        close(fd);
    }
}

static void test_head_has_no_body(void **state)
{
    static const char head[] = "HEAD /x HTTP/1.1\r\n" HOST "\r\n";
    char text[4096] = "";
    int fd = dial();

    (void)state;
    send(fd, head, sizeof(head) - 1, MSG_NOSIGNAL);
    send(fd, "POST /y HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n", 48, MSG_NOSIGNAL);
    answer(fd, text, sizeof(text), false);
    assert_non_null(strstr(text, "Content-Length: 10\r\n")); /* of "HEAD /x 0 " */
    assert_null(strstr(text, "HEAD /x"));
    assert_non_null(strstr(text, "\r\n\r\nPOST /y 0 "));
    close(fd);
}

/* The body is asked for once, and only if it has not come anyway. */
static void test_expect(void **state)
{
    static const char head[] =
        "POST /x HTTP/1.1\r\n" HOST "Expect: 100-Continue\r\nContent-Length: 3\r\n\r\n";
    char text[4096] = "";
    int fd = dial();

    (void)state;
    send(fd, head, sizeof(head) - 1, MSG_NOSIGNAL);
    assert_int_equal(recv(fd, text, 25, MSG_WAITALL), 25);
    assert_string_equal(text, "HTTP/1.1 100 Continue\r\n\r\n");
    send(fd, "abc", 3, MSG_NOSIGNAL);
    answer(fd, text, sizeof(text), true);
    assert_memory_equal(text, "HTTP/1.1 200 ", 13);
    send(fd, "POST /x HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 0\r\n\r\n", 62,
         MSG_NOSIGNAL);
    answer(fd, text, sizeof(text), true);
    assert_memory_equal(text, "HTTP/1.1 200 ", 13);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_long_heads),
        cmocka_unit_test(test_accepted),
        cmocka_unit_test(test_pipelined),
        cmocka_unit_test(test_pipelined_large_heads),
        cmocka_unit_test(test_expect),
        cmocka_unit_test(test_head_has_no_body),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
