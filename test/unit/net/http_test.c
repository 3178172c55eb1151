/* The HTTP transport with real clients on loopback: libcurl where a client behaves, bare sockets
 * where it does not. */
#include "net/http.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <setjmp.h>
#include <cmocka.h>

#include "socket.h"

#define BODY_MAX 100000

/* ---- the server under test ---- */

struct server {
    struct http *http;
    struct clock clock;
    struct log log;
    char url[128];
    int port;
    atomic_int requests;
};

static struct http_header answer_headers[] = {
    {{"x-ots-requestid", 15}, {"id-1", 4}},
};

static void pause_ms(int ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

static void echo(void *arg, struct http_request *r)
{
    (void)arg;
    http_reply(r, 200, answer_headers, 1, r->body);
}

static void *reply_later(void *arg)
{
    struct http_request *r = arg;

    pause_ms(20);
    echo(NULL, r);
    return NULL;
}

static void *reply_when_gone(void *arg)
{
    struct http_request *r = arg;

    while (!__atomic_load_n(&r->gone, __ATOMIC_RELAXED))
        pause_ms(1);
    echo(NULL, r);
    return NULL;
}

static void *reply_at_once(void *arg)
{
    echo(NULL, arg);
    return NULL;
}

static void resume_twice(void *arg, struct http_request *r)
{
    (void)arg;
    r->user = (char *)r->user + 1;
    if (r->user == (char *)NULL + 3)
        echo(NULL, r);
    else
        http_resume(r, resume_twice, NULL);
}

static void *resume_later(void *arg)
{
    pause_ms(10);
    http_resume(arg, resume_twice, NULL);
    return NULL;
}

static void in_thread(void *(*fn)(void *), struct http_request *r)
{
    pthread_t thread;

    pthread_create(&thread, NULL, fn, r);
    pthread_detach(thread);
}

static void on_request(void *arg, struct http_request *r)
{
    struct server *s = arg;

    atomic_fetch_add(&s->requests, !r->fault);
    if (r->fault)
        http_reply(r, r->fault, answer_headers, 1,
                   r->fault == 408 ? BYTES_LIT("late") : BYTES_LIT("too large"));
    else if (!bytes_equal(r->method, BYTES_LIT("POST")))
        http_reply(r, 405, NULL, 0, arena_printf(&r->ctx.arena, "no %.*s", BYTES_FMT(r->method)));
    else if (bytes_equal(r->path, BYTES_LIT("/later")))
        in_thread(reply_later, r);
    else if (bytes_equal(r->path, BYTES_LIT("/gone")))
        in_thread(reply_when_gone, r);
    else if (bytes_equal(r->path, BYTES_LIT("/race")))
        in_thread(reply_at_once, r);
    else if (bytes_equal(r->path, BYTES_LIT("/resume")))
        in_thread(resume_later, r);
    else if (bytes_equal(r->path, BYTES_LIT("/resume-now")))
        resume_twice(NULL, r);
    else if (bytes_equal(r->path, BYTES_LIT("/header")))
        http_reply(r, 200, NULL, 0, http_header(r, "x-ots-date"));
    else if (bytes_equal(r->path, BYTES_LIT("/empty")))
        http_reply(r, 200, NULL, 0, BYTES_NONE);
    else if (bytes_equal(r->path, BYTES_LIT("/thread")))
        http_reply(r, 200, NULL, 0,
                   arena_printf(&r->ctx.arena, "%016llx", (unsigned long long)pthread_self()));
    else if (bytes_equal(r->path, BYTES_LIT("/peer")))
        http_reply(r, 200, NULL, 0, http_peer(r));
    else
        echo(NULL, r);
}

static void server_start(struct server *s, const char *address)
{
    struct http_conf conf = {.address = address,
                             .setting = "--http",
                             .request_timeout_ms = 200,
                             .body_bytes_max = BODY_MAX,
                             .clock = &s->clock,
                             .log = &s->log,
                             .on_request = on_request,
                             .arg = s};

    clock_real_init(&s->clock);
    s->log = (struct log){.level = 'W', .clock = &s->clock};
    atomic_init(&s->requests, 0);
    s->port = socket_serve(&conf, &s->http);
    snprintf(s->url, sizeof(s->url), "http://%s", http_address(s->http));
}

static int setup(void **state)
{
    static struct server s;

    server_start(&s, "127.0.0.1:0");
    *state = &s;
    return 0;
}

static int teardown(void **state)
{
    struct server *s = *state;

    http_close(s->http, 1000);
    return 0;
}

/* ---- a client that behaves ---- */

struct answer {
    long status;
    char *body;
    size_t len;
    long connects;
};

static size_t on_data(char *data, size_t size, size_t n, void *arg)
{
    struct answer *a = arg;

    a->body = mem_realloc(a->body, a->len + size * n + 1);
    memcpy(a->body + a->len, data, size * n);
    a->len += size * n;
    a->body[a->len] = 0;
    return size * n;
}

static struct answer post(struct server *s, CURL *curl, const char *path, const void *body,
                          size_t len, const char *header)
{
    struct answer a = {0};
    struct curl_slist *list = curl_slist_append(NULL, "Expect:");
    char url[256];

    if (header)
        list = curl_slist_append(list, header);
    snprintf(url, sizeof(url), "%s%s", s->url, path);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_POST, 1L);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)len);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, list);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_data);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &a);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    assert_int_equal(curl_easy_perform(curl), CURLE_OK);
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &a.status);
    curl_easy_getinfo(curl, CURLINFO_NUM_CONNECTS, &a.connects);
    curl_slist_free_all(list);
    return a;
}

static void check_echo(struct server *s, CURL *curl, const char *path, size_t len, long connects)
{
    char *body = mem_alloc(len + 1);
    struct answer a;

    for (size_t i = 0; i < len; i++)
        body[i] = (char)(i * 7 + i / 251);
    a = post(s, curl, path, body, len, NULL);
    assert_int_equal(a.status, 200);
    assert_int_equal(a.len, len);
    if (len)
        assert_memory_equal(a.body, body, len);
    if (connects >= 0)
        assert_int_equal(a.connects, connects);
    mem_free(a.body);
    mem_free(body);
}

static void test_keep_alive(void **state)
{
    CURL *curl = curl_easy_init();

    check_echo(*state, curl, "/x", 200, 1);
    for (int i = 0; i < 50; i++)
        check_echo(*state, curl, "/x", (size_t)i * 13, 0);
    curl_easy_cleanup(curl);
}

static void test_bodies_of_all_sizes(void **state)
{
    static const size_t sizes[] = {0, 1, 1000, 8000, 16384, 30000, 65536, BODY_MAX - 1, BODY_MAX};
    CURL *curl = curl_easy_init();

    for (size_t i = 0; i < PORT_COUNT(sizes); i++)
        check_echo(*state, curl, "/x", sizes[i], -1);
    curl_easy_cleanup(curl);
}

/* Of a length that was announced not a byte is read; the client sees the answer all the same. */
static void test_too_large_bodies_are_refused(void **state)
{
    CURL *curl = curl_easy_init();
    size_t len = 20 * BODY_MAX;
    char *body = mem_zalloc(len);
    struct answer a;

    for (int i = 0; i < 3; i++) {
        a = post(*state, curl, "/x", body, i ? len : BODY_MAX + 1,
                 i == 2 ? "Transfer-Encoding: chunked" : NULL);
        assert_int_equal(a.status, 413);
        assert_string_equal(a.body, "too large");
        mem_free(a.body);
        check_echo(*state, curl, "/x", 100, 1);
    }
    mem_free(body);
    curl_easy_cleanup(curl);
}

static void test_chunked(void **state)
{
    CURL *curl = curl_easy_init();
    char body[50000];
    struct answer a;

    memset(body, 'c', sizeof(body));
    a = post(*state, curl, "/x", body, sizeof(body), "Transfer-Encoding: chunked");
    assert_int_equal(a.status, 200);
    assert_int_equal(a.len, sizeof(body));
    assert_memory_equal(a.body, body, sizeof(body));
    mem_free(a.body);
    curl_easy_cleanup(curl);
}

static void test_deferred_answers(void **state)
{
    CURL *curl = curl_easy_init();

    check_echo(*state, curl, "/later", 200, 1);
    for (int i = 0; i < 5; i++) {
        check_echo(*state, curl, "/later", 3000, 0);
        check_echo(*state, curl, "/resume", 3000, 0);
        check_echo(*state, curl, "/resume-now", 3000, 0);
    }
    for (int i = 0; i < 300; i++)
        check_echo(*state, curl, "/race", 100, 0);
    curl_easy_cleanup(curl);
}

static void test_method_headers_and_empty_answer(void **state)
{
    CURL *curl = curl_easy_init();
    struct answer a = post(*state, curl, "/header", "", 0, "X-OTS-Date:  12:00 ");

    assert_int_equal(a.status, 200);
    assert_string_equal(a.body, "12:00");
    mem_free(a.body);
    a = post(*state, curl, "/empty", "abc", 3, NULL);
    assert_int_equal(a.status, 200);
    assert_int_equal(a.len, 0);
    mem_free(a.body);
    a = post(*state, curl, "/peer", "abc", 3, NULL);
    assert_memory_equal(a.body, "127.0.0.1:", 10);
    mem_free(a.body);
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, "DELETE");
    a = post(*state, curl, "/x", "abc", 3, NULL);
    assert_int_equal(a.status, 405);
    assert_string_equal(a.body, "no DELETE");
    mem_free(a.body);
    curl_easy_cleanup(curl);
}

static void test_ipv6(void **state)
{
    static struct server s;
    CURL *curl = curl_easy_init();

    (void)state;
    server_start(&s, "[::1]:0");
    assert_memory_equal(http_address(s.http), "[::1]:", 6);
    check_echo(&s, curl, "/x", 100, 1);
    curl_easy_cleanup(curl);
    http_close(s.http, 1000);
}

/* ---- clients that do not ---- */

static int dial(struct server *s)
{
    return socket_dial(s->port, 3);
}

#define DRIPS_MAX 1500 /* half a minute at least: on a loaded machine the server may come late */

/* Sends `head` at once and then `drip` byte by byte until the server has had enough, or `rounds` of
 * 20 ms have passed. Returns the milliseconds until then; `answer` gets what it said. */
static int64_t drip(struct server *s, const char *head, char dripped, int rounds, char *answer,
                    size_t size)
{
    int64_t start = clock_mono_ms(&s->clock);
    int fd = dial(s);
    size_t len = 0;
    ssize_t n;

    if (head[0])
        assert_int_equal(send(fd, head, strlen(head), MSG_NOSIGNAL), (ssize_t)strlen(head));
    for (int i = 0; i < rounds; i++) {
        if (dripped && send(fd, &dripped, 1, MSG_NOSIGNAL) != 1)
            break;
        n = recv(fd, answer + len, size - 1 - len, MSG_DONTWAIT);
        if (n == 0)
            break;
        if (n > 0)
            len += (size_t)n;
        pause_ms(20);
    }
    answer[len] = 0;
    close(fd);
    return clock_mono_ms(&s->clock) - start;
}

static void test_drips_are_cut(void **state)
{
    static const char *const heads[] = {
        "P", /* in the request line */
        "POST /x HTTP/1.1\r\nHost: x\r\nx-a: ",
        "POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\n\r\n",
        "POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\nPO", /* in the second request */
    };
    struct server *s = *state;
    struct http_stat before, after;
    char answer[1024];

    http_stat(s->http, &before);
    for (size_t i = 0; i < PORT_COUNT(heads); i++) {
        int64_t ms = drip(s, heads[i], 'x', DRIPS_MAX, answer, sizeof(answer));

        assert_true(ms >= 150);
        assert_non_null(strstr(answer, "HTTP/1.1 408 "));
        assert_non_null(strstr(answer, "\r\n\r\nlate"));
    }
    http_stat(s->http, &after);
    assert_int_equal(after.late - before.late, PORT_COUNT(heads));
}

/* Half a request and then silence is cut too; a silent connection without a request is not. */
static void test_silence(void **state)
{
    char answer[1024];

    assert_true(drip(*state, "POST /x HT", 0, DRIPS_MAX, answer, sizeof(answer)) >= 150);
    assert_non_null(strstr(answer, "408"));
    assert_true(drip(*state, "", 0, 60, answer, sizeof(answer)) >= 1100);
    assert_string_equal(answer, "");
}

static void test_expect_continue(void **state)
{
    int fd = dial(*state);
    static const char head[] = "POST /x HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
                               "Content-Length: 200000000\r\n\r\n";
    char answer[1024];
    size_t len = 0;
    ssize_t n;

    send(fd, head, strlen(head), MSG_NOSIGNAL);
    while ((n = recv(fd, answer + len, sizeof(answer) - 1 - len, 0)) > 0)
        len += (size_t)n;
    assert_int_equal(n, 0); /* closed in good order */
    answer[len] = 0;
    assert_memory_equal(answer, "HTTP/1.1 413 ", 13);
    assert_non_null(strstr(answer, "\r\n\r\ntoo large"));
    close(fd);
}

/* A body too long even to be dropped is refused while it is still coming. */
static void test_endless_body(void **state)
{
    static const char head[] = "POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 200000000\r\n\r\n";
    int fd = dial(*state);
    char piece[4096] = "", answer[1024] = "";

    send(fd, head, strlen(head), MSG_NOSIGNAL);
    for (int i = 0; i < 10; i++)
        send(fd, piece, sizeof(piece), MSG_NOSIGNAL);
    assert_true(recv(fd, answer, sizeof(answer) - 1, 0) > 0);
    assert_memory_equal(answer, "HTTP/1.1 413 ", 13);
    close(fd);
}

/* A handler can tell that the client has closed its side; what it answers is sent all the same. */
static void test_handlers_learn_of_the_end(void **state)
{
    static const char request[] = "POST /gone HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi";
    struct server *s = *state;
    int fd = dial(s), requests = atomic_load(&s->requests);
    char answer[1024] = "";

    send(fd, request, strlen(request), MSG_NOSIGNAL);
    while (atomic_load(&s->requests) == requests)
        pause_ms(1);
    shutdown(fd, SHUT_WR);
    assert_true(recv(fd, answer, sizeof(answer) - 1, 0) > 0);
    assert_memory_equal(answer, "HTTP/1.1 200 ", 13);
    close(fd);
}

/* Clients that go away at every stage leave nothing behind. */
static void test_clients_that_go_away(void **state)
{
    static const char *const heads[] = {
        "",
        "POST /later HTT",
        "POST /later HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\n\r\nabc",
        "POST /later HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc",
        "POST /resume HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc",
        "rubbish\r\n\r\n",
        "POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: no\r\n\r\n",
    };
    struct server *s = *state;
    struct http_stat stat;

    for (size_t i = 0; i < 5 * PORT_COUNT(heads); i++) {
        const char *head = heads[i % PORT_COUNT(heads)];
        int fd = dial(s);

        send(fd, head, strlen(head), MSG_NOSIGNAL);
        close(fd);
    }
    for (int i = 0; i < 100; i++) {
        http_stat(s->http, &stat);
        if (!stat.active && !stat.connections)
            break;
        pause_ms(20);
    }
    assert_int_equal(stat.active, 0);
    assert_int_equal(stat.connections, 0);
}

static void test_pipelined_requests(void **state)
{
    static const char one[] = "POST /race HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc";
    int fd = dial(*state), answers = 0;
    char all[20 * sizeof(one)] = "", in[16384];
    size_t len = 0;

    for (int i = 0; i < 20; i++)
        strcat(all, one);
    send(fd, all, strlen(all), MSG_NOSIGNAL);
    while (answers < 20) {
        ssize_t n = recv(fd, in + len, sizeof(in) - 1 - len, 0);

        assert_true(n > 0);
        len += (size_t)n;
        in[len] = 0;
        answers = 0;
        for (char *at = in; (at = strstr(at, "\r\n\r\nabc")); at++)
            answers++;
    }
    close(fd);
}

static void *many_client(void *arg)
{
    CURL *curl = curl_easy_init();

    for (int i = 0; i < 20; i++)
        check_echo(arg, curl, i % 3 ? "/x" : "/later", 500, i ? 0 : 1);
    curl_easy_cleanup(curl);
    return NULL;
}

static void test_many_connections(void **state)
{
    struct server *s = *state;
    pthread_t threads[16];
    int idle[300], before = atomic_load(&s->requests);
    struct http_stat stat;

    for (size_t i = 0; i < PORT_COUNT(idle); i++)
        idle[i] = dial(s);
    for (size_t i = 0; i < PORT_COUNT(threads); i++)
        pthread_create(&threads[i], NULL, many_client, s);
    for (size_t i = 0; i < PORT_COUNT(threads); i++)
        pthread_join(threads[i], NULL);
    http_stat(s->http, &stat);
    assert_true(stat.connections >= PORT_COUNT(idle));
    assert_int_equal(atomic_load(&s->requests) - before, 20 * PORT_COUNT(threads));
    for (size_t i = 0; i < PORT_COUNT(idle); i++)
        close(idle[i]);
}

/* Streams that are opened together are shared out evenly, so that no processor waits for the other.
 */
static void test_connections_are_shared_out(void **state)
{
    static const char request[] = "POST /thread HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n";
    char loops[8][17] = {""};
    struct http_stat stat;
    int fds[8], same = 0;

    for (int i = 0; i < 200; i++) { /* those of other tests are gone */
        http_stat(((struct server *)*state)->http, &stat);
        if (!stat.connections)
            break;
        pause_ms(20);
    }
    for (size_t i = 0; i < PORT_COUNT(fds); i++)
        fds[i] = dial(*state);
    for (size_t i = 0; i < PORT_COUNT(fds); i++) {
        char in[1024] = "", *body = NULL;
        ssize_t len = 0, n = 1;

        send(fds[i], request, sizeof(request) - 1, MSG_NOSIGNAL);
        while (n > 0 && (!(body = strstr(in, "\r\n\r\n")) || strlen(body) < 20)) {
            n = recv(fds[i], in + len, sizeof(in) - 1 - (size_t)len, 0);
            len += n;
        }
        assert_true(n > 0);
        memcpy(loops[i], body + 4, 16);
        same += strcmp(loops[i], loops[0]) == 0;
    }
    assert_int_equal(same, PORT_COUNT(fds) / 2);
    for (size_t i = 0; i < PORT_COUNT(fds); i++)
        close(fds[i]);
}

/* ---- opening and closing ---- */

static void test_addresses(void **state)
{
    static const struct {
        const char *address, *says;
    } bad[] = {
        {"127.0.0.1", "not ADDRESS:PORT"},      {"127.0.0.1:", "not ADDRESS:PORT"},
        {"127.0.0.1:99999", "ADDRESS:PORT"},    {":8600", "not ADDRESS:PORT"},
        {"::1:8600", "not ADDRESS:PORT"},       {"[::1]8600", "not ADDRESS:PORT"},
        {"127.0.0.1:80x", "not ADDRESS:PORT"},  {"no.such.host.invalid:1", "no address is known"},
        {"192.0.2.1:0", "has no such address"},
    };
    struct server *s = *state;
    struct http_conf conf = {.setting = "--http", .clock = &s->clock, .on_request = on_request};
    struct http *h;
    char message[256];

    for (size_t i = 0; i < PORT_COUNT(bad); i++) {
        conf.address = bad[i].address;
        assert_int_equal(http_open(&conf, &h, message, sizeof(message)), E_UNAVAILABLE);
        assert_null(h);
        assert_non_null(strstr(message, bad[i].says));
        assert_non_null(strstr(message, "--http"));
    }
    conf.address = http_address(s->http);
    assert_int_equal(http_open(&conf, &h, message, sizeof(message)), E_UNAVAILABLE);
    assert_non_null(strstr(message, "in use"));
}

static void *late_post(void *arg)
{
    CURL *curl = curl_easy_init();

    check_echo(arg, curl, "/later", 500, 1);
    curl_easy_cleanup(curl);
    return NULL;
}

/* A request under way when the server is told to close gets its answer. */
static void test_close_waits_for_answers(void **state)
{
    static struct server s;
    pthread_t thread;

    (void)state;
    for (int i = 0; i < 5; i++) {
        server_start(&s, "127.0.0.1:0");
        pthread_create(&thread, NULL, late_post, &s);
        while (!atomic_load(&s.requests))
            pause_ms(1);
        http_close(s.http, 1000);
        pthread_join(thread, NULL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keep_alive),
        cmocka_unit_test(test_bodies_of_all_sizes),
        cmocka_unit_test(test_too_large_bodies_are_refused),
        cmocka_unit_test(test_chunked),
        cmocka_unit_test(test_deferred_answers),
        cmocka_unit_test(test_method_headers_and_empty_answer),
        cmocka_unit_test(test_ipv6),
        cmocka_unit_test(test_drips_are_cut),
        cmocka_unit_test(test_silence),
        cmocka_unit_test(test_expect_continue),
        cmocka_unit_test(test_endless_body),
        cmocka_unit_test(test_handlers_learn_of_the_end),
        cmocka_unit_test(test_clients_that_go_away),
        cmocka_unit_test(test_pipelined_requests),
        cmocka_unit_test(test_many_connections),
        cmocka_unit_test(test_connections_are_shared_out),
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_close_waits_for_answers),
    };

    curl_global_init(CURL_GLOBAL_ALL);
    return cmocka_run_group_tests(tests, setup, teardown);
}
