#include "../../../golden/golden.h"

#include "table/model/key.h"
#include "table/model/row.h"
#include "table/model/value.h"

static struct clock clock_;

static int setup(void **state)
{
    (void)state;
    clock_real_init(&clock_);
    return 0;
}

static void start(struct ctx *c)
{
    ctx_init(c, &clock_, NULL, NULL, 0);
}

#define MARKER 1700000000123

static struct wr_cell cell(const char *name, struct wr_value v, int64_t timestamp_ms)
{
    bytes n = bytes_str(name);

    return (struct wr_cell){.name = n,
                            .value = v,
                            .timestamp_ms = timestamp_ms,
                            .crc8 = value_crc8(n, &v, timestamp_ms),
                            .crc8_known = true};
}

static struct wr_value integer(enum wr_type type, int64_t v)
{
    return (struct wr_value){.type = type, .integer = v};
}

static struct wr_value real(enum wr_type type, double v)
{
    return (struct wr_value){.type = type, .real = v};
}

static struct wr_value text(enum wr_type type, const char *s)
{
    return (struct wr_value){.type = type, .bytes = bytes_str(s)};
}

static bytes encode(struct ctx *c, const struct row *row)
{
    struct buf b;

    buf_init(&b, &c->arena, 0);
    row_encode(&b, row);
    return buf_bytes(&b);
}

static bool values_equal(const struct wr_value *a, const struct wr_value *b)
{
    if (a->type != b->type)
        return false;
    return value_is_bytes(a->type) ? bytes_equal(a->bytes, b->bytes)
                                   : value_bits(a) == value_bits(b);
}

static void assert_cells_equal(const struct wr_cell *a, const struct wr_cell *b)
{
    assert_true(bytes_equal(a->name, b->name));
    assert_true(values_equal(&a->value, &b->value));
    assert_true(a->timestamp_ms == b->timestamp_ms);
    assert_int_equal(a->crc8, b->crc8);
    assert_true(a->crc8_known && b->crc8_known);
    assert_int_equal(a->op, b->op);
}

static void assert_rows_equal(const struct row *a, const struct row *b)
{
    assert_true(a->there && b->there);
    assert_int_equal(a->wide, b->wide);
    assert_true(a->id == b->id && a->stamp == b->stamp && a->marker_ms == b->marker_ms);
    assert_int_equal(a->cell_count, b->cell_count);
    for (size_t i = 0; i < a->cell_count; i++)
        assert_cells_equal(&a->cells[i], &b->cells[i]);
}

static void assert_round_trip(struct ctx *c, const struct row *row)
{
    struct row back;

    assert_int_equal(row_decode(c, encode(c, row), &back), 0);
    assert_rows_equal(row, &back);
}

/* ---- golden files */

enum { GOLDEN_ROWS = 7, ALL_TYPES = 17, LONG_TEXT = 200 };

static char long_text[LONG_TEXT + 1];

/* One cell of every type. */
static size_t all_types(struct wr_cell *cells)
{
    const struct wr_value values[ALL_TYPES] = {
        {.type = WR_BOOLEAN, .boolean = true},
        integer(WR_TINYINT, -2),
        integer(WR_SMALLINT, -300),
        integer(WR_INTEGER, 70000),
        integer(WR_BIGINT, INT64_MIN),
        {.type = WR_UBIGINT, .uinteger = UINT64_MAX},
        real(WR_FLOAT, 0.5),
        real(WR_DOUBLE, 1.5),
        text(WR_DECIMAL, "-12.50"),
        text(WR_VARCHAR, "hello"),
        text(WR_CHAR, "ab  "),
        {.type = WR_BINARY, .bytes = {"\1\0", 2}},
        {.type = WR_VARBINARY, .bytes = {"\xDE\xAD\xBE\xEF", 4}},
        integer(WR_DATE, -1),
        integer(WR_TIME, 43200000),
        integer(WR_TIMESTAMP, MARKER),
        text(WR_JSON, "{}"),
    };
    static const char names[ALL_TYPES][2] = {"a", "b", "c", "d", "e", "f", "g", "h", "i",
                                             "j", "k", "l", "m", "n", "o", "p", "q"};

    for (size_t i = 0; i < ALL_TYPES; i++)
        cells[i] = cell(names[i], values[i], MARKER);
    return ALL_TYPES;
}

static void make_rows(struct row *rows, struct wr_cell *types, struct wr_cell *versions)
{
    memset(long_text, 'x', LONG_TEXT);
    versions[0] = cell("c", text(WR_VARCHAR, ""), MARKER + 1000);
    versions[1] = cell("c", text(WR_VARCHAR, long_text), MARKER);
    versions[2] = cell("c", integer(WR_BIGINT, 1), MARKER - 1);
    versions[3] = cell("\xE4\xB8\xAD", integer(WR_BIGINT, 2), 0);
    rows[0] = (struct row){.there = true, .stamp = 1, .marker_ms = MARKER};
    rows[1] = rows[0];
    rows[1].cells = types;
    rows[1].cell_count = all_types(types);
    rows[2] = (struct row){.there = true, .stamp = 2, .marker_ms = MARKER};
    rows[2].cells = versions;
    rows[2].cell_count = 4;
    rows[3] = rows[2];
    rows[3].id = 77;
    rows[4] = (struct row){
        .there = true, .wide = true, .id = 0x0102030405060708, .stamp = 3, .marker_ms = MARKER};
    rows[5] = rows[4];
    rows[5].stamp = UINT64_MAX;
    rows[5].marker_ms = INT64_MIN;
    rows[6] = rows[2];
    rows[6].marker_ms = INT64_MIN;
}

static void test_golden_rows(void **state)
{
    static const char *const names[GOLDEN_ROWS][2] = {
        {"empty", "a row without cells"},
        {"all_types", "one cell of every type, boolean to JSON"},
        {"versions", "three versions of c, one of a name that is not ASCII at time 0"},
        {"small_with_id", "the same in a small row with an id"},
        {"wide", "heads of wide rows"},
        {"wide_ends", NULL},
        {"marker_far", "timestamps as far from the marker as can be"},
    };
    struct wr_cell types[ALL_TYPES], versions[4];
    struct row rows[GOLDEN_ROWS];
    struct golden goldens[GOLDEN_ROWS];
    struct ctx c;

    (void)state;
    start(&c);
    make_rows(rows, types, versions);
    for (size_t i = 0; i < GOLDEN_ROWS; i++) {
        goldens[i] = (struct golden){names[i][0], names[i][1], encode(&c, &rows[i])};
        assert_round_trip(&c, &rows[i]);
    }
    golden_check("row.hex", "Values of head keys.", goldens, GOLDEN_ROWS);
    ctx_release(&c);
}

static void test_golden_cells(void **state)
{
    static const char names[ALL_TYPES][24] = {
        "boolean",   "tinyint", "smallint", "integer",   "bigint", "ubigint",
        "float",     "double",  "decimal",  "varchar",   "char",   "binary",
        "varbinary", "date",    "time",     "timestamp", "json"};
    struct wr_cell types[ALL_TYPES];
    struct golden goldens[ALL_TYPES + 2];
    struct ctx c;
    struct buf b;

    (void)state;
    start(&c);
    all_types(types);
    for (size_t i = 0; i < ALL_TYPES; i++) {
        struct wr_cell back = {.name = types[i].name, .timestamp_ms = types[i].timestamp_ms};

        buf_init(&b, &c.arena, 0);
        cell_encode(&b, &types[i]);
        goldens[i] = (struct golden){names[i], i ? NULL : "values", buf_bytes(&b)};
        assert_int_equal(cell_decode(&c, goldens[i].value, &back), 0);
        assert_cells_equal(&types[i], &back);
    }
    buf_init(&b, &c.arena, 0);
    cell_put_key(&b, 77, BYTES_LIT("col"), MARKER);
    goldens[ALL_TYPES] =
        (struct golden){"key", "ends of keys: id 77, column, version", buf_bytes(&b)};
    buf_init(&b, &c.arena, 0);
    cell_put_key(&b, 77, BYTES_LIT("a\0b"), -1);
    goldens[ALL_TYPES + 1] = (struct golden){"key_escaped", NULL, buf_bytes(&b)};
    golden_check("cell.hex", "Cells of wide rows.", goldens, ALL_TYPES + 2);
    ctx_release(&c);
}

static void decode_row(bytes damaged, void *arg)
{
    struct row row;
    struct ctx c;
    int code;

    start(&c);
    code = row_decode(&c, damaged, &row);
    assert_true(code == 0 || code == E_CORRUPT || code == E_FORMAT);
    assert_true(row.there == (code == 0));
    assert_true(row.cell_count == 0 || code == 0);
    if (code == 0)
        encode(&c, &row); /* reads every byte that the row points to */
    (*(size_t *)arg)++;
    ctx_release(&c);
}

static void decode_some(bytes damaged, void *arg)
{
    static const bytes names[] = {{"c", 1}, {"p", 1}};
    struct row row;
    struct ctx c;
    int code;

    (void)arg;
    start(&c);
    code = row_decode_some(&c, damaged, names, 2, &row);
    assert_true(code == 0 || code == E_CORRUPT || code == E_FORMAT);
    assert_true(row.there == (code == 0));
    if (code == 0)
        encode(&c, &row);
    ctx_release(&c);
}

static void decode_cell(bytes damaged, void *arg)
{
    struct wr_cell out = {0};
    struct ctx c;
    struct buf b;
    int code;

    (void)arg;
    start(&c);
    code = cell_decode(&c, damaged, &out);
    assert_true(code == 0 || code == E_CORRUPT || code == E_FORMAT);
    if (code == 0) {
        buf_init(&b, &c.arena, 0);
        cell_encode(&b, &out);
    }
    ctx_release(&c);
}

static void decode_cell_key(bytes damaged, void *arg)
{
    struct ctx c;
    uint64_t id;
    bytes name;
    int64_t timestamp_ms;
    int code;

    (void)arg;
    start(&c);
    code = cell_read_key(&c, damaged, &id, &name, &timestamp_ms);
    assert_true(code == 0 || code == E_CORRUPT);
    if (code == 0) {
        struct buf b;

        buf_init(&b, &c.arena, 0);
        cell_put_key(&b, id, name, timestamp_ms);
        assert_true(bytes_equal(buf_bytes(&b), damaged));
    }
    ctx_release(&c);
}

static void test_damage(void **state)
{
    struct wr_cell types[ALL_TYPES], versions[4];
    struct row rows[GOLDEN_ROWS];
    size_t decoded = 0;
    struct ctx c;
    struct buf b;

    (void)state;
    start(&c);
    make_rows(rows, types, versions);
    for (size_t i = 0; i < GOLDEN_ROWS; i++) {
        golden_damage(encode(&c, &rows[i]), 10000, decode_row, &decoded);
        golden_damage(encode(&c, &rows[i]), 10000, decode_some, NULL);
    }
    assert_true(decoded >= 10000 * GOLDEN_ROWS);
    for (size_t i = 0; i < ALL_TYPES; i++) {
        buf_init(&b, &c.arena, 0);
        cell_encode(&b, &types[i]);
        golden_damage(buf_bytes(&b), 10000, decode_cell, NULL);
    }
    buf_init(&b, &c.arena, 0);
    cell_put_key(&b, 77, BYTES_LIT("a\0b"), MARKER);
    golden_damage(buf_bytes(&b), 10000, decode_cell_key, NULL);
    ctx_release(&c);
}

static void expect_code(const char *hex_free, size_t len, int code, const char *wanted)
{
    struct row row;
    struct ctx c;

    start(&c);
    assert_int_equal(row_decode(&c, bytes_of(hex_free, len), &row), code);
    assert_string_equal(c.text, wanted);
    assert_false(row.there);
    ctx_release(&c);
}

static void test_errors_say_what_is_wrong(void **state)
{
    (void)state;
    expect_code("", 0, E_CORRUPT, "damaged row: the row record is truncated");
    expect_code("\3\0", 2, E_FORMAT,
                "row of format 3; this version of Widerow reads formats 1 to 2");
    expect_code("\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\5", 19, E_CORRUPT,
                "damaged row: the number of cells is wrong");
    expect_code("\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0!", 20, E_CORRUPT,
                "damaged row: 1 bytes behind its end");
    expect_code("\1\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 18, E_CORRUPT,
                "damaged row: flags 01 do not fit the id");
    expect_code("\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\1a\12\0\0\7", 25, E_CORRUPT,
                "damaged row: cell 1 of 1 is truncated or of no type");
}

/* A wide row that a reader holds is of version 2; no small one is. */
static void test_held(void **state)
{
    const struct row held = {
        .there = true, .wide = true, .read_locked = true, .id = 7, .stamp = 5, .marker_ms = 9};
    struct row back;
    struct buf b;
    struct ctx c;

    (void)state;
    start(&c);
    buf_init(&b, &c.arena, 0);
    row_encode(&b, &held);
    assert_int_equal(b.data[0], 2);
    assert_int_equal(row_decode(&c, buf_bytes(&b), &back), 0);
    assert_true(back.there && back.wide && back.read_locked);
    assert_int_equal(back.id, 7);
    assert_int_equal(back.stamp, 5);
    ctx_release(&c);
    expect_code("\2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 19, E_CORRUPT,
                "damaged row: flags 00 do not fit the id");
}

static void test_memory_is_capped(void **state)
{
    struct wr_cell types[ALL_TYPES];
    struct row row = {.there = true, .cells = types}, back;
    struct ctx c, small;

    (void)state;
    start(&c);
    start(&small);
    small.arena.cap = 64;
    row.cell_count = all_types(types);
    assert_int_equal(row_decode(&small, encode(&c, &row), &back), E_MEMORY);
    ctx_release(&small);
    ctx_release(&c);
}

/* ---- random rows */

static bytes random_bytes(struct ctx *c, struct rng *r, size_t len_max)
{
    size_t len = rng_below(r, len_max + 1);
    uint8_t *p = arena_alloc(&c->arena, len + 1);

    for (size_t i = 0; i < len; i++)
        p[i] = (uint8_t)(rng_below(r, 3) ? rng_next(r) : 0);
    return bytes_of(p, len);
}

static void test_random_rows(void **state)
{
    struct wr_cell cells[64];
    struct rng r;

    (void)state;
    rng_init(&r, 2);
    for (int round = 0; round < 2000; round++) {
        struct row row = {.there = true,
                          .stamp = rng_next(&r),
                          .marker_ms = (int64_t)rng_next(&r),
                          .cells = cells};
        struct ctx c;

        start(&c);
        row.cell_count = rng_below(&r, PORT_COUNT(cells) + 1);
        for (size_t i = 0; i < row.cell_count; i++) {
            enum wr_type type = (enum wr_type)(1 + rng_below(&r, WR_JSON));
            struct wr_value v = {.type = type};

            if (value_is_bytes(type))
                v.bytes = random_bytes(&c, &r, 300);
            else if (type == WR_FLOAT)
                v.real = (double)(float)rng_unit(&r);
            else
                value_from_bits(type, type == WR_BOOLEAN ? rng_below(&r, 2) : rng_next(&r), &v);
            cells[i] = (struct wr_cell){.name = random_bytes(&c, &r, 20),
                                        .value = v,
                                        .timestamp_ms = rng_below(&r, 2) ? row.marker_ms
                                                                         : (int64_t)rng_next(&r),
                                        .crc8 = (uint8_t)rng_next(&r),
                                        .crc8_known = true};
        }
        assert_round_trip(&c, &row);
        ctx_release(&c);
    }
}

/* ---- cell keys */

/* Of every row each choice of four names: what is there, in front of it, between, and behind. */
static void test_some_columns(void **state)
{
    static const char *const all[] = {"A", "c", "d", "q"};
    struct wr_cell types[ALL_TYPES], versions[4];
    struct row rows[GOLDEN_ROWS];
    struct ctx c;

    (void)state;
    start(&c);
    make_rows(rows, types, versions);
    for (size_t i = 0; i < GOLDEN_ROWS * 16; i++) {
        const struct row *whole = &rows[i / 16];
        bytes names[4], value = encode(&c, whole);
        size_t count = 0, at = 0;
        struct row some;

        for (size_t k = 0; k < 4; k++)
            if (i >> k & 1)
                names[count++] = bytes_str(all[k]);
        assert_int_equal(row_decode_some(&c, value, names, count, &some), 0);
        assert_true(some.there && some.picked == !whole->wide && some.wide == whole->wide);
        assert_true(some.id == whole->id && some.stamp == whole->stamp &&
                    some.marker_ms == whole->marker_ms);
        for (size_t n = 0; n < whole->cell_count; n++)
            for (size_t k = 0; k < count; k++)
                if (bytes_equal(whole->cells[n].name, names[k]))
                    assert_cells_equal(&whole->cells[n], &some.cells[at++]);
        assert_int_equal(some.cell_count, at);
    }
    ctx_release(&c);
}

static void test_cell_keys_sort_by_column_and_newest_first(void **state)
{
    static const bytes names[] = {{"", 0},    {"\0", 1}, {"\0a", 2}, {"a", 1},
                                  {"a\0", 2}, {"ab", 2}, {"b", 1},   {"\xFF", 1}};
    static const int64_t stamps[] = {INT64_MAX, MARKER, 1, 0, -1, INT64_MIN};
    bytes last = BYTES_NONE;
    struct ctx c;
    struct buf b;

    (void)state;
    start(&c);
    for (uint64_t id = 1; id < 1000; id += 500)
        for (size_t n = 0; n < PORT_COUNT(names); n++)
            for (size_t s = 0; s < PORT_COUNT(stamps); s++) {
                struct buf column, all;
                uint64_t id_back;
                int64_t stamp_back;
                bytes name_back;

                buf_init(&b, &c.arena, 0);
                cell_put_key(&b, id, names[n], stamps[s]);
                assert_true(bytes_compare(last, buf_bytes(&b)) < 0);
                last = buf_bytes(&b);
                buf_init(&column, &c.arena, 0);
                cell_put_key_column(&column, id, names[n]);
                assert_true(bytes_starts(last, buf_bytes(&column)));
                buf_init(&all, &c.arena, 0);
                cell_put_key_id(&all, id);
                assert_true(bytes_starts(last, buf_bytes(&all)));
                assert_int_equal(cell_read_key(&c, last, &id_back, &name_back, &stamp_back), 0);
                assert_true(id_back == id && stamp_back == stamps[s]);
                assert_true(bytes_equal(name_back, names[n]));
            }
    ctx_release(&c);
}

/* ---- sorting */

static int by_name_newest_first(const struct wr_cell *a, const struct wr_cell *b)
{
    int r = bytes_compare(a->name, b->name);

    return r ? r : (a->timestamp_ms < b->timestamp_ms) - (a->timestamp_ms > b->timestamp_ms);
}

/* The slow way: is there a later cell of the same name and timestamp? Each cell's value is its
 * place in the array. */
static size_t survivors(const struct wr_cell *cells, size_t count, bool *survives)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        survives[i] = true;
        for (size_t k = i + 1; k < count && survives[i]; k++)
            survives[i] = by_name_newest_first(&cells[i], &cells[k]) != 0;
        kept += survives[i];
    }
    return kept;
}

static void test_sort(void **state)
{
    static struct wr_cell cells[1100];
    static bool survives[1100];
    static const char *const names[] = {"", "a", "aa", "ab", "b", "c", "zz"};
    struct rng r;

    (void)state;
    rng_init(&r, 3);
    for (int round = 0; round < 400; round++) {
        size_t count = rng_below(&r, round % 20 ? 80 : PORT_COUNT(cells));
        uint64_t stamps = rng_below(&r, 2) ? 3 : 1000;
        size_t kept;

        for (size_t i = 0; i < count; i++) {
            cells[i] = cell(names[rng_below(&r, PORT_COUNT(names))], integer(WR_BIGINT, (int64_t)i),
                            (int64_t)rng_below(&r, stamps));
            if (round % 3 == 0 && i && rng_below(&r, 4)) { /* runs that are sorted already */
                cells[i].name = cells[i - 1].name;
                cells[i].timestamp_ms = cells[i - 1].timestamp_ms - 1;
            }
        }
        kept = survivors(cells, count, survives);
        assert_int_equal(cells_sort(cells, count), kept);
        for (size_t i = 0; i < kept; i++) {
            assert_true(survives[cells[i].value.integer]);
            assert_true(i == 0 || by_name_newest_first(&cells[i - 1], &cells[i]) < 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden_rows),
        cmocka_unit_test(test_golden_cells),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_errors_say_what_is_wrong),
        cmocka_unit_test(test_held),
        cmocka_unit_test(test_memory_is_capped),
        cmocka_unit_test(test_random_rows),
        cmocka_unit_test(test_some_columns),
        cmocka_unit_test(test_cell_keys_sort_by_column_and_newest_first),
        cmocka_unit_test(test_sort),
    };

    return cmocka_run_group_tests_name("row", tests, setup, NULL);
}
