/* Threads that run jobs. */
#include "base/workers.h"

#include "base/port.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define JOBS 1000

struct count {
    struct job job;
    struct workers *w;
    int number, again;
    int *next; /* the number whose turn it is; NULL: any */
    atomic_int *ran;
};

static void count_run(struct job *self)
{
    struct count *n = PORT_CONTAINER(self, struct count, job);

    if (n->next)
        assert_int_equal((*n->next)++, n->number);
    atomic_fetch_add(n->ran, 1);
    if (n->again-- > 0)
        workers_submit(n->w, &n->job);
}

/* Those that are queued when it is told to stop are run, and what they submit. */
static void run_all(int threads, bool ordered)
{
    struct workers *w = workers_start("test", threads);
    static struct count jobs[JOBS];
    atomic_int ran = 0;
    int next = 0;

    assert_non_null(w);
    for (int i = 0; i < JOBS; i++) {
        jobs[i] = (struct count){.job.run = count_run,
                                 .w = w,
                                 .number = i,
                                 .again = ordered ? 0 : i % 3,
                                 .next = ordered ? &next : NULL,
                                 .ran = &ran};
        workers_submit(w, &jobs[i].job);
    }
    workers_stop(w);
    assert_int_equal(ran, ordered ? JOBS : JOBS + JOBS / 3 + 2 * (JOBS / 3));
}

static void test_one_thread_keeps_order(void **state)
{
    (void)state;
    run_all(1, true);
}

static void test_several_threads(void **state)
{
    (void)state;
    run_all(3, false);
}

static void test_none(void **state)
{
    (void)state;
    workers_stop(NULL);
    workers_stop(workers_start("test", 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_thread_keeps_order),
        cmocka_unit_test(test_several_threads),
        cmocka_unit_test(test_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
