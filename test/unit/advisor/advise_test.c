/* Every rule, on a small table that was made to break it and one that was not. */
#include "advisor/advise.h"

#include "base/port.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#undef fail /* cmocka has its own */
#include <cmocka.h>

#define RECORDS 20000

static struct clock clock_;
static struct ctx c;
static struct survey survey;
static struct ranks ranks;
static struct advise *advice;
static struct rng rng;
static uint64_t partition_bytes;
static struct advise_traffic traffic;

/* Writes field `column` of record n; "" is absent. */
typedef void make_fn(size_t column, uint64_t n, char *out, size_t size);

/* Surveys RECORDS records of the columns "NAME NAME ..." and takes advice. */
static void look(const char *names, make_fn *make, const char *query)
{
    bytes list[8];
    size_t columns = 0;

    clock_real_init(&clock_);
    ctx_init(&c, &clock_, NULL, NULL, 0);
    survey_init(&survey, 1);
    rng_init(&rng, 1);
    for (const char *p = names; *p; columns++) {
        size_t len = strcspn(p, " ");

        list[columns] = bytes_of(p, len);
        assert_true(survey_add_column(&survey, list[columns], columns));
        p += len + (p[len] == ' ');
    }
    for (uint64_t n = 0; n < RECORDS; n++) {
        char texts[8][400];
        struct csv_field fields[8];

        for (size_t i = 0; i < columns; i++) {
            make(i, n, texts[i], sizeof(texts[i]));
            fields[i].text = texts[i][0] ? bytes_str(texts[i]) : BYTES_NONE;
            fields[i].quoted = false;
        }
        survey_add(&survey, fields);
    }
    ranks_init(&ranks, &survey, SIZE_MAX, true, NULL);
    advice = mem_zalloc(sizeof(*advice));
    advice->survey = &survey;
    advice->ranks = &ranks;
    advice->partition_bytes = partition_bytes;
    advice->partitions = 16;
    advice->buckets = 16;
    advice->table = "t";
    advice->traffic = traffic;
    if (query)
        assert_int_equal(
            query_parse(&c, query, list, columns, advice->queries, &advice->query_count), 0);
    advise(&c, advice);
}

static void done(void)
{
    ranks_release(&ranks);
    survey_release(&survey);
    mem_free(advice);
    ctx_release(&c);
    partition_bytes = 10000000000;
}

/* The candidate "A+B layout"; NULL: there is none. */
static const struct candidate *find(const char *wanted)
{
    for (size_t i = 0; i < advice->candidate_count; i++) {
        const struct candidate *k = &advice->candidates[i];
        char layout[LAYOUT_FORM_BYTES];
        bytes name = advise_names(advice, k->columns, k->column_count, "+", &c.arena);

        name = arena_printf(&c.arena, "%.*s %s", BYTES_FMT(name),
                            layout_form_format(k->layout, layout));
        if (bytes_equal(name, bytes_str(wanted)))
            return k;
    }
    fail_msg("no candidate %s", wanted);
    return NULL;
}

static const struct reason *reason(const struct candidate *k, enum rule rule)
{
    for (size_t i = 0; i < k->reason_count; i++)
        if (k->reasons[i].rule == rule)
            return &k->reasons[i];
    return NULL;
}

static void expect(const char *wanted, enum rule rule, enum verdict verdict, double low,
                   double high)
{
    const struct reason *r = reason(find(wanted), rule);

    assert_non_null(r);
    if (r->verdict != verdict || !(r->figure >= low && r->figure <= high))
        fail_msg("%s, rule %s: %s, figure %g: %s", wanted, rule_infos[rule].name,
                 verdict_name(r->verdict), r->figure, (const char *)r->text.ptr);
}

static void expect_none(const char *wanted, enum rule rule)
{
    assert_null(reason(find(wanted), rule));
}

static void put(char *out, size_t size, const char *prefix, uint64_t n)
{
    snprintf(out, size, "%s%llu", prefix, (unsigned long long)n);
}

/* user: 2,000 values, even. kind: 8. hot: a quarter has one value. number: rises. */
static void make_basic(size_t column, uint64_t n, char *out, size_t size)
{
    switch (column) {
    case 0:
        put(out, size, "", 100000 + rng_below(&rng, 2000));
        break;
    case 1:
        put(out, size, "", rng_below(&rng, 8));
        break;
    case 2:
        put(out, size, "", rng_below(&rng, 4) ? rng_below(&rng, 3000) : 3000);
        break;
    default:
        put(out, size, "", 5000000 + n);
        break;
    }
}

static void test_spread_and_order(void **state)
{
    (void)state;
    look("user kind hot number", make_basic, NULL);
    assert_int_equal(find("user plain")->verdict, VERDICT_GOOD);
    expect("user plain", RULE_FEW, VERDICT_GOOD, 1900, 2100);
    expect("kind plain", RULE_FEW, VERDICT_BAD, 7, 9);
    expect("user plain", RULE_SKEW, VERDICT_GOOD, 0.0005, 0.002);
    expect("hot plain", RULE_SKEW, VERDICT_BAD, 0.24, 0.27);
    expect("hot hash:16", RULE_SKEW, VERDICT_BAD, 0.24, 0.27);
    expect("hot random:16", RULE_SKEW, VERDICT_GOOD, 0.015, 0.018); /* buckets divide it */
    expect("user plain", RULE_NARROW, VERDICT_GOOD, 0.7, 0.9);
    expect("number plain", RULE_NARROW, VERDICT_BAD, 0, 0.05);
    assert_true(find("number plain")->simulation.rise > 0.99);
    expect("number hash:16", RULE_NARROW, VERDICT_GOOD, 0.7, 0.9);
    expect("user plain", RULE_LOAD, VERDICT_GOOD, 1, 2);
    expect("number plain", RULE_LOAD, VERDICT_BAD, 14, 16);
    expect("number hash:16", RULE_LOAD, VERDICT_GOOD, 1, 2.5);
    expect("number reverse:16", RULE_LOAD, VERDICT_GOOD, 1, 2.5);
    expect("number random:16", RULE_LOAD, VERDICT_GOOD, 1, 2.5);
    assert_int_equal(find("number hash:16")->verdict, VERDICT_GOOD);
    expect("number hash:16", RULE_READS, VERDICT_GOOD, 0, 0); /* still readable in order */
    expect("user+kind splice:2", RULE_WIDTH, VERDICT_FAIR, 1, 1);
    assert_int_equal(advice->candidates[0].verdict, VERDICT_GOOD);
    assert_int_equal(advice->candidates[0].columns[0], 0);
    done();
}

/* device: 100 values. place: follows from the device. user: does not. */
static void make_devices(size_t column, uint64_t n, char *out, size_t size)
{
    static uint64_t device;

    if (column == 0)
        device = rng_below(&rng, 100);
    put(out, size, "",
        column == 0   ? device
        : column == 1 ? device % 20
        : column == 2 ? rng_below(&rng, 5000)
                      : n);
}

static void test_large_values(void **state)
{
    (void)state;
    uint64_t largest;

    partition_bytes = 10000000000;
    look("device place user n", make_devices, NULL);
    expect("device plain", RULE_SIZE, VERDICT_GOOD, 0, 0.001);
    largest = (uint64_t)find("device plain")->largest_bytes;
    assert_in_range(largest, survey.bytes / 110, survey.bytes / 60);
    done();
    partition_bytes = largest * 3 / 2;
    look("device place user n", make_devices, NULL);
    expect("device plain", RULE_SIZE, VERDICT_FAIR, 0.6, 0.7);
    done();
    partition_bytes = largest / 2;
    look("device place user n", make_devices, NULL);
    expect("device plain", RULE_SIZE, VERDICT_BAD, 1.9, 2.1);
    expect("device+place splice:2", RULE_SIZE, VERDICT_BAD, 1.5, 2.5);
    expect("device+place splice:2", RULE_DIVIDES, VERDICT_BAD, 1, 1);
    expect("device+user splice:2", RULE_DIVIDES, VERDICT_GOOD, 0, 0.1);
    expect("device+place+user splice:3", RULE_DIVIDES, VERDICT_GOOD, 0, 0.1);
    assert_int_equal(find("device+place+user splice:3")->verdict, VERDICT_GOOD);
    done();
}

/* A day's records of one sensor a minute; the times say so. */
static void make_growing(size_t column, uint64_t n, char *out, size_t size)
{
    uint64_t minute = n / 14;

    if (column == 0)
        put(out, size, "s", n % 14);
    else
        snprintf(out, size, "2025-01-%02u %02u:%02u:%02u", (unsigned)(1 + minute / 1440),
                 (unsigned)(minute / 60 % 24), (unsigned)(minute % 60), (unsigned)(n % 14));
}

static void test_growth(void **state)
{
    (void)state;
    look("sensor time", make_growing, NULL);
    assert_int_equal(ranks.time_column, 1);
    assert_true(fabs(ranks.seconds - 86400.0 * RECORDS / 14 / 1440) < 120);
    expect("sensor plain", RULE_GROWTH, VERDICT_GOOD, 5, INFINITY);
    done();
    partition_bytes = 8000000; /* a sensor makes about 17 MB a year */
    look("sensor time", make_growing, NULL);
    expect("sensor plain", RULE_GROWTH, VERDICT_BAD, 0.2, 0.8);
    expect("sensor+time splice:2", RULE_GROWTH, VERDICT_GOOD, INFINITY, INFINITY);
    done();
}

/* Columns with something wrong about the way they are written. */
static void make_badly(size_t column, uint64_t n, char *out, size_t size)
{
    static const char *const kinds[] = {"warehouse-of-the-north", "warehouse-of-the-south"};

    switch (column) {
    case 0: /* now and then missing */
        if (rng_below(&rng, 100))
            put(out, size, "", rng_below(&rng, 500));
        else
            out[0] = 0;
        break;
    case 1:
        snprintf(out, size, "%08llu", (unsigned long long)rng_below(&rng, 900));
        break;
    case 2:
        put(out, size, "https://example.org/item/", rng_below(&rng, 900) * 7919 % 90001);
        break;
    case 3:
        snprintf(out, size, "%s", kinds[n % 2]);
        break;
    case 4:
        memset(out, 'a' + (int)(n % 26), 300);
        snprintf(out + rng_below(&rng, 200), size - 200, "%llu", (unsigned long long)n % 700);
        break;
    default:
        put(out, size, "u", rng_below(&rng, 700));
        break;
    }
}

static void test_forms(void **state)
{
    (void)state;
    look("gaps padded address store long user", make_badly, NULL);
    expect("gaps plain", RULE_MISSING, VERDICT_BAD, 0.005, 0.02);
    expect_none("padded plain", RULE_MISSING);
    expect("padded plain", RULE_TEXT_NUMBER, VERDICT_FAIR, 1, 1);
    expect("user plain", RULE_TEXT_NUMBER, VERDICT_GOOD, 0, 0); /* a hint: digits behind letters */
    expect("address plain", RULE_PREFIX, VERDICT_FAIR, 25, 26);
    expect_none("user plain", RULE_PREFIX);
    expect("store plain", RULE_NAMES, VERDICT_FAIR, 1, 1);
    expect_none("user plain", RULE_NAMES);
    expect("long plain", RULE_VARIABLE, VERDICT_FAIR, 100, 400);
    expect_none("user plain", RULE_VARIABLE);
    expect("long plain", RULE_LENGTH, VERDICT_FAIR, 65, 512);
    done();
    look("user kind", make_basic, NULL);
    expect("user plain", RULE_UNIQUE, VERDICT_FAIR, 0.1, 1); /* nothing tells them apart */
    done();
    look("user kind hot number", make_basic, NULL);
    expect("user plain", RULE_UNIQUE, VERDICT_GOOD, 0, 0);
    expect_none("user plain", RULE_LENGTH);
    done();
}

static void test_separators(void **state)
{
    (void)state;
    struct rank_column col = {.type = WR_VARCHAR};
    bytes digits[] = {BYTES_LIT("16"), BYTES_LIT("167"), BYTES_LIT("54")}, a, b;
    bytes alike[] = {BYTES_LIT("016"), BYTES_LIT("054"), BYTES_LIT("167")};
    bytes low[] = {BYTES_LIT("a"), BYTES_LIT("a b"), BYTES_LIT("a+")};
    uint32_t pairs;

    col.values = digits;
    col.value_count = 3;
    assert_true(rule_breaks_order(&col, ':', &a, &b, &pairs));
    assert_int_equal(pairs, 1);
    assert_true(bytes_equal(a, digits[0]) && bytes_equal(b, digits[1]));
    assert_false(rule_breaks_order(&col, ',', &a, &b, &pairs));
    col.values = alike;
    assert_false(rule_breaks_order(&col, ':', &a, &b, &pairs));
    col.values = low;
    assert_true(rule_breaks_order(&col, ',', &a, &b, &pairs));

    partition_bytes = 1000;
    look("device place user n", make_devices, NULL);
    expect("device+user splice:2", RULE_SEPARATOR, VERDICT_GOOD, 1, 200);
    assert_non_null(strstr(reason(find("device+user splice:2"), RULE_SEPARATOR)->text.ptr,
                           "with ',' it does not"));
    expect_none("device plain", RULE_SEPARATOR);
    done();
}

static void test_queries(void **state)
{
    (void)state;
    look("user kind hot number", make_basic, "user=, number range; number=");
    expect("user plain", RULE_READS, VERDICT_FAIR, 0.5, 0.5); /* the second is lost */
    expect("kind plain", RULE_READS, VERDICT_BAD, 1, 1);
    assert_int_equal(find("user plain")->key[1], 3);
    done();
    look("user kind hot number", make_basic, "user=, number range");
    expect("user plain", RULE_READS, VERDICT_GOOD, 0, 0);
    assert_int_equal(advice->candidates[0].columns[0], 0);
    assert_int_equal(advice->candidates[0].key[1], 3);
    assert_true(bytes_equal(advise_create_line(advice, &advice->candidates[0], &c.arena),
                            BYTES_LIT("widerow create t --key \"user:integer,number:integer\" "
                                      "--layout plain")));
    assert_true(bytes_equal(
        advise_create_table(advice, &advice->candidates[0], &c.arena),
        BYTES_LIT("CREATE TABLE `t` (`user` BIGINT, `number` BIGINT, `kind` BIGINT, `hot` "
                  "BIGINT, PRIMARY KEY (`user`, `number`))")));
    done();
    look("user kind hot number", make_basic, "number range");
    assert_int_equal(advice->candidates[0].columns[0], 3);
    assert_int_equal(advice->candidates[0].layout.kind, LAYOUT_FORM_HASH);
    done();
}

static void test_traffic(void **state)
{
    (void)state;
    traffic = (struct advise_traffic){1000, 300, 0, BYTES_LIT("7")};
    look("user kind hot number", make_basic, NULL);
    expect("user plain", RULE_TRAFFIC, VERDICT_BAD, 0.3, 0.3);
    expect_none("kind plain", RULE_TRAFFIC);
    done();
    traffic = (struct advise_traffic){1000, 20, 0, BYTES_LIT("7")};
    look("user kind hot number", make_basic, NULL);
    expect("user plain", RULE_TRAFFIC, VERDICT_GOOD, 0.02, 0.02);
    done();
    traffic = (struct advise_traffic){0};
    look("user kind hot number", make_basic, NULL);
    expect_none("user plain", RULE_TRAFFIC);
    done();
}

static void test_thresholds(void **state)
{
    (void)state;
    for (size_t i = 0; i < RULE_COUNT; i++) {
        const struct rule_info *info = &rule_infos[i];
        double worse = info->over ? 1 : -1;

        if (!isnan(info->fair)) {
            assert_int_equal(rule_verdict((enum rule)i, info->fair), VERDICT_GOOD);
            assert_int_equal(rule_verdict((enum rule)i, info->fair + worse * 1e-6), VERDICT_FAIR);
        }
        if (!isnan(info->bad))
            assert_int_equal(rule_verdict((enum rule)i, info->bad + worse * 1e-6), VERDICT_BAD);
    }
}

static void test_times(void **state)
{
    (void)state;
    double s;

    assert_true(ranks_parse_time(BYTES_LIT("1970-01-02"), &s) && s == 86400);
    assert_true(ranks_parse_time(BYTES_LIT("2024-02-29T12:30:05.25Z"), &s) && s == 1709209805);
    assert_true(ranks_parse_time(BYTES_LIT("1709209805"), &s) && s == 1709209805);
    assert_true(ranks_parse_time(BYTES_LIT("1709209805000"), &s) && s == 1709209805);
    assert_false(ranks_parse_time(BYTES_LIT("2024-13-01"), &s));
    assert_false(ranks_parse_time(BYTES_LIT("17"), &s));
    assert_false(ranks_parse_time(BYTES_LIT(""), &s));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spread_and_order),
        cmocka_unit_test(test_large_values),
        cmocka_unit_test(test_growth),
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_separators),
        cmocka_unit_test(test_queries),
        cmocka_unit_test(test_thresholds),
        cmocka_unit_test(test_traffic),
        cmocka_unit_test(test_times),
    };

    partition_bytes = 10000000000;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
