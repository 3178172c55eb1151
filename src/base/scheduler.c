#include "base/scheduler.h"

#include "base/arena.h"
#include "base/thread.h"

#include <stdatomic.h>
#include <stdio.h>

#define REST_BUSY 4          /* times as long as a step took, while requests wait */
#define REST_QUIET 4         /* a step took so many times as long, when there are no requests */
#define REST_US_MAX 200000   /* however long a step took */
#define RATE_BURST_US 100000 /* so much of the rate may be used late */
#define RETRY_US_MAX 60000000ll

struct task {
    struct scheduler *scheduler;
    struct task_spec spec;
    struct task_stat stat;
    int64_t due_us;  /* monotonic; INT64_MAX: when it is woken */
    unsigned failed; /* steps in a row */
    bool woken;      /* while it ran */
    bool moves;      /* its last step read or wrote: the shared rate is for such */
    struct task *next;
};

struct task_runner {
    struct scheduler *scheduler;
    enum task_thread id;
    bool started;
    pthread_t thread;
    pthread_cond_t woken;
    int64_t rested_us; /* until then nothing is run */
};

struct scheduler {
    struct scheduler_conf conf;
    pthread_mutex_t lock;
    atomic_bool stop;
    int64_t paid_us; /* what was read and written is within the rate until then */
    struct task *tasks;
    struct task_runner runners[TASK_THREADS];
};

static int64_t now_us(void)
{
    struct timespec t = thread_time_in(0);

    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* ---- whose turn it is */

/* When the task's next step may begin. */
static int64_t task_ready_us(const struct scheduler *s, const struct task *t)
{
    return t->moves && t->due_us != INT64_MAX ? later(t->due_us, s->paid_us) : t->due_us;
}

static bool is_before(const struct scheduler *s, const struct task *a, const struct task *b,
                      int64_t now)
{
    int64_t a_us = task_ready_us(s, a), b_us = task_ready_us(s, b);
    bool a_late = now - a_us > SCHEDULER_LATE_US, b_late = now - b_us > SCHEDULER_LATE_US;

    if (a_late != b_late)
        return a_late;
    return !a_late && a->spec.priority != b->spec.priority ? a->spec.priority < b->spec.priority
                                                           : a_us < b_us;
}

/* The task of the thread that is to run now; NULL: none, and *next_us is when one will be. */
static struct task *choose(const struct task_runner *l, int64_t now, int64_t *next_us)
{
    const struct scheduler *s = l->scheduler;
    struct task *best = NULL;

    *next_us = INT64_MAX;
    for (struct task *t = s->tasks; t; t = t->next) {
        int64_t ready_us = task_ready_us(s, t);

        if (t->spec.thread != l->id)
            continue;
        if (ready_us > now)
            *next_us = ready_us < *next_us ? ready_us : *next_us;
        else if (!best || is_before(s, t, best, now))
            best = t;
    }
    return best;
}

/* ---- a step */

static int64_t retry_us(const struct task *t)
{
    int64_t max = t->spec.retry_us_max ? t->spec.retry_us_max : RETRY_US_MAX;
    int64_t us = SCHEDULER_RETRY_US_MIN << (t->failed < 20 ? t->failed - 1 : 19);

    return us < max ? us : max;
}

/* Under the lock. */
static void step_failed(struct task *t, const struct task_step *step, int64_t now)
{
    t->failed++;
    t->stat.failures++;
    t->stat.state = TASK_FAILED;
    snprintf(t->stat.text, sizeof(t->stat.text), "%s", step->text[0] ? step->text : "failed");
    t->due_us = now + retry_us(t);
}

static void step_passed(struct task *t, const struct task_step *step, int64_t now)
{
    t->failed = 0;
    t->stat.text[0] = 0;
    t->stat.state = step->more ? TASK_WAITING : TASK_IDLE;
    t->due_us = t->woken ? now : step->next_us < 0 ? INT64_MAX : now + step->next_us;
}

/* What the step moved is paid for with time that no such step begins in, from its own beginning on:
 * one that is slower than the rate has paid when it ends. */
static void pay(struct scheduler *s, uint64_t size, int64_t start)
{
    int64_t rate = size ? s->conf.bytes_per_s(s->conf.arg) : 0;

    if (rate > 0)
        s->paid_us =
            later(s->paid_us, start - RATE_BURST_US) + (int64_t)((double)size * 1e6 / (double)rate);
}

static int64_t rest_us(const struct scheduler *s, int64_t took_us)
{
    int64_t us = s->conf.busy(s->conf.arg)    ? took_us * REST_BUSY
                 : s->conf.quiet(s->conf.arg) ? took_us / REST_QUIET
                                              : took_us;

    return us < REST_US_MAX ? us : REST_US_MAX;
}

/* Under the lock, which is not held meanwhile. */
static void run(struct task_runner *l, struct task *t, int64_t start)
{
    struct scheduler *s = l->scheduler;
    struct task_step step = {.until_us = start + SCHEDULER_STEP_US, .percent = -1};
    int64_t end, rest;
    int code;

    t->stat.late_us_max = later(t->stat.late_us_max, start - task_ready_us(s, t));
    t->stat.state = TASK_RUNNING;
    t->due_us = INT64_MAX;
    t->woken = false;
    pthread_mutex_unlock(&s->lock);
    code = t->spec.run(t->spec.arg, &step);
    end = now_us();
    rest = rest_us(s, end - start);
    pthread_mutex_lock(&s->lock);
    t->stat.steps++;
    t->stat.bytes += step.bytes;
    t->stat.busy_us += (uint64_t)(end - start);
    t->stat.last_us = end;
    t->stat.percent = step.percent;
    t->moves = step.bytes > 0;
    if (code)
        step_failed(t, &step, end);
    else
        step_passed(t, &step, end);
    pay(s, step.bytes, start);
    l->rested_us = end + rest;
}

static void wait_until(struct task_runner *l, int64_t us, int64_t now)
{
    struct timespec until = thread_time_in(us - now);

    if (us == INT64_MAX)
        pthread_cond_wait(&l->woken, &l->scheduler->lock);
    else
        pthread_cond_timedwait(&l->woken, &l->scheduler->lock, &until);
}

static void *runner_main(void *arg)
{
    struct task_runner *l = arg;
    struct scheduler *s = l->scheduler;

    pthread_mutex_lock(&s->lock);
    while (!atomic_load(&s->stop)) {
        int64_t now = now_us(), next_us = l->rested_us;
        struct task *t = next_us > now ? NULL : choose(l, now, &next_us);

        if (t)
            run(l, t, now);
        else
            wait_until(l, next_us, now);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* ---- the scheduler */

static int64_t any_rate(void *arg)
{
    (void)arg;
    return 0;
}

static bool never(void *arg)
{
    (void)arg;
    return false;
}

struct scheduler *scheduler_new(const struct scheduler_conf *conf)
{
    struct scheduler *s = mem_zalloc(sizeof(*s));

    s->conf = *conf;
    if (!s->conf.bytes_per_s)
        s->conf.bytes_per_s = any_rate;
    if (!s->conf.busy)
        s->conf.busy = never;
    if (!s->conf.quiet)
        s->conf.quiet = never;
    pthread_mutex_init(&s->lock, NULL);
    for (int i = 0; i < TASK_THREADS; i++) {
        s->runners[i].scheduler = s;
        s->runners[i].id = (enum task_thread)i;
        thread_cond_init(&s->runners[i].woken);
    }
    return s;
}

/* Under the lock, which the new thread waits for. */
static bool runner_start(struct task_runner *l)
{
    static const char *const names[TASK_THREADS] = {"wr-background", "wr-backgr-long",
                                                    "wr-backgr-away"};

    if (!l->started)
        l->started = thread_start(&l->thread, names[l->id], runner_main, l);
    return l->started;
}

struct task *scheduler_add(struct scheduler *s, const struct task_spec *spec)
{
    struct task_runner *l = &s->runners[spec->thread];
    struct task *t = NULL, **at = &s->tasks;

    pthread_mutex_lock(&s->lock);
    if (runner_start(l)) {
        t = mem_zalloc(sizeof(*t));
        t->scheduler = s;
        t->spec = *spec;
        t->stat.name = spec->name;
        t->stat.percent = -1;
        t->due_us = spec->first_us < 0 ? INT64_MAX : now_us() + spec->first_us;
        while (*at)
            at = &(*at)->next;
        *at = t;
        pthread_cond_signal(&l->woken);
    }
    pthread_mutex_unlock(&s->lock);
    return t;
}

void task_wake(struct task *t)
{
    struct scheduler *s;

    if (!t)
        return;
    s = t->scheduler;
    pthread_mutex_lock(&s->lock);
    t->woken = true;
    if (t->stat.state != TASK_RUNNING && t->stat.state != TASK_FAILED) {
        int64_t now = now_us();

        if (t->due_us > now)
            t->due_us = now;
        pthread_cond_signal(&s->runners[t->spec.thread].woken);
    }
    pthread_mutex_unlock(&s->lock);
}

bool scheduler_stopping(const struct scheduler *s)
{
    return s && atomic_load_explicit(&s->stop, memory_order_relaxed);
}

void scheduler_stop(struct scheduler *s)
{
    if (!s)
        return;
    pthread_mutex_lock(&s->lock);
    atomic_store(&s->stop, true);
    for (int i = 0; i < TASK_THREADS; i++)
        pthread_cond_signal(&s->runners[i].woken);
    pthread_mutex_unlock(&s->lock);
    for (int i = 0; i < TASK_THREADS; i++)
        if (s->runners[i].started)
            pthread_join(s->runners[i].thread, NULL);
}

void scheduler_free(struct scheduler *s)
{
    if (!s)
        return;
    for (struct task *t = s->tasks, *next; t; t = next) {
        next = t->next;
        mem_free(t);
    }
    for (int i = 0; i < TASK_THREADS; i++)
        pthread_cond_destroy(&s->runners[i].woken);
    pthread_mutex_destroy(&s->lock);
    mem_free(s);
}

size_t scheduler_stat(struct scheduler *s, struct task_stat *out, size_t max)
{
    size_t n = 0;

    if (!s)
        return 0;
    pthread_mutex_lock(&s->lock);
    for (const struct task *t = s->tasks; t; t = t->next, n++) {
        if (n >= max)
            continue;
        out[n] = t->stat;
        if (t->stat.state == TASK_IDLE && t->due_us <= now_us())
            out[n].state = TASK_WAITING; /* for the others' steps */
    }
    pthread_mutex_unlock(&s->lock);
    return n;
}

const char *task_state_name(enum task_state state)
{
    static const char *const names[] = {"idle", "waiting", "running", "failed"};

    return names[state];
}
