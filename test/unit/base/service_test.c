#include "base/service.h"

#include "base/clock.h"
#include "base/thread.h"
#include "base/waiter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define LONG_US 60000000

struct worker {
    struct service service;
    struct waiter up;
    int64_t sleep_us;
    int rounds, wanted;
};

static void *sleeps(void *arg)
{
    struct worker *w = arg;

    waiter_done(&w->up, 7);
    while (service_sleep(&w->service, w->sleep_us))
        w->rounds++;
    return NULL;
}

static void stop_ends_a_sleep_and_a_wake_does_not(void **state)
{
    struct worker w = {.sleep_us = LONG_US};
    struct clock clock;
    int64_t start_ms;

    (void)state;
    clock_real_init(&clock);
    start_ms = clock_mono_ms(&clock);
    waiter_init(&w.up);
    assert_true(service_start(&w.service, "wr-test", sleeps, &w));
    assert_int_equal(waiter_wait(&w.up), 7);
    service_wake(&w.service);
    assert_false(service_stopping(&w.service));
    service_stop(&w.service);
    assert_int_equal(w.rounds, 0);
    assert_true(clock_mono_ms(&clock) - start_ms < LONG_US / 2000);
}

static void a_sleep_takes_its_time(void **state)
{
    struct service s = {.stop = false};
    struct clock clock;
    int64_t start_us;

    (void)state;
    clock_real_init(&clock);
    pthread_mutex_init(&s.lock, NULL);
    thread_cond_init(&s.woken);
    start_us = clock_mono_us(&clock);
    assert_true(service_sleep(&s, 0));
    assert_true(service_sleep(&s, -5));
    assert_true(service_sleep(&s, 1100000)); /* across a second */
    assert_true(clock_mono_us(&clock) - start_us >= 1099000);
    s.stop = true;
    assert_false(service_sleep(&s, LONG_US));
    pthread_mutex_destroy(&s.lock);
    pthread_cond_destroy(&s.woken);
}

/* Rounds on demand, as a service whose owner shares more than the time with it. */
static void *obeys(void *arg)
{
    struct worker *w = arg;

    pthread_mutex_lock(&w->service.lock);
    while (!w->service.stop) {
        if (w->rounds < w->wanted)
            w->rounds++;
        else
            service_wait(&w->service, NULL);
        if (w->rounds == w->wanted && w->wanted)
            break;
    }
    pthread_mutex_unlock(&w->service.lock);
    waiter_done(&w->up, w->rounds);
    return NULL;
}

static void a_wait_ends_when_woken(void **state)
{
    struct worker w = {.rounds = 0};

    (void)state;
    waiter_init(&w.up);
    assert_true(service_start(&w.service, "wr-test", obeys, &w));
    pthread_mutex_lock(&w.service.lock);
    w.wanted = 3;
    pthread_mutex_unlock(&w.service.lock);
    service_wake(&w.service);
    assert_int_equal(waiter_wait(&w.up), 3);
    service_stop(&w.service);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stop_ends_a_sleep_and_a_wake_does_not),
        cmocka_unit_test(a_sleep_takes_its_time),
        cmocka_unit_test(a_wait_ends_when_woken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
