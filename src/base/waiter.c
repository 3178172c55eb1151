#include "base/waiter.h"

void waiter_init(struct waiter *w)
{
    *w = (struct waiter){.done = false};
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->woken, NULL);
}

void waiter_wake(struct waiter *w, int code)
{
    pthread_mutex_lock(&w->lock);
    w->done = true;
    w->code = code;
    pthread_cond_signal(&w->woken);
    pthread_mutex_unlock(&w->lock);
}

int waiter_wait(struct waiter *w)
{
    pthread_mutex_lock(&w->lock);
    while (!w->done)
        pthread_cond_wait(&w->woken, &w->lock);
    pthread_mutex_unlock(&w->lock);
    waiter_release(w);
    return w->code;
}

void waiter_release(struct waiter *w)
{
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->woken);
}

void waiter_done(void *arg, int code)
{
    waiter_wake(arg, code);
}
