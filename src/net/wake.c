/* wake.c: how a loop is told that there is something to do. */
#include "net/http_own.h"

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
