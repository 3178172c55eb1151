/* rados_news.c: news among the processes on one pool, by watch and notify on the object of the
 * system partition.
 *
 * A notification ends when every watcher has acknowledged it, or ENGINE_TELL_MS after it was sent.
 * A process that is silent (paused, cut off, busy) keeps nobody waiting longer, for it asks before
 * it uses what it knows whether less than ENGINE_TOUCH_MS have passed, which is shorter, since its
 * watch was confirmed and since the oldest news came that it has not done.
 *
 * The watch of a process that died is taken away, and what waits for it ends, WATCH_SECONDS after
 * the process confirmed it last: just as late as what it knew has surely run out, and no later. */
#include "engine/rados.h"

#include <errno.h>

#define WATCH_SECONDS 18

_Static_assert(WATCH_SECONDS * 1000 >= ENGINE_TELL_MS, "a watch outlives what its owner knows");

struct rados_news {
    struct news base;
    struct rados *r;
    uint64_t notification, cookie;
    int64_t came_ms; /* monotonic */
    struct rados_news *before, *next;
};

static void news_add(struct rados *r, struct rados_news *n)
{
    n->came_ms = clock_mono_ms(r->clock);
    pthread_mutex_lock(&r->watch_lock);
    n->before = r->last_news;
    if (n->before)
        n->before->next = n;
    else
        r->first_news = n;
    r->last_news = n;
    pthread_mutex_unlock(&r->watch_lock);
}

static void news_remove(struct rados *r, struct rados_news *n)
{
    pthread_mutex_lock(&r->watch_lock);
    if (n->before)
        n->before->next = n->next;
    else
        r->first_news = n->next;
    if (n->next)
        n->next->before = n->before;
    else
        r->last_news = n->before;
    pthread_mutex_unlock(&r->watch_lock);
}

static void on_news(void *arg, uint64_t notification, uint64_t cookie, uint64_t from, void *data,
                    size_t len)
{
    struct rados *r = arg;
    struct rados_name name = rados_name(PARTITION_SYSTEM);
    struct rados_news *n;
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
    news_add(r, n);
    r->on_news(r->news_arg, &n->base);
}

void rados_news_done(struct engine *e, struct news *news, bytes answer)
{
    struct rados_news *n = PORT_CONTAINER(news, struct rados_news, base);
    struct rados_name name = rados_name(PARTITION_SYSTEM);

    (void)e;
    news_remove(n->r, n);
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

int rados_listen(struct ctx *c, struct engine *e, void (*on_each)(void *arg, struct news *n),
                 void *arg)
{
    struct rados *r = PORT_CONTAINER(e, struct rados, base);
    struct rados_name name = rados_name(PARTITION_SYSTEM);
    uint64_t watch;
    int result;

    rados_listen_end(r);
    if (!on_each)
        return E_OK;
    r->on_news = on_each;
    r->news_arg = arg;
    atomic_store(&r->watch_lost, false);
    result = rados_watch3(r->pool, name.text, &watch, on_news, on_lost, WATCH_SECONDS, r);
    if (result) {
        char reason[96];

        atomic_store(&r->watch_lost, true);
        return fail(c, E_UNAVAILABLE, "The pool gives no watch: %s.",
                    strerror_r(-result, reason, sizeof(reason)));
    }
    pthread_mutex_lock(&r->watch_lock);
    r->watch = watch;
    pthread_mutex_unlock(&r->watch_lock);
    return E_OK;
}

/* The watch is freed by this, so nobody else may get hold of it any more. */
void rados_listen_end(struct rados *r)
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

int64_t rados_touch_ms(struct engine *e)
{
    struct rados *r = PORT_CONTAINER(e, struct rados, base);
    int64_t waiting = 0;
    int age = -1;

    pthread_mutex_lock(&r->watch_lock);
    if (r->first_news)
        waiting = clock_mono_ms(r->clock) - r->first_news->came_ms;
    if (r->watch && !atomic_load(&r->watch_lost)) {
        age = rados_watch_check(r->pool, r->watch);
        if (age < 0)
            atomic_store(&r->watch_lost, true);
    }
    pthread_mutex_unlock(&r->watch_lock);
    if (age < 0)
        return INT64_MAX;
    return age > waiting ? age : waiting;
}

/* ---- telling and asking ---- */

/* The client library completes it, also when nobody waits any more. */
struct telling {
    struct rados *r;
    void (*told)(void *arg, int code); /* one of the two */
    void (*asked)(void *arg, const struct answers *a);
    void *arg;
    char *reply;
    size_t reply_len;
    bool ended; /* under the engine's lock: it was answered already (rados_leave) */
    struct telling *next, **at;
};

/* Who listens acknowledges, ourselves included (on_news); the others' acknowledgements may carry
 * answers. */
static void hand_over(struct telling *t)
{
    struct answers answers = {0};
    struct notify_ack_t *acks = NULL;
    struct notify_timeout_t *late = NULL;
    size_t ack_count = 0, late_count = 0;
    uint64_t self = rados_get_instance_id(t->r->cluster);
    bytes *each;

    if (!t->reply || rados_decode_notify_response(t->reply, t->reply_len, &acks, &ack_count, &late,
                                                  &late_count)) {
        t->asked(t->arg, NULL);
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
    t->asked(t->arg, &answers);
    mem_free(each);
    rados_free_notify_response(acks, ack_count, late);
}

static void list_add(struct telling *t)
{
    struct rados *r = t->r;

    t->next = r->tellings;
    t->at = &r->tellings;
    if (t->next)
        t->next->at = &t->next;
    r->tellings = t;
}

static void list_remove(struct telling *t)
{
    *t->at = t->next;
    if (t->next)
        t->next->at = t->at;
}

static void telling_free(struct telling *t)
{
    if (t->reply)
        rados_buffer_free(t->reply);
    mem_free(t);
}

static void nobody_was_told(const struct telling *t)
{
    if (t->asked)
        t->asked(t->arg, NULL);
    else
        t->told(t->arg, E_UNSURE);
}

static void on_told(rados_completion_t completion, void *arg)
{
    struct telling *t = arg;
    struct rados *r = t->r;
    int result = rados_aio_get_return_value(completion);
    bool reached = result >= 0 || result == -ETIMEDOUT, ended;

    rados_aio_release(completion);
    pthread_mutex_lock(&r->lock);
    list_remove(t);
    ended = t->ended;
    pthread_mutex_unlock(&r->lock);
    if (ended) {
        telling_free(t);
        return;
    }
    if (!reached)
        nobody_was_told(t);
    else if (t->asked)
        hand_over(t);
    else
        t->told(t->arg, result < 0 ? E_BUSY : E_OK);
    telling_free(t);
    rados_release(r);
}

/* False: this process is leaving, and nothing was begun. */
static bool telling_begin(struct telling *t)
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
static void notify(struct engine *e, bytes text, int64_t wait_ms, const struct telling *from)
{
    struct rados *r = PORT_CONTAINER(e, struct rados, base);
    struct rados_name name = rados_name(PARTITION_SYSTEM);
    struct telling *t = mem_zalloc(sizeof(*t));
    rados_completion_t completion;

    *t = *from;
    t->r = r;
    if (!telling_begin(t)) {
        nobody_was_told(t);
        mem_free(t);
        return;
    }
    rados_aio_create_completion2(t, on_told, &completion);
    if (rados_aio_notify(r->pool, name.text, completion, text.ptr, (int)text.len, (uint64_t)wait_ms,
                         &t->reply, &t->reply_len)) {
        bool ended;

        rados_aio_release(completion);
        pthread_mutex_lock(&r->lock);
        list_remove(t);
        ended = t->ended;
        pthread_mutex_unlock(&r->lock);
        if (!ended) {
            nobody_was_told(t);
            rados_release(r);
        }
        telling_free(t);
    }
}

void rados_tell(struct engine *e, bytes text, int64_t wait_ms, void (*done)(void *arg, int code),
                void *arg)
{
    notify(e, text, wait_ms, &(struct telling){.told = done, .arg = arg});
}

void rados_ask(struct engine *e, bytes text, int64_t wait_ms,
               void (*done)(void *arg, const struct answers *a), void *arg)
{
    notify(e, text, wait_ms, &(struct telling){.asked = done, .arg = arg});
}

/* ---- leaving ---- */

/* One that has not been answered, marked as that it is; NULL: there is none. It may be completed
 * and freed at any time from then on, so *copy is what to go by. */
static bool take_unanswered(struct rados *r, struct telling *copy)
{
    struct telling *t;

    pthread_mutex_lock(&r->lock);
    r->leaving = true;
    for (t = r->tellings; t && t->ended; t = t->next)
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
    struct telling copy;

    while (take_unanswered(r, &copy)) {
        nobody_was_told(&copy);
        rados_release(r);
    }
}

void rados_tellings_free(struct rados *r)
{
    while (r->tellings) {
        struct telling *t = r->tellings;

        list_remove(t);
        telling_free(t);
    }
}
