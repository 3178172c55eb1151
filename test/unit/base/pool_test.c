/* Workers: clients take turns, nobody has all of them, and who takes much of the loops is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/pool.h"
#include "base/port.h"
#include "base/thread.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/resource.h>

#define A 1
#define B 2

/* Jobs write their names down in the order in which they run, and may wait for a gate. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t moved = PTHREAD_COND_INITIALIZER;
static char ran[64];
static int ran_count, waiting;
static bool gate;

struct step {
    struct pool_job job;
    char name;
    bool waits;
};

static void step_wait(struct pool_job *job)
{
    struct step *s = PORT_CONTAINER(job, struct step, job);

    pthread_mutex_lock(&lock);
    if (s->waits) {
        waiting++;
        pthread_cond_broadcast(&moved);
        while (!gate)
            pthread_cond_wait(&moved, &lock);
    }
    ran[ran_count++] = s->name;
    pthread_cond_broadcast(&moved);
    pthread_mutex_unlock(&lock);
}

static void step_run(struct pool_job *job)
{
    assert_true(pool_here());
    step_wait(job);
}

static int set_up(void **state)
{
    (void)state;
    memset(ran, 0, sizeof(ran));
    ran_count = waiting = 0;
    gate = false;
    return 0;
}

static void submit(struct pool *p, uint64_t client, struct step *s, char name, bool waits,
                   bool urgent)
{
    *s = (struct step){{.run = step_run}, name, waits};
    pool_submit(p, client, &s->job, urgent);
}

static void wait_for(const int *what, int count)
{
    pthread_mutex_lock(&lock);
    while (*what < count)
        pthread_cond_wait(&moved, &lock);
    pthread_mutex_unlock(&lock);
}

static void open_gate(void)
{
    pthread_mutex_lock(&lock);
    gate = true;
    pthread_cond_broadcast(&moved);
    pthread_mutex_unlock(&lock);
}

static void test_clients_take_turns(void **state)
{
    struct pool *p = pool_start(&(struct pool_conf){.name = "test", .threads = 1});
    struct step s[8];

    (void)state;
    submit(p, A, &s[0], '0', true, false);
    wait_for(&waiting, 1);
    for (int i = 1; i < 5; i++)
        submit(p, A, &s[i], 'a', false, false);
    submit(p, B, &s[5], 'b', false, false);
    submit(p, B, &s[6], 'b', false, false);
    submit(p, A, &s[7], 'u', false, true);
    open_gate();
    pool_stop(p); /* runs what is queued */
    assert_string_equal(ran, "0ubabaaa");
}

/* A job of many parts keeps its client's other jobs waiting for one of them, not for all. */
static void test_parts_take_turns(void **state)
{
    struct pool *p = pool_start(&(struct pool_conf){.name = "test", .threads = 1});
    struct step gate_keeper, parts = {{.run = step_run}, 'p', false}, s[3];

    (void)state;
    submit(p, A, &gate_keeper, '0', true, false);
    wait_for(&waiting, 1);
    pool_submit_parts(p, A, &parts.job, 4);
    submit(p, A, &s[0], 'a', false, false);
    submit(p, A, &s[1], 'a', false, false);
    submit(p, B, &s[2], 'b', false, false);
    open_gate();
    pool_stop(p);
    assert_string_equal(ran, "0bpaappp");
}

static void submit_last(struct pool *p, uint64_t client, struct step *s, char name, int64_t us)
{
    *s = (struct step){{.run = step_run}, name, false};
    pool_submit_last(p, client, &s->job, us);
}

/* What gives way does so to its own client's jobs alone, and when nothing else is there it runs. */
static void test_last_give_way(void **state)
{
    struct clock clock;
    struct pool *p;
    struct step s[7];

    (void)state;
    clock_set_init(&clock, 1000000);
    p = pool_start(&(struct pool_conf){.name = "test", .threads = 1, .clock = &clock});
    submit(p, A, &s[0], '0', true, false);
    wait_for(&waiting, 1);
    submit_last(p, A, &s[1], 'l', 50);
    submit_last(p, A, &s[2], 'm', 0); /* due, but behind one that is not */
    submit(p, A, &s[3], 'a', false, false);
    submit(p, B, &s[4], 'b', false, false);
    submit(p, B, &s[5], 'b', false, false);
    submit(p, A, &s[6], 'a', false, false);
    open_gate();
    pool_stop(p);
    assert_string_equal(ran, "0babalm");
}

static void test_last_have_patience(void **state)
{
    struct clock clock;
    struct pool *p;
    struct step s[5];

    (void)state;
    clock_set_init(&clock, 1000000);
    p = pool_start(&(struct pool_conf){.name = "test", .threads = 1, .clock = &clock});
    submit(p, A, &s[0], '0', true, false);
    wait_for(&waiting, 1);
    submit_last(p, A, &s[1], 'l', 50);
    submit_last(p, A, &s[2], 'm', 51);
    submit(p, A, &s[3], 'a', false, false);
    submit(p, A, &s[4], 'a', false, false);
    __atomic_fetch_add(&clock.set_us, 50, __ATOMIC_RELAXED);
    open_gate();
    pool_stop(p);
    assert_string_equal(ran, "0laam");
}

/* Its parts run side by side. */
static void test_parts_run_at_once(void **state)
{
    struct pool *p = pool_start(&(struct pool_conf){.name = "test", .threads = 4, .wait = true});
    struct step parts = {{.run = step_wait}, 'p', true};

    (void)state;
    pool_submit_parts(p, A, &parts.job, 5);
    wait_for(&waiting, 3); /* one thread is kept for others */
    open_gate();
    pool_stop(p);
    assert_string_equal(ran, "ppppp");
}

/* One client has more jobs than there are threads, and none of them ends. */
static void test_no_client_has_all_threads(void **state)
{
    struct pool *p = pool_start(&(struct pool_conf){.name = "test", .threads = 3});
    struct step s[6], other;

    (void)state;
    for (int i = 0; i < 6; i++)
        submit(p, A, &s[i], 'a', true, false);
    wait_for(&waiting, 2);
    submit(p, B, &other, 'b', false, false);
    wait_for(&ran_count, 1);
    assert_string_equal(ran, "b");
    assert_int_equal(waiting, 2);
    open_gate();
    pool_stop(p);
    assert_string_equal(ran, "baaaaaa");
}

/* Each of them finds a thread while those before it are held, though only one is woken at a time.
 */
static void test_readers_call_each_other(void **state)
{
    struct pool *p = pool_start(&(struct pool_conf){.name = "test", .threads = 8, .wait = true});
    struct step s[9];

    (void)state;
    for (int round = 0; round < 3; round++) {
        set_up(NULL);
        assert_true(pool_takes(p, A));
        for (int i = 0; i < 9; i++) {
            s[i] = (struct step){{.run = step_wait}, 'a', true};
            pool_submit(p, A, &s[i].job, false);
        }
        wait_for(&waiting, 7); /* one thread is kept for others */
        assert_false(pool_takes(p, A));
        assert_true(pool_takes(p, B));
        open_gate();
        wait_for(&ran_count, 9);
        while (!pool_takes(p, A)) /* its jobs' threads are not back yet */
            sched_yield();
    }
    pool_stop(p);
    assert_string_equal(ran, "aaaaaaaaa");
}

/* ---- priorities ---- */

struct heard {
    struct pool_job job;
    int policy, nice;
};

static void heard_run(struct pool_job *job)
{
    struct heard *h = PORT_CONTAINER(job, struct heard, job);

    h->policy = sched_getscheduler(0);
    h->nice = getpriority(PRIO_PROCESS, 0);
    step_wait(&(struct step){.name = 'h', .waits = true}.job);
}

struct submitter {
    struct pool *p;
    struct heard heard[3];
};

static void *submit_from_background(void *arg)
{
    struct submitter *s = arg;

    thread_background();
    for (size_t i = 0; i < PORT_COUNT(s->heard); i++) {
        s->heard[i].job.run = heard_run;
        pool_submit(s->p, A, &s->heard[i].job, false);
    }
    return NULL;
}

/* Their priority is not that of the thread that first had work for them. */
static void test_readers_have_the_usual_priority(void **state)
{
    struct submitter s = {
        .p = pool_start(&(struct pool_conf){.name = "test", .threads = 4, .wait = true})};
    int nice = getpriority(PRIO_PROCESS, 0);
    pthread_t thread;

    (void)state;
    assert_true(thread_start(&thread, "submitter", submit_from_background, &s));
    pthread_join(thread, NULL);
    wait_for(&waiting, (int)PORT_COUNT(s.heard));
    open_gate();
    pool_stop(s.p);
    for (size_t i = 0; i < PORT_COUNT(s.heard); i++) {
        assert_int_equal(s.heard[i].policy, SCHED_OTHER);
        assert_int_equal(s.heard[i].nice, nice);
    }
}

/* Those in the background give way, and do not interrupt others when they wake. */
static void test_background(void **state)
{
    struct pool *p =
        pool_start(&(struct pool_conf){.name = "test", .threads = 1, .background = true});
    struct heard h = {.job.run = heard_run};
    int nice = getpriority(PRIO_PROCESS, 0);

    (void)state;
    pool_submit(p, A, &h.job, false);
    open_gate();
    pool_stop(p);
    assert_int_equal(h.policy, SCHED_BATCH);
    assert_true(h.nice >= nice && h.nice >= 10);
}

static void test_credit(void **state)
{
    struct pool *p = pool_start(&(struct pool_conf){.name = "test", .threads = 2});

    (void)state;
    assert_false(pool_here());
    assert_true(pool_has_credit(p, A, 1000000));
    pool_charge(p, A, 19000, 1000000);
    assert_true(pool_has_credit(p, A, 1000000));
    pool_charge(p, A, 2000, 1000000);
    assert_false(pool_has_credit(p, A, 1000000));
    assert_true(pool_has_credit(p, B, 1000000));
    assert_false(pool_has_credit(p, A, 1005000));
    assert_true(pool_has_credit(p, A, 1005001)); /* five times what it took above the 20 ms */
    /* What was not taken is not kept. */
    pool_charge(p, A, 20001, 900000000);
    assert_false(pool_has_credit(p, A, 900000000));
    pool_stop(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_clients_take_turns, set_up),
        cmocka_unit_test_setup(test_parts_take_turns, set_up),
        cmocka_unit_test_setup(test_last_give_way, set_up),
        cmocka_unit_test_setup(test_last_have_patience, set_up),
        cmocka_unit_test_setup(test_parts_run_at_once, set_up),
        cmocka_unit_test_setup(test_no_client_has_all_threads, set_up),
        cmocka_unit_test_setup(test_readers_call_each_other, set_up),
        cmocka_unit_test_setup(test_readers_have_the_usual_priority, set_up),
        cmocka_unit_test_setup(test_background, set_up),
        cmocka_unit_test_setup(test_credit, set_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
