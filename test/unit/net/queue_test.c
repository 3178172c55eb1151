/* Large answers that have no room wait, each client for itself, over real sockets. */
#include "net/http.h"

#include <arpa/inet.h>
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

#define LARGE (4 << 20)
#define MEMORY_MAX ((size_t)34 << 20)
#define ROOM (MEMORY_MAX / 8 * 3) /* for answers: three of them; for all that is held: four */
#define READERS 12

static struct server {
    struct http *http;
    struct clock clock;
    struct log log;
    int port;
    atomic_int wait_ms; /* given to http_wait() */
    atomic_int asked;   /* requests for something large that began, each time they began */
    atomic_int made;    /* large answers that were made */
    atomic_int late;    /* requests that were refused since they had waited for too long */
} t;

static void pause_ms(int ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

/* ---- the server: /CLIENT/SIZE ---- */

static void on_head(void *arg, struct http_request *r)
{
    (void)arg;
    http_known(r, (uint64_t)((const char *)r->path.ptr)[1]);
}

static void answer(void *arg, struct http_request *r)
{
    size_t size = (size_t)atol((const char *)r->path.ptr + 3);
    uint8_t *body;

    (void)arg;
    atomic_fetch_add(&t.asked, size >= LARGE);
    if (r->fault) {
        atomic_fetch_add(&t.late, 1);
        http_reply(r, 503, NULL, 0, BYTES_LIT("full"));
    } else if (size < LARGE || http_reserve(r, size)) {
        atomic_fetch_add(&t.made, size >= LARGE);
        /* with room in front of it, so that a large one is not copied */
        body = arena_zalloc(&r->ctx.arena, HTTP_ROOM + size);
        http_reply(r, 200, NULL, 0, bytes_of(body + HTTP_ROOM, size));
    } else if (!http_wait(r, size, clock_mono_ms(&t.clock) + atomic_load(&t.wait_ms), answer,
                          NULL)) {
        http_reply(r, 503, NULL, 0, BYTES_LIT("crowded"));
    }
}

static int setup(void **state)
{
    struct http_conf conf = {.address = "127.0.0.1:0",
                             .memory_max = MEMORY_MAX,
                             .answer_timeout_ms = 1200000, /* nobody is late here */
                             .clock = &t.clock,
                             .log = &t.log,
                             .on_head = on_head,
                             .on_request = answer};
    char message[256] = "";

    (void)state;
    clock_real_init(&t.clock);
    t.log = (struct log){.level = 'W', .clock = &t.clock};
    atomic_store(&t.wait_ms, 60000);
    atomic_store(&t.asked, 0);
    atomic_store(&t.made, 0);
    atomic_store(&t.late, 0);
    if (http_open(&conf, &t.http, message, sizeof(message)))
        fail_msg("%s", message);
    t.port = atoi(strrchr(http_address(t.http), ':') + 1);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    http_close(t.http, 0);
    return 0;
}

/* ---- clients ---- */

/* Asks for `size` bytes, and reads nothing of them yet. */
static int ask(char client, size_t size)
{
    struct sockaddr_in sa = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)t.port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0), small = 4096;
    char text[128];
    int n = snprintf(text, sizeof(text), "GET /%c/%zu HTTP/1.1\r\nHost: x\r\n\r\n", client, size);

    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){30, 0}, sizeof(struct timeval));
    assert_int_equal(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
    assert_int_equal(send(fd, text, (size_t)n, MSG_NOSIGNAL), n);
    return fd;
}

/* Reads the answer, closes; returns its status, 0 if it was not whole. */
static int read_answer(int fd)
{
    char text[16384];
    size_t got = 0, want = 0;
    int status = 0;
    int wide = 1 << 20;
    ssize_t n;

    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &wide, sizeof(wide));
    while (!want || got < want) {
        n = recv(fd, text, sizeof(text) - 1, 0);
        if (n <= 0)
            break;
        if (!status) {
            const char *end, *length;

            text[n] = 0;
            end = strstr(text, "\r\n\r\n");
            length = strstr(text, "Content-Length: ");
            if (!end || !length)
                break;
            status = atoi(text + 9);
            want = (size_t)(end + 4 - text) + (size_t)atol(length + 16);
        }
        got += (size_t)n;
    }
    close(fd);
    return want && got == want ? status : 0;
}

static void *read_main(void *arg)
{
    return (void *)(intptr_t)read_answer(*(int *)arg);
}

/* All at once, for nobody knows who waits for whom; how many had that status. */
static int read_answers(int fds[READERS], int status)
{
    pthread_t threads[READERS];
    int count = 0;

    for (int i = 0; i < READERS; i++)
        pthread_create(&threads[i], NULL, read_main, &fds[i]);
    for (int i = 0; i < READERS; i++) {
        void *got;

        pthread_join(threads[i], &got);
        count += (intptr_t)got == status;
    }
    return count;
}

static struct http_stat stat_when(bool (*holds)(const struct http_stat *s))
{
    struct http_stat s;

    for (int i = 0; i < 3000; i++) {
        http_stat(t.http, &s);
        if (holds(&s))
            return s;
        pause_ms(10);
    }
    fail_msg("held %llu, waiting %llu, active %llu", (unsigned long long)s.held,
             (unsigned long long)s.waiting, (unsigned long long)s.active);
    return s;
}

static bool all_asked(const struct http_stat *s)
{
    return (int)s->waiting + atomic_load(&t.made) + atomic_load(&t.late) == READERS;
}

static bool nobody_waits(const struct http_stat *s)
{
    return !s->waiting;
}

static bool nothing_left(const struct http_stat *s)
{
    return !s->active && !s->waiting && !s->held && !s->connections;
}

/* READERS clients of one key that read nothing: some have their answers, the others wait. */
static int crowd(int fds[READERS], char client)
{
    for (int i = 0; i < READERS; i++)
        fds[i] = ask(client, LARGE);
    return (int)stat_when(all_asked).waiting;
}

/* ---- tests ---- */

/* Nobody is cut off and nothing is made again and again for those who do not read; small answers
 * of the same client and large ones of others come at once. */
static void test_unread_answers_wait(void **state)
{
    struct http_stat s;
    int fds[READERS], waiting = crowd(fds, 'a'), made = atomic_load(&t.made);

    (void)state;
    assert_in_range(made, 3, READERS - 1);
    assert_int_equal(read_answer(ask('a', 100)), 200);
    assert_int_equal(read_answer(ask('b', LARGE)), 200);
    pause_ms(1500);
    http_stat(t.http, &s);
    assert_int_equal(s.slowest, 0);
    assert_int_equal(s.waiting, waiting);
    assert_true(s.held <= ROOM);
    assert_int_equal(atomic_load(&t.asked), READERS + 1);
    assert_int_equal(read_answers(fds, 200), READERS); /* each in its turn, as others read */
    assert_int_equal(atomic_load(&t.made), READERS + 1);
    assert_int_equal(atomic_load(&t.asked), READERS + 1 + waiting);
    stat_when(nothing_left);
}

/* Who has waited in vain is told so, and keeps the connection until then. */
static void test_deadline(void **state)
{
    int fds[READERS], refused;

    (void)state;
    atomic_store(&t.wait_ms, 300);
    crowd(fds, 'a');
    assert_int_equal(stat_when(nobody_waits).slowest, 0);
    refused = read_answers(fds, 503);
    assert_int_equal(refused, atomic_load(&t.late));
    assert_int_equal(refused + atomic_load(&t.made), READERS);
    assert_true(refused > 0);
    stat_when(nothing_left);
}

/* Also behind others that may wait longer. */
static void test_deadline_behind_others(void **state)
{
    int fds[READERS];

    (void)state;
    crowd(fds, 'a');
    atomic_store(&t.wait_ms, 300);
    assert_int_equal(read_answer(ask('a', LARGE)), 503);
    assert_int_equal(read_answers(fds, 200), READERS);
    stat_when(nothing_left);
}

static bool something_held(const struct http_stat *s)
{
    return s->held > 0;
}

/* What is larger than all room does not wait for the little that its client has elsewhere. Both
 * together are less than may be held, so neither is cut off, however slow this machine is. */
static void test_larger_than_all_beside_little(void **state)
{
    int little = ask('a', 1 << 20);

    (void)state;
    stat_when(something_held);
    atomic_store(&t.wait_ms, 3000);
    assert_int_equal(read_answer(ask('a', ROOM + (1 << 20))), 200);
    assert_int_equal(read_answer(little), 200);
    stat_when(nothing_left);
}

/* What is larger than all room comes when its client has nothing else. */
static void test_larger_than_all(void **state)
{
    int small = ask('a', LARGE), large, behind;

    (void)state;
    for (int i = 0; i < 3000 && !atomic_load(&t.made); i++)
        pause_ms(10);
    large = ask('a', ROOM * 2);
    for (int i = 0; i < 3000 && atomic_load(&t.asked) < 2; i++)
        pause_ms(10);
    behind = ask('a', LARGE);
    pause_ms(100);
    assert_int_equal(atomic_load(&t.made), 1); /* it does not overtake */
    assert_int_equal(read_answer(small), 200);
    assert_int_equal(read_answer(large), 200);
    assert_int_equal(read_answer(behind), 200);
    stat_when(nothing_left);
}

static void test_clients_that_leave(void **state)
{
    int fds[READERS];

    (void)state;
    atomic_store(&t.wait_ms, 1000);
    crowd(fds, 'a');
    for (int i = 0; i < READERS; i++)
        close(fds[i]);
    stat_when(nothing_left);
}

/* The server closes while some wait: teardown must come to an end. */
static void test_close(void **state)
{
    int fds[READERS];

    (void)state;
    assert_true(crowd(fds, 'a') > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_unread_answers_wait, setup, teardown),
        cmocka_unit_test_setup_teardown(test_deadline, setup, teardown),
        cmocka_unit_test_setup_teardown(test_deadline_behind_others, setup, teardown),
        cmocka_unit_test_setup_teardown(test_larger_than_all, setup, teardown),
        cmocka_unit_test_setup_teardown(test_larger_than_all_beside_little, setup, teardown),
        cmocka_unit_test_setup_teardown(test_clients_that_leave, setup, teardown),
        cmocka_unit_test_setup_teardown(test_close, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
