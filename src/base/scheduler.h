/* scheduler.h: work in the background, in bounded steps, on few threads.
 *
 * A task is registered once and then runs a step at a time: some milliseconds of work, after which
 * it says when it wants its next turn. Tasks of one thread run in turn, so that they never take
 * more of the processors than it; a task that may wait for another machine belongs into the thread
 * of such. Among tasks that are due the one of the highest priority runs, unless another has been
 * due for SCHEDULER_LATE_US: then the one that has waited the longest.
 *
 * All tasks share one rate of bytes, which is asked for before each turn of a task that reads or
 * writes, and counts the time that its step before took; and a thread rests after each step as long
 * as the step took, REST_BUSY times as long while requests wait, and only a part of that
 * (REST_QUIET) when there are none at all.
 *
 * A step that fails is tried again, after a pause that doubles from SCHEDULER_RETRY_US_MIN up to
 * the task's own maximum; until a step succeeds its text stands in the task's state. Times are
 * those of the monotonic clock, whatever clock the tasks look at. All functions may be called from
 * any thread.
 */
#ifndef BASE_SCHEDULER_H
#define BASE_SCHEDULER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SCHEDULER_STEP_US 20000 /* a step should take no longer */
#define SCHEDULER_LATE_US 500000
#define SCHEDULER_RETRY_US_MIN 100000
#define TASK_TEXT_BYTES 160
#define TASK_NEVER (-1) /* in task_step.next_us: not before task_wake() */

struct scheduler;
struct task;

enum task_state {
    TASK_IDLE,    /* there is nothing to do before its next turn */
    TASK_WAITING, /* there is work, and others or its rate come first */
    TASK_RUNNING,
    TASK_FAILED, /* the last step failed; it will be tried again */
};

/* Threads. TASK_LONG is for steps that may take longer than they should: that wait for other
 * machines, or have one thing to do that has no parts. TASK_AWAY is for those that wait for what is
 * not ours and may not answer at all. */
enum task_thread { TASK_SHORT, TASK_LONG, TASK_AWAY, TASK_THREADS };

/* One turn of a task. All members but `until_us` are the step's answer, and zero before. */
struct task_step {
    int64_t until_us; /* monotonic: when the step should have ended */
    bool more;        /* there is more to do at once; else the task is idle until next_us */
    int64_t next_us;  /* how long from now the next step may begin at the earliest; TASK_NEVER */
    uint64_t bytes;   /* read and written: counts against the shared rate */
    int percent;      /* of the task's round, 0 to 100; -1: not known */
    char text[TASK_TEXT_BYTES]; /* why it failed */
};

struct task_spec {
    const char *name; /* lives as long as the task */
    enum task_thread thread;
    int priority;                                  /* small numbers first */
    int (*run)(void *arg, struct task_step *step); /* not 0: it failed. task_stopping() ends it */
    void *arg;
    int64_t first_us;     /* from now to the first step; TASK_NEVER */
    int64_t retry_us_max; /* between tries after failures; 0: a minute */
};

/* What is told of a task: counts are since it was registered. */
struct task_stat {
    const char *name;
    enum task_state state;
    int percent;
    uint64_t steps, failures, bytes, busy_us;
    int64_t late_us_max;        /* the longest that it was due before its step began */
    int64_t last_us;            /* monotonic: when its last step ended; 0: none yet */
    char text[TASK_TEXT_BYTES]; /* of the last failure; empty once a step succeeded */
};

struct scheduler_conf {
    int64_t (*bytes_per_s)(void *arg); /* the shared rate; 0: any. Any thread, cheap */
    bool (*busy)(void *arg);           /* requests wait for a processor. Any thread, cheap */
    bool (*quiet)(void *arg);          /* there are no requests at all; NULL: that is not known */
    void *arg;
};

struct scheduler *scheduler_new(const struct scheduler_conf *conf);

/* The task lives as long as the scheduler. NULL: the system gives no thread for it. */
struct task *scheduler_add(struct scheduler *s, const struct task_spec *spec);

/* Its next step may begin now, unless it has failed and its pause is not over. NULL is allowed, and
 * so are tasks of a scheduler that was stopped. */
void task_wake(struct task *t);

/* True: the step should end now, whatever it has left. Cheap enough to ask for every row. */
bool scheduler_stopping(const struct scheduler *s); /* NULL: false */

/* Ends all: waits for the steps under way. After that tasks may still be asked and woken. */
void scheduler_stop(struct scheduler *s);
void scheduler_free(struct scheduler *s); /* stopped, or NULL */

/* Up to `max` tasks, in the order of their registration. Returns how many there are. */
size_t scheduler_stat(struct scheduler *s, struct task_stat *out, size_t max);

const char *task_state_name(enum task_state state);

#endif
