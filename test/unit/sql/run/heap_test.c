/* Who holds much leaves something for who needs little. */
#include "sql/run/heap.h"

#include "base/port.h"

#include <pthread.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define BOUND (16 << 20)
#define PIECE (64 << 10)
#define PIECES (BOUND / PIECE)

struct taker {
    void *pieces[PIECES];
    int count;
};

/* All that there is for it. */
static void take(struct taker *t)
{
    while (t->count < PIECES && (t->pieces[t->count] = sqlite3_malloc(PIECE)))
        t->count++;
}

static void give(struct taker *t)
{
    while (t->count)
        sqlite3_free(t->pieces[--t->count]);
}

static void *newcomer(void *arg)
{
    int *count = arg;
    struct taker t = {.count = 0};
    void *grown;

    take(&t);
    *count = t.count;
    grown = t.count ? sqlite3_realloc(t.pieces[0], HEAP_SMALL_BYTES) : NULL;
    assert_null(grown);
    give(&t);
    return NULL;
}

static void test_last_quarter(void **state)
{
    struct taker t = {.count = 0};
    pthread_t thread;
    int first, others;

    (void)state;
    heap_bound(BOUND);
    take(&t);
    first = t.count;
    assert_in_range(first, PIECES / 2, PIECES * 3 / 4);
    assert_true(heap_is_short());
    pthread_create(&thread, NULL, newcomer, &others);
    pthread_join(thread, NULL);
    assert_in_range(others, 2, HEAP_SMALL_BYTES / PIECE);
    give(&t);
    assert_false(heap_is_short());
    take(&t); /* what was given back is there again */
    assert_int_equal(t.count, first);
    give(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_last_quarter),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
