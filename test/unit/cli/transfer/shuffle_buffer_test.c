#include "cli/transfer/shuffle_buffer.h"

#include "base/port.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>

#include <cmocka.h>

#define ROWS 20000
#define WORKERS 4
#define HANDFUL 100

static struct import_row *new_row(uint64_t line, size_t size)
{
    struct import_row *row = mem_zalloc(sizeof(*row) + sizeof(row->values[0]));

    row->line = line;
    row->values[0] =
        (struct wr_value){.type = WR_BIGINT, {.integer = (int64_t)(line * 7919 % 1009)}};
    row->source_bytes = row->bytes = size;
    return row;
}

static void put(struct shuffle_buffer *w, struct import_row *row)
{
    shuffle_buffer_put(w, &row, 1);
}

static void test_queue_keeps_order(void **state)
{
    struct shuffle_buffer w;
    struct import_row *rows[10];
    uint64_t line = 0;
    size_t n;

    (void)state;
    shuffle_buffer_init(&w, 100, 10, 1000, ROWS_AS_THEY_COME, 1);
    for (uint64_t i = 0; i < 95; i++)
        put(&w, new_row(i, 1));
    shuffle_buffer_close(&w);
    while ((n = shuffle_buffer_take(&w, rows)) > 0) {
        assert_int_equal(n, line < 90 ? 10 : 5);
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(rows[i]->line, line++);
            mem_free(rows[i]);
        }
    }
    assert_int_equal(line, 95);
    shuffle_buffer_release(&w);
}

static void test_batch_bytes(void **state)
{
    struct shuffle_buffer w;
    struct import_row *rows[10];

    (void)state;
    shuffle_buffer_init(&w, 100, 10, 1000, ROWS_AS_THEY_COME, 1);
    put(&w, new_row(0, 600));
    put(&w, new_row(1, 600));
    put(&w, new_row(2, 5000));
    shuffle_buffer_close(&w);
    for (uint64_t i = 0; i < 3; i++) {
        assert_int_equal(shuffle_buffer_take(&w, rows), 1);
        assert_int_equal(rows[0]->line, i);
        mem_free(rows[0]);
    }
    assert_int_equal(shuffle_buffer_take(&w, rows), 0);
    shuffle_buffer_release(&w);
}

/* In a shuffle buffer rows of one batch come from all over it, and the seed decides which. */
static void shuffled_lines(uint64_t seed, uint64_t *lines)
{
    struct shuffle_buffer w;
    struct import_row *rows[10];
    size_t at = 0, n;

    shuffle_buffer_init(&w, 1000, 10, 100000, ROWS_SHUFFLED, seed);
    for (uint64_t i = 0; i < 1000; i++)
        put(&w, new_row(i, 1));
    shuffle_buffer_close(&w);
    while ((n = shuffle_buffer_take(&w, rows)) > 0) {
        for (size_t i = 0; i < n; i++) {
            lines[at++] = rows[i]->line;
            mem_free(rows[i]);
        }
    }
    assert_int_equal(at, 1000);
    shuffle_buffer_release(&w);
}

static void test_shuffle(void **state)
{
    static uint64_t a[1000], b[1000], other[1000];
    bool seen[1000] = {false};
    size_t neighbours = 0;

    (void)state;
    shuffled_lines(1, a);
    shuffled_lines(1, b);
    shuffled_lines(2, other);
    assert_memory_equal(a, b, sizeof(a));
    assert_memory_not_equal(a, other, sizeof(a));
    for (size_t i = 0; i < 1000; i++) {
        assert_false(seen[a[i]]);
        seen[a[i]] = true;
        neighbours += i && a[i] == a[i - 1] + 1;
    }
    assert_true(neighbours < 20);
}

struct shared {
    struct shuffle_buffer w;
    atomic_ullong taken, sum;
};

static void *take_all(void *arg)
{
    struct shared *s = arg;
    struct import_row *rows[7];
    size_t n;

    while ((n = shuffle_buffer_take(&s->w, rows)) > 0) {
        for (size_t i = 0; i < n; i++) {
            atomic_fetch_add(&s->sum, rows[i]->line);
            mem_free(rows[i]);
        }
        atomic_fetch_add(&s->taken, n);
    }
    return NULL;
}

static void run_threads(enum row_order order, bool stop)
{
    static struct shared s;
    pthread_t threads[WORKERS];
    uint64_t put = 0;

    s.taken = s.sum = 0;
    shuffle_buffer_init(&s.w, 64, 7, 1 << 20, order, 3);
    s.w.key_count = 1;
    for (size_t i = 0; i < WORKERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_all, &s), 0);
    for (uint64_t i = 0; i < ROWS; i += HANDFUL) {
        struct import_row *rows[HANDFUL];

        if (stop && i == ROWS / 2)
            shuffle_buffer_stop(&s.w);
        for (uint64_t k = 0; k < HANDFUL; k++)
            rows[k] = new_row(i + k, 1);
        shuffle_buffer_put(&s.w, rows, HANDFUL); /* more than a batch, and than there is room for */
        put += stop && i >= ROWS / 2 ? 0 : HANDFUL;
    }
    shuffle_buffer_close(&s.w);
    for (size_t i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
    if (stop) {
        assert_int_equal(put, ROWS / 2);
        assert_true(s.taken <= put);
    } else {
        assert_int_equal(s.taken, ROWS);
        assert_int_equal(s.sum, (uint64_t)ROWS * (ROWS - 1) / 2);
    }
    shuffle_buffer_release(&s.w);
}

static void test_threads(void **state)
{
    (void)state;
    for (enum row_order order = ROWS_AS_THEY_COME; order <= ROWS_BY_KEY; order++) {
        run_threads(order, false);
        run_threads(order, true);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_queue_keeps_order),
        cmocka_unit_test(test_batch_bytes),
        cmocka_unit_test(test_shuffle),
        cmocka_unit_test(test_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
