/* The heat map of one table, fed with traffic of known shapes. */
#include "table/stats/heat.h"

#include "base/buf.h"
#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define DAY 29000000 /* some minute */

static bytes key_of(uint8_t *out, uint8_t part, uint64_t v)
{
    out[0] = part;
    out[1] = 0x45;
    store_u64_be(out + 2, v ^ 1ull << 63);
    return bytes_of(out, 10);
}

static uint64_t value_of(bytes key)
{
    return key.len < 10 ? 0 : load_u64_be(bytes_u8(key) + 2) ^ 1ull << 63;
}

static void write_row(struct heat *h, uint8_t part, uint64_t v)
{
    const struct heat_figures f = {{0, 1, 1, 0, 100}};
    uint8_t key[10];

    heat_add(h, key_of(key, part, v), &f);
}

static uint64_t sum(const struct heat_grid *g, int metric)
{
    uint64_t n = 0;

    for (size_t i = 0; i < g->rows * g->columns; i++)
        n += g->values[metric][i];
    return n;
}

static struct heat_grid report(const struct heat *h, struct arena *a, int64_t minute, int minutes,
                               size_t step, size_t rows)
{
    struct heat_query ask = {minute, minutes, step, rows, 0x1F};
    struct heat_grid g;

    heat_report(h, a, &ask, &g);
    assert_int_equal(g.columns, ((size_t)minutes + step - 1) / step);
    assert_in_range(g.rows, 1, rows);
    assert_int_equal(g.starts[0].len, 0);
    for (size_t i = 1; i < g.rows; i++)
        assert_true(bytes_compare(g.starts[i - 1], g.starts[i]) < 0);
    return g;
}

static void a_uniform_field_is_even(void **state)
{
    enum { MINUTES = 8, NOTES = 60000 };
    struct heat *h = heat_new(1, HEAT_BUCKETS_MAX, 1);
    struct heat_grid g;
    struct arena a;
    struct rng r;
    uint64_t least = UINT64_MAX, most = 0;

    (void)state;
    arena_init(&a, NULL, 0);
    rng_init(&r, 1);
    for (int64_t m = 0; m < MINUTES; m++) {
        for (int i = 0; i < NOTES; i++) {
            write_row(h, 0, rng_next(&r) >> 1);
            if (i % 1000 == 0)
                heat_adapt(h);
        }
        heat_step(h, DAY + m);
    }
    assert_in_range(heat_buckets(h), 1000, HEAT_BUCKETS_MAX);
    g = report(h, &a, DAY + MINUTES - 1, MINUTES, 1, 16);
    assert_int_equal(g.rows, 16);
    assert_int_equal(sum(&g, WR_HEAT_WRITES), MINUTES * NOTES);
    assert_int_equal(sum(&g, WR_HEAT_BYTES), MINUTES * NOTES * 100);
    assert_int_equal(sum(&g, WR_HEAT_READS), 0);
    /* The last columns, when the buckets have settled. */
    for (size_t row = 0; row < g.rows; row++) {
        uint64_t n = g.values[WR_HEAT_WRITES][row * g.columns + MINUTES - 1];

        least = n < least ? n : least;
        most = n > most ? n : most;
    }
    assert_true(most < 2 * least);
    g = report(h, &a, DAY + MINUTES - 1, MINUTES, 1, 1200);
    assert_in_range(g.rows, 1000, 1200);
    heat_free(h);
    arena_release(&a);
}

/* Keys that only grow: each minute's writes are in a narrow range above the last minute's. */
static void rising_keys_make_a_diagonal(void **state)
{
    enum { MINUTES = 32, NOTES = 6000 };
    struct heat *h = heat_new(1, HEAT_BUCKETS_MAX, 2);
    struct heat_grid g;
    struct arena a;
    uint64_t next = 0;

    (void)state;
    arena_init(&a, NULL, 0);
    for (int64_t m = 0; m < MINUTES; m++) {
        for (int i = 0; i < NOTES; i++) {
            write_row(h, 0, next++);
            if (i % 100 == 0)
                heat_adapt(h);
        }
        heat_step(h, DAY + m);
    }
    g = report(h, &a, DAY + MINUTES - 1, MINUTES, 1, MINUTES);
    assert_int_equal(sum(&g, WR_HEAT_WRITES), MINUTES * NOTES);
    for (size_t column = 4; column < MINUTES; column++) {
        uint64_t near = 0, all = 0;

        for (size_t row = 0; row < g.rows; row++) {
            uint64_t n = g.values[WR_HEAT_WRITES][row * g.columns + column];
            uint64_t low = value_of(g.starts[row]);
            uint64_t high = row + 1 < g.rows ? value_of(g.starts[row + 1]) : next;

            all += n;
            if (high >= column * NOTES && low <= (column + 1) * NOTES)
                near += n;
        }
        assert_int_equal(all, NOTES);
        assert_true(near * 10 >= all * 9);
    }
    heat_free(h);
    arena_release(&a);
}

static void a_hot_key_gets_a_bucket_of_its_own(void **state)
{
    enum { NOTES = 40000, HOT = 123456789 };
    struct heat *h = heat_new(1, 256, 3);
    struct heat_grid g;
    struct arena a;
    struct rng r;
    bool found = false;

    (void)state;
    arena_init(&a, NULL, 0);
    rng_init(&r, 3);
    for (int64_t m = 0; m < 3; m++) {
        for (int i = 0; i < NOTES; i++) {
            write_row(h, 0, i % 2 ? HOT : rng_below(&r, 1000000000));
            if (i % 200 == 0)
                heat_adapt(h);
        }
        heat_step(h, DAY + m);
    }
    g = report(h, &a, DAY + 2, 1, 1, 400);
    for (size_t row = 0; row + 1 < g.rows; row++)
        if (value_of(g.starts[row]) == HOT && g.starts[row].len == 10) {
            found = true;
            assert_true(value_of(g.starts[row + 1]) == HOT && g.starts[row + 1].len == 11);
            assert_true(g.values[WR_HEAT_WRITES][row] >= NOTES / 2);
        }
    assert_true(found);
    heat_free(h);
    arena_release(&a);
}

static void parts_of_a_layout_keep_their_rows(void **state)
{
    enum { PARTS = 16, NOTES = 32000 };
    struct heat *h = heat_new(PARTS, HEAT_BUCKETS_MAX, 4);
    struct heat_grid g;
    struct arena a;

    (void)state;
    arena_init(&a, NULL, 0);
    for (int i = 0; i < NOTES; i++) {
        write_row(h, (uint8_t)(i % PARTS), (uint64_t)i);
        if (i % 500 == 0)
            heat_adapt(h);
    }
    heat_step(h, DAY);
    g = report(h, &a, DAY, 1, 1, PARTS);
    assert_int_equal(g.rows, PARTS);
    for (size_t row = 0; row < PARTS; row++) {
        assert_int_equal(g.values[WR_HEAT_WRITES][row], NOTES / PARTS);
        if (row)
            assert_true(g.starts[row].len == 1 && *bytes_u8(g.starts[row]) == row);
    }
    heat_free(h);
    arena_release(&a);
}

/* Traffic that moves from one place to another: the buckets follow, and what was counted stays
 * where it was counted. */
static void history_keeps_its_meaning(void **state)
{
    enum { NOTES = 20000, WIDE = 1000000 };
    struct heat *h = heat_new(1, 128, 5);
    struct heat_grid g;
    struct arena a;
    struct rng r;

    (void)state;
    arena_init(&a, NULL, 0);
    rng_init(&r, 5);
    for (int64_t m = 0; m < 40; m++) {
        uint64_t base = m < 20 ? 0 : 10ull * WIDE;

        for (int i = 0; i < NOTES; i++) {
            write_row(h, 0, base + rng_below(&r, WIDE));
            if (i % 500 == 0)
                heat_adapt(h);
        }
        heat_step(h, DAY + m);
        assert_true(heat_buckets(h) <= 128);
    }
    g = report(h, &a, DAY + 39, 40, 1, 100);
    assert_int_equal(sum(&g, WR_HEAT_WRITES), 40 * NOTES);
    for (size_t column = 1; column < 40; column++) {
        uint64_t low = 0, high = 0;

        for (size_t row = 0; row < g.rows; row++) {
            uint64_t n = g.values[WR_HEAT_WRITES][row * g.columns + column];

            if (value_of(g.starts[row]) < WIDE)
                low += n;
            else
                high += n;
        }
        if (column < 20)
            assert_true(low == NOTES && high == 0);
        else if (column > 20)
            assert_true(high >= NOTES * 9ull / 10);
    }
    heat_free(h);
    arena_release(&a);
}

static void folding_keeps_the_sums_and_ends_with_nothing(void **state)
{
    enum { MINUTES = 200, NOTES = 300 };
    struct heat *h = heat_new(1, 256, 6);
    struct heat_grid g;
    struct arena a;
    struct rng r;
    size_t before;
    int folds = 0;

    (void)state;
    arena_init(&a, NULL, 0);
    rng_init(&r, 6);
    for (int64_t m = 0; m < MINUTES; m++) {
        for (int i = 0; i < NOTES; i++)
            write_row(h, 0, rng_below(&r, 1000000));
        heat_adapt(h);
        heat_step(h, DAY + m);
    }
    before = heat_bytes(h);
    while (heat_steps(h) > 20)
        assert_true(heat_fold(h));
    assert_true(heat_bytes(h) < before / 3 * 2);
    g = report(h, &a, DAY + MINUTES - 1, MINUTES, 1, 64);
    assert_int_equal(sum(&g, WR_HEAT_WRITES), MINUTES * NOTES);
    assert_int_equal(sum(&g, WR_HEAT_CU), MINUTES * NOTES);
    g = report(h, &a, DAY + MINUTES - 1, MINUTES, 7, 10);
    assert_int_equal(sum(&g, WR_HEAT_WRITES), MINUTES * NOTES);
    while (heat_fold(h))
        assert_in_range(++folds, 1, MINUTES);
    assert_int_equal(heat_steps(h), 0);
    heat_free(h);
    arena_release(&a);
}

static void a_day_is_kept_and_no_more(void **state)
{
    struct heat *h = heat_new(1, 64, 7);
    struct heat_grid g;
    struct arena a;

    (void)state;
    arena_init(&a, NULL, 0);
    for (int64_t m = 0; m < 2 * HEAT_MINUTES; m++) {
        write_row(h, 0, (uint64_t)m);
        heat_step(h, DAY + m);
        assert_true(heat_steps(h) <= HEAT_MINUTES);
    }
    write_row(h, 0, 1); /* of the running minute */
    g = report(h, &a, DAY + 2 * HEAT_MINUTES, HEAT_MINUTES, 60, 16);
    assert_int_equal(sum(&g, WR_HEAT_WRITES), HEAT_MINUTES);
    heat_free(h);
    arena_release(&a);
}

/* Keys that are no longer than what a cut left of them, empty texts, a clock that goes back. */
static void odd_input_is_taken(void **state)
{
    struct heat *h = heat_new(1, 32, 8);
    const struct heat_figures f = {{1, 2, 3, 4, 5}};
    struct heat_grid g;
    struct arena a;
    struct rng r;
    uint8_t key[72];

    (void)state;
    arena_init(&a, NULL, 0);
    rng_init(&r, 8);
    for (int i = 0; i < 50000; i++) {
        size_t n = 2 + rng_below(&r, sizeof(key) - 1);

        memset(key, (int)rng_below(&r, 2) * 255, sizeof(key));
        heat_add(h, bytes_of(key, n), &f);
        if (i % 100 == 0)
            heat_adapt(h);
        if (i % 1000 == 0)
            heat_step(h, DAY + (int64_t)rng_below(&r, 5));
    }
    g = report(h, &a, DAY + 100, 200, 1, 50);
    assert_int_equal(sum(&g, WR_HEAT_REFUSED), 200000);
    heat_free(h);
    arena_release(&a);
}

/* Two maps of the same table, with other buckets, in one: every figure at its time and place. */
static void maps_add_up(void **state)
{
    struct heat *h[2] = {heat_new(2, 64, 1), heat_new(2, 64, 2)}, *all = heat_new(2, 0, 0);
    struct heat_grid one[2], both;
    struct arena a;
    struct buf b;

    (void)state;
    arena_init(&a, NULL, 0);
    for (int64_t m = 0; m < 5; m++)
        for (uint64_t i = 0; i < 3000; i++) {
            write_row(h[0], 0, i * 7919 % 10000);
            write_row(h[1], 1, i * 104729 % 500);
            if (i % 100 == 0) {
                heat_adapt(h[0]);
                heat_adapt(h[1]);
            }
            if (i == 2999 && m < 4) {
                heat_step(h[0], DAY + m);
                heat_step(h[1], DAY + m);
            }
        }
    for (int i = 0; i < 2; i++) {
        buf_init(&b, &a, 0);
        heat_export(h[i], &b, DAY + 4, 4, SIZE_MAX);
        assert_true(heat_take(all, buf_bytes(&b)));
        one[i] = report(h[i], &a, DAY + 4, 4, 1, 40);
        assert_int_equal(sum(&one[i], WR_HEAT_WRITES), 12000);
    }
    both = report(all, &a, DAY + 4, 4, 1, 40);
    assert_int_equal(both.columns, 4);
    for (size_t column = 0; column < 4; column++) {
        uint64_t low = 0, high = 0;

        for (size_t row = 0; row < both.rows; row++)
            if (both.starts[row].len && *bytes_u8(both.starts[row]))
                high += both.values[WR_HEAT_WRITES][row * 4 + column];
            else
                low += both.values[WR_HEAT_WRITES][row * 4 + column];
        assert_int_equal(low, 3000);
        assert_int_equal(high, 3000);
    }
    heat_free(h[0]);
    heat_free(h[1]);
    heat_free(all);
    arena_release(&a);
}

/* What is too much becomes coarser; the sums stay. */
static void a_large_map_is_given_coarser(void **state)
{
    struct heat *h = heat_new(1, 1024, 3), *other = heat_new(1, 0, 0);
    struct heat_grid g;
    struct arena a;
    struct buf b;
    struct rng r;

    (void)state;
    arena_init(&a, NULL, 0);
    rng_init(&r, 4);
    for (int64_t m = 0; m < 60; m++) {
        for (int i = 0; i < 2000; i++) {
            write_row(h, 0, rng_next(&r) >> 1);
            if (i % 500 == 0)
                heat_adapt(h);
        }
        heat_step(h, DAY + m);
    }
    buf_init(&b, &a, 0);
    buf_put_u8(&b, 77);
    heat_export(h, &b, DAY + 59, 60, SIZE_MAX);
    assert_true(b.len > 100000);
    b.len = 1;
    heat_export(h, &b, DAY + 59, 60, 60000);
    assert_in_range(b.len, 10000, 60001);
    assert_int_equal(b.data[0], 77);
    assert_true(heat_take(other, bytes_skip(buf_bytes(&b), 1)));
    g = report(other, &a, DAY + 59, 60, 1, 64);
    assert_int_equal(sum(&g, WR_HEAT_WRITES), 120000);
    heat_free(h);
    heat_free(other);
    arena_release(&a);
}

/* Whatever another process sends: taken whole or not at all. */
static void what_is_no_map_is_not_taken(void **state)
{
    struct heat *h = heat_new(1, 64, 5), *other = heat_new(1, 0, 0);
    size_t empty = 0;
    struct arena a;
    struct buf b;
    struct rng r;
    bytes given;

    (void)state;
    arena_init(&a, NULL, 0);
    rng_init(&r, 6);
    for (uint64_t i = 0; i < 2000; i++) {
        write_row(h, 0, i);
        if (i % 100 == 0)
            heat_adapt(h);
        if (i % 700 == 0)
            heat_step(h, DAY + (int64_t)i / 700);
    }
    buf_init(&b, &a, 0);
    heat_export(h, &b, DAY + 9, 60, SIZE_MAX);
    given = arena_copy(&a, buf_bytes(&b));
    for (size_t n = 0; n < given.len; n++)
        if (!heat_take(other, bytes_of(given.ptr, n)))
            empty++;
    assert_in_range(empty, given.len / 2, given.len);
    for (int i = 0; i < 5000; i++) {
        struct arena tmp;

        arena_init(&tmp, NULL, 0);
        memcpy(b.data, given.ptr, given.len);
        for (int k = 0; k < 3; k++)
            b.data[rng_below(&r, given.len)] ^= (uint8_t)rng_next(&r);
        heat_free(other);
        other = heat_new(1, 0, 0);
        if (!heat_take(other, buf_bytes(&b)))
            assert_int_equal(heat_steps(other), 0);
        (void)report(other, &tmp, DAY + 9, 10, 1, 8);
        arena_release(&tmp);
    }
    heat_free(h);
    heat_free(other);
    arena_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_uniform_field_is_even),
        cmocka_unit_test(rising_keys_make_a_diagonal),
        cmocka_unit_test(a_hot_key_gets_a_bucket_of_its_own),
        cmocka_unit_test(parts_of_a_layout_keep_their_rows),
        cmocka_unit_test(history_keeps_its_meaning),
        cmocka_unit_test(folding_keeps_the_sums_and_ends_with_nothing),
        cmocka_unit_test(a_day_is_kept_and_no_more),
        cmocka_unit_test(odd_input_is_taken),
        cmocka_unit_test(maps_add_up),
        cmocka_unit_test(a_large_map_is_given_coarser),
        cmocka_unit_test(what_is_no_map_is_not_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
