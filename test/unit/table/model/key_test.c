#include "../../../golden/golden.h"

#include "base/limit.h"
#include "table/model/key.h"
#include "table/model/value.h"

#include <math.h>

static struct clock clock_;
static struct limits limits;

static int setup(void **state)
{
    (void)state;
    clock_real_init(&clock_);
    limits_init(&limits, false);
    return 0;
}

static void start(struct ctx *c)
{
    ctx_init(c, &clock_, NULL, NULL, 0);
}

/* ---- values made by hand */

static struct wr_value integer(enum wr_type type, int64_t v)
{
    return (struct wr_value){.type = type, .integer = v};
}

static struct wr_value text(enum wr_type type, const char *s)
{
    return (struct wr_value){.type = type, .bytes = bytes_str(s)};
}

static struct wr_value blob(const void *ptr, size_t len)
{
    return (struct wr_value){.type = WR_VARBINARY, .bytes = bytes_of(ptr, len)};
}

static struct wr_value real(enum wr_type type, double v)
{
    return (struct wr_value){.type = type, .real = v};
}

static struct wr_value mark(enum wr_type type)
{
    return (struct wr_value){.type = type};
}

static bytes encode(struct ctx *c, const struct wr_key_schema *schema,
                    const struct wr_key_column *columns, size_t count)
{
    struct buf b;

    buf_init(&b, &c->arena, 0);
    assert_int_equal(key_put_columns(c, &b, schema, columns, count), 0);
    return buf_bytes(&b);
}

static bytes encode_one(struct ctx *c, struct wr_key_schema schema, struct wr_value v)
{
    struct wr_key_column column = {.value = v};

    if (schema.type == WR_NULL)
        schema.type = v.type;
    return encode(c, &schema, &column, 1);
}

/* ---- golden files */

#define CASES_MAX 128

struct key_case {
    struct golden golden;
    struct wr_key_schema schema;
};

static size_t add(struct ctx *c, struct key_case *cases, size_t n, const char *name,
                  const char *note, struct wr_key_schema schema, struct wr_value v)
{
    assert_true(n < CASES_MAX);
    if (schema.type == WR_NULL)
        schema.type = v.type;
    cases[n] = (struct key_case){{name, note, encode_one(c, schema, v)}, schema};
    return n + 1;
}

#define ADD(name, note, v, ...)                                                                    \
    n = add(c, cases, n, name, note, (struct wr_key_schema){__VA_ARGS__}, v)

static size_t numbers(struct ctx *c, struct key_case *cases, size_t n)
{
    ADD("boolean_false", "numbers", ((struct wr_value){.type = WR_BOOLEAN, .boolean = false}), );
    ADD("boolean_true", NULL, ((struct wr_value){.type = WR_BOOLEAN, .boolean = true}), );
    ADD("tinyint_-128", NULL, integer(WR_TINYINT, -128), );
    ADD("tinyint_5", NULL, integer(WR_TINYINT, 5), );
    ADD("smallint_-2", NULL, integer(WR_SMALLINT, -2), );
    ADD("integer_70000", NULL, integer(WR_INTEGER, 70000), );
    ADD("bigint_min", NULL, integer(WR_BIGINT, INT64_MIN), );
    ADD("bigint_-1", NULL, integer(WR_BIGINT, -1), );
    ADD("bigint_0", NULL, integer(WR_BIGINT, 0), );
    ADD("bigint_1", NULL, integer(WR_BIGINT, 1), );
    ADD("bigint_max", NULL, integer(WR_BIGINT, INT64_MAX), );
    ADD("bigint_1_desc", NULL, integer(WR_BIGINT, 1), .descending = true);
    ADD("ubigint_max", NULL, ((struct wr_value){.type = WR_UBIGINT, .uinteger = UINT64_MAX}), );
    ADD("float_-1.5", NULL, real(WR_FLOAT, -1.5), );
    ADD("float_0.1", NULL, real(WR_FLOAT, 0.1), );
    ADD("double_-inf", NULL, real(WR_DOUBLE, -INFINITY), );
    ADD("double_-0", NULL, real(WR_DOUBLE, -0.0), );
    ADD("double_1.5", NULL, real(WR_DOUBLE, 1.5), );
    ADD("double_nan", NULL, real(WR_DOUBLE, -NAN), );
    ADD("double_1.5_desc", NULL, real(WR_DOUBLE, 1.5), .descending = true);
    ADD("date_-1", NULL, integer(WR_DATE, -1), );
    ADD("time_noon", NULL, integer(WR_TIME, 43200000), );
    ADD("timestamp_2023", NULL, integer(WR_TIMESTAMP, 1700000000123), );
    ADD("decimal_0", "decimals", text(WR_DECIMAL, "0"), );
    ADD("decimal_12.5", NULL, text(WR_DECIMAL, "12.5"), );
    ADD("decimal_-12.5", NULL, text(WR_DECIMAL, "-12.5"), );
    ADD("decimal_0.001", NULL, text(WR_DECIMAL, "0.001"), );
    ADD("decimal_1e37", NULL, text(WR_DECIMAL, "10000000000000000000000000000000000000"), );
    ADD("decimal_38", NULL, text(WR_DECIMAL, "99999999999999999999.999999999999999999"), );
    ADD("decimal_-12.5_desc", NULL, text(WR_DECIMAL, "-12.50"), .descending = true,
        .length = 10 * 256 + 2);
    return n;
}

static size_t texts(struct ctx *c, struct key_case *cases, size_t n)
{
    ADD("varchar_empty", "texts and bytes", text(WR_VARCHAR, ""), );
    ADD("varchar_abc", NULL, text(WR_VARCHAR, "abc"), );
    ADD("varchar_abc_desc", NULL, text(WR_VARCHAR, "abc"), .descending = true);
    ADD("varchar_utf8", NULL, text(WR_VARCHAR, "\xE4\xB8\xAD\xE6\x96\x87"), );
    ADD("varbinary_zeros", NULL, blob("\0\0a\0\xFF", 5), );
    ADD("varbinary_zeros_desc", NULL, blob("\0\0a\0\xFF", 5), .descending = true);
    ADD("char_4", NULL, text(WR_CHAR, "ab"), .length = 4);
    ADD("binary_4", NULL, text(WR_BINARY, "ab"), .length = 4);
    ADD("inf_min", "bounds", mark(WR_INF_MIN), .type = WR_BIGINT);
    ADD("inf_max", NULL, mark(WR_INF_MAX), .type = WR_BIGINT);
    ADD("inf_min_desc", NULL, mark(WR_INF_MIN), .type = WR_BIGINT, .descending = true);
    ADD("inf_max_desc", NULL, mark(WR_INF_MAX), .type = WR_BIGINT, .descending = true);
    return n;
}

/* A whole key with its prefix, the way it stands in the engine. */
static bytes whole_key(struct ctx *c)
{
    struct wr_key_schema schema[3] = {
        {.type = WR_VARCHAR}, {.type = WR_BIGINT, .descending = true}, {.type = WR_VARBINARY}};
    struct wr_key_column columns[3] = {{.value = text(WR_VARCHAR, "user")},
                                       {.value = integer(WR_BIGINT, 7)},
                                       {.value = blob("\1\0", 2)}};
    struct buf b;

    buf_init(&b, &c->arena, 0);
    key_put_prefix(&b, 0x01020304, 9, KIND_RECORD);
    assert_int_equal(key_put_columns(c, &b, schema, columns, 3), 0);
    return buf_bytes(&b);
}

static size_t make_cases(struct ctx *c, struct key_case *cases)
{
    return texts(c, cases, numbers(c, cases, 0));
}

static void test_golden(void **state)
{
    struct key_case cases[CASES_MAX];
    struct golden goldens[CASES_MAX + 1];
    struct ctx c;
    size_t n;

    (void)state;
    start(&c);
    n = make_cases(&c, cases);
    for (size_t i = 0; i < n; i++)
        goldens[i] = cases[i].golden;
    goldens[n] = (struct golden){
        "whole_key", "table 0x01020304, bucket 9, head: user, 7 DESC, 0100", whole_key(&c)};
    golden_check("key.hex", "Key columns as stored, one an entry.", goldens, n + 1);
    ctx_release(&c);
}

static void decode_damaged(bytes damaged, void *arg)
{
    const struct wr_key_schema *schema = arg;
    struct wr_key_column column;
    struct ctx c;
    size_t used;
    int code;

    start(&c);
    code = key_read_columns(&c, damaged, schema, 1, &column, &used);
    assert_true(code == 0 || code == E_CORRUPT);
    if (code == 0) {
        /* What could be read can be written. */
        struct buf b;

        assert_true(used <= damaged.len);
        buf_init(&b, &c.arena, 0);
        if (schema->type != WR_CHAR && schema->type != WR_BINARY)
            assert_int_equal(key_put_columns(&c, &b, schema, &column, 1), 0);
    }
    ctx_release(&c);
}

static void test_damage(void **state)
{
    struct key_case cases[CASES_MAX];
    struct ctx c;
    size_t n;

    (void)state;
    start(&c);
    n = make_cases(&c, cases);
    for (size_t i = 0; i < n; i++)
        golden_damage(cases[i].golden.value, 10000, decode_damaged, &cases[i].schema);
    ctx_release(&c);
}

/* ---- random keys */

static const enum wr_type key_types[] = {
    WR_BOOLEAN, WR_TINYINT, WR_SMALLINT, WR_INTEGER,   WR_BIGINT, WR_UBIGINT,
    WR_FLOAT,   WR_DOUBLE,  WR_DECIMAL,  WR_VARCHAR,   WR_CHAR,   WR_VARBINARY,
    WR_BINARY,  WR_DATE,    WR_TIME,     WR_TIMESTAMP,
};

/* Half of them near zero or at an end, so that equal and neighbouring values are common. */
static int64_t random_integer(struct rng *r, enum wr_type type)
{
    int shift = 64 - 8 * (int)value_width(type);
    int64_t v;

    switch (rng_below(r, 4)) {
    case 0:
        return (int64_t)rng_below(r, 5) - 2;
    case 1:
        v = rng_below(r, 2) ? INT64_MAX : INT64_MIN;
        break;
    default:
        v = (int64_t)rng_next(r);
    }
    return v >> shift;
}

static double random_real(struct rng *r)
{
    static const double special[] = {0.0,    -0.0,    1,        -1,        0.1,
                                     1e-310, -1e-310, INFINITY, -INFINITY, NAN};
    uint64_t bits;
    double v;

    if (rng_below(r, 2))
        return special[rng_below(r, PORT_COUNT(special))];
    bits = rng_next(r);
    memcpy(&v, &bits, sizeof(v));
    return v;
}

/* Few letters, zero and 0xFF among them: prefixes and escapes are common. */
static bytes random_text(struct ctx *c, struct rng *r, size_t len_max, bool ascii)
{
    static const uint8_t letters[] = {0, 1, 0xFE, 0xFF, 'a', 'b'};
    size_t len =
        rng_below(r, 20) ? rng_below(r, len_max < 6 ? len_max + 1 : 6) : rng_below(r, len_max + 1);
    uint8_t *p = arena_alloc(&c->arena, len + 1);

    for (size_t i = 0; i < len; i++)
        p[i] = ascii ? (uint8_t)(' ' + rng_below(r, 3)) : letters[rng_below(r, sizeof(letters))];
    return bytes_of(p, len);
}

static bytes random_decimal(struct ctx *c, struct rng *r)
{
    char *p = arena_alloc(&c->arena, 64);
    int whole = 1 + (int)rng_below(r, rng_below(r, 2) ? 3 : 19);
    int fraction = (int)rng_below(r, rng_below(r, 2) ? 3 : 19), n = 0;

    if (rng_below(r, 2))
        p[n++] = '-';
    for (int i = 0; i < whole; i++)
        p[n++] = (char)('0' + rng_below(r, rng_below(r, 2) ? 2 : 10));
    if (fraction)
        p[n++] = '.';
    for (int i = 0; i < fraction; i++)
        p[n++] = (char)('0' + rng_below(r, rng_below(r, 2) ? 2 : 10));
    return bytes_of(p, (size_t)n);
}

static struct wr_value random_value(struct ctx *c, struct rng *r,
                                    const struct wr_key_schema *schema)
{
    struct wr_value v = {.type = schema->type};

    switch (v.type) {
    case WR_BOOLEAN:
        v.boolean = rng_below(r, 2);
        break;
    case WR_UBIGINT:
        v.uinteger = rng_below(r, 2) ? rng_below(r, 3) : rng_next(r);
        break;
    case WR_FLOAT:
    case WR_DOUBLE:
        v.real = random_real(r);
        break;
    case WR_DECIMAL:
        v.bytes = random_decimal(c, r);
        break;
    case WR_VARCHAR:
    case WR_VARBINARY:
        v.bytes = random_text(c, r, 2048, false);
        break;
    case WR_CHAR:
    case WR_BINARY:
        v.bytes = random_text(c, r, schema->length, v.type == WR_CHAR);
        break;
    default:
        v.integer = random_integer(r, v.type);
    }
    return v;
}

static size_t random_schema(struct rng *r, struct wr_key_schema *schema)
{
    size_t count = 1 + rng_below(r, WR_KEY_COLUMNS_MAX);

    for (size_t i = 0; i < count; i++) {
        schema[i] = (struct wr_key_schema){
            .name = bytes_str(i ? "more" : "first"),
            .type = key_types[rng_below(r, PORT_COUNT(key_types))],
            .descending = rng_below(r, 2),
        };
        if (schema[i].type == WR_CHAR || schema[i].type == WR_BINARY)
            schema[i].length = 1 + (uint32_t)rng_below(r, 8);
    }
    return count;
}

static int sign(int v)
{
    return (v > 0) - (v < 0);
}

static bool has_bound(const struct wr_key *key)
{
    for (size_t i = 0; i < key->count; i++)
        if (key->columns[i].value.type == WR_INF_MIN || key->columns[i].value.type == WR_INF_MAX)
            return true;
    return false;
}

static void check_round_trip(struct ctx *c, const struct wr_key_schema *schema,
                             const struct wr_key *key, bytes encoded)
{
    struct wr_key_column columns[WR_KEY_COLUMNS_MAX];
    struct wr_key back = {columns, key->count};
    size_t used;

    /* One byte of a cell key follows. */
    uint8_t *p = arena_alloc(&c->arena, encoded.len + 1);

    memcpy(p, encoded.ptr, encoded.len);
    p[encoded.len] = 0;
    assert_int_equal(
        key_read_columns(c, bytes_of(p, encoded.len + 1), schema, key->count, columns, &used), 0);
    assert_int_equal(used, encoded.len);
    assert_int_equal(key_compare(schema, key, &back), 0);
    for (size_t i = 0; i < key->count; i++) {
        assert_int_equal(columns[i].value.type, schema[i].type);
        assert_true(bytes_equal(columns[i].name, schema[i].name));
        if (schema[i].type == WR_VARCHAR || schema[i].type == WR_VARBINARY)
            assert_true(bytes_equal(columns[i].value.bytes, key->columns[i].value.bytes));
        if (schema[i].type == WR_CHAR || schema[i].type == WR_BINARY)
            assert_int_equal(columns[i].value.bytes.len, schema[i].length);
    }
    assert_true(bytes_equal(encode(c, schema, columns, key->count), encoded));
}

enum { KEYS = 24, ROUNDS = 400 };

static void random_round(struct rng *r)
{
    struct wr_key_schema schema[WR_KEY_COLUMNS_MAX];
    struct wr_key_column columns[KEYS][WR_KEY_COLUMNS_MAX];
    struct wr_key keys[KEYS];
    bytes encoded[KEYS];
    struct ctx c;
    size_t count;

    start(&c);
    count = random_schema(r, schema);
    for (size_t k = 0; k < KEYS; k++) {
        for (size_t i = 0; i < count; i++) {
            /* Often equal to the key before, so that later columns decide. */
            if (k && rng_below(r, 2))
                columns[k][i].value = columns[k - 1][i].value;
            else if (rng_below(r, 10) == 0)
                columns[k][i].value = mark(rng_below(r, 2) ? WR_INF_MIN : WR_INF_MAX);
            else
                columns[k][i].value = random_value(&c, r, &schema[i]);
        }
        keys[k] = (struct wr_key){columns[k], count};
        encoded[k] = encode(&c, schema, columns[k], count);
        if (!has_bound(&keys[k]))
            check_round_trip(&c, schema, &keys[k], encoded[k]);
        for (size_t j = 0; j <= k; j++) {
            assert_int_equal(sign(key_compare(schema, &keys[j], &keys[k])),
                             sign(bytes_compare(encoded[j], encoded[k])));
            assert_int_equal(sign(key_compare(schema, &keys[k], &keys[j])),
                             sign(bytes_compare(encoded[k], encoded[j])));
        }
    }
    ctx_release(&c);
}

static void test_order_of_random_keys(void **state)
{
    struct rng r;

    (void)state;
    rng_init(&r, 1);
    for (int i = 0; i < ROUNDS; i++)
        random_round(&r);
}

static void test_order_of_listed_values(void **state)
{
    static const char *const decimals[] = {
        "-99999999999999999999999999999999999999",
        "-100",
        "-99.99",
        "-1.01",
        "-1",
        "-0.5",
        "-0.00000000000000000000000000000000000001",
        "0",
        "0.00000000000000000000000000000000000001",
        "0.000001",
        "0.09",
        "0.1",
        "0.11",
        "1",
        "1.5",
        "9",
        "9.99",
        "10",
        "10.000001",
        "11",
        "99999999999999999999999999999999999998",
        "99999999999999999999999999999999999999",
    };
    static const double doubles[] = {-INFINITY, -1e308, -1, -1e-300, 0,
                                     5e-324,    1e-300, 1,  1e308,   INFINITY};
    struct ctx c;

    (void)state;
    start(&c);
    for (int desc = 0; desc < 2; desc++) {
        struct wr_key_schema schema = {.descending = desc};

        for (size_t i = 1; i < PORT_COUNT(decimals); i++)
            assert_int_equal(
                sign(bytes_compare(encode_one(&c, schema, text(WR_DECIMAL, decimals[i - 1])),
                                   encode_one(&c, schema, text(WR_DECIMAL, decimals[i])))),
                desc ? 1 : -1);
        for (size_t i = 1; i < PORT_COUNT(doubles); i++)
            assert_int_equal(
                sign(bytes_compare(encode_one(&c, schema, real(WR_DOUBLE, doubles[i - 1])),
                                   encode_one(&c, schema, real(WR_DOUBLE, doubles[i])))),
                desc ? 1 : -1);
    }
    ctx_release(&c);
}

static void test_equal_values_have_one_encoding(void **state)
{
    static const char *const equal[][2] = {
        {"1", "1.0"},      {"0", "-0.000"},  {"007", "7"},
        {"-1.50", "-1.5"}, {"0.10", "00.1"}, {"100", "100.00"},
    };
    struct wr_key_schema padded = {.type = WR_CHAR, .length = 4};
    struct ctx c;

    (void)state;
    start(&c);
    for (size_t i = 0; i < PORT_COUNT(equal); i++)
        assert_true(
            bytes_equal(encode_one(&c, (struct wr_key_schema){0}, text(WR_DECIMAL, equal[i][0])),
                        encode_one(&c, (struct wr_key_schema){0}, text(WR_DECIMAL, equal[i][1]))));
    assert_true(bytes_equal(encode_one(&c, padded, text(WR_CHAR, "a")),
                            encode_one(&c, padded, text(WR_CHAR, "a  "))));
    assert_true(bytes_equal(encode_one(&c, (struct wr_key_schema){0}, real(WR_FLOAT, -1e-300)),
                            encode_one(&c, (struct wr_key_schema){0}, real(WR_FLOAT, 0))));
    ctx_release(&c);
}

/* A bound that stops in the middle lies before all that goes on behind it. */
static void test_short_bounds(void **state)
{
    struct wr_key_schema schema[2] = {{.type = WR_BIGINT},
                                      {.type = WR_VARCHAR, .descending = true}};
    struct wr_key_column a[2] = {{.value = integer(WR_BIGINT, 1)}, {.value = mark(WR_INF_MIN)}};
    struct wr_key_column b[2] = {{.value = integer(WR_BIGINT, 1)},
                                 {.value = text(WR_VARCHAR, "zz")}};
    struct wr_key short_key = {a, 1}, long_key = {a, 2}, row = {b, 2};
    struct ctx c;

    (void)state;
    start(&c);
    assert_int_equal(key_compare(schema, &short_key, &long_key), 0);
    assert_true(key_compare(schema, &short_key, &row) < 0);
    assert_true(bytes_compare(encode(&c, schema, a, 1), encode(&c, schema, b, 2)) < 0);
    assert_true(bytes_compare(encode(&c, schema, a, 2), encode(&c, schema, b, 2)) < 0);
    a[1].value = mark(WR_INF_MAX);
    assert_true(key_compare(schema, &long_key, &row) > 0);
    assert_true(bytes_compare(encode(&c, schema, a, 2), encode(&c, schema, b, 2)) > 0);
    ctx_release(&c);
}

static void test_decimals_come_back_with_their_scale(void **state)
{
    struct wr_key_schema schema = {.type = WR_DECIMAL, .length = 10 * 256 + 2};
    struct wr_key_column column = {.value = text(WR_DECIMAL, "1.5")}, back;
    struct ctx c;
    size_t used;

    (void)state;
    start(&c);
    assert_int_equal(
        key_read_columns(&c, encode(&c, &schema, &column, 1), &schema, 1, &back, &used), 0);
    assert_true(bytes_equal(back.value.bytes, BYTES_LIT("1.50")));
    ctx_release(&c);
}

static void test_wrong_values_are_our_fault(void **state)
{
    struct wr_key_schema schema = {.type = WR_CHAR, .length = 2};
    struct wr_key_column columns[] = {{.value = text(WR_CHAR, "abc")},
                                      {.value = integer(WR_BIGINT, 1)},
                                      {.value = mark(WR_AUTO_INCREMENT)}};
    struct buf b;
    struct ctx c;

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(columns); i++) {
        start(&c);
        buf_init(&b, &c.arena, 0);
        assert_int_equal(key_put_columns(&c, &b, &schema, &columns[i], 1), E_INTERNAL);
        ctx_release(&c);
    }
}

/* ---- checks */

static const struct wr_key_schema table[] = {
    {.name = {"PK1", 3}, .type = WR_BIGINT},
    {.name = {"PK2", 3}, .type = WR_BIGINT, .auto_increment = true},
    {.name = {"PK3", 3}, .type = WR_VARCHAR},
};

static void expect(int code, int wanted_code, const struct ctx *c, const char *wanted)
{
    assert_int_equal(code, wanted_code);
    assert_string_equal(c->code ? c->text : "", wanted);
}

static void check(const struct wr_key_column *columns, size_t count, enum key_use use, int code,
                  const char *wanted)
{
    struct wr_key key = {columns, count};
    struct ctx c;

    start(&c);
    expect(key_check(&c, &limits, table, PORT_COUNT(table), &key, use), code, &c, wanted);
    ctx_release(&c);
}

static void check_alone(struct wr_key_column column, enum key_use use, int code, const char *wanted)
{
    struct wr_key key = {&column, 1};
    struct ctx c;

    start(&c);
    expect(key_check_alone(&c, &limits, &key, use), code, &c, wanted);
    ctx_release(&c);
}

#define COL(n, v)                                                                                  \
    {                                                                                              \
        .name = BYTES_LIT(n), .value = v                                                           \
    }

static void test_check(void **state)
{
    struct wr_key_column k[3] = {COL("PK1", integer(WR_BIGINT, 1)),
                                 COL("PK2", integer(WR_BIGINT, 2)),
                                 COL("PK3", text(WR_VARCHAR, "x"))};

    (void)state;
    check(k, 3, KEY_READ, 0, "");
    check(k, 1, KEY_READ, E_INVALID_PK, "Validate PK size fail. Input: 1, Meta: 3.");
    k[0].name = BYTES_LIT("PK2");
    check(k, 3, KEY_READ, E_INVALID_PK, "Validate PK name fail. Input: PK2, Meta: PK1.");
    k[0].name = BYTES_LIT("PK1");
    k[0].value = blob("x", 1);
    check(k, 3, KEY_READ, E_INVALID_PK, "Validate PK type fail. Input: VT_BLOB, Meta: VT_INTEGER.");
    k[0].value = real(WR_DOUBLE, 1);
    check(k, 3, KEY_READ, E_INVALID_PK,
          "Validate PK type fail. Input: VT_DOUBLE, Meta: VT_INTEGER.");
    k[0].value = integer(WR_BIGINT, 1);
    k[1].value = mark(WR_AUTO_INCREMENT);
    check(k, 3, KEY_WRITE, 0, "");
    check(k, 3, KEY_READ, E_PARAMETER, "PKAutoIncr can't be used for read operations.");
    check(k, 3, KEY_BOUND, E_PARAMETER, "PKAutoIncr can't be used for read operations.");
    k[0].value = mark(WR_AUTO_INCREMENT);
    check(k, 3, KEY_WRITE, E_INVALID_PK,
          "Validate PK type fail. Input: VT_AUTO_INCREMENT, Meta: VT_INTEGER.");
    k[0].value = mark(WR_INF_MIN);
    k[1].value = mark(WR_INF_MAX);
    check(k, 3, KEY_BOUND, 0, "");
    check(k, 3, KEY_WRITE, E_PARAMETER, "VT_INF_MIN is an invalid type for the primary key.");
}

static void test_check_alone(void **state)
{
    char *long_text = malloc(2049);
    struct wr_key_column many[5] = {0};
    struct wr_key key = {many, 5};
    struct ctx c;

    (void)state;
    memset(long_text, 'a', 2049);
    for (size_t i = 0; i < 5; i++)
        many[i] = (struct wr_key_column)COL("k", integer(WR_BIGINT, 1));
    for (key.count = 0; key.count <= 5; key.count += 5) {
        start(&c);
        expect(key_check_alone(&c, &limits, &key, KEY_READ), E_PARAMETER, &c,
               "The number of primary key columns must be in range: [1, 4].");
        ctx_release(&c);
    }
    check_alone((struct wr_key_column)COL("k", mark(WR_INF_MIN)), KEY_READ, E_PARAMETER,
                "VT_INF_MIN is an invalid type for the primary key.");
    check_alone((struct wr_key_column)COL("k", mark(WR_INF_MAX)), KEY_WRITE, E_PARAMETER,
                "VT_INF_MAX is an invalid type for the primary key.");
    check_alone((struct wr_key_column)COL("k", mark(WR_INF_MAX)), KEY_BOUND, 0, "");
    check_alone((struct wr_key_column)COL("k", mark(WR_AUTO_INCREMENT)), KEY_READ, E_PARAMETER,
                "PKAutoIncr can't be used for read operations.");
    check_alone((struct wr_key_column)COL("k", mark(WR_NULL)), KEY_WRITE, E_PARAMETER,
                "VT_NULL is an invalid type for the primary key.");
    check_alone((struct wr_key_column)COL("k", text(WR_JSON, "{}")), KEY_WRITE, E_PARAMETER,
                "VT_JSON is an invalid type for the primary key.");
    check_alone((struct wr_key_column)COL("k", real(WR_DOUBLE, 1)), KEY_WRITE, 0, "");
    check_alone((struct wr_key_column)COL("k", real(WR_DOUBLE, NAN)), KEY_WRITE, E_PARAMETER,
                "Value of column 'k' is out of range for VT_DOUBLE.");
    check_alone((struct wr_key_column)COL("pk_0", blob(long_text, 1024)), KEY_WRITE, 0, "");
    check_alone((struct wr_key_column)COL("pk_0", blob(long_text, 1025)), KEY_WRITE, E_PARAMETER,
                "The length of primary key column: 'pk_0' exceeds the MaxLength:1024 with "
                "CurrentLength:1025.");
    check_alone((struct wr_key_column)COL("k", text(WR_VARCHAR, "a\xFF")), KEY_READ, E_PARAMETER,
                "Value of column 'k' must be UTF8 encoding.");
    check_alone((struct wr_key_column)COL("k", text(WR_DECIMAL, "1e5")), KEY_READ, E_PARAMETER,
                "Value of column 'k' is out of range for VT_DECIMAL.");
    check_alone((struct wr_key_column)COL("k", integer(WR_TINYINT, 128)), KEY_READ, E_PARAMETER,
                "Value of column 'k' is out of range for VT_TINYINT.");
    free(long_text);
}

static void test_check_lengths_of_columns(void **state)
{
    struct wr_key_schema schema = {.name = BYTES_LIT("k"), .type = WR_CHAR, .length = 2};
    struct wr_key_column column = COL("k", text(WR_CHAR, "abc"));
    struct wr_key key = {&column, 1};
    struct ctx c;

    (void)state;
    start(&c);
    expect(key_check(&c, &limits, &schema, 1, &key, KEY_READ), E_PARAMETER, &c,
           "The length of primary key column: 'k' exceeds the MaxLength:2 with CurrentLength:3.");
    ctx_clear(&c);
    schema = (struct wr_key_schema){.name = schema.name, .type = WR_DECIMAL, .length = 4 * 256 + 2};
    column.value = text(WR_DECIMAL, "99.99");
    expect(key_check(&c, &limits, &schema, 1, &key, KEY_READ), 0, &c, "");
    column.value = text(WR_DECIMAL, "100");
    expect(key_check(&c, &limits, &schema, 1, &key, KEY_READ), E_PARAMETER, &c,
           "Value of column 'k' is out of range for DECIMAL(4,2).");
    ctx_release(&c);
}

static void test_size(void **state)
{
    struct wr_key_column k[3] = {COL("PK1", integer(WR_BIGINT, 1)), COL("PK2", mark(WR_INF_MIN)),
                                 COL("PK3", text(WR_VARCHAR, "xyz"))};
    struct wr_key key = {k, 3};

    (void)state;
    assert_int_equal(key_size(&key), 3 + 8 + 3 + 3 + 3);
}

static void test_copy(void **state)
{
    char name[] = "PK3", value[] = "xyz";
    struct wr_key_column k = {.name = bytes_str(name), .value = text(WR_VARCHAR, value)};
    struct wr_key key = {&k, 1}, copy;
    struct arena a;

    (void)state;
    arena_init(&a, NULL, 0);
    copy = key_copy(&a, &key);
    name[0] = value[0] = '-';
    assert_int_equal(copy.count, 1);
    assert_true(bytes_equal(copy.columns[0].name, BYTES_LIT("PK3")));
    assert_true(bytes_equal(copy.columns[0].value.bytes, BYTES_LIT("xyz")));
    arena_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_order_of_random_keys),
        cmocka_unit_test(test_order_of_listed_values),
        cmocka_unit_test(test_equal_values_have_one_encoding),
        cmocka_unit_test(test_short_bounds),
        cmocka_unit_test(test_decimals_come_back_with_their_scale),
        cmocka_unit_test(test_wrong_values_are_our_fault),
        cmocka_unit_test(test_check),
        cmocka_unit_test(test_check_alone),
        cmocka_unit_test(test_check_lengths_of_columns),
        cmocka_unit_test(test_size),
        cmocka_unit_test(test_copy),
    };

    return cmocka_run_group_tests_name("key", tests, setup, NULL);
}
