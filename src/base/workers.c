#include "base/workers.h"

#include "base/port.h"
#include "base/thread.h"

struct workers {
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t woken;
    struct job *head, *tail;
    bool stop;
    int thread_count;
    pthread_t threads[];
};

static void *worker_main(void *arg)
{
    struct workers *w = arg;

    pthread_mutex_lock(&w->lock);
    while (!w->stop || w->head) {
        struct job *job = w->head;

        if (!job) {
            pthread_cond_wait(&w->woken, &w->lock);
            continue;
        }
        w->head = job->next;
        if (!w->head)
            w->tail = NULL;
        pthread_mutex_unlock(&w->lock);
        job->run(job);
        pthread_mutex_lock(&w->lock);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

struct workers *workers_start(const char *name, int threads)
{
    struct workers *w = mem_zalloc(sizeof(*w) + (size_t)threads * sizeof(w->threads[0]));

    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->woken, NULL);
    while (w->thread_count < threads &&
           thread_start(&w->threads[w->thread_count], name, worker_main, w))
        w->thread_count++;
    if (w->thread_count)
        return w;
    workers_stop(w);
    return NULL;
}

void workers_submit(struct workers *w, struct job *job)
{
    job->next = NULL;
    pthread_mutex_lock(&w->lock);
    if (w->tail)
        w->tail->next = job;
    else
        w->head = job;
    w->tail = job;
    pthread_cond_signal(&w->woken);
    pthread_mutex_unlock(&w->lock);
}

void workers_stop(struct workers *w)
{
    if (!w)
        return;
    pthread_mutex_lock(&w->lock);
    w->stop = true;
    pthread_cond_broadcast(&w->woken);
    pthread_mutex_unlock(&w->lock);
    for (int i = 0; i < w->thread_count; i++)
        pthread_join(w->threads[i], NULL);
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->woken);
    mem_free(w);
}
