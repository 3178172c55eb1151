#include "bench/bench_load.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define RECORDS 1234

static struct clock test_clock;

static const char *const names[] = {
    "read",        "write",     "insert",        "range",       "batch",       "hot",
    "narrow-read", "wide-read", "narrow-update", "cell-read",   "wide-update", "cell-write",
    "ycsb-a",      "ycsb-b",    "ycsb-c",        "ycsb-d",      "ycsb-e",      "ycsb-f",
    "increment",   "write-if",  "update-other",  "index-range", "transaction",
};

static struct bench_conf conf_of(const char *name)
{
    return (struct bench_conf){.mix = bench_mix_find(name),
                               .table = BYTES_LIT("bench"),
                               .records = RECORDS,
                               .columns = BENCH_COLUMNS,
                               .column_bytes = BENCH_COLUMN_BYTES,
                               .wide_columns = 777,
                               .cell_bytes = 100000,
                               .ops = 500,
                               .connections = 4};
}

static uint64_t number_behind(bytes text, size_t prefix)
{
    char digits[32] = "";

    assert_true(text.len > prefix && text.len - prefix < sizeof(digits));
    memcpy(digits, (const char *)text.ptr + prefix, text.len - prefix);
    return strtoull(digits, NULL, 10);
}

static void test_shares_are_percents(void **state)
{
    (void)state;
    for (size_t i = 0; i < PORT_COUNT(names); i++) {
        const struct bench_mix *mix = bench_mix_find(names[i]);
        unsigned sum = 0;

        assert_non_null(mix);
        for (int k = 0; k < BENCH_KINDS; k++)
            sum += mix->share[k];
        assert_int_equal(sum, 100);
    }
    assert_null(bench_mix_find("wide-load"));
}

/* As many jobs as were asked for, each with a request that asks for what is there. */
static void test_jobs_end(void **state)
{
    struct bench_load *l = mem_alloc(sizeof(*l));

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(names); i++) {
        struct bench_conf conf = conf_of(names[i]);
        struct bench_job job;
        int64_t wait_us;
        uint64_t jobs = 0;

        conf.choice = conf.mix->choice;
        bench_load_init(l, &conf, &test_clock);
        bench_load_start(l);
        for (; bench_load_next(l, l->start_us, &job, &wait_us); jobs++) {
            struct wr_request request;
            struct ctx c;

            ctx_init(&c, &test_clock, NULL, NULL, 0);
            bench_load_request(l, &job, &c, &request);
            if (job.kind == BENCH_READ)
                assert_true(number_behind(request.get_row.key.columns[0].value.bytes, 4) <
                                RECORDS ||
                            conf.choice == BENCH_LATEST);
            if (job.kind == BENCH_WIDE_READ)
                assert_true(number_behind(request.get_row.read.columns[0], 5) < conf.wide_columns);
            if (request.op == WR_OP_GET_ROW)
                assert_true(bench_load_cells(l, &job) > 0);
            else
                assert_true(bench_load_cells(l, &job) == 0 || job.kind == BENCH_MODIFY);
            while (bench_load_done(l, &job, 0, 1, l->start_us))
                bench_load_request(l, &job, &c, &request);
            ctx_release(&c);
        }
        assert_int_equal(jobs, conf.ops);
        assert_int_equal(wait_us, -1);
        assert_int_equal(l->finished, conf.ops);
        bench_load_release(l);
    }
    mem_free(l);
}

/* Runs the loader of what a workload needs; seen[n] counts how often number n was written. */
static void run_loader(const char *name, uint32_t columns, uint32_t column_bytes, unsigned *seen)
{
    struct bench_load *l = mem_alloc(sizeof(*l));
    struct bench_conf conf = conf_of(name);
    struct bench_job job;
    int64_t wait_us;

    conf.columns = columns;
    conf.column_bytes = column_bytes;
    conf.ops = bench_loader_ops(&conf);
    conf.mix = bench_mix_loader(conf.mix->needs);
    bench_load_init(l, &conf, &test_clock);
    bench_load_start(l);
    while (bench_load_next(l, l->start_us, &job, &wait_us)) {
        struct wr_request request;
        struct ctx c;

        ctx_init(&c, &test_clock, NULL, NULL, 0);
        bench_load_request(l, &job, &c, &request);
        if (request.op == WR_OP_BATCH_WRITE_ROW) {
            const struct wr_table_write *t = request.batch_write_row.tables;

            assert_true(t->change_count <= BENCH_BATCH_ROWS);
            assert_true(t->change_count == 1 ||
                        t->change_count * columns * column_bytes <= BENCH_BATCH_BYTES * 3 / 2);
            for (size_t i = 0; i < t->change_count; i++)
                seen[number_behind(t->changes[i].row.key.columns[0].value.bytes, 4)]++;
        } else if (request.op == WR_OP_UPDATE_ROW) {
            for (size_t i = 0; i < request.update_row.row.cell_count; i++)
                seen[number_behind(request.update_row.row.cells[i].name, 5)]++;
        } else {
            assert_int_equal(request.put_row.row.cells[0].value.bytes.len, conf.cell_bytes);
            seen[number_behind(request.put_row.row.key.columns[0].value.bytes, 4)]++;
        }
        ctx_release(&c);
    }
    bench_load_release(l);
    mem_free(l);
}

static void assert_all_seen(const unsigned *seen, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_true(seen[i] > 0);
    assert_int_equal(seen[count], 0);
}

static void test_loaders_leave_nothing_out(void **state)
{
    unsigned seen[RECORDS + 1];

    (void)state;
    memset(seen, 0, sizeof(seen));
    run_loader("read", BENCH_COLUMNS, BENCH_COLUMN_BYTES, seen);
    assert_all_seen(seen, RECORDS);
    memset(seen, 0, sizeof(seen));
    run_loader("read", 10, 40000, seen); /* large records: fewer to a batch */
    assert_all_seen(seen, RECORDS);
    memset(seen, 0, sizeof(seen));
    run_loader("wide-read", BENCH_COLUMNS, BENCH_COLUMN_BYTES, seen);
    assert_all_seen(seen, 777);
    memset(seen, 0, sizeof(seen));
    run_loader("cell-read", BENCH_COLUMNS, BENCH_COLUMN_BYTES, seen);
    assert_all_seen(seen, BENCH_CELLS);
}

/* With a rate, a job is due when its number says, and its time counts from there. */
static void test_open_loop(void **state)
{
    struct bench_load *l = mem_alloc(sizeof(*l));
    struct bench_conf conf = conf_of("read");
    struct bench_job job;
    int64_t wait_us;

    (void)state;
    conf.ops = 0;
    conf.seconds = 1;
    conf.rate = 100;
    bench_load_init(l, &conf, &test_clock);
    bench_load_start(l);
    assert_true(bench_load_next(l, l->start_us, &job, &wait_us));
    assert_false(bench_load_next(l, l->start_us, &job, &wait_us));
    assert_int_equal(wait_us, 10000);
    /* The server stalls for 30 ms: what was due meanwhile starts late and counts from its due. */
    for (int64_t due_us = 10000; due_us <= 30000; due_us += 10000) {
        assert_true(bench_load_next(l, l->start_us + 30000, &job, &wait_us));
        assert_int_equal(job.start_us - l->start_us, due_us);
    }
    assert_false(bench_load_next(l, l->start_us + 30000, &job, &wait_us));
    assert_false(bench_load_next(l, l->start_us + 1000000, &job, &wait_us));
    assert_int_equal(wait_us, -1);
    bench_load_end(l);
    assert_int_equal(l->late, 96);
    bench_load_release(l);
    mem_free(l);
}

/* On a pool an id has more than a UUID: whatever the table's name is, it goes into the requests. */
static void test_ids_of_a_pool_fit(void **state)
{
    static char id[37 + 2 * (2 + 255 + BENCH_KEY_BYTES + 4)];
    struct wr_reply reply = {.op = WR_OP_START_LOCAL_TRANSACTION};
    struct bench_load *l = mem_alloc(sizeof(*l));
    struct bench_conf conf = conf_of("transaction");
    struct wr_request request;
    struct bench_job job;
    int64_t wait_us;
    struct ctx c;

    (void)state;
    memset(id, 'a', sizeof(id));
    reply.transaction.id = bytes_of(id, sizeof(id));
    bench_load_init(l, &conf, &test_clock);
    bench_load_start(l);
    assert_true(bench_load_next(l, l->start_us, &job, &wait_us));
    ctx_init(&c, &test_clock, NULL, NULL, 0);
    bench_load_request(l, &job, &c, &request);
    assert_int_equal(request.op, WR_OP_START_LOCAL_TRANSACTION);
    assert_int_equal(bench_load_began(&c, &job, &reply), 0);
    assert_true(bench_load_done(l, &job, 0, 0, l->start_us));
    bench_load_request(l, &job, &c, &request);
    assert_int_equal(request.op, WR_OP_PUT_ROW);
    assert_true(bytes_equal(request.put_row.transaction, reply.transaction.id));
    ctx_release(&c);
    bench_load_release(l);
    mem_free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ids_of_a_pool_fit), cmocka_unit_test(test_shares_are_percents),
        cmocka_unit_test(test_jobs_end),          cmocka_unit_test(test_loaders_leave_nothing_out),
        cmocka_unit_test(test_open_loop),
    };

    clock_set_init(&test_clock, 1700000000000000);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
