/* The scheduler of background work. No test asserts that something happens within a time: what is
 * to happen is waited for; what must not happen early is measured. */
#include "base/scheduler.h"

#include "base/arena.h"
#include "base/thread.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#define SLOW_US 30000

static int64_t now_us(void)
{
    struct timespec t = thread_time_in(0);

    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* A task that does as it is told. */
struct worker {
    struct scheduler *s;
    struct task *task;
    atomic_int steps;
    atomic_int fails;    /* so many of its next steps */
    atomic_bool endless; /* a step lasts until it is time to stop */
    int64_t lasts_us, next_us;
    bool more;
    uint64_t bytes;
    const struct worker *other; /* whose steps are counted between ours */
    int other_then, other_max;
    int64_t starts[16], ends[16]; /* of the first steps */
};

static int step(void *arg, struct task_step *out)
{
    struct worker *w = arg;
    int n = atomic_load(&w->steps), others = w->other ? atomic_load(&w->other->steps) : 0;

    if (n < 16)
        w->starts[n] = now_us();
    if (w->other && n && others - w->other_then > w->other_max)
        w->other_max = others - w->other_then;
    w->other_then = others;
    usleep((useconds_t)w->lasts_us);
    while (atomic_load(&w->endless) && !scheduler_stopping(w->s))
        usleep(1000);
    out->more = w->more;
    out->next_us = w->next_us;
    out->bytes = w->bytes;
    out->percent = 40;
    if (n < 16)
        w->ends[n] = now_us();
    atomic_fetch_add(&w->steps, 1);
    if (atomic_load(&w->fails) <= 0)
        return 0;
    atomic_fetch_sub(&w->fails, 1);
    snprintf(out->text, sizeof(out->text), "the disk is full");
    return 7;
}

static void add(struct scheduler *s, struct worker *w, const char *name, enum task_thread thread,
                int priority)
{
    struct task_spec spec = {
        .name = name, .thread = thread, .priority = priority, .run = step, .arg = w};

    w->s = s;
    w->task = scheduler_add(s, &spec);
    assert_non_null(w->task);
}

static void wait_steps(const struct worker *w, int steps)
{
    while (atomic_load(&w->steps) < steps)
        usleep(1000);
}

static struct task_stat stat_of(struct scheduler *s, size_t i)
{
    struct task_stat all[4];

    assert_true(scheduler_stat(s, all, PORT_COUNT(all)) > i);
    return all[i];
}

static void wait_state(struct scheduler *s, size_t i, enum task_state state)
{
    while (stat_of(s, i).state != state)
        usleep(1000);
}

/* One that always has more to do and comes first leaves others their turns. */
static void a_slow_task_keeps_no_other_waiting(void **state)
{
    struct scheduler *s = scheduler_new(&(struct scheduler_conf){.arg = NULL});
    struct worker slow = {.lasts_us = SLOW_US, .more = true};
    struct worker quick = {.next_us = 1000, .other = &slow};

    (void)state;
    add(s, &slow, "slow", TASK_SHORT, 0);
    wait_steps(&slow, 1);
    add(s, &quick, "quick", TASK_SHORT, 1);
    wait_steps(&quick, 3);
    scheduler_stop(s);
    /* Each of them takes SLOW_US and as long a rest; a loaded machine makes them longer, so fewer.
     */
    assert_true(quick.other_max <= SCHEDULER_LATE_US / SLOW_US / 2 + 2);
    assert_true(quick.other_max >= 1); /* and the priority counts until then */
    assert_true(stat_of(s, 1).late_us_max > SCHEDULER_LATE_US / 2);
    assert_string_equal(stat_of(s, 0).name, "slow");
    assert_int_equal(stat_of(s, 0).percent, 40);
    scheduler_free(s);
}

static void a_long_step_holds_up_its_own_thread_only(void **state)
{
    struct scheduler *s = scheduler_new(&(struct scheduler_conf){.arg = NULL});
    struct worker remote = {.endless = true}, local = {.next_us = 1000}, behind = {.more = false};

    (void)state;
    add(s, &remote, "remote", TASK_LONG, 0);
    wait_state(s, 0, TASK_RUNNING);
    add(s, &local, "local", TASK_SHORT, 1);
    add(s, &behind, "behind", TASK_LONG, 1);
    wait_steps(&local, 5);
    assert_int_equal(atomic_load(&remote.steps), 0);
    assert_int_equal(atomic_load(&behind.steps), 0);
    wait_state(s, 2, TASK_WAITING);
    atomic_store(&remote.endless, false);
    wait_steps(&behind, 1);
    scheduler_stop(s);
    scheduler_free(s);
}

/* With both threads in the middle of a step that would go on for ever. */
static void stop_ends_steps_under_way(void **state)
{
    struct scheduler *s = scheduler_new(&(struct scheduler_conf){.arg = NULL});
    struct worker a = {.endless = true, .more = true}, b = a, c = a;

    (void)state;
    add(s, &a, "a", TASK_SHORT, 0);
    add(s, &b, "b", TASK_LONG, 0);
    add(s, &c, "c", TASK_LONG, 1);
    wait_state(s, 0, TASK_RUNNING);
    wait_state(s, 1, TASK_RUNNING);
    assert_false(scheduler_stopping(s));
    scheduler_stop(s);
    assert_true(scheduler_stopping(s));
    assert_int_equal(atomic_load(&a.steps), 1);
    assert_int_equal(atomic_load(&b.steps), 1);
    assert_int_equal(atomic_load(&c.steps), 0); /* it has more to do, and no turn any more */
    task_wake(c.task);
    assert_int_equal(scheduler_stat(s, NULL, 0), 3);
    scheduler_free(s);
}

static void what_fails_is_tried_again_later_and_later(void **state)
{
    struct scheduler *s = scheduler_new(&(struct scheduler_conf){.arg = NULL});
    struct worker w = {.fails = 3, .next_us = TASK_NEVER};
    struct task_stat stat;

    (void)state;
    add(s, &w, "w", TASK_SHORT, 0);
    wait_state(s, 0, TASK_FAILED);
    stat = stat_of(s, 0);
    assert_string_equal(stat.text, "the disk is full");
    assert_true(stat.failures >= 1);
    task_wake(w.task); /* does not cut the pause short */
    wait_steps(&w, 4);
    wait_state(s, 0, TASK_IDLE);
    for (int i = 0; i < 3; i++)
        assert_true(w.starts[i + 1] - w.ends[i] >= (SCHEDULER_RETRY_US_MIN << i) - 1000);
    stat = stat_of(s, 0);
    assert_string_equal(stat.text, "");
    assert_int_equal(stat.failures, 3);
    assert_int_equal(stat.steps, 4);
    scheduler_stop(s);
    scheduler_free(s);
}

static int64_t rate(void *arg)
{
    (void)arg;
    return 1000000;
}

/* Two tasks of both threads share one rate. */
static void the_rate_is_shared(void **state)
{
    struct scheduler *s = scheduler_new(&(struct scheduler_conf){.bytes_per_s = rate});
    struct worker a = {.more = true, .bytes = 50000}, b = a;
    int64_t start = now_us();

    (void)state;
    add(s, &a, "a", TASK_SHORT, 0);
    add(s, &b, "b", TASK_LONG, 0);
    while (stat_of(s, 0).bytes + stat_of(s, 1).bytes < 600000)
        usleep(1000);
    /* But for what may be used late, and the steps that were let in before the last were paid. */
    assert_true(now_us() - start >= 350000);
    assert_true(atomic_load(&a.steps) && atomic_load(&b.steps));
    scheduler_stop(s);
    scheduler_free(s);
}

/* Its next step is due when it ends, and waits from then on for the thread's rest alone, which is
 * the longest there is: so long it was due. */
static void a_step_slower_than_the_rate_has_paid(void **state)
{
    struct scheduler *s = scheduler_new(&(struct scheduler_conf){.bytes_per_s = rate});
    struct worker w = {.more = true, .lasts_us = 400000, .bytes = 350000};

    (void)state;
    add(s, &w, "w", TASK_SHORT, 0);
    wait_steps(&w, 2);
    scheduler_stop(s);
    assert_true(stat_of(s, 0).late_us_max >= 200000);
    scheduler_free(s);
}

static void what_moves_nothing_does_not_wait_for_the_rate(void **state)
{
    struct scheduler *s = scheduler_new(&(struct scheduler_conf){.bytes_per_s = rate});
    struct worker mover = {.more = true, .bytes = 1000000000}, looker = {.next_us = 1000};

    (void)state;
    add(s, &mover, "mover", TASK_SHORT, 0);
    wait_steps(&mover, 1);
    add(s, &looker, "looker", TASK_SHORT, 1);
    wait_steps(&looker, 5);
    assert_int_equal(stat_of(s, 0).state, TASK_WAITING);
    scheduler_stop(s);
    assert_int_equal(atomic_load(&mover.steps), 1);
    scheduler_free(s);
}

static bool busy(void *arg)
{
    return *(bool *)arg;
}

static void rests_are_longer_while_requests_wait(void **state)
{
    bool is_busy = true;
    struct scheduler *s = scheduler_new(&(struct scheduler_conf){.busy = busy, .arg = &is_busy});
    struct worker w = {.more = true, .lasts_us = SLOW_US};

    (void)state;
    add(s, &w, "w", TASK_SHORT, 0);
    wait_steps(&w, 3);
    scheduler_stop(s);
    for (int i = 0; i < 2; i++)
        assert_true(w.starts[i + 1] - w.ends[i] >= 3 * SLOW_US);
    assert_true(stat_of(s, 0).busy_us >= 3 * SLOW_US);
    scheduler_free(s);
}

/* On a loaded machine a short rest may take long: one is enough. */
static void rests_are_shorter_without_requests(void **state)
{
    bool is_quiet = true, shorter = false;

    (void)state;
    while (!shorter) {
        struct scheduler *s =
            scheduler_new(&(struct scheduler_conf){.quiet = busy, .arg = &is_quiet});
        struct worker w = {.more = true, .lasts_us = SLOW_US};

        add(s, &w, "w", TASK_SHORT, 0);
        wait_steps(&w, 3);
        scheduler_stop(s);
        for (int i = 0; i < 2; i++)
            shorter |= w.starts[i + 1] - w.ends[i] < SLOW_US;
        scheduler_free(s);
    }
}

static void a_task_can_be_woken(void **state)
{
    struct scheduler *s = scheduler_new(&(struct scheduler_conf){.arg = NULL});
    struct worker w = {.next_us = TASK_NEVER}, other = {.next_us = 1000};

    (void)state;
    add(s, &w, "w", TASK_SHORT, 0);
    add(s, &other, "other", TASK_SHORT, 1);
    wait_steps(&w, 1);
    wait_steps(&other, 10);
    assert_int_equal(atomic_load(&w.steps), 1);
    task_wake(w.task);
    wait_steps(&w, 2);
    atomic_store(&w.endless, true);
    task_wake(w.task);
    wait_state(s, 0, TASK_RUNNING);
    task_wake(w.task); /* while it runs: once more */
    atomic_store(&w.endless, false);
    wait_steps(&w, 4);
    wait_state(s, 0, TASK_IDLE);
    assert_int_equal(atomic_load(&w.steps), 4);
    scheduler_stop(s);
    scheduler_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slow_task_keeps_no_other_waiting),
        cmocka_unit_test(a_long_step_holds_up_its_own_thread_only),
        cmocka_unit_test(stop_ends_steps_under_way),
        cmocka_unit_test(what_fails_is_tried_again_later_and_later),
        cmocka_unit_test(the_rate_is_shared),
        cmocka_unit_test(a_step_slower_than_the_rate_has_paid),
        cmocka_unit_test(what_moves_nothing_does_not_wait_for_the_rate),
        cmocka_unit_test(rests_are_longer_while_requests_wait),
        cmocka_unit_test(rests_are_shorter_without_requests),
        cmocka_unit_test(a_task_can_be_woken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
