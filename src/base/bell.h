/* bell.h: wakes a thread that waits in epoll_wait(), from any thread.
 *
 * Most calls cost nothing: while the thread is awake it looks at its lists by itself before it
 * sleeps again. So a thread that answers many requests at once does not make a system call for each
 * of them, and does not have the other one wake for nothing.
 *
 *   the thread                                 whoever has something for it
 *     bell_sleep(&b);                            puts it on the thread's list
 *     epoll_wait(..., list ? 0 : timeout);       bell_call(&b);
 *     bell_woke(&b);
 *     takes what is on the list */
#ifndef BASE_BELL_H
#define BASE_BELL_H

#include <stdatomic.h>
#include <stdbool.h>

struct bell {
    int fd;             /* -1: there is none */
    atomic_bool asleep; /* the thread waits, or is about to */
};

static inline void bell_init(struct bell *b)
{
    b->fd = -1;
    atomic_init(&b->asleep, false);
}

/* Makes it, one more descriptor, and has epoll_wait() give `data` as the pointer of its events.
 * False: the system gives none; close it all the same. */
bool bell_open(struct bell *b, int epoll_fd, void *data);
/* No call may be under way. */
void bell_close(struct bell *b);

/* The thread's epoll_wait() ends at once, the present one or the next: a flag was set that it is to
 * see. */
void bell_ring(struct bell *b);
/* The same, if the thread sleeps: something was put on a list that it looks at between bell_sleep()
 * and epoll_wait(). The list is to be written, and looked at, in sequentially consistent order. */
static inline void bell_call(struct bell *b)
{
    if (atomic_exchange(&b->asleep, false))
        bell_ring(b);
}

/* The thread's own. It is about to wait, and has not looked at its lists yet. */
static inline void bell_sleep(struct bell *b)
{
    atomic_store(&b->asleep, true);
}
/* It has waited. */
static inline void bell_woke(struct bell *b)
{
    atomic_store(&b->asleep, false);
}
/* It got the bell's event: silences it. */
void bell_heard(struct bell *b);

#endif
