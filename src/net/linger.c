/* A lingering socket has its answer and the end of our side behind it in the kernel, and a client
 * that may still be sending. What comes is dropped in the kernel, without a copy, a few times a
 * second and a bounded amount each time, so that it costs next to nothing to keep one. */
#include "net/door.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TICK_MS 25      /* between two looks at one that sends; the others have their turn ever */
#define TICK_MS_MAX 400 /* more seldom */
#define LINGER_MS 5000  /* at most */
#define SILENCE_MS 1000 /* and no longer than this without a byte */
#define DROP_BYTES (4 << 20) /* of one at a time */
#define LINGER_MAX 512       /* of one loop; past it a connection is closed at once */

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
    struct lingerer *g;
    int copy;

    shutdown(fd, SHUT_WR);
    copy = l->linger_count < LINGER_MAX ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
    if (copy < 0)
        return;
    g = mem_zalloc(sizeof(*g));
    g->fd = copy;
    g->pause_ms = TICK_MS;
    g->next_ms = now + TICK_MS;
    g->end_ms = now + LINGER_MS;
    g->silence_ms = now + SILENCE_MS;
    g->next = l->lingering;
    l->lingering = g;
    if (!l->linger_count++)
        l->linger_ms = now + TICK_MS;
}

/* The client has closed its side as well, or broken the connection. */
static bool linger_is_over(const struct lingerer *g)
{
    struct tcp_info info;
    socklen_t size = sizeof(info);

    memset(&info, 0, sizeof(info));
    return getsockopt(g->fd, IPPROTO_TCP, TCP_INFO, &info, &size) ||
           (info.tcpi_state != TCP_FIN_WAIT1 && info.tcpi_state != TCP_FIN_WAIT2);
}

/* False: it can be closed. */
static bool linger_drop(struct lingerer *g, int64_t now)
{
    /* The bare call, since sanitizers hold that recv() writes to its buffer, which it does not
     * here. */
    long n = syscall(SYS_recvfrom, g->fd, NULL, (size_t)DROP_BYTES, MSG_TRUNC | MSG_DONTWAIT, NULL,
                     NULL);

    if (n > 0) {
        g->silence_ms = now + SILENCE_MS;
        g->pause_ms = TICK_MS;
    } else if (g->pause_ms < TICK_MS_MAX) {
        g->pause_ms *= 2;
    }
    g->next_ms = now + g->pause_ms;
    return now < g->end_ms && now < g->silence_ms && (n > 0 || !linger_is_over(g));
}

static struct lingerer *linger_remove(struct loop *l, struct lingerer *g)
{
    struct lingerer *next = g->next;

    close(g->fd);
    mem_free(g);
    l->linger_count--;
    return next;
}

void linger_tick(struct loop *l, int64_t now)
{
    l->linger_ms = now + TICK_MS;
    for (struct lingerer **at = &l->lingering; *at;) {
        if (now < (*at)->next_ms || linger_drop(*at, now))
            at = &(*at)->next;
        else
            *at = linger_remove(l, *at);
    }
}

void linger_free(struct loop *l)
{
    while (l->lingering)
        l->lingering = linger_remove(l, l->lingering);
}
