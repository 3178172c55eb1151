/* wake.c: how a loop is told that there is something to do. */
#include "net/http_own.h"

#include <errno.h>
#include <unistd.h>

void loop_ring(struct loop *l)
{
    /* Were the ring lost all the same, the loop would see the list at its next look at the
     * connections. */
    while (write(l->bell_fd, &(uint64_t){1}, sizeof(uint64_t)) < 0 && errno == EINTR)
        ;
}

void loop_again(struct loop *l, struct conn *c)
{
    if (c->queued || c->phase == CLOSED)
        return;
    c->queued = true;
    c->next = NULL;
    if (l->again)
        l->again_last->next = c;
    else
        l->again = c;
    l->again_last = c;
}
