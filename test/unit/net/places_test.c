/* Who goes when there is no more room: strangers before clients, the slowest of the client that
 * holds most before all others. Real sockets on loopback. */
#include "net/http.h"

#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#define PLACES 8
#define MEMORY_MAX (8 << 20)
#define WAIT_MS 20000 /* for what must happen; it mostly has within a second or two */

static struct server {
    struct http *http;
    struct clock clock;
    struct log log;
    int port;
} t;

static void pause_ms(int ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

/* /cN: of client N; /: of a stranger. */
static void on_head(void *arg, struct http_request *r)
{
    (void)arg;
    if (bytes_starts(r->path, BYTES_LIT("/c")))
        http_known(r, bytes_u8(r->path)[2]);
}

/* Answers with as many bytes as the body says. */
static void on_request(void *arg, struct http_request *r)
{
    size_t size =
        r->body.len ? strtoul(arena_printf(&r->ctx.arena, "%.*s", BYTES_FMT(r->body)).ptr, NULL, 10)
                    : 0;

    (void)arg;
    http_reply(r, r->fault ? r->fault : 200, NULL, 0,
               bytes_of(arena_zalloc(&r->ctx.arena, size + 1), size));
}

static void server_start(const struct http_conf *extra)
{
    struct http_conf conf = *extra;
    char message[256] = "";

    clock_real_init(&t.clock);
    t.log = (struct log){.level = 'W', .clock = &t.clock};
    conf.address = "127.0.0.1:0";
    conf.clock = &t.clock;
    conf.log = &t.log;
    conf.on_head = on_head;
    conf.on_request = on_request;
    if (http_open(&conf, &t.http, message, sizeof(message)))
        fail_msg("%s", message);
    t.port = atoi(strrchr(http_address(t.http), ':') + 1);
}

static int dial_from(uint32_t address, bool small)
{
    struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(address)};
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)t.port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct timeval wait = {WAIT_MS / 1000, 0};
    int fd = socket(AF_INET, SOCK_STREAM, 0), bytes_small = 4096;

    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
    if (small)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes_small, sizeof(bytes_small));
    assert_int_equal(bind(fd, (struct sockaddr *)&from, sizeof(from)), 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
    return fd;
}

static int dial(void)
{
    return dial_from(INADDR_LOOPBACK, false);
}

static void ask(int fd, const char *path, const char *body)
{
    char text[256];
    int n =
        snprintf(text, sizeof(text), "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n%s",
                 path, strlen(body), body);

    assert_int_equal(send(fd, text, (size_t)n, MSG_NOSIGNAL), n);
}

/* Bytes until the server closes, or until `want` have come. */
static size_t take(int fd, size_t want)
{
    static char text[65536];
    size_t got = 0;

    while (got < want) {
        ssize_t n = recv(fd, text, want - got < sizeof(text) ? want - got : sizeof(text), 0);

        if (n <= 0)
            break;
        got += (size_t)n;
    }
    return got;
}

static bool answered(int fd, const char *path)
{
    char text[512] = "";

    ask(fd, path, "");
    return recv(fd, text, sizeof(text) - 1, 0) > 0 && strncmp(text, "HTTP/1.1 200 ", 13) == 0;
}

static struct http_stat stat_now(void)
{
    struct http_stat stat;

    http_stat(t.http, &stat);
    return stat;
}

static void test_strangers_give_way(void **state)
{
    int known, idle[40];

    (void)state;
    server_start(&(struct http_conf){.connections_max = PLACES, .head_timeout_ms = 60000});
    known = dial();
    assert_true(answered(known, "/c1"));
    for (size_t i = 0; i < PORT_COUNT(idle); i++) {
        idle[i] = dial();
        if (i % 10 == 9) {
            int late = dial();

            assert_true(answered(late, "/c2")); /* all places are taken, and it has one */
            close(late);
        }
    }
    assert_true(answered(known, "/c1")); /* and nobody has taken this one's */
    /* Another loop may still have one of the last in hand. */
    for (int ms = 0; ms < 5000 && stat_now().evicted < PORT_COUNT(idle) - PLACES; ms += 5)
        usleep(5000);
    assert_true(stat_now().evicted >= PORT_COUNT(idle) - PLACES);
    assert_true(stat_now().connections <= PLACES);
    assert_int_equal(take(idle[0], 1), 0); /* the oldest is closed */
    for (size_t i = 0; i < PORT_COUNT(idle); i++)
        close(idle[i]);
    close(known);
    http_close(t.http, 1000);
}

static void test_connections_of_an_address(void **state)
{
    int first, second, third, other;

    (void)state;
    server_start(&(struct http_conf){.connections_per_address = 2});
    first = dial();
    second = dial();
    assert_true(answered(first, "/") && answered(second, "/c1"));
    third = dial();
    assert_int_equal(take(third, 1), 0);
    close(third);
    other = dial_from(INADDR_LOOPBACK + 1, false);
    assert_true(answered(other, "/"));
    close(first);
    while (stat_now().connections > 2)
        pause_ms(5);
    first = dial();
    assert_true(answered(first, "/") && answered(second, "/c1") && answered(other, "/"));
    close(first);
    close(second);
    close(other);
    http_close(t.http, 1000);
}

static void test_first_head(void **state)
{
    char text[512] = "";
    int silent, half, known;

    (void)state;
    server_start(&(struct http_conf){.head_timeout_ms = 300});
    known = dial();
    assert_true(answered(known, "/c1"));
    silent = dial();
    half = dial();
    assert_int_equal(send(half, "POST / HTTP/1.1\r\nHo", 19, MSG_NOSIGNAL), 19);
    assert_int_equal(take(silent, 1), 0);
    assert_true(recv(half, text, sizeof(text) - 1, 0) > 0);
    assert_memory_equal(text, "HTTP/1.1 408 ", 13);
    assert_true(answered(known, "/c1")); /* it has had its first, and may be silent */
    close(silent);
    close(half);
    close(known);
    http_close(t.http, 1000);
}

/* Three answers of 2 MiB are more than may be held. Their client does not read: it loses
 * connections until the rest fits. Another's small answer stays, however slowly it is read. */
static void test_the_slowest_goes(void **state)
{
    int slow[3], other, open = 0;

    (void)state;
    server_start(&(struct http_conf){.memory_max = MEMORY_MAX});
    other = dial_from(INADDR_LOOPBACK, true);
    ask(other, "/c2", "600000");
    /* While nobody's rate can be judged yet, who comes last finds no room: it is to be first. */
    for (int ms = 0; !stat_now().held && ms < WAIT_MS; ms += 10)
        pause_ms(10);
    assert_in_range(stat_now().held, 1, 600000 + 4096);
    for (size_t i = 0; i < PORT_COUNT(slow); i++) {
        slow[i] = dial_from(INADDR_LOOPBACK, true);
        ask(slow[i], "/c1", "2000000");
    }
    for (int ms = 0; (!stat_now().slowest || stat_now().held > MEMORY_MAX / 2) && ms < WAIT_MS;
         ms += 10)
        pause_ms(10);
    assert_in_range(stat_now().slowest, 1, 2);
    assert_in_range(stat_now().held, 1, MEMORY_MAX / 2);
    assert_true(take(other, 600000) == 600000);
    for (size_t i = 0; i < PORT_COUNT(slow); i++)
        open += take(slow[i], 2000000) == 2000000;
    assert_in_range(open, 1, 2);
    for (size_t i = 0; i < PORT_COUNT(slow); i++)
        close(slow[i]);
    close(other);
    for (int ms = 0; stat_now().connections && ms < WAIT_MS; ms += 10)
        pause_ms(10);
    assert_int_equal(stat_now().held, 0);
    assert_int_equal(stat_now().memory, 0);
    http_close(t.http, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_strangers_give_way),
        cmocka_unit_test(test_connections_of_an_address),
        cmocka_unit_test(test_first_head),
        cmocka_unit_test(test_the_slowest_goes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
