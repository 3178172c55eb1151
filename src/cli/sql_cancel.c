#include "cli/sql_cancel.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>

/* A signal's handler is told nothing, so that what it works on stands here. */
static struct {
    struct sql_link *link;
    sem_t wake;
    atomic_bool asked, done;
    pthread_t thread;
    bool runs; /* the thread does */
    struct sigaction before;
} cancel;

static void on_interrupt(int sig)
{
    (void)sig;
    atomic_store(&cancel.asked, true);
    sem_post(&cancel.wake);
}

static void *wait_for_it(void *arg)
{
    (void)arg;
    for (;;) {
        while (sem_wait(&cancel.wake) && errno == EINTR) {
        }
        if (atomic_load(&cancel.done))
            return NULL;
        sql_link_kill(cancel.link);
    }
}

void sql_cancel_begin(struct sql_link *l)
{
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = SA_RESTART};

    cancel.link = l;
    atomic_store(&cancel.asked, false);
    atomic_store(&cancel.done, false);
    sem_init(&cancel.wake, 0, 0);
    cancel.runs = pthread_create(&cancel.thread, NULL, wait_for_it, NULL) == 0;
    if (cancel.runs)
        sigaction(SIGINT, &action, &cancel.before);
}

bool sql_cancel_asked(void)
{
    return atomic_load(&cancel.asked);
}

void sql_cancel_end(void)
{
    if (cancel.runs) {
        sigaction(SIGINT, &cancel.before, NULL);
        atomic_store(&cancel.done, true);
        sem_post(&cancel.wake);
        pthread_join(cancel.thread, NULL);
    }
    sem_destroy(&cancel.wake);
}
