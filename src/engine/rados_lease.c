/* rados_lease.c: until when it is sure that all that was published has come to us and been done.
 *
 * The client library tells when it sent the last ping of the watch that the OSD has answered, and
 * an OSD sends what was published before it answers a ping that came later. So when an answer is
 * there, what was published until its ping was sent has come; but it may still wait in the library
 * to be handed over, and then for its done(), while the library calls the watch as fresh as the
 * ping: after a pause, or a cut of the link, both come in at once. Hence an answer counts when
 * whatever had come by then has been handed over (a flush of the library's queue) and done. */
#include "engine/rados.h"

#include "base/invariant.h"
#include "base/service.h"

#define LOOK_EVERY_US 100000
#define GAP_MS 1000 /* we did not run: pings of before tell nothing of the time since */

struct rados_lease {
    struct rados *r;
    struct service service;
    int64_t looked_ms; /* the thread's own, as the next */
    int64_t since_ms;  /* it has run since without a gap */
    /* under watch_lock */
    enum { LEASE_KNOWN, LEASE_FLUSHING, LEASE_WAITING } phase;
    int64_t known_ms;     /* what was published until then has been done */
    int64_t next_ms;      /* not LEASE_KNOWN: so will what was until then, */
    uint64_t next_number; /* LEASE_WAITING: once all are done that came no later than this one */
};

void rados_lease_advance(struct rados *r)
{
    struct rados_lease *l = r->lease;

    if (!l || l->phase != LEASE_WAITING ||
        (r->oldest_notification && r->oldest_notification <= l->next_number))
        return;
    l->phase = LEASE_KNOWN;
    if (l->next_ms > l->known_ms)
        l->known_ms = l->next_ms;
}

static void on_flushed(rados_completion_t completion, void *arg)
{
    struct rados *r = arg;
    struct rados_lease *l = r->lease;

    rados_aio_release(completion);
    pthread_mutex_lock(&r->watch_lock);
    invariant(l->phase == LEASE_FLUSHING);
    l->phase = LEASE_WAITING;
    l->next_number = r->notification_count;
    rados_lease_advance(r);
    pthread_mutex_unlock(&r->watch_lock);
    rados_release(r);
}

/* Under watch_lock. True: a ping was answered that is later than what is known. */
static bool lease_may_move(struct rados_lease *l, int64_t now_ms)
{
    struct rados *r = l->r;
    int age;

    if (!r->watch || atomic_load(&r->watch_lost))
        return false;
    age = rados_watch_check(r->pool, r->watch);
    if (age < 0)
        atomic_store(&r->watch_lost, true);
    if (age < 0 || age > now_ms - l->since_ms || now_ms - age <= l->known_ms)
        return false;
    l->next_ms = now_ms - age;
    return true;
}

static void lease_look(struct rados_lease *l)
{
    struct rados *r = l->r;
    int64_t now_ms = clock_mono_ms(r->clock);
    rados_completion_t completion;
    bool flush;

    if (now_ms - l->looked_ms > GAP_MS)
        l->since_ms = now_ms;
    l->looked_ms = now_ms;
    pthread_mutex_lock(&r->watch_lock);
    flush = l->phase == LEASE_KNOWN && lease_may_move(l, now_ms);
    if (flush)
        l->phase = LEASE_FLUSHING;
    pthread_mutex_unlock(&r->watch_lock);
    if (!flush)
        return;
    rados_aio_create_completion2(r, on_flushed, &completion);
    rados_hold(r);
    if (rados_aio_watch_flush(r->cluster, completion)) {
        pthread_mutex_lock(&r->watch_lock);
        l->phase = LEASE_KNOWN;
        pthread_mutex_unlock(&r->watch_lock);
        rados_aio_release(completion);
        rados_release(r);
    }
}

static void *lease_main(void *arg)
{
    struct rados_lease *l = arg;

    do
        lease_look(l);
    while (service_sleep(&l->service, LOOK_EVERY_US));
    return NULL;
}

struct rados_lease *rados_lease_start(struct rados *r)
{
    struct rados_lease *l = mem_zalloc(sizeof(*l));

    l->r = r;
    if (service_start(&l->service, "wr-lease", lease_main, l))
        return l;
    mem_free(l);
    return NULL;
}

void rados_lease_stop(struct rados_lease *l)
{
    if (l)
        service_stop(&l->service);
}

void rados_lease_begin(struct rados *r, int64_t at_ms)
{
    r->lease->known_ms = at_ms;
}

int64_t rados_lease_age_ms(struct engine *e)
{
    struct rados *r = PORT_CONTAINER(e, struct rados, base);
    int64_t age = INT64_MAX;

    pthread_mutex_lock(&r->watch_lock);
    if (r->watch && !atomic_load(&r->watch_lost))
        age = clock_mono_ms(r->clock) - r->lease->known_ms;
    pthread_mutex_unlock(&r->watch_lock);
    return age;
}
