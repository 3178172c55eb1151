/* rocks_fail.c: how a failure of storage is told, and how threads of the engine sleep until it is
 * closed. What follows a failure is rocks_recovery.c. */
#include "engine/rocks.h"

#include <errno.h>
#include <stdio.h>

/* From now on nothing is acknowledged; the recovery thread reopens. The first reason stays. */
void rocks_fail(struct rocks *r, int code, const char *what, const char *text)
{
    int none = 0;

    /* What the medium refuses to give counts as damage, too. */
    if (code == E_CORRUPT || (code == E_UNAVAILABLE && strstr(text, strerror(EIO))))
        rocks_damage_note(r, text);
    pthread_mutex_lock(&r->lock);
    if (atomic_compare_exchange_strong(&r->failed, &none,
                                       code == E_NO_SPACE ? E_NO_SPACE : E_UNAVAILABLE)) {
        snprintf(r->reason, sizeof(r->reason), "%s%s: %s",
                 code == E_NO_SPACE ? "the disk is full (writes go on by themselves when it has "
                                      "space again): "
                                    : "",
                 what, text);
        log_error(r->log, "storage: %s: %s; no write is acknowledged until it is open again", what,
                  text);
        pthread_cond_broadcast(&r->wake);
    }
    pthread_mutex_unlock(&r->lock);
}

void rocks_sleep_us(int64_t us)
{
    struct timespec ts = {us / 1000000, us % 1000000 * 1000};

    nanosleep(&ts, NULL);
}

bool rocks_pause(struct rocks *r, int ms)
{
    struct timespec until = thread_time_in(ms * (int64_t)1000);
    bool closing;

    pthread_mutex_lock(&r->lock);
    while (!r->closing && pthread_cond_timedwait(&r->wake, &r->lock, &until) == 0)
        ;
    closing = r->closing;
    pthread_mutex_unlock(&r->lock);
    return !closing;
}

bool rocks_closing(struct rocks *r)
{
    bool closing;

    pthread_mutex_lock(&r->lock);
    closing = r->closing;
    pthread_mutex_unlock(&r->lock);
    return closing;
}
