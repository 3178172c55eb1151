/* What the programs that start servers share: pauses, times, free ports. */
#include "crash.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

void crash_sleep_us(int64_t us)
{
    struct timespec ts = {us / 1000000, us % 1000000 * 1000};

    while (nanosleep(&ts, &ts) != 0 && errno == EINTR)
        ;
}

int64_t crash_between(struct rng *rng, int64_t from, int64_t to)
{
    return from + (int64_t)rng_below(rng, (uint64_t)(to - from + 1));
}

void crash_times_add(struct crash_times *t, int64_t us)
{
    if (t->count == t->capacity) {
        t->capacity = t->capacity ? 2 * t->capacity : 64;
        t->us = mem_realloc(t->us, (size_t)t->capacity * sizeof(*t->us));
    }
    t->us[t->count++] = us;
}

static int time_compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

void crash_times_print(struct crash_times *t, const char *what)
{
    if (t->count) {
        qsort(t->us, (size_t)t->count, sizeof(*t->us), time_compare);
        printf("  %s: median %.0f ms, 99 %% %.0f ms, max %.0f ms, %d measured\n", what,
               (double)t->us[t->count / 2] / 1e3, (double)t->us[t->count * 99 / 100] / 1e3,
               (double)t->us[t->count - 1] / 1e3, t->count);
    }
    mem_free(t->us);
    *t = (struct crash_times){0};
}

int crash_port_choose(struct rng *rng)
{
    for (;;) {
        int port = (int)crash_between(rng, 15000, 30000), one = 1, result;
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        struct sockaddr_in address = {.sin_family = AF_INET,
                                      .sin_port = htons((uint16_t)port),
                                      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
        result = bind(fd, (struct sockaddr *)&address, sizeof(address));
        close(fd);
        if (result == 0)
            return port;
    }
}
