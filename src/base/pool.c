#include "base/pool.h"

#include "base/port.h"
#include "base/thread.h"

#include <assert.h>
#include <sched.h>
#include <stdatomic.h>

#define CHARGE_FACTOR 5        /* a fifth of a thread's time is free */
#define CHARGE_BURST_US 100000 /* and so much more, times the share, at once */

/* The jobs of one client. A queue is in the ring if it has a job that may run. */
struct client_queue {
    struct pool_job *head, *tail;
    struct pool_job *last_head, *last_tail; /* those that give way */
    atomic_int running;                     /* written under the lock, read without */
    bool in_ring;
    struct client_queue *next;
    _Atomic int64_t paid_us; /* monotonic: the time until which what it took has been paid for */
};

struct pool {
    pthread_mutex_t lock; /* of all below but paid_us */
    pthread_cond_t woken;
    struct pool_job *urgent_head, *urgent_tail;
    struct client_queue *ring_head, *ring_tail;
    struct pool_conf conf;
    int running_max;      /* of one client */
    size_t idle;          /* threads that wait for a job */
    bool called;          /* one of those that wait for a disk was woken, and has not come yet */
    atomic_size_t waking; /* submitters that have yet to wake threads */
    bool stop;
    struct client_queue queues[POOL_QUEUES];
    int thread_count;
    pthread_t threads[];
};

/* Not zero at first, so that it is a part of the file: of a program whose only thread-local memory
 * is not, Debian 12's linker may begin the pages that become read-only in front of all that are
 * mapped, and then it does not start ("cannot apply additional memory protection"). */
enum { ELSEWHERE = 1, HERE };
static _Thread_local uint8_t place = ELSEWHERE;

bool pool_here(void)
{
    return place == HERE;
}

static void *worker_main(void *arg);

static struct client_queue *queue_of(struct pool *p, uint64_t client)
{
    return &p->queues[client * 0x9E3779B97F4A7C15ull >> 56];
}

_Static_assert(POOL_QUEUES == 256, "queue_of() takes eight bits");

static void list_put(struct pool_job **head, struct pool_job **tail, struct pool_job *job)
{
    job->next = NULL;
    if (*head)
        (*tail)->next = job;
    else
        *head = job;
    *tail = job;
}

static struct pool_job *list_take(struct pool_job **head)
{
    struct pool_job *job = *head;

    *head = job->next;
    return job;
}

/* Under the lock: nobody else writes it. */
static void running_add(struct client_queue *l, int n)
{
    int running = atomic_load_explicit(&l->running, memory_order_relaxed);

    atomic_store_explicit(&l->running, running + n, memory_order_relaxed);
}

static bool has_job(const struct client_queue *l)
{
    return l->head || l->last_head;
}

/* Is it the turn of a job that gives way? */
static bool is_last_due(const struct pool *p, const struct client_queue *l)
{
    return l->last_head && (!l->head || l->last_head->until_us <= clock_mono_us(p->conf.clock));
}

/* The next part of the client's first job; what is left of that one goes to the end of the line. */
static struct pool_job *queue_take(const struct pool *p, struct client_queue *l)
{
    struct pool_job *job;

    if (PORT_UNLIKELY(is_last_due(p, l)))
        return list_take(&l->last_head);
    job = list_take(&l->head);
    assert(job->turns);
    if (--job->turns)
        list_put(&l->head, &l->tail, job);
    return job;
}

/* Puts a queue that may run behind all others. */
static void ring_put(struct pool *p, struct client_queue *l)
{
    if (l->in_ring || !has_job(l) || l->running >= p->running_max)
        return;
    l->in_ring = true;
    l->next = NULL;
    if (p->ring_head)
        p->ring_tail->next = l;
    else
        p->ring_head = l;
    p->ring_tail = l;
}

/* The next job and its queue (NULL: an urgent one); NULL: none may run. */
static struct pool_job *next_job(struct pool *p, struct client_queue **queue)
{
    struct client_queue *l = p->ring_head;

    *queue = NULL;
    if (p->urgent_head)
        return list_take(&p->urgent_head);
    if (!l)
        return NULL;
    p->ring_head = l->next;
    l->in_ring = false;
    *queue = l;
    running_add(l, 1);
    assert(has_job(l) && l->running <= p->running_max);
    return queue_take(p, l);
}

static bool has_jobs(const struct pool *p)
{
    for (int i = 0; i < POOL_QUEUES; i++)
        if (has_job(&p->queues[i]) || p->queues[i].running)
            return true;
    return p->urgent_head != NULL;
}

/* False: the system gives none. Under the lock, or before anybody else knows of the pool. */
static bool thread_more(struct pool *p)
{
    bool started = thread_start(&p->threads[p->thread_count], p->conf.name, worker_main, p);

    p->thread_count += started;
    return started;
}

/* Under the lock, by a thread that waits for a disk and has taken a job: the next job has a thread,
 * too. True: one is to be woken for it. New ones are started here and not by who submits, whose
 * priority they would inherit. */
static bool call_next(struct pool *p)
{
    if (!p->conf.wait)
        return false;
    if (!p->idle) {
        if (!p->stop && p->thread_count < p->conf.threads)
            thread_more(p);
        return false;
    }
    if (p->called || !(p->urgent_head || p->ring_head))
        return false;
    p->called = true;
    return true;
}

static void *worker_main(void *arg)
{
    struct pool *p = arg;
    struct client_queue *queue;
    bool call;

    place = p->conf.wait ? ELSEWHERE : HERE;
    if (p->conf.background)
        thread_background();
    pthread_mutex_lock(&p->lock);
    for (;;) {
        struct pool_job *job = next_job(p, &queue);

        if (!job) {
            if (p->stop && !has_jobs(p))
                break;
            p->idle++;
            pthread_cond_wait(&p->woken, &p->lock);
            p->idle--;
            p->called = false;
            continue;
        }
        if (queue)
            ring_put(p, queue); /* another thread may take its next one */
        call = call_next(p);
        pthread_mutex_unlock(&p->lock);
        if (call)
            pthread_cond_signal(&p->woken);
        job->run(job);
        pthread_mutex_lock(&p->lock);
        if (queue) {
            running_add(queue, -1);
            ring_put(p, queue);
        }
        if (p->stop)
            pthread_cond_broadcast(&p->woken);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

struct pool *pool_start(const struct pool_conf *conf)
{
    struct pool *p = mem_zalloc(sizeof(*p) + (size_t)conf->threads * sizeof(p->threads[0]));
    int at_once = conf->wait ? 1 : conf->threads;

    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->woken, NULL);
    p->conf = *conf;
    p->running_max = conf->threads > 1 ? conf->threads - 1 : 1;
    while (p->thread_count < at_once && thread_more(p))
        ;
    if (p->thread_count)
        return p;
    pool_stop(p);
    return NULL;
}

/* Under the lock: `turns` more parts are queued. Says how many threads are to be woken. Those that
 * wait for a disk call each other (call_next()): while one is on its way, another that is done with
 * its read may take what comes, and nobody had to be woken for it. Only parts, which are there all
 * at once, are not to wait for that. */
static size_t count_woken(struct pool *p, size_t turns)
{
    size_t woken = turns < p->idle ? turns : p->idle;

    if (!p->conf.wait || turns > 1 || !woken)
        return woken;
    if (p->called)
        return 0;
    p->called = true;
    return 1;
}

/* Which of a queue's two lists; of the urgent, that have no queue, there is one. */
enum list { IN_TURN, LAST };

static void put(struct pool *p, struct client_queue *l, struct pool_job *job, enum list list)
{
    if (!l) {
        list_put(&p->urgent_head, &p->urgent_tail, job);
        return;
    }
    if (list == LAST)
        list_put(&l->last_head, &l->last_tail, job);
    else
        list_put(&l->head, &l->tail, job);
    ring_put(p, l);
}

/* Threads are woken without the lock, which each of them wants first. */
static void submit(struct pool *p, struct client_queue *l, struct pool_job *job, enum list list,
                   size_t turns)
{
    size_t woken;

    pthread_mutex_lock(&p->lock);
    put(p, l, job, list);
    woken = count_woken(p, turns);
    atomic_fetch_add_explicit(&p->waking, 1, memory_order_relaxed);
    pthread_mutex_unlock(&p->lock);
    while (woken--)
        pthread_cond_signal(&p->woken);
    atomic_fetch_sub_explicit(&p->waking, 1, memory_order_release);
}

void pool_submit(struct pool *p, uint64_t client, struct pool_job *job, bool urgent)
{
    job->turns = 1;
    submit(p, urgent ? NULL : queue_of(p, client), job, IN_TURN, 1);
}

void pool_submit_last(struct pool *p, uint64_t client, struct pool_job *job, int64_t patience_us)
{
    job->turns = 1;
    job->until_us = clock_mono_us(p->conf.clock) + patience_us;
    submit(p, queue_of(p, client), job, LAST, 1);
}

void pool_submit_parts(struct pool *p, uint64_t client, struct pool_job *job, size_t turns)
{
    assert(turns);
    job->turns = turns;
    submit(p, queue_of(p, client), job, IN_TURN, turns);
}

bool pool_takes(struct pool *p, uint64_t client)
{
    return atomic_load_explicit(&queue_of(p, client)->running, memory_order_relaxed) <
           p->running_max;
}

bool pool_waiting(struct pool *p)
{
    bool waiting;

    pthread_mutex_lock(&p->lock);
    waiting = p->urgent_head || p->ring_head;
    pthread_mutex_unlock(&p->lock);
    return waiting;
}

void pool_stop(struct pool *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    p->stop = true;
    pthread_cond_broadcast(&p->woken);
    pthread_mutex_unlock(&p->lock);
    for (int i = 0; i < p->thread_count; i++)
        pthread_join(p->threads[i], NULL);
    while (atomic_load_explicit(&p->waking, memory_order_acquire))
        sched_yield(); /* its job may have run before its submitter got so far */
    pthread_mutex_destroy(&p->lock);
    pthread_cond_destroy(&p->woken);
    mem_free(p);
}

/* ---- the account ---- */

void pool_charge(struct pool *p, uint64_t client, int64_t us, int64_t now_us)
{
    struct client_queue *l = queue_of(p, client);
    int64_t paid = atomic_load_explicit(&l->paid_us, memory_order_relaxed), next;

    do
        next = (paid > now_us ? paid : now_us) + us * CHARGE_FACTOR;
    while (!atomic_compare_exchange_weak_explicit(&l->paid_us, &paid, next, memory_order_relaxed,
                                                  memory_order_relaxed));
}

bool pool_has_credit(struct pool *p, uint64_t client, int64_t now_us)
{
    return atomic_load_explicit(&queue_of(p, client)->paid_us, memory_order_relaxed) <
           now_us + CHARGE_BURST_US;
}
