/* Series in a table's description, as stored bytes. */
#include "../../../golden/golden.h"
#include "../../context.h"

#include "schema_sample.h"

static const struct schema_partition partition = {.id = 5, .created_us = 1};
static const int64_t periods[] = {-3, 0, 661};

static bytes encode(const struct schema_series *series, const struct schema_period *period)
{
    struct schema s = schema_sample();
    struct buf b;

    s.partitions = &partition;
    s.partition_count = 1;
    if (series)
        s.series = *series;
    if (period)
        s.period = *period;
    buf_init(&b, &c.arena, 256);
    schema_encode(&b, &s);
    return buf_bytes(&b);
}

static bytes a_series(void)
{
    static const struct schema_series series = {.spec = {.by = WR_SERIES_BY_MONTH,
                                                         .column = BYTES_LIT("user"),
                                                         .unit = WR_SERIES_MILLISECONDS,
                                                         .hot = 1,
                                                         .warm = 12,
                                                         .warm_reserved = {true, true, 5, 0}},
                                                .frozen = 660,
                                                .gone = PERIOD_NONE,
                                                .periods = periods,
                                                .count = 3};

    return encode(&series, NULL);
}

static bytes an_archive(void)
{
    static const struct schema_series series = {
        .spec = {.by = WR_SERIES_BY_MONTH, .column = BYTES_LIT("user"), .hot = 1},
        .frozen = 660,
        .gone = -3,
        .periods = periods,
        .count = 3,
        .archive = BYTES_LIT("s3://b/p"),
        .archived = 0};

    return encode(&series, NULL);
}

static bytes a_period(void)
{
    return encode(NULL, &(struct schema_period){.series = 4, .number = -3, .frozen = true});
}

static void test_golden(void **state)
{
    struct golden goldens[] = {{"schema-series", "A series by month.", a_series()},
                               {"schema-period", "The table of one of its periods.", a_period()},
                               {"schema-archive", "A series with an archive.", an_archive()}};

    (void)state;
    /* An older server must refuse both. */
    assert_int_equal(*bytes_u8(goldens[0].value), 13);
    assert_int_equal(*bytes_u8(goldens[1].value), 13);
    assert_int_equal(*bytes_u8(goldens[2].value), 16);
    golden_check("series.hex", "Series of tables.", goldens, 3);
}

static void test_round_trip(void **state)
{
    struct schema back;
    struct buf b;

    (void)state;
    assert_int_equal(schema_decode(&c, a_series(), &back), E_OK);
    assert_int_equal(back.series.spec.by, WR_SERIES_BY_MONTH);
    assert_int_equal(back.series.spec.warm_reserved.read, 5);
    assert_int_equal(back.series.frozen, 660);
    assert_true(back.series.gone == PERIOD_NONE);
    assert_int_equal(back.series.count, 3);
    assert_int_equal(back.series.periods[0], -3);
    buf_init(&b, &c.arena, 256);
    schema_encode(&b, &back);
    assert_true(bytes_equal(buf_bytes(&b), a_series()));
    assert_int_equal(schema_decode(&c, an_archive(), &back), E_OK);
    assert_true(bytes_equal(back.series.archive, BYTES_LIT("s3://b/p")));
    assert_int_equal(back.series.archived, 0);
    assert_int_equal(series_kept(&back.series), 0);
    assert_int_equal(schema_decode(&c, a_period(), &back), E_OK);
    assert_int_equal(back.period.series, 4);
    assert_int_equal(back.period.number, -3);
    assert_true(back.period.frozen);
}

static void decode(bytes damaged, void *arg)
{
    struct schema s;

    (void)arg;
    schema_decode(&c, damaged, &s);
    ctx_clear(&c);
}

static void test_damage(void **state)
{
    (void)state;
    golden_damage(a_series(), 3000, decode, NULL);
    golden_damage(an_archive(), 3000, decode, NULL);
    golden_damage(a_period(), 3000, decode, NULL);
}

static void test_list(void **state)
{
    struct schema_series s = {.periods = periods, .count = 3};

    (void)state;
    series_add(&c.arena, &s, 5);
    series_add(&c.arena, &s, -9);
    series_add(&c.arena, &s, 900);
    assert_int_equal(s.count, 6);
    for (size_t i = 1; i < s.count; i++)
        assert_true(s.periods[i - 1] < s.periods[i]);
    assert_int_equal(series_find(&s, 5), 3);
    series_remove(&c.arena, &s, 5);
    assert_int_equal(series_find(&s, 5), s.count);
    assert_int_equal(s.count, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_golden), TEST(test_round_trip), TEST(test_damage),
                                       TEST(test_list)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
