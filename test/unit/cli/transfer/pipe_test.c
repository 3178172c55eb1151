#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#undef fail /* ctx.h has one of another meaning */

#include "cli/transfer/pipe.h"

#define BYTES 5000000

struct sums {
    uint64_t taken, bad, limit;
};

static uint8_t byte_at(uint64_t i)
{
    return (uint8_t)(i * 31 >> 3);
}

static bool take(void *arg, const uint8_t *data, size_t size)
{
    struct sums *s = arg;

    for (size_t i = 0; i < size; i++)
        s->bad += data[i] != byte_at(s->taken + i);
    s->taken += size;
    return s->taken <= s->limit;
}

static bool give(struct pipe *b, size_t piece)
{
    uint8_t *data = mem_alloc(piece);
    bool good = true;

    for (uint64_t at = 0; at < BYTES && good; at += piece) {
        size_t n = BYTES - at < piece ? (size_t)(BYTES - at) : piece;

        for (size_t i = 0; i < n; i++)
            data[i] = byte_at(at + i);
        good = pipe_put(b, data, n);
    }
    mem_free(data);
    return good;
}

/* All bytes come, in their order, whatever pieces they are given in. */
static void test_order(void **state)
{
    static const size_t pieces[] = {1000, 262144, 1000003, BYTES};

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(pieces); i++) {
        struct sums s = {.limit = BYTES};
        struct pipe *b = pipe_start(take, &s);

        assert_non_null(b);
        assert_true(give(b, pieces[i]));
        assert_true(pipe_end(b));
        assert_int_equal(s.taken, BYTES);
        assert_int_equal(s.bad, 0);
    }
}

static void test_nothing(void **state)
{
    struct sums s = {0};
    struct pipe *b = pipe_start(take, &s);

    (void)state;
    assert_true(pipe_end(b));
    assert_int_equal(s.taken, 0);
}

/* After a failure nothing is taken any more, and who gives is told. */
static void test_failure(void **state)
{
    struct sums s = {.limit = 1000000};
    struct pipe *b = pipe_start(take, &s);

    (void)state;
    assert_false(give(b, 10000));
    assert_false(pipe_end(b));
    assert_true(s.taken > s.limit && s.taken < 2 * s.limit);
    s = (struct sums){.limit = 10};
    b = pipe_start(take, &s);
    assert_true(pipe_put(b, (const uint8_t[20]){0}, 20)); /* not handed over yet */
    assert_false(pipe_end(b));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_failure),
    };

    return cmocka_run_group_tests_name("pipe", tests, NULL, NULL);
}
