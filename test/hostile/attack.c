/* Bad clients: one thread, a tick every 20 ms, all sockets without blocking. What a bad client does
 * costs it little, so that it is the server's handling that shows in the good clients' throughput
 * and not the processor time of this thread. A connection that the server closes is made again a
 * little later. */
#include "hostile.h"

#include "base/rng.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define TICK_MS 20
#define DRIP_MS 200
#define PIECE_BYTES 16384
/* The server looks at its connections about once a second. On a busy machine it may be late, which
 * shows in the lag of the attack's own thread. */
#define GRACE_MS 3000
#define STALL_BYTES (256 << 10)

const char *const attack_names[ATTACK_KINDS] = {
    "drip-line", "drip-header", "drip-body",  "stall-body", "huge-body",
    "endless",   "garbage",     "never-read", "silent",     "two-lengths"};

/* The share of each kind in a thousand, how often it acts, and the status it deserves. STALL_BODY
 * may be told earlier that others need the memory (net/share.c): 503. NEVER_READ
 * has an answer under way and falls under that one's own, longer deadline (net/http.h), which only
 * the nightly tier waits for. */
static const struct kind {
    int share, every_ms, status;
    int deadline_ms; /* 0: the request's */
} kinds[ATTACK_KINDS] = {
    [DRIP_LINE] = {120, DRIP_MS, 408, 0}, [DRIP_HEADER] = {120, DRIP_MS, 408, 0},
    [DRIP_BODY] = {120, DRIP_MS, 408, 0}, [STALL_BODY] = {50, 100, 408, 0},
    [HUGE_BODY] = {120, DRIP_MS, 413, 0}, [ENDLESS] = {50, DRIP_MS, 400, 0},
    [GARBAGE] = {120, 300, 400, 0},       [NEVER_READ] = {150, 1000, 0, ATTACK_ANSWER_MS},
    [SILENT] = {100, 1000, 0, 6000},      [TWO_LENGTHS] = {50, DRIP_MS, 400, 0},
};

struct bad {
    enum attack_kind kind;
    int fd; /* -1: to be opened at next_ms */
    int64_t first_ms, next_ms;
    size_t sent;
    bool answered, overdue;
};

struct attack {
    struct door *door;
    pthread_t thread;
    atomic_bool stop;
    int64_t lag_ms; /* see struct attack_stat */
    int count;
    struct bad *bads;
    struct rng rng;
    bytes head_small, head_stall, head_huge, long_request;
    uint8_t piece[PIECE_BYTES];
    struct attack_stat stats[ATTACK_KINDS];
};

/* ---- what each sends: the next bytes after `sent` */

static const char endless_head[] = "POST /PutRow HTTP/1.1\r\nHost: x\r\n"
                                   "Transfer-Encoding: chunked\r\n\r\n";

static const char two_lengths[] = "POST /PutRow HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n"
                                  "Content-Length: 5\r\n\r\nabcde";

/* Of `head`, then of the piece again and again up to `max` bytes of body. */
static bytes next_behind(const struct attack *a, bytes head, size_t sent, size_t max, size_t n)
{
    if (sent < head.len)
        return bytes_skip(head, sent);
    if (n > max - (sent - head.len))
        n = max - (sent - head.len);
    return bytes_of(a->piece, n);
}

static bytes next_bytes(struct attack *a, const struct bad *b)
{
    static const char line[] =
        "POST /GetRow?aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    static const char open[] = "POST /GetRow HTTP/1.1\r\nX-A: ";

    switch (b->kind) {
    case DRIP_LINE:
        return bytes_of(line + (b->sent < sizeof(line) - 1 ? b->sent : sizeof(line) - 2), 1);
    case DRIP_HEADER:
        return b->sent < sizeof(open) - 1 ? bytes_of(open + b->sent, sizeof(open) - 1 - b->sent)
                                          : bytes_of("a", 1);
    case DRIP_BODY:
        return next_behind(a, a->head_small, b->sent, 1000, 1);
    case STALL_BODY:
        return next_behind(a, a->head_stall, b->sent, STALL_BYTES - 1, PIECE_BYTES);
    case HUGE_BODY:
        return next_behind(a, a->head_huge, b->sent, SIZE_MAX / 2, PIECE_BYTES);
    case ENDLESS:
        return b->sent < sizeof(endless_head) - 1
                   ? bytes_of(endless_head + b->sent, sizeof(endless_head) - 1 - b->sent)
                   : BYTES_LIT("8\r\naaaaaaaa\r\n");
    case GARBAGE:
        return bytes_of(a->piece + rng_below(&a->rng, 8192), 1 + rng_below(&a->rng, 512));
    case SILENT:
        return BYTES_NONE;
    case TWO_LENGTHS:
        return b->sent ? BYTES_NONE : bytes_str(two_lengths);
    default:
        return bytes_skip(a->long_request, b->sent % a->long_request.len);
    }
}

/* ---- one connection */

static void bad_open(struct attack *a, struct bad *b)
{
    int small = 4096;

    b->fd = door_connect(a->door, false);
    if (b->fd < 0) {
        b->next_ms = now_ms() + 500;
        return;
    }
    if (b->kind == NEVER_READ)
        setsockopt(b->fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
    a->stats[b->kind].opened++;
    b->sent = 0;
    b->first_ms = b->kind == SILENT ? now_ms() : 0;
    b->answered = b->overdue = false;
}

static void bad_closed(struct attack *a, struct bad *b)
{
    struct attack_stat *s = &a->stats[b->kind];
    int64_t now = now_ms();

    s->closed++;
    if (b->first_ms && now - b->first_ms > s->longest_ms)
        s->longest_ms = now - b->first_ms;
    close(b->fd);
    b->fd = -1;
    b->next_ms = now + 200 + (int64_t)rng_below(&a->rng, 300);
}

/* Looks for an answer; false if the server has closed the connection. */
static bool bad_read(struct attack *a, struct bad *b)
{
    char text[4096];
    ssize_t n;

    while ((n = recv(b->fd, text, sizeof(text) - 1, 0)) > 0) {
        int status;

        text[n] = 0;
        status = strncmp(text, "HTTP/1.1 ", 9) ? 0 : atoi(text + 9);
        if (b->answered || !status)
            continue;
        b->answered = true;
        a->stats[b->kind].answers[status / 100 < 6 ? status / 100 : 0]++;
        a->stats[b->kind].expected +=
            status == kinds[b->kind].status || (status == 503 && b->kind == STALL_BODY);
    }
    return n < 0; /* 0 is the end; an error that is not "later" shows at the next send */
}

static void bad_act(struct attack *a, struct bad *b, int64_t now)
{
    int64_t deadline_ms;
    bytes next;
    ssize_t n;

    if (b->kind != NEVER_READ && b->first_ms && !bad_read(a, b)) {
        bad_closed(a, b);
        return;
    }
    next = next_bytes(a, b);
    n = next.len ? send(b->fd, next.ptr, next.len, MSG_NOSIGNAL | MSG_DONTWAIT) : 0;
    if (n < 0 && errno != EAGAIN && errno != EINPROGRESS && errno != ENOTCONN) {
        bad_closed(a, b);
        return;
    }
    if (n > 0) {
        b->first_ms = b->first_ms ? b->first_ms : now;
        b->sent += (size_t)n;
    }
    deadline_ms =
        kinds[b->kind].deadline_ms ? kinds[b->kind].deadline_ms : a->door->request_timeout_ms;
    if (!b->overdue && b->first_ms && now - b->first_ms > deadline_ms + GRACE_MS + 4 * a->lag_ms) {
        b->overdue = true;
        a->stats[b->kind].overdue++;
    }
    b->next_ms = now + kinds[b->kind].every_ms;
}

static void *attack_run(void *arg)
{
    struct attack *a = arg;
    int64_t last = now_ms();
    unsigned tick = 0;
    long kib;

    while (!atomic_load(&a->stop)) {
        int64_t now = now_ms();

        if (now - last > a->lag_ms)
            a->lag_ms = now - last;
        last = now;
        if (tick++ % 10 == 0 && (kib = door_memory_kib(a->door)) > a->stats[0].memory_kib)
            a->stats[0].memory_kib = kib;
        for (int i = 0; i < a->count; i++) {
            struct bad *b = &a->bads[i];

            if (b->next_ms > now)
                continue;
            if (b->fd < 0)
                bad_open(a, b);
            if (b->fd >= 0)
                bad_act(a, b, now);
        }
        usleep(TICK_MS * 1000);
    }
    return NULL;
}

/* ---- all of them */

double attack_time(const struct attack *a)
{
    clockid_t clock;
    struct timespec t;

    pthread_getcpuclockid(a->thread, &clock);
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1000 + (double)t.tv_nsec / 1e6;
}

struct attack *attack_start(struct door *d, int count, const char *only)
{
    struct attack *a = calloc(1, sizeof(*a));
    int64_t now = now_ms();
    int i = 0;

    a->door = d;
    a->count = count;
    a->bads = calloc((size_t)count, sizeof(*a->bads));
    a->head_small = door_head(d, 1000);
    a->head_stall = door_head(d, STALL_BYTES);
    a->head_huge = door_head(d, 1 << 30);
    a->long_request = good_long_request(d);
    rng_init(&a->rng, 1);
    for (size_t k = 0; k < sizeof(a->piece); k++)
        a->piece[k] = (uint8_t)rng_next(&a->rng);
    for (int kind = 0; kind < ATTACK_KINDS; kind++)
        for (int k = 0; k < kinds[kind].share * count / 1000 && i < count &&
                        (!only || strcmp(only, attack_names[kind]) == 0);
             k++)
            a->bads[i++] = (struct bad){.kind = (enum attack_kind)kind,
                                        .fd = -1,
                                        .next_ms = now + (int64_t)rng_below(&a->rng, 1000)};
    a->count = i;
    pthread_create(&a->thread, NULL, attack_run, a);
    return a;
}

void attack_stop(struct attack *a, struct attack_stat out[ATTACK_KINDS])
{
    atomic_store(&a->stop, true);
    pthread_join(a->thread, NULL);
    for (int i = 0; i < a->count; i++)
        if (a->bads[i].fd >= 0)
            close(a->bads[i].fd);
    for (int kind = 0; kind < ATTACK_KINDS; kind++)
        a->stats[kind].lag_ms = (long)a->lag_ms;
    memcpy(out, a->stats, sizeof(a->stats));
    free(a->bads);
    free(a);
}
