/* Clients that break no rule of the protocol and hold what the server has: places, memory, open
 * files. One thread, a tick every 20 ms. A connection that the server closes is made again. */
#include "hostile.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define TICK_MS 20
#define READ_BYTES 128 /* a tick: some 6 KB a second */
#define UPLOAD_BYTES (4 << 20)
#define UPLOAD_STOP (1200 << 10) /* so much of it is sent at once, the rest as slowly */
#define ROW_BYTES (2000 << 10)
#define ROW_KEY 100000

struct holder {
    int fd; /* -1: to be opened */
    size_t sent;
};

struct hold {
    struct door *door;
    const char *kind;
    pthread_t thread;
    atomic_bool stop;
    int count;
    struct holder *holders;
    bytes request;
    char piece[65536];
    long memory_kib, opened;
};

static bool is(const struct hold *h, const char *kind)
{
    return strcmp(h->kind, kind) == 0;
}

static void holder_close(struct holder *o)
{
    close(o->fd);
    o->fd = -1;
}

static void holder_open(struct hold *h, struct holder *o)
{
    int small = 4096;

    o->fd = door_connect(h->door, false);
    o->sent = 0;
    if (o->fd < 0)
        return;
    h->opened++;
    if (!is(h, "uploads"))
        setsockopt(o->fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
}

/* The next bytes of the request, and for uploads of the body. */
static void holder_send(struct hold *h, struct holder *o)
{
    bool body = o->sent >= h->request.len;
    size_t n =
        body ? (o->sent < UPLOAD_STOP ? sizeof(h->piece) : READ_BYTES) : h->request.len - o->sent;
    const char *from = body ? h->piece : (const char *)h->request.ptr + o->sent;
    ssize_t sent;

    if (body && (!is(h, "uploads") || o->sent + n > UPLOAD_BYTES))
        return;
    sent = send(o->fd, from, n, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0)
        o->sent += (size_t)sent;
    else if (errno != EAGAIN && errno != EINPROGRESS && errno != ENOTCONN)
        holder_close(o);
}

static void holder_read(struct holder *o)
{
    char text[READ_BYTES];

    if (recv(o->fd, text, sizeof(text), MSG_DONTWAIT) == 0)
        holder_close(o);
}

static void *hold_main(void *arg)
{
    struct hold *h = arg;

    for (int tick = 0; !atomic_load(&h->stop); tick++) {
        long kib = tick % 5 ? 0 : door_memory_kib(h->door);

        if (kib > h->memory_kib)
            h->memory_kib = kib;
        for (int i = 0; i < h->count; i++) {
            struct holder *o = &h->holders[i];

            if (o->fd < 0 && (i + tick) % 10 == 0)
                holder_open(h, o);
            if (o->fd >= 0 && h->request.len)
                holder_send(h, o);
            if (o->fd >= 0)
                holder_read(o);
        }
        usleep(TICK_MS * 1000);
    }
    for (int i = 0; i < h->count; i++)
        if (h->holders[i].fd >= 0)
            holder_close(&h->holders[i]);
    return NULL;
}

/* They stay as they are for a minute, whoever has gone. */
static bool hold_transactions(const struct hold *h)
{
    int begun, refused;
    bool well = txns_hold(h->door, h->count, &begun, &refused);
    char text[256];

    snprintf(text, sizeof(text), "%d transactions are open, and %d times there was no room", begun,
             refused);
    check(begun > 0 && refused > 0, text);
    return well;
}

static bool hold_prepare(struct hold *h)
{
    struct door *d = h->door;

    if (is(h, "transactions"))
        return hold_transactions(h);

    if (is(h, "answers")) {
        h->request = good_get(d, ROW_KEY);
        return good_put_large(d, ROW_KEY, ROW_BYTES);
    }
    if (is(h, "cells")) /* made by run.sh */
        h->request = good_get(d, ROW_KEY + 1);
    if (is(h, "uploads"))
        h->request = door_cell_head(d, "k=int:7", UPLOAD_BYTES);
    return true;
}

void hold_run(struct door *d, const char *kind, int count, int seconds, long rss_mib_max)
{
    struct hold h = {.door = d, .kind = kind, .count = count};
    struct good good;
    char text[256];

    h.holders = calloc((size_t)count, sizeof(*h.holders));
    for (int i = 0; i < count; i++)
        h.holders[i].fd = -1;
    check(hold_prepare(&h), "what they ask for is there");
    pthread_create(&h.thread, NULL, hold_main, &h);
    usleep(1500000);
    good = good_run(d, NULL, seconds * 1000);
    snprintf(text, sizeof(text),
             "%d x %s: a good client is answered (%.0f a second, slowest %ld ms)", count, kind,
             good.per_s, good.slowest_ms);
    check(good.per_s > 0 && good.slowest_ms < 10000, text);
    snprintf(text, sizeof(text), "%d x %s: no good request failed (%ld)", count, kind, good.failed);
    check(good.failed == 0, text);
    atomic_store(&h.stop, true);
    pthread_join(h.thread, NULL);
    snprintf(text, sizeof(text), "%d x %s: the server took %ld MiB (at most %ld)", count, kind,
             h.memory_kib / 1024, rss_mib_max);
    check(h.memory_kib / 1024 <= rss_mib_max && h.memory_kib > 0, text);
    good = good_run(d, NULL, 500);
    snprintf(text, sizeof(text), "%d x %s: nothing fails when they have gone (%ld)", count, kind,
             good.failed);
    check(good.failed == 0 && good.per_s > 0, text);
    free(h.holders);
}
