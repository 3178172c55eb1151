/* Row locks: one holder a key, waiters in order, no recursion however many wait. */
#include "table/sync/row_lock.h"

#include "base/port.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <cmocka.h>

struct waiter {
    struct row_lock row_lock;
    int number;
    int *log, *count;
    struct row_locks *table;
    bool pass; /* on to the next one when run */
};

static void waiter_run(struct row_lock *l, struct run_list *woken)
{
    struct waiter *w = PORT_CONTAINER(l, struct waiter, row_lock);

    w->log[(*w->count)++] = w->number;
    if (w->pass)
        row_lock_pass(w->table, l, woken);
}

static void waiters_run_in_order(void **state)
{
    enum { N = 100000 };
    struct row_locks *t = row_locks_new();
    struct row_lock holder = {.key = BYTES_LIT("row"), .run = waiter_run};
    struct waiter *w = mem_zalloc(sizeof(*w) * N);
    int *log = mem_alloc(sizeof(*log) * N), count = 0;
    struct run_list woken = {0};

    (void)state;
    assert_true(row_lock_take(t, &holder));
    for (int i = 0; i < N; i++) {
        w[i] = (struct waiter){.row_lock = {.key = BYTES_LIT("row"), .run = waiter_run},
                               .number = i,
                               .log = log,
                               .count = &count,
                               .table = t,
                               .pass = true};
        assert_false(row_lock_take(t, &w[i].row_lock));
    }
    row_lock_pass(t, &holder, &woken);
    row_lock_run(&woken); /* a hundred thousand hand-overs must not nest */
    assert_int_equal(count, N);
    for (int i = 0; i < N; i++)
        assert_int_equal(log[i], i);
    assert_true(row_lock_try(t, &holder));
    row_lock_pass(t, &holder, &woken);
    mem_free(log);
    mem_free(w);
    row_locks_free(t);
}

static void other_keys_do_not_wait(void **state)
{
    struct row_locks *t = row_locks_new();
    struct row_lock a = {.key = BYTES_LIT("a")}, b = {.key = BYTES_LIT("b")},
                    again = {.key = BYTES_LIT("a")};
    struct run_list woken = {0};

    (void)state;
    assert_true(row_lock_take(t, &a));
    assert_true(row_lock_take(t, &b));
    assert_false(row_lock_try(t, &again));
    row_lock_pass(t, &a, &woken);
    assert_null(woken.head);
    assert_true(row_lock_try(t, &again));
    row_lock_pass(t, &again, &woken);
    row_lock_pass(t, &b, &woken);
    row_locks_free(t);
}

/* Four threads add to one number under the row lock; a thread that has to wait is woken by whoever
 * passes on. */
struct shared {
    struct row_locks *table;
    _Atomic long value; /* is read without the lock, too */
    _Atomic long done;
};

struct adder {
    struct row_lock row_lock;
    struct shared *shared;
};

static void adder_run(struct row_lock *l, struct run_list *woken)
{
    struct adder *a = PORT_CONTAINER(l, struct adder, row_lock);
    struct shared *s = a->shared;

    atomic_store(&s->value, atomic_load(&s->value) + 1); /* a race here loses some */
    row_lock_pass(s->table, l, woken);
    s->done++;
}

static void *adder_main(void *arg)
{
    enum { N = 20000 };
    struct shared *s = arg;
    struct adder *adders = mem_zalloc(sizeof(*adders) * N);

    for (int i = 0; i < N; i++) {
        struct run_list woken = {0};

        adders[i] =
            (struct adder){.row_lock = {.key = BYTES_LIT("n"), .run = adder_run}, .shared = s};
        if (row_lock_take(s->table, &adders[i].row_lock))
            adder_run(&adders[i].row_lock, &woken);
        row_lock_run(&woken);
    }
    return adders;
}

static void threads_exclude_one_another(void **state)
{
    struct shared s = {.table = row_locks_new()};
    pthread_t threads[4];
    void *adders[4];

    (void)state;
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, adder_main, &s);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], &adders[i]);
    assert_int_equal(s.done, 80000);
    assert_int_equal(s.value, 80000);
    for (int i = 0; i < 4; i++)
        mem_free(adders[i]);
    row_locks_free(s.table);
}

static void a_version_tells_a_holder_who_may_have_changed_the_row(void **state)
{
    struct row_locks *t = row_locks_new();
    struct row_lock a = {.key = BYTES_LIT("a")}, b = {.key = BYTES_LIT("b")};
    uint32_t *versions = mem_alloc(sizeof(*versions) * ROW_LOCK_GROUPS);
    struct run_list woken = {0};

    (void)state;
    row_locks_versions(t, versions);
    assert_true(row_lock_take(t, &a));
    assert_true(row_lock_has_version(t, &a, versions));
    row_lock_pass_unchanged(t, &a, &woken);
    assert_true(row_lock_take(t, &a));
    assert_true(row_lock_has_version(t, &a, versions));
    row_lock_pass(t, &a, &woken);
    assert_true(row_lock_take(t, &a));
    assert_true(row_lock_take(t, &b));
    assert_false(row_lock_has_version(t, &a, versions));
    assert_true(row_lock_has_version(t, &b, versions));
    row_locks_versions(t, versions);
    assert_true(row_lock_has_version(t, &a, versions));
    row_lock_pass(t, &a, &woken);
    row_lock_pass(t, &b, &woken);
    mem_free(versions);
    row_locks_free(t);
}

/* What was read without the lock is what is there, if the version says so. */
static void a_version_vouches_for_what_was_read(void **state)
{
    struct shared s = {.table = row_locks_new()};
    uint32_t *versions = mem_alloc(sizeof(*versions) * ROW_LOCK_GROUPS);
    pthread_t threads[2];
    void *adders[2];

    (void)state;
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, adder_main, &s);
    for (int i = 0; i < 3000; i++) {
        struct row_lock l = {.key = BYTES_LIT("n")};
        struct run_list woken = {0};
        long seen;

        row_locks_versions(s.table, versions);
        seen = s.value;
        if (!row_lock_try(s.table, &l))
            continue;
        if (row_lock_has_version(s.table, &l, versions))
            assert_int_equal(s.value, seen);
        row_lock_pass_unchanged(s.table, &l, &woken);
        row_lock_run(&woken);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], &adders[i]);
    assert_int_equal(s.value, 40000);
    for (int i = 0; i < 2; i++)
        mem_free(adders[i]);
    mem_free(versions);
    row_locks_free(s.table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_version_tells_a_holder_who_may_have_changed_the_row),
        cmocka_unit_test(a_version_vouches_for_what_was_read),
        cmocka_unit_test(waiters_run_in_order),
        cmocka_unit_test(other_keys_do_not_wait),
        cmocka_unit_test(threads_exclude_one_another),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
