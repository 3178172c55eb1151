#include "cli/transfer/sample.h"

#include "base/port.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define RECORDS 200000
#define CARDS 4000
#define DEVICES 80
#define SELLERS 8
#define DAYS 365

/* A digest of the whole stream: two sums of its bytes. */
static uint64_t digest(uint64_t records, uint64_t seed)
{
    struct sample_campus s;
    struct sample_record r;
    char line[SAMPLE_LINE_BYTES_MAX];
    uint64_t a = 1, b = 0;

    sample_campus_init(&s, records, seed);
    while (sample_campus_next(&s, &r)) {
        size_t n = sample_format(&r, line);

        for (size_t i = 0; i < n; i++) {
            a += (uint8_t)line[i];
            b += a;
        }
    }
    sample_campus_release(&s);
    return a ^ b << 20;
}

static void test_same_seed_same_bytes(void **state)
{
    (void)state;
    assert_true(digest(5000, 1) == digest(5000, 1));
    assert_true(digest(5000, 1) != digest(5000, 2));
    assert_true(digest(5000, 1) != digest(5001, 1));
}

static void test_format(void **state)
{
    struct sample_record r = {.card = 100001,
                              .seller = 100,
                              .device = 7,
                              .order = 42,
                              .cents = 905,
                              .day = 59,
                              .second = 12 * 3600 + 34 * 60 + 5};
    char line[SAMPLE_LINE_BYTES_MAX];
    size_t n = sample_format(&r, line);

    (void)state;
    line[n] = 0;
    assert_string_equal(line, "100001,a100,7,42,9.05,2025-03-01 12:34:05\n");
    r = (struct sample_record){UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT64_MAX,
                               UINT32_MAX, 364,        86399};
    n = sample_format(&r, line);
    assert_true(n < SAMPLE_LINE_BYTES_MAX);
    line[n] = 0;
    assert_non_null(strstr(line, ",2025-12-31 23:59:59\n"));
}

static void spread(const uint32_t *counts, size_t n, uint32_t *least, uint32_t *most)
{
    *least = UINT32_MAX;
    *most = 0;
    for (size_t i = 0; i < n; i++) {
        if (counts[i] < *least)
            *least = counts[i];
        if (counts[i] > *most)
            *most = counts[i];
    }
}

/* One pass over a year; every property of the header comment. */
static void test_shape(void **state)
{
    static uint32_t card_day[CARDS], device_day[DEVICES], card_year[CARDS], device_year[DEVICES];
    static uint32_t seller_year[SELLERS], seller_of[DEVICES];
    static uint64_t last_order[DEVICES];
    struct sample_campus s;
    struct sample_record r;
    uint64_t made = 0, last_time = 0;
    uint32_t day = 0, days = 1, least, most;

    (void)state;
    sample_campus_init(&s, RECORDS, 7);
    for (bool more = true; more;) {
        more = sample_campus_next(&s, &r);
        if (!more || r.day != day) {
            spread(card_day, CARDS, &least, &most);
            assert_true(most - least <= 2);
            spread(device_day, DEVICES, &least, &most);
            assert_true(most - least <= 2);
            memset(card_day, 0, sizeof(card_day));
            memset(device_day, 0, sizeof(device_day));
            days += more;
            day = r.day;
        }
        if (!more)
            break;
        made++;
        assert_in_range(r.card, 100001, 100000 + CARDS);
        assert_in_range(r.device, 1, DEVICES);
        assert_in_range(r.seller, 100, 99 + SELLERS);
        assert_true(r.second < 86400 && r.cents > 0);
        assert_true(r.day * 86400ull + r.second >= last_time);
        last_time = r.day * 86400ull + r.second;
        assert_int_equal(r.order, ++last_order[r.device - 1]);
        assert_true(!seller_of[r.device - 1] || seller_of[r.device - 1] == r.seller);
        seller_of[r.device - 1] = r.seller;
        card_day[r.card - 100001]++;
        device_day[r.device - 1]++;
        card_year[r.card - 100001]++;
        device_year[r.device - 1]++;
        seller_year[r.seller - 100]++;
    }
    sample_campus_release(&s);
    assert_int_equal(made, RECORDS);
    assert_int_equal(days, DAYS);
    spread(card_year, CARDS, &least, &most);
    assert_true(most - least <= 1);
    spread(device_year, DEVICES, &least, &most);
    assert_true(most - least <= 1);
    for (size_t i = 1; i < SELLERS; i++)
        assert_true(seller_year[i] <= seller_year[i - 1]);
    spread(seller_year, SELLERS, &least, &most);
    assert_true(most > 5 * least); /* 1/1 against 1/8, in whole devices */
    assert_true(least > 0);
}

/* Every size gives exactly its records, on days that rise. */
static void test_small(void **state)
{
    (void)state;
    for (uint64_t n = 0; n < 800; n += 7) {
        struct sample_campus s;
        struct sample_record r;
        uint64_t made = 0;
        uint32_t day = 0;

        sample_campus_init(&s, n, n);
        while (sample_campus_next(&s, &r)) {
            made++;
            assert_true(r.day >= day && r.day < DAYS);
            day = r.day;
        }
        assert_false(sample_campus_next(&s, &r));
        sample_campus_release(&s);
        assert_int_equal(made, n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_seed_same_bytes),
        cmocka_unit_test(test_format),
        cmocka_unit_test(test_shape),
        cmocka_unit_test(test_small),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
