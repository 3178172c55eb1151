#include "base/service.h"

#include "base/thread.h"

static void service_release(struct service *s)
{
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->woken);
}

bool service_start(struct service *s, const char *name, void *(*run)(void *arg), void *arg)
{
    s->stop = false;
    pthread_mutex_init(&s->lock, NULL);
    thread_cond_init(&s->woken);
    if (thread_start(&s->thread, name, run, arg))
        return true;
    service_release(s);
    return false;
}

void service_stop(struct service *s)
{
    pthread_mutex_lock(&s->lock);
    s->stop = true;
    pthread_cond_signal(&s->woken);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->thread, NULL);
    service_release(s);
}

void service_wake(struct service *s)
{
    pthread_mutex_lock(&s->lock);
    pthread_cond_signal(&s->woken);
    pthread_mutex_unlock(&s->lock);
}

bool service_wait(struct service *s, const struct timespec *until)
{
    if (until)
        return pthread_cond_timedwait(&s->woken, &s->lock, until) == 0;
    pthread_cond_wait(&s->woken, &s->lock);
    return true;
}

bool service_sleep(struct service *s, int64_t us)
{
    struct timespec until = thread_time_in(us);
    bool stop;

    pthread_mutex_lock(&s->lock);
    while (!s->stop && service_wait(s, &until))
        ;
    stop = s->stop;
    pthread_mutex_unlock(&s->lock);
    return !stop;
}

bool service_stopping(struct service *s)
{
    bool stop;

    pthread_mutex_lock(&s->lock);
    stop = s->stop;
    pthread_mutex_unlock(&s->lock);
    return stop;
}
