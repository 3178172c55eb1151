/* Values as commands write and read them: what is written reads back as the same, type and bits. */
#include "cli/console/value.h"

#include "base/port.h"
#include "base/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../../context.h"

#define ROUNDS 20000

static bytes written(const struct wr_value *v)
{
    struct buf b;

    buf_init(&b, &c.arena, 0);
    value_put(&b, v);
    return buf_bytes(&b);
}

static bool same(const struct wr_value *a, const struct wr_value *b)
{
    if (a->type != b->type)
        return false;
    if (a->type == WR_VARCHAR || a->type == WR_VARBINARY)
        return bytes_equal(a->bytes, b->bytes);
    if (a->type == WR_BOOLEAN)
        return a->boolean == b->boolean;
    if (a->type == WR_DOUBLE && isnan(a->real))
        return isnan(b->real);
    return memcmp(&a->integer, &b->integer, 8) == 0; /* also -0.0 is itself */
}

static void expect_round(const struct wr_value *v)
{
    bytes text = written(v);
    struct wr_value read;

    assert_int_equal(value_of_word(&c, "", text, VALUE_TYPE_OPEN, &read), 0);
    if (!same(v, &read))
        fail_msg("%.*s was read as another value", BYTES_FMT(text));
}

/* Characters that a careless writer spoils, and some of each length. */
static bytes random_text(struct rng *rng, uint8_t *to)
{
    static const char *const pieces[] = {"\"",
                                         "\\",
                                         "\n",
                                         "\t",
                                         "\x01",
                                         "\x7f",
                                         "a",
                                         " ",
                                         "{",
                                         "=",
                                         "\xc3\xa9",
                                         "\xe6\xbc\xa2",
                                         "\xf0\x9f\x90\x98",
                                         "null",
                                         "1"};
    size_t n = 0;

    for (uint64_t i = rng_below(rng, 12); i; i--) {
        const char *piece = pieces[rng_below(rng, PORT_COUNT(pieces))];

        memcpy(to + n, piece, strlen(piece));
        n += strlen(piece);
    }
    return bytes_of(to, n);
}

static void random_value(struct rng *rng, uint8_t *memory, struct wr_value *v)
{
    uint64_t bits = rng_next(rng) >> rng_below(rng, 64);
    size_t n = (size_t)rng_below(rng, 20);

    switch (rng_below(rng, 5)) {
    case 0:
        *v = (struct wr_value){.type = WR_BIGINT, .integer = (int64_t)bits};
        break;
    case 1:
        v->type = WR_DOUBLE;
        bits = rng_below(rng, 2) ? rng_next(rng) : bits << 44;
        memcpy(&v->real, &bits, 8);
        break;
    case 2:
        *v = (struct wr_value){.type = WR_BOOLEAN, .boolean = bits & 1};
        break;
    case 3:
        *v = (struct wr_value){.type = WR_VARCHAR, .bytes = random_text(rng, memory)};
        break;
    default:
        for (size_t i = 0; i < n; i++)
            memory[i] = (uint8_t)rng_next(rng);
        *v = (struct wr_value){.type = WR_VARBINARY, .bytes = bytes_of(memory, n)};
    }
}

static void test_round(void **state)
{
    uint8_t memory[64];
    struct wr_value v;
    struct rng rng;

    (void)state;
    rng_init(&rng, 20261123);
    for (int i = 0; i < ROUNDS; i++) {
        random_value(&rng, memory, &v);
        expect_round(&v);
    }
}

static void test_edges(void **state)
{
    static const double reals[] = {0.0,
                                   -0.0,
                                   1.0,
                                   5e22,
                                   5e-324,
                                   1.7976931348623157e308,
                                   0.1,
                                   INFINITY,
                                   -INFINITY,
                                   NAN,
                                   9007199254740993.0};
    static const int64_t integers[] = {0, -1, INT64_MIN, INT64_MAX, ((int64_t)1 << 53) + 1};

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(reals); i++)
        expect_round(&(struct wr_value){.type = WR_DOUBLE, .real = reals[i]});
    for (size_t i = 0; i < PORT_COUNT(integers); i++)
        expect_round(&(struct wr_value){.type = WR_BIGINT, .integer = integers[i]});
}

static void expect_word(const char *word, enum wr_type type, enum wr_type said)
{
    struct wr_value v;

    ctx_clear(&c);
    if (value_of_word(&c, "", bytes_str(word), said, &v))
        v.type = WR_INF_MAX; /* refused */
    if (v.type != type)
        fail_msg("'%s' has type %d, not %d", word, v.type, type);
}

static void test_words(void **state)
{
    (void)state;
    expect_word("5", WR_BIGINT, VALUE_TYPE_OPEN);
    expect_word("5.0", WR_DOUBLE, VALUE_TYPE_OPEN);
    expect_word("1e3", WR_DOUBLE, VALUE_TYPE_OPEN);
    expect_word("true", WR_BOOLEAN, VALUE_TYPE_OPEN);
    expect_word("True", WR_VARCHAR, VALUE_TYPE_OPEN);
    expect_word("007", WR_VARCHAR, VALUE_TYPE_OPEN);
    expect_word("", WR_VARCHAR, VALUE_TYPE_OPEN);
    expect_word("\"5\"", WR_VARCHAR, VALUE_TYPE_OPEN);
    expect_word("{\"binary\":\"0102\"}", WR_VARBINARY, VALUE_TYPE_OPEN);
    expect_word("{ \"base64\" : \"AQI=\" }", WR_VARBINARY, VALUE_TYPE_OPEN);
    expect_word("{\"base64\":\"AQJ=\"}", WR_VARCHAR, VALUE_TYPE_OPEN); /* bits that no byte holds */
    expect_word("5", WR_VARCHAR, WR_VARCHAR);
    expect_word("{\"base64\":\"AQI=\"}", WR_VARCHAR, WR_VARCHAR);
    expect_word("raw bytes", WR_VARBINARY, WR_VARBINARY);
    expect_word("5", WR_DOUBLE, WR_DOUBLE);
    /* Refused: what would become another value in silence. */
    expect_word("9223372036854775808", WR_INF_MAX, VALUE_TYPE_OPEN);
    expect_word("null", WR_INF_MAX, VALUE_TYPE_OPEN);
    expect_word("5.0", WR_INF_MAX, WR_BIGINT);
    expect_word("\"half", WR_INF_MAX, VALUE_TYPE_OPEN);
    expect_word("\xff", WR_INF_MAX, VALUE_TYPE_OPEN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_round), cmocka_unit_test(test_edges),
                                       cmocka_unit_test(test_words)};

    return cmocka_run_group_tests(tests, setup, teardown);
}
