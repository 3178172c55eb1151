/* The queue of samples, and the memory of all heat maps together. */
#include "table/stats/sampler.h"

#include "base/buf.h"
#include "base/rng.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define MINUTE_US 60000000ll
#define START_US (29000000 * MINUTE_US)

static const struct heat_figures one_write = {{0, 1, 1, 0, 100}};

static bool leave(struct sampler_table *tt, uint64_t v)
{
    uint32_t weight = sampler_weight(tt);
    uint8_t cols[9] = {0x45};

    if (!weight)
        return false;
    store_u64_be(cols + 1, v);
    sampler_add(tt, weight, 0, bytes_of(cols, sizeof(cols)), sizeof(cols), &one_write);
    return true;
}

static uint64_t writes(struct sampler *t, struct sampler_table *tt, struct arena *a,
                       struct sampler_report *r)
{
    const struct heat_query ask = {.minutes = HEAT_MINUTES, .step = 60, .rows = 64, .metrics = 2};
    uint64_t n = 0;

    sampler_report(t, tt, a, &ask, 10, NULL, 0, r);
    for (size_t i = 0; i < r->grid.rows * r->grid.columns; i++)
        n += r->grid.values[WR_HEAT_WRITES][i];
    return n;
}

/* A table and what its tests read it with, on a clock that stands. */
struct bed {
    struct clock clock;
    struct sampler *t;
    struct sampler_table *tt;
    struct sampler_report r;
    struct arena a;
};

static void bed_begin(struct bed *b)
{
    arena_init(&b->a, NULL, 0);
    clock_set_init(&b->clock, START_US);
    b->t = sampler_new(&b->clock, 8 << 20);
    b->tt = sampler_open(b->t, 0, 1);
}

static void bed_end(struct bed *b)
{
    sampler_close(b->tt);
    sampler_free(b->t);
    arena_release(&b->a);
}

static void notes_arrive(void **state)
{
    struct bed b;

    (void)state;
    bed_begin(&b);
    assert_int_equal(writes(b.t, b.tt, &b.a, &b.r), 0);
    for (uint64_t i = 0; i < 2000; i++)
        assert_true(leave(b.tt, i % 10 ? i : 7));
    assert_int_equal(writes(b.t, b.tt, &b.a, &b.r), 2000);
    assert_int_equal(b.r.dropped, 0);
    assert_int_equal(b.r.hot_count, 10);
    assert_true(b.r.hot[0].count >= 200 && b.r.hot[0].count - b.r.hot[0].error <= 201);
    assert_int_equal(load_u64_be(b.r.hot[0].key + 2), 7);
    assert_int_equal(b.r.hot_minutes, 1);
    assert_int_equal(sampler_writes(b.t, b.tt), 2000);
    b.clock.set_us += 5 * MINUTE_US;
    leave(b.tt, 1);
    assert_int_equal(writes(b.t, b.tt, &b.a, &b.r), 2001);
    assert_int_equal(b.r.hot_minutes, 6);
    bed_end(&b);
}

/* Nobody takes samples out: the ring is full some time, and what does not fit is counted. */
static void a_full_ring_misses_and_says_so(void **state)
{
    enum { NOTES = 100000 };
    struct bed b;
    uint64_t n;

    (void)state;
    bed_begin(&b);
    for (uint64_t i = 0; i < NOTES; i++)
        leave(b.tt, i);
    n = writes(b.t, b.tt, &b.a, &b.r);
    assert_true(b.r.dropped > 0);
    assert_in_range(n + b.r.dropped, NOTES * 8 / 10, NOTES * 12 / 10);
    bed_end(&b);
}

/* The weight of a walk's next row. */
static uint32_t draw(struct sampler_table *tt, struct sampler_draw *d)
{
    if (!d->skip)
        return sampler_draw(tt, d);
    d->skip--;
    return 0;
}

/* All rows that count one by one have a sample, and of many rows the samples stand for as many,
 * wherever in a run of rows they are. */
static void a_walk_draws_for_many_rows(void **state)
{
    enum { ROWS = 4000000, PLACES = 64 };
    uint64_t all = 0, at[PLACES] = {0};
    struct sampler_draw d = {0};
    struct bed b;

    (void)state;
    bed_begin(&b);
    for (int i = 0; i < 500; i++)
        assert_int_equal(draw(b.tt, &d), 1);
    for (uint64_t i = 0; i < 200000; i++)
        leave(b.tt, i);
    sampler_drain(b.t);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(draw(b.tt, &d), 1);
    for (size_t i = 0; i < ROWS; i++) {
        uint32_t weight = draw(b.tt, &d);

        assert_true(!weight || weight > 32);
        all += weight;
        at[i % PLACES] += weight;
    }
    assert_in_range(all, ROWS / 100 * 98, ROWS / 100 * 102);
    for (size_t i = 0; i < PLACES; i++)
        assert_in_range(at[i], ROWS / PLACES / 10 * 8, ROWS / PLACES / 10 * 12);
    bed_end(&b);
}

/* A burst thins out what comes next, but the first thousand are counted one by one. */
static void what_is_quiet_after_a_burst_is_exact(void **state)
{
    struct bed b;
    struct sampler_table *quiet;
    int left = 0;

    (void)state;
    bed_begin(&b);
    quiet = sampler_open(b.t, 0, 1);
    sampler_drain(b.t);
    for (int round = 0; round < 2; round++) {
        for (uint64_t i = 0; i < 4000; i++)
            leave(b.tt, i);
        sampler_drain(b.t);
        for (uint64_t i = 0; i < 500; i++)
            assert_true(leave(quiet, i));
        assert_int_equal(writes(b.t, quiet, &b.a, &b.r), 500 * (round + 1));
        assert_int_equal(b.r.dropped, 0);
    }
    for (uint64_t i = 0; i < 4000; i++)
        leave(b.tt, i);
    sampler_drain(b.t);
    for (uint64_t i = 0; i < 3000; i++)
        left += leave(b.tt, i);
    assert_in_range(left, 1100, 2000); /* a quarter of those that came after */
    sampler_close(quiet);
    bed_end(&b);
}

/* Someone who looks right after the reader came does not take the few samples since for quiet. */
static void a_report_in_a_burst_misses_nothing(void **state)
{
    struct bed b;
    uint64_t missed;

    (void)state;
    bed_begin(&b);
    sampler_drain(b.t);
    b.clock.set_us += 100000;
    for (uint64_t i = 0; i < 40000; i++)
        leave(b.tt, i);
    writes(b.t, b.tt, &b.a, &b.r);
    missed = b.r.dropped; /* the burst came without a warning */
    for (int round = 0; round < 5; round++) {
        b.clock.set_us += 1000;
        for (uint64_t i = 0; i < 100; i++)
            leave(b.tt, i);
        writes(b.t, b.tt, &b.a, &b.r);
        b.clock.set_us += 99000 + round * 1000;
        for (uint64_t i = 0; i < 40000; i++)
            leave(b.tt, i);
        writes(b.t, b.tt, &b.a, &b.r);
        assert_int_equal(b.r.dropped, missed);
    }
    b.clock.set_us += 100000; /* quiet again */
    sampler_drain(b.t);
    for (uint64_t i = 0; i < 3000; i++)
        assert_true(leave(b.tt, i));
    bed_end(&b);
}

#define THREADS 8
#define THREAD_NOTES 200000

static void *leave_many(void *arg)
{
    struct rng r;

    rng_init(&r, (uint64_t)(uintptr_t)&r);
    for (uint64_t i = 0; i < THREAD_NOTES; i++)
        leave(arg, rng_below(&r, 1000));
    return NULL;
}

/* With its own thread: of many accesses at once only some are sampled, and what is left stands for
 * all. */
static void many_threads_add_up(void **state)
{
    pthread_t threads[THREADS];
    struct clock clock;
    struct sampler *t;
    struct sampler_table *tt;
    struct sampler_report r;
    struct arena a;
    uint64_t n;

    (void)state;
    arena_init(&a, NULL, 0);
    clock_real_init(&clock);
    t = sampler_new(&clock, 8 << 20);
    tt = sampler_open(t, 0, 1);
    sampler_start(t);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, leave_many, tt), 0);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    n = writes(t, tt, &a, &r);
    assert_in_range(n + r.dropped, THREADS * THREAD_NOTES * 8 / 10,
                    THREADS * THREAD_NOTES * 12 / 10);
    sampler_stop(t);
    sampler_close(tt);
    sampler_free(t);
    arena_release(&a);
}

/* A table that is closed with samples under way. */
static void a_closed_table_is_let_go_behind_its_notes(void **state)
{
    struct clock clock;
    struct sampler *t;

    (void)state;
    clock_set_init(&clock, START_US);
    t = sampler_new(&clock, 8 << 20);
    for (int i = 0; i < 200; i++) {
        struct sampler_table *tt = sampler_open(t, 0, 1 + (unsigned)i % 256),
                             *again = sampler_ref(tt);

        leave(tt, 1);
        sampler_close(tt);
        leave(again, 2);
        sampler_close(again);
        if (i % 3 == 0)
            sampler_drain(t);
    }
    sampler_free(t);
}

/* Two days of busy tables, one of them with new keys all the time, and many of them. */
static void memory_is_bounded(void **state)
{
    enum { TABLES = 40, MAX = 4 << 20 };
    struct sampler_table *tables[TABLES];
    struct clock clock;
    struct sampler *t;
    struct sampler_report r;
    struct arena a;
    struct rng rng;
    uint64_t serial = 0;
    size_t most = 0;

    (void)state;
    arena_init(&a, NULL, 0);
    rng_init(&rng, 1);
    clock_set_init(&clock, START_US);
    t = sampler_new(&clock, MAX);
    for (int i = 0; i < TABLES; i++)
        tables[i] = sampler_open(t, 0, 1);
    for (int minute = 0; minute < 2 * HEAT_MINUTES; minute++) {
        for (int round = 0; round < 2; round++) {
            for (int i = 0; i < 300; i++) {
                leave(tables[0], serial++);
                leave(tables[1], rng_next(&rng));
            }
            if (minute > HEAT_MINUTES)
                for (int i = 0; i < TABLES; i++)
                    leave(tables[i], rng_next(&rng));
            clock.set_us += MINUTE_US / 2;
            sampler_drain(t);
        }
        most = sampler_bytes(t) > most ? sampler_bytes(t) : most;
    }
    assert_in_range(most, MAX / 2, MAX);
    assert_true(writes(t, tables[0], &a, &r) > 300);
    assert_true(writes(t, tables[TABLES - 1], &a, &r) > 0);
    for (int i = 0; i < TABLES; i++)
        sampler_close(tables[i]);
    sampler_free(t);
    arena_release(&a);
}

static void watched_keys_are_counted_one_by_one(void **state)
{
    struct bed b;
    uint64_t hashes[2];
    struct sampler_watch items[3];
    uint8_t cols[9] = {0x45};

    (void)state;
    bed_begin(&b);
    for (uint64_t i = 0; i < 3; i++) {
        store_u64_be(cols + 1, i);
        items[i] = (struct sampler_watch){.hash = sampler_hash(bytes_of(cols, sizeof(cols)))};
    }
    hashes[0] = items[0].hash;
    hashes[1] = items[1].hash;
    leave(b.tt, 0); /* before anybody watches */
    sampler_watch(b.t, b.tt, hashes, 2);
    for (uint64_t i = 0; i < 100; i++)
        leave(b.tt, i % 3);
    sampler_watched(b.t, b.tt, items, 3);
    assert_int_equal(items[0].figures.n[WR_HEAT_WRITES], 34);
    assert_int_equal(items[0].bytes_written, 3400);
    assert_int_equal(items[1].figures.n[WR_HEAT_WRITES], 33);
    assert_int_equal(items[2].figures.n[WR_HEAT_WRITES], 0);
    bed_end(&b);
}

/* Three processes with the same table: each one's report is of all. */
static void reports_of_others_are_added(void **state)
{
    const struct heat_query ask = {.minutes = HEAT_MINUTES, .step = 60, .rows = 64, .metrics = 2};
    struct clock clock[3];
    struct sampler *t[3];
    struct sampler_table *tt[3];
    struct sampler_report r;
    bytes given[4];
    struct arena a;
    uint64_t n = 0;

    (void)state;
    arena_init(&a, NULL, 0);
    for (uint64_t k = 0; k < 3; k++) {
        clock_set_init(&clock[k], START_US);
        t[k] = sampler_new(&clock[k], 8 << 20);
        tt[k] = sampler_open(t[k], 0, 1);
        for (uint64_t i = 0; k < 2 && i < 1000; i++) /* the third has seen nothing */
            leave(tt[k], i % 2 ? 5 : k * 10000 + i % 200);
    }
    for (size_t k = 0; k < 2; k++) {
        struct buf b;

        buf_init(&b, &a, 0);
        sampler_export(t[k], tt[k], &b, START_US / MINUTE_US - 100, 1 << 20);
        given[k] = buf_bytes(&b);
    }
    given[2] = BYTES_LIT("no report at all");
    given[3] = BYTES_NONE;
    assert_int_equal(sampler_report(t[2], tt[2], &a, &ask, 10, given, 4, &r), 2);
    for (size_t i = 0; i < r.grid.rows * r.grid.columns; i++)
        n += r.grid.values[WR_HEAT_WRITES][i];
    assert_int_equal(n, 2000);
    assert_int_equal(r.hot_count, 10);
    assert_int_equal(r.hot[0].count - r.hot[0].error, 1000);
    assert_int_equal(r.hot[0].figures[WR_HEAT_WRITES], 1000);
    for (size_t k = 0; k < 3; k++) {
        sampler_close(tt[k]);
        sampler_free(t[k]);
    }
    arena_release(&a);
}

/* As an index has it, whose reads and writes are counted by different tables. */
static void who_opens_the_same_id_gets_the_same(void **state)
{
    struct clock clock;
    struct sampler *t;
    struct sampler_table *tt, *other;

    (void)state;
    clock_real_init(&clock);
    t = sampler_new(&clock, 8 << 20);
    tt = sampler_open(t, 7, 1);
    other = sampler_open(t, 8, 1);
    assert_ptr_not_equal(other, tt);
    sampler_close(other);
    other = sampler_open(t, 7, 1);
    assert_ptr_equal(other, tt);
    sampler_close(tt);
    tt = sampler_open(t, 7, 1); /* it is open still */
    assert_ptr_equal(other, tt);
    sampler_close(tt);
    sampler_close(other);
    tt = sampler_open(t, 7, 1); /* closed by all: another one */
    assert_ptr_not_equal(other, tt);
    sampler_close(tt);
    tt = sampler_open(t, 0, 1);
    other = sampler_open(t, 0, 1);
    assert_ptr_not_equal(other, tt);
    sampler_close(tt);
    sampler_close(other);
    sampler_drain(t);
    sampler_free(t);
}

static void without_memory_there_is_nothing(void **state)
{
    struct sampler_table *tt;

    (void)state;
    assert_null(sampler_new(NULL, 0));
    tt = sampler_open(NULL, 0, 1);
    assert_null(tt);
    assert_int_equal(sampler_weight(tt), 0);
    assert_int_equal(sampler_draw(tt, &(struct sampler_draw){0}), 0);
    sampler_close(sampler_ref(tt));
    sampler_start(NULL);
    sampler_drain(NULL);
    sampler_stop(NULL);
    sampler_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(notes_arrive),
        cmocka_unit_test(a_full_ring_misses_and_says_so),
        cmocka_unit_test(a_walk_draws_for_many_rows),
        cmocka_unit_test(what_is_quiet_after_a_burst_is_exact),
        cmocka_unit_test(a_report_in_a_burst_misses_nothing),
        cmocka_unit_test(many_threads_add_up),
        cmocka_unit_test(a_closed_table_is_let_go_behind_its_notes),
        cmocka_unit_test(memory_is_bounded),
        cmocka_unit_test(watched_keys_are_counted_one_by_one),
        cmocka_unit_test(reports_of_others_are_added),
        cmocka_unit_test(who_opens_the_same_id_gets_the_same),
        cmocka_unit_test(without_memory_there_is_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
