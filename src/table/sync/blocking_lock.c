#include "table/sync/blocking_lock.h"

#include "base/invariant.h"
#include "base/port.h"

static void held_run(struct latch *l, struct run_list *woken)
{
    struct held *h = PORT_CONTAINER(l, struct held, latch);

    (void)woken;
    pthread_mutex_lock(&h->lock);
    invariant(!h->ours);
    h->ours = true;
    pthread_cond_signal(&h->woken);
    pthread_mutex_unlock(&h->lock);
}

void hold(struct latch_table *t, struct held *h, bytes key)
{
    *h = (struct held){.latch = {.key = key, .run = held_run}};
    pthread_mutex_init(&h->lock, NULL);
    pthread_cond_init(&h->woken, NULL);
    if (latch_take(t, &h->latch))
        return;
    pthread_mutex_lock(&h->lock);
    while (!h->ours)
        pthread_cond_wait(&h->woken, &h->lock);
    pthread_mutex_unlock(&h->lock);
}

void let_go(struct latch_table *t, struct held *h)
{
    struct run_list woken = {0};

    latch_pass(t, &h->latch, &woken);
    latch_run(&woken);
    pthread_mutex_destroy(&h->lock);
    pthread_cond_destroy(&h->woken);
}
