#include "table/sync/blocking_lock.h"

#include "base/invariant.h"
#include "base/port.h"

static void blocking_lock_run(struct row_lock *l, struct run_list *woken)
{
    struct blocking_lock *h = PORT_CONTAINER(l, struct blocking_lock, row_lock);

    (void)woken;
    pthread_mutex_lock(&h->lock);
    invariant(!h->ours);
    h->ours = true;
    pthread_cond_signal(&h->woken);
    pthread_mutex_unlock(&h->lock);
}

void blocking_lock(struct row_locks *t, struct blocking_lock *h, bytes key)
{
    *h = (struct blocking_lock){.row_lock = {.key = key, .run = blocking_lock_run}};
    pthread_mutex_init(&h->lock, NULL);
    pthread_cond_init(&h->woken, NULL);
    if (row_lock_take(t, &h->row_lock))
        return;
    pthread_mutex_lock(&h->lock);
    while (!h->ours)
        pthread_cond_wait(&h->woken, &h->lock);
    pthread_mutex_unlock(&h->lock);
}

void blocking_unlock(struct row_locks *t, struct blocking_lock *h)
{
    struct run_list woken = {0};

    row_lock_pass(t, &h->row_lock, &woken);
    row_lock_run(&woken);
    pthread_mutex_destroy(&h->lock);
    pthread_cond_destroy(&h->woken);
}
