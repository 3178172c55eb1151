/* rados_bus.c: notifications among the processes on one pool, by watch and notify on the object of
 * the system partition.
 *
 * A notification ends when every watcher has acknowledged it, or ENGINE_PUBLISH_MS after it was
 * sent. A process that is silent (paused, cut off, busy) keeps nobody waiting longer, for before it
 * uses what it knows it asks whether less than ENGINE_LEASE_MS have passed, which is shorter, since
 * it has surely done all that was published (rados_lease.c).
 *
 * The watch of a process that died is taken away, and what waits for it ends, WATCH_SECONDS after
 * the process confirmed it last: just as late as its lease has surely run out, and no later. */
#include "engine/rados.h"

#include <errno.h>

#define WATCH_SECONDS 18

_Static_assert(WATCH_SECONDS * 1000 >= ENGINE_PUBLISH_MS, "a watch outlives what its owner knows");

struct rados_notification {
    struct notification base;
    struct rados *r;
    uint64_t notification, cookie;
    uint64_t number; /* in the order in which they came, from 1 */
    struct rados_notification *before, *next;
};

static void notification_add(struct rados *r, struct rados_notification *n)
{
    pthread_mutex_lock(&r->watch_lock);
    n->number = ++r->notification_count;
    n->before = r->last_notification;
    if (n->before)
        n->before->next = n;
    else
        r->first_notification = n;
    r->last_notification = n;
    r->oldest_notification = r->first_notification->number;
    pthread_mutex_unlock(&r->watch_lock);
}

static void notification_remove(struct rados *r, struct rados_notification *n)
{
    pthread_mutex_lock(&r->watch_lock);
    if (n->before)
        n->before->next = n->next;
    else
        r->first_notification = n->next;
    if (n->next)
        n->next->before = n->before;
    else
        r->last_notification = n->before;
    r->oldest_notification = r->first_notification ? r->first_notification->number : 0;
    rados_lease_advance(r);
    pthread_mutex_unlock(&r->watch_lock);
}

static void on_notification(void *arg, uint64_t notification, uint64_t cookie, uint64_t from,
                            void *data, size_t len)
{
    struct rados *r = arg;
    struct rados_name name = rados_name(PARTITION_SYSTEM);
    struct rados_notification *n;
    uint8_t *text;

    if (from == rados_get_instance_id(r->cluster)) {
        rados_notify_ack(r->pool, name.text, notification, cookie, NULL, 0);
        return;
    }
    n = mem_zalloc(sizeof(*n) + len);
    text = (uint8_t *)n + sizeof(*n);
    if (len)
        memcpy(text, data, len);
    n->base.text = bytes_of(text, len);
    n->r = r;
    n->notification = notification;
    n->cookie = cookie;
    rados_hold(r);
    notification_add(r, n);
    r->on_notification(r->notification_arg, &n->base);
}

void rados_notification_done(struct engine *e, struct notification *base, bytes answer)
{
    struct rados_notification *n = PORT_CONTAINER(base, struct rados_notification, base);
    struct rados_name name = rados_name(PARTITION_SYSTEM);

    (void)e;
    notification_remove(n->r, n);
    rados_notify_ack(n->r->pool, name.text, n->notification, n->cookie, answer.ptr,
                     (int)answer.len);
    rados_release(n->r);
    mem_free(n);
}

static void on_lost(void *arg, uint64_t cookie, int error)
{
    struct rados *r = arg;

    (void)cookie;
    (void)error;
    atomic_store(&r->watch_lost, true);
}

int rados_subscribe(struct ctx *c, struct engine *e,
                    void (*on_each)(void *arg, struct notification *n), void *arg)
{
    struct rados *r = PORT_CONTAINER(e, struct rados, base);
    struct rados_name name = rados_name(PARTITION_SYSTEM);
    int64_t now_ms = clock_mono_ms(r->clock);
    uint64_t watch;
    int result;

    rados_unsubscribe(r);
    if (!on_each)
        return E_OK;
    if (!r->lease)
        return fail(c, E_UNAVAILABLE, "The system gives no thread to follow the pool's watch.");
    r->on_notification = on_each;
    r->notification_arg = arg;
    atomic_store(&r->watch_lost, false);
    result = rados_watch3(r->pool, name.text, &watch, on_notification, on_lost, WATCH_SECONDS, r);
    if (result) {
        char reason[96];

        atomic_store(&r->watch_lost, true);
        return fail(c, E_UNAVAILABLE, "The pool gives no watch: %s.",
                    strerror_r(-result, reason, sizeof(reason)));
    }
    pthread_mutex_lock(&r->watch_lock);
    r->watch = watch;
    rados_lease_begin(r, now_ms);
    pthread_mutex_unlock(&r->watch_lock);
    return E_OK;
}

/* The watch is freed by this, so nobody else may get hold of it any more. */
void rados_unsubscribe(struct rados *r)
{
    uint64_t watch;

    pthread_mutex_lock(&r->watch_lock);
    watch = r->watch;
    r->watch = 0;
    pthread_mutex_unlock(&r->watch_lock);
    if (!watch)
        return;
    rados_unwatch2(r->pool, watch);
    rados_watch_flush(r->cluster);
}

/* ---- publishing and querying ---- */

/* The client library completes it, also when nobody waits any more. */
struct publication {
    struct rados *r;
    void (*published)(void *arg, int code); /* one of the two */
    void (*answered)(void *arg, const struct answers *a);
    void *arg;
    char *reply;
    size_t reply_len;
    bool ended; /* under the engine's lock: it was answered already (rados_leave) */
    struct publication *next, **at;
};

/* Each subscriber acknowledges, ourselves included (on_notification); the others' acknowledgements
 * may carry answers. */
static void hand_over(struct publication *t)
{
    struct answers answers = {0};
    struct notify_ack_t *acks = NULL;
    struct notify_timeout_t *late = NULL;
    size_t ack_count = 0, late_count = 0;
    uint64_t self = rados_get_instance_id(t->r->cluster);
    bytes *each;

    if (!t->reply || rados_decode_notify_response(t->reply, t->reply_len, &acks, &ack_count, &late,
                                                  &late_count)) {
        t->answered(t->arg, NULL);
        return;
    }
    each = mem_zalloc((ack_count + 1) * sizeof(*each));
    for (size_t i = 0; i < ack_count; i++)
        if (acks[i].payload_len)
            each[answers.count++] = bytes_of(acks[i].payload, acks[i].payload_len);
        else
            answers.silent += acks[i].notifier_id != self;
    for (size_t i = 0; i < late_count; i++)
        answers.silent += late[i].notifier_id != self;
    answers.each = each;
    t->answered(t->arg, &answers);
    mem_free(each);
    rados_free_notify_response(acks, ack_count, late);
}

static void list_add(struct publication *t)
{
    struct rados *r = t->r;

    t->next = r->publications;
    t->at = &r->publications;
    if (t->next)
        t->next->at = &t->next;
    r->publications = t;
}

static void list_remove(struct publication *t)
{
    *t->at = t->next;
    if (t->next)
        t->next->at = t->at;
}

static void publication_free(struct publication *t)
{
    if (t->reply)
        rados_buffer_free(t->reply);
    mem_free(t);
}

static void nobody_was_reached(const struct publication *t)
{
    if (t->answered)
        t->answered(t->arg, NULL);
    else
        t->published(t->arg, E_UNSURE);
}

static void on_published(rados_completion_t completion, void *arg)
{
    struct publication *t = arg;
    struct rados *r = t->r;
    int result = rados_aio_get_return_value(completion);
    /* Some were silent for so long: the reply names them. Without one the OSD never answered. */
    bool reached = result >= 0 || (result == -ETIMEDOUT && t->reply), ended;

    rados_aio_release(completion);
    pthread_mutex_lock(&r->lock);
    list_remove(t);
    ended = t->ended;
    pthread_mutex_unlock(&r->lock);
    if (ended) {
        publication_free(t);
        return;
    }
    if (!reached)
        nobody_was_reached(t);
    else if (t->answered)
        hand_over(t);
    else
        t->published(t->arg, result < 0 ? E_BUSY : E_OK);
    publication_free(t);
    rados_release(r);
}

/* False: this process is leaving, and nothing was begun. */
static bool publication_begin(struct publication *t)
{
    struct rados *r = t->r;
    bool leaving;

    pthread_mutex_lock(&r->lock);
    leaving = r->leaving;
    if (!leaving) {
        list_add(t);
        r->under_way++;
    }
    pthread_mutex_unlock(&r->lock);
    return !leaving;
}

/* Takes over a copy of `from`. */
static void notify(struct engine *e, bytes text, int64_t wait_ms, const struct publication *from)
{
    struct rados *r = PORT_CONTAINER(e, struct rados, base);
    struct rados_name name = rados_name(PARTITION_SYSTEM);
    struct publication *t = mem_zalloc(sizeof(*t));
    rados_completion_t completion;

    *t = *from;
    t->r = r;
    if (!publication_begin(t)) {
        nobody_was_reached(t);
        mem_free(t);
        return;
    }
    rados_aio_create_completion2(t, on_published, &completion);
    if (rados_aio_notify(r->pool, name.text, completion, text.ptr, (int)text.len, (uint64_t)wait_ms,
                         &t->reply, &t->reply_len)) {
        bool ended;

        rados_aio_release(completion);
        pthread_mutex_lock(&r->lock);
        list_remove(t);
        ended = t->ended;
        pthread_mutex_unlock(&r->lock);
        if (!ended) {
            nobody_was_reached(t);
            rados_release(r);
        }
        publication_free(t);
    }
}

void rados_publish(struct engine *e, bytes text, int64_t wait_ms, void (*done)(void *arg, int code),
                   void *arg)
{
    notify(e, text, wait_ms, &(struct publication){.published = done, .arg = arg});
}

void rados_query(struct engine *e, bytes text, int64_t wait_ms,
                 void (*done)(void *arg, const struct answers *a), void *arg)
{
    notify(e, text, wait_ms, &(struct publication){.answered = done, .arg = arg});
}

/* ---- leaving ---- */

/* One that has not been answered, marked as that it is; NULL: there is none. It may be completed
 * and freed at any time from then on, so *copy is what to go by. */
static bool take_unanswered(struct rados *r, struct publication *copy)
{
    struct publication *t;

    pthread_mutex_lock(&r->lock);
    r->leaving = true;
    for (t = r->publications; t && t->ended; t = t->next)
        ;
    if (t) {
        t->ended = true;
        *copy = *t;
    }
    pthread_mutex_unlock(&r->lock);
    return t != NULL;
}

/* The client library never completes a notification that is under way when it is shut down, and
 * keeps what it had allocated for it (some 6 KB). */
void rados_leave(struct engine *e)
{
    struct rados *r = PORT_CONTAINER(e, struct rados, base);
    struct publication copy;

    while (take_unanswered(r, &copy)) {
        nobody_was_reached(&copy);
        rados_release(r);
    }
}

void rados_publications_free(struct rados *r)
{
    while (r->publications) {
        struct publication *t = r->publications;

        list_remove(t);
        publication_free(t);
    }
}
