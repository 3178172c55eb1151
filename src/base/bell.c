#include "base/bell.h"

#include <errno.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

bool bell_open(struct bell *b, int epoll_fd, void *data)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = data};

    b->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    return b->fd >= 0 && epoll_ctl(epoll_fd, EPOLL_CTL_ADD, b->fd, &event) == 0;
}

void bell_close(struct bell *b)
{
    if (b->fd >= 0)
        close(b->fd);
    b->fd = -1;
}

void bell_ring(struct bell *b)
{
    while (write(b->fd, &(uint64_t){1}, sizeof(uint64_t)) < 0 && errno == EINTR)
        ;
}

void bell_heard(struct bell *b)
{
    uint64_t rung;

    (void)!read(b->fd, &rung, sizeof(rung));
}
