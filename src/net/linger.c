/* A lingering socket has its answer and the end of our side behind it in the kernel, and a client
 * that may still be sending. What comes is dropped in the kernel, without a copy, a few times a
 * second and a bounded amount each time, so that it costs next to nothing to keep one. */
#include "net/http_own.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TICK_MS 25      /* between two looks at one that sends; the others have their turn ever */
#define TICK_MS_MAX 400 /* more seldom */
#define LINGER_MS 5000  /* at most */
#define SILENCE_MS 1000 /* and no longer than this without a byte */
#define DROP_BYTES (4 << 20) /* of one at a time */
#define LINGER_MAX 512       /* of one loop; past it the oldest is closed */

struct lingerer {
    struct lingerer *next;
    int fd;
    int pause_ms;
    int64_t next_ms;            /* when it is looked at */
    int64_t end_ms, silence_ms; /* closed at the earlier of the two */
};

void linger_add(struct loop *l, int fd)
{
    int64_t now = http_now_ms(l->http);
    struct lingerer *g = mem_zalloc(sizeof(*g));

    shutdown(fd, SHUT_WR);
    g->fd = fd;
    g->pause_ms = TICK_MS;
    g->next_ms = now + TICK_MS;
    g->end_ms = now + LINGER_MS;
    g->silence_ms = now + SILENCE_MS;
    if (l->lingering)
        l->lingering_last->next = g;
    else
        l->lingering = g;
    l->lingering_last = g;
    if (!l->linger_count++)
        l->linger_ms = now + TICK_MS;
    atomic_fetch_add_explicit(&l->conn_count, 1, memory_order_relaxed);
    if (l->linger_count > LINGER_MAX)
        linger_drop_oldest(l);
}

/* False: it can be closed. The client has closed its side as well, or broken the connection, when
 * nothing more can come. */
static bool linger_drop(struct lingerer *g, int64_t now)
{
    /* The bare call, since sanitizers hold that recv() writes to its buffer, which it does not
     * here. */
    long n = syscall(SYS_recvfrom, g->fd, NULL, (size_t)DROP_BYTES, MSG_TRUNC | MSG_DONTWAIT, NULL,
                     NULL);
    bool is_over = !n || (n < 0 && errno != EAGAIN && errno != EINTR);

    if (n > 0) {
        g->silence_ms = now + SILENCE_MS;
        g->pause_ms = TICK_MS;
    } else if (g->pause_ms < TICK_MS_MAX) {
        g->pause_ms *= 2;
    }
    g->next_ms = now + g->pause_ms;
    return now < g->end_ms && now < g->silence_ms && !is_over;
}

static struct lingerer *linger_remove(struct loop *l, struct lingerer *g)
{
    struct lingerer *next = g->next;

    close(g->fd);
    mem_free(g);
    l->linger_count--;
    atomic_fetch_sub_explicit(&l->conn_count, 1, memory_order_relaxed);
    return next;
}

void linger_tick(struct loop *l, int64_t now)
{
    l->linger_ms = now + TICK_MS;
    l->lingering_last = NULL;
    for (struct lingerer **at = &l->lingering; *at;) {
        if (now >= (*at)->next_ms && !linger_drop(*at, now)) {
            *at = linger_remove(l, *at);
            continue;
        }
        l->lingering_last = *at;
        at = &(*at)->next;
    }
}

bool linger_drop_oldest(struct loop *l)
{
    if (!l->lingering)
        return false;
    l->lingering = linger_remove(l, l->lingering);
    return true;
}

void linger_free(struct loop *l)
{
    while (linger_drop_oldest(l))
        ;
}
