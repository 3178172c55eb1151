/* A thread that sleeps misses nothing that is put on its list, and is not called while awake. */
#include "base/bell.h"

#include "base/port.h"
#include "base/thread.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <cmocka.h>

enum { CALLERS = 3, ITEMS = 30000 };

struct item {
    struct item *next;
};

struct sleeper {
    struct bell bell;
    int epoll_fd;
    _Atomic(struct item *) list;
    struct item items[CALLERS][ITEMS];
};

struct caller {
    struct sleeper *s;
    struct item *items;
    pthread_t thread;
};

static void *call(void *arg)
{
    struct caller *c = arg;

    for (int i = 0; i < ITEMS; i++) {
        struct item *item = &c->items[i], *first = atomic_load(&c->s->list);

        do
            item->next = first;
        while (!atomic_compare_exchange_weak(&c->s->list, &first, item));
        if (!first)
            bell_call(&c->s->bell);
        if (i % 64 == 0)
            usleep(50); /* so that it falls asleep in between */
    }
    return NULL;
}

static bool rung(const struct bell *b)
{
    return poll(&(struct pollfd){.fd = b->fd, .events = POLLIN}, 1, 0) == 1;
}

static void test_nothing_is_missed(void **state)
{
    struct sleeper *s = mem_zalloc(sizeof(*s));
    struct caller callers[CALLERS];
    int taken = 0;

    (void)state;
    bell_init(&s->bell);
    s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    assert_true(bell_open(&s->bell, s->epoll_fd, s));
    for (int i = 0; i < CALLERS; i++) {
        callers[i] = (struct caller){.s = s, .items = s->items[i]};
        assert_true(thread_start(&callers[i].thread, "caller", call, &callers[i]));
    }
    while (taken < CALLERS * ITEMS) {
        struct epoll_event event;
        int n;

        bell_sleep(&s->bell);
        /* Nobody else would wake it, so one that is missed shows as a wait that ends by its time.
         */
        n = epoll_wait(s->epoll_fd, &event, 1, atomic_load(&s->list) ? 0 : 20000);
        bell_woke(&s->bell);
        if (n == 1) {
            assert_ptr_equal(event.data.ptr, s);
            bell_heard(&s->bell);
        }
        assert_true(n == 1 || atomic_load(&s->list));
        for (struct item *item = atomic_exchange(&s->list, NULL); item; item = item->next)
            taken++;
    }
    for (int i = 0; i < CALLERS; i++)
        pthread_join(callers[i].thread, NULL);
    assert_int_equal(taken, CALLERS * ITEMS);
    bell_close(&s->bell);
    close(s->epoll_fd);
    mem_free(s);
}

static void test_only_who_sleeps_is_called(void **state)
{
    int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    struct bell b;

    (void)state;
    bell_init(&b);
    assert_true(bell_open(&b, epoll_fd, NULL));
    bell_call(&b);
    assert_false(rung(&b));
    bell_sleep(&b);
    bell_call(&b);
    assert_true(rung(&b));
    bell_heard(&b);
    bell_call(&b); /* one call is enough until it sleeps again */
    assert_false(rung(&b));
    bell_woke(&b);
    bell_ring(&b); /* a ring comes through all the same */
    assert_true(rung(&b));
    bell_close(&b);
    close(epoll_fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_missed),
        cmocka_unit_test(test_only_who_sleeps_is_called),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
