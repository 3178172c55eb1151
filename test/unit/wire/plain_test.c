/* PlainBuffer beyond the vectors: what is refused and with which text, other types, many rows. */
#include "show.h"
#include "../context.h"

#include "base/crc8.h"
#include "wire/plain.h"

/* A row written tag by tag, with checksums as they should be unless a test spoils them. */
struct maker {
    struct buf b;
    uint8_t cell, row;
};

static struct maker make(void)
{
    struct maker m = {0};

    buf_init(&m.b, &c.arena, 256);
    buf_put_u32(&m.b, 0x75);
    return m;
}

static void tag(struct maker *m, uint8_t v)
{
    buf_put_u8(&m->b, v);
}

static void name(struct maker *m, const char *s)
{
    tag(m, 3);
    tag(m, 4);
    buf_put_u32(&m->b, (uint32_t)strlen(s));
    buf_put(&m->b, s, strlen(s));
    m->cell = crc8(0, s, strlen(s));
}

static void value(struct maker *m, bytes bare)
{
    tag(m, 5);
    buf_put_u32(&m->b, (uint32_t)bare.len);
    buf_put_bytes(&m->b, bare);
    m->cell = crc8(m->cell, bare.ptr, bare.len);
}

static void stamp(struct maker *m, int64_t v)
{
    tag(m, 7);
    buf_put_u64(&m->b, (uint64_t)v);
    m->cell = crc8_u64(m->cell, (uint64_t)v);
}

static void type(struct maker *m, uint8_t v)
{
    tag(m, 6);
    tag(m, v);
    m->cell = crc8_byte(m->cell, v);
}

static void end_cell(struct maker *m)
{
    tag(m, 10);
    tag(m, m->cell);
    m->row = crc8_byte(m->row, m->cell);
}

static void end_row(struct maker *m, bool deleted)
{
    if (deleted)
        tag(m, 8);
    tag(m, 9);
    tag(m, crc8_byte(m->row, deleted));
}

#define INT_1 BYTES_LIT("\0\1\0\0\0\0\0\0\0")

/* Up to the data section: one key column. */
static struct maker make_key(void)
{
    struct maker m = make();

    tag(&m, 1);
    name(&m, "pk0");
    value(&m, INT_1);
    end_cell(&m);
    return m;
}

static void refused(struct maker *m, enum wr_change_type as, const char *text)
{
    struct wr_row row;

    assert_int_equal(plain_decode_change(&c, buf_bytes(&m->b), as, &row), E_PARAMETER);
    if (strncmp(c.text, text, strlen(text)) != 0)
        print_error("%s\n", c.text);
    assert_int_equal(strncmp(c.text, text, strlen(text)), 0);
    ctx_clear(&c);
}

static void test_texts(void **state)
{
    struct maker m = make_key();
    size_t checksum = m.b.len - 1;

    (void)state;
    refused(&m, WR_PUT, "Invalid row: missing checksum.");
    end_row(&m, false);
    m.b.data[checksum] ^= 1;
    refused(&m, WR_PUT, "Cell data broken, checksum is mismatch, actual: ");
    m.b.data[checksum] ^= 1;
    m.b.data[m.b.len - 1] ^= 1;
    refused(&m, WR_PUT, "Invalid row: checksum is mismatch, actual: ");
    m.b.data[m.b.len - 1] ^= 1;
    m.b.data[0] = 0x76;
    refused(&m, WR_PUT, "Cell data broken, mismatch header, actual: 118, expect: 117.");
    m.b.data[0] = 0x75;
    m.b.len = 3;
    refused(&m, WR_PUT, "Input encoded PK broken, length is shorter than expect.");
    m.b.len = 20;
    refused(&m, WR_PUT, "Input encoded PK broken, length is shorter than expect.");
    m.b.len = 0;
    refused(&m, WR_PUT, "Input encoded PK broken, length is shorter than expect.");
}

static void test_delete_marker(void **state)
{
    struct maker with = make_key(), without = make_key(), cells = make_key();
    struct wr_key key;
    struct wr_row row;

    (void)state;
    end_row(&with, true);
    end_row(&without, false);
    assert_int_equal(plain_decode_change(&c, buf_bytes(&with.b), WR_DELETE, &row), 0);
    refused(&with, WR_PUT, "Invalid row: unexpected delete marker.");
    refused(&with, WR_UPDATE, "Invalid row: unexpected delete marker.");
    refused(&without, WR_DELETE, "Invalid delete row request: missing delete marker.");
    assert_int_equal(plain_decode_key(&c, buf_bytes(&with.b), &key), E_PARAMETER);
    ctx_clear(&c);
    tag(&cells, 2);
    name(&cells, "c");
    value(&cells, INT_1);
    end_cell(&cells);
    end_row(&cells, true);
    assert_int_equal(plain_decode_change(&c, buf_bytes(&cells.b), WR_DELETE, &row), 0);
    assert_int_equal(row.cell_count, 1);
}

static void test_padding_is_zeros_only(void **state)
{
    struct maker m = make_key();
    struct wr_key key;

    (void)state;
    end_row(&m, false);
    for (int i = 0; i < 30; i++)
        tag(&m, 0);
    assert_int_equal(plain_decode_key(&c, buf_bytes(&m.b), &key), 0);
    tag(&m, 1);
    refused(&m, WR_PUT, "data format is invalid.");
}

/* Cells that the structs cannot hold or that no operation gives. */
static void test_cells(void **state)
{
    static const struct {
        bytes bare; /* ptr NULL: no value */
        int type;   /* 0: none */
        bool stamp;
        int64_t at;
        const char *text; /* NULL: fine */
    } list[] = {
        {INT_1, 0, true, 5, NULL},
        {INT_1, 4, false, 0, NULL},
        {INT_1, 4, true, 7, NULL}, /* an increment with a time: the table layer's to refuse */
        {{NULL, 0}, 3, true, 5, NULL},
        {{NULL, 0}, 3, false, 0, NULL},
        {{NULL, 0}, 1, false, 0, NULL},
        {INT_1, 1, true, 5, NULL},
        {{NULL, 0}, 0, false, 0, "data format is invalid."},
        {{NULL, 0}, 4, false, 0, "data format is invalid."},
        {INT_1, 2, false, 0, "data format is invalid."},
        {INT_1, 0, true, INT64_MIN, "Timestamp must be in range [0, INT64_MAX/1000)."},
        {BYTES_LIT("\6"), 0, false, 0, "data format is invalid."},
        {BYTES_LIT("\2\2"), 0, false, 0, "data format is invalid."},
        {BYTES_LIT("\2"), 0, false, 0, "Input encoded PK broken, length is shorter"},
        {BYTES_LIT(""), 0, false, 0, "Input encoded PK broken, length is shorter"},
        {BYTES_LIT("\3\5\0\0\0abcd"), 0, false, 0, "Input encoded PK broken, length is shorter"},
        {BYTES_LIT("\3\3\0\0\0abcd"), 0, false, 0, "data format is invalid."},
        {BYTES_LIT("\3\xff\xff\xff\xff"), 0, false, 0, "Input encoded PK broken"},
        {BYTES_LIT("\0\1\0\0\0\0\0\0\0\0"), 0, false, 0, "data format is invalid."},
        {BYTES_LIT("\1\0\0\0\0\0\0\xf8\x7f"), 0, false, 0, "NaN and Infinity"},
        {BYTES_LIT("\1\0\0\0\0\0\0\xf0\xff"), 0, false, 0, "NaN and Infinity"},
        {BYTES_LIT("\x08"), 0, false, 0, "data format is invalid."},
    };

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(list); i++) {
        struct maker m = make_key();
        struct wr_row row;

        tag(&m, 2);
        name(&m, "c");
        if (list[i].bare.ptr)
            value(&m, list[i].bare);
        if (list[i].stamp && !list[i].type)
            stamp(&m, list[i].at);
        if (list[i].type && list[i].stamp) {
            uint8_t typed;

            /* The type stands first and is summed last. */
            tag(&m, 6);
            tag(&m, (uint8_t)list[i].type);
            stamp(&m, list[i].at);
            typed = crc8_byte(m.cell, (uint8_t)list[i].type);
            m.cell = typed;
        } else if (list[i].type) {
            type(&m, (uint8_t)list[i].type);
        }
        end_cell(&m);
        end_row(&m, false);
        if (list[i].text) {
            refused(&m, WR_UPDATE, list[i].text);
            continue;
        }
        assert_int_equal(plain_decode_change(&c, buf_bytes(&m.b), WR_UPDATE, &row), 0);
        assert_int_equal(row.cells[0].op, list[i].type);
        assert_true(row.cells[0].timestamp_ms == (list[i].stamp ? list[i].at : WR_TIMESTAMP_NONE));
    }
}

static void test_key_cells(void **state)
{
    struct maker typed = make(), stamped = make(), empty = make();
    struct wr_key key;

    (void)state;
    tag(&typed, 1);
    name(&typed, "pk0");
    value(&typed, INT_1);
    type(&typed, 1);
    end_cell(&typed);
    end_row(&typed, false);
    refused(&typed, WR_PUT, "data format is invalid.");
    tag(&stamped, 1);
    name(&stamped, "pk0");
    value(&stamped, INT_1);
    stamp(&stamped, 5);
    end_cell(&stamped);
    end_row(&stamped, false);
    refused(&stamped, WR_PUT, "data format is invalid.");
    /* No columns: the table knows better what to say of it. */
    tag(&empty, 1);
    end_row(&empty, false);
    assert_int_equal(plain_decode_key(&c, buf_bytes(&empty.b), &key), 0);
    assert_int_equal(key.count, 0);
}

/* Types that only the SQL door makes: they leave as the nearest, summed as they leave. */
static void test_other_types(void **state)
{
    struct wr_key_column key[] = {
        {BYTES_LIT("a"), {.type = WR_INTEGER, .integer = -7}},
        {BYTES_LIT("b"), {.type = WR_CHAR, .bytes = BYTES_LIT("xy")}},
    };
    struct wr_cell cells[] = {
        {.name = BYTES_LIT("d"), .value = {.type = WR_DATE, .integer = 19000}, .crc8 = 1},
        {.name = BYTES_LIT("f"), .value = {.type = WR_FLOAT, .real = 0.5}, .crc8 = 2},
        {.name = BYTES_LIT("j"), .value = {.type = WR_JSON, .bytes = BYTES_LIT("{}")}, .crc8 = 3},
    };
    struct wr_row row = {{key, 2}, cells, 3};
    size_t n = PLAIN_HEADER_BYTES + plain_row_size(&row, PLAIN_KEY_ALL), count;
    uint8_t *p = arena_alloc(&c.arena, n);
    const struct wr_row *back;
    struct buf b;

    (void)state;
    assert_ptr_equal(plain_put_row(plain_put_header(p), &row, PLAIN_KEY_ALL), p + n);
    assert_int_equal(plain_decode_rows(&c, bytes_of(p, n), &back, &count), 0);
    buf_init(&b, &c.arena, 0);
    show_row(&b, back);
    assert_string_equal(show_end(&b), "a=i-7 b=s'xy' | d=i19000@0 f=d0.5@0 j=s'{}'@0");
}

/* Written in one pass, a row is the same, or does not fit and writes nothing behind the end. */
static void test_row_before_an_end(void **state)
{
    struct wr_key_column key[] = {
        {BYTES_LIT("id"), {.type = WR_VARCHAR, .bytes = BYTES_LIT("user00000000000000000007")}},
        {BYTES_LIT("at"), {.type = WR_BIGINT, .integer = 7}},
        {BYTES_LIT("to"), {.type = WR_VARBINARY, .bytes = BYTES_LIT("")}},
    };
    struct wr_cell cells[] = {
        {.name = BYTES_LIT("boolean"), .value = {.type = WR_BOOLEAN, .boolean = true}, .crc8 = 1},
        {.name = BYTES_LIT("date"), .value = {.type = WR_DATE, .integer = 19000}, .crc8 = 2},
        {.name = BYTES_LIT("text"), .value = {.type = WR_VARCHAR, .bytes = BYTES_LIT("xy")}},
    };
    const struct wr_row rows[] = {{{key, 3}, cells, 3}, {{key, 1}, NULL, 0}, {{NULL, 0}, cells, 2}};

    (void)state;
    for (size_t r = 0; r < PORT_COUNT(rows); r++)
        for (uint32_t mask = 0; mask < 8; mask++) {
            size_t n = plain_row_size(&rows[r], mask), least = SIZE_MAX;
            uint8_t *whole = arena_alloc(&c.arena, n), *p = arena_alloc(&c.arena, n + 120);

            assert_ptr_equal(plain_put_row(whole, &rows[r], mask), whole + n);
            for (size_t room = 0; room <= n + 100; room++) {
                uint8_t *end;

                memset(p, 0xEE, n + 120);
                end = plain_try_row(p, p + room, &rows[r], mask);
                for (size_t i = room; i < n + 120; i++)
                    assert_int_equal(p[i], 0xEE);
                if (!end) {
                    assert_int_equal(least, SIZE_MAX); /* more room does no harm */
                    continue;
                }
                least = room < least ? room : least;
                assert_ptr_equal(end, p + n);
                assert_memory_equal(p, whole, n);
            }
            assert_in_range(least, n, n + 100);
        }
}

/* More cells than the first guess has room for, and key columns left out. */
static void test_many_cells(void **state)
{
    enum { CELLS = 1500 };
    struct wr_cell *cells = ARENA_ARRAY(&c.arena, struct wr_cell, CELLS);
    struct wr_key_column key[7];
    struct wr_row row = {{key, 7}, cells, CELLS}, back;
    const struct wr_row *rows;
    size_t n, count;
    uint8_t *p;

    (void)state;
    for (int i = 0; i < 7; i++)
        key[i] = (struct wr_key_column){BYTES_LIT("k"), {.type = WR_BIGINT, .integer = i}};
    for (int i = 0; i < CELLS; i++)
        cells[i] = (struct wr_cell){.name = arena_printf(&c.arena, "%d", i),
                                    .value = {.type = WR_BIGINT, .integer = i},
                                    .timestamp_ms = WR_TIMESTAMP_NONE};
    n = PLAIN_HEADER_BYTES + plain_change_size(&row, WR_PUT);
    p = arena_alloc(&c.arena, n);
    assert_ptr_equal(plain_put_change(plain_put_header(p), &row, WR_PUT), p + n);
    assert_int_equal(plain_decode_change(&c, bytes_of(p, n), WR_PUT, &back), 0);
    assert_int_equal(back.key.count, 7);
    assert_int_equal(back.cell_count, CELLS);
    for (int i = 0; i < CELLS; i++) {
        assert_true(bytes_equal(back.cells[i].name, cells[i].name));
        assert_int_equal(back.cells[i].value.integer, i);
    }
    row.cell_count = 0;
    n = plain_row_size(&row, 1u << 2 | 1u << 5);
    p = arena_alloc(&c.arena, 4 + n);
    assert_ptr_equal(plain_put_row(plain_put_header(p), &row, 1u << 2 | 1u << 5), p + 4 + n);
    assert_int_equal(plain_decode_rows(&c, bytes_of(p, 4 + n), &rows, &count), 0);
    assert_int_equal(rows[0].key.count, 2);
    assert_int_equal(rows[0].key.columns[1].value.integer, 5);
    /* No key column at all: the section is left out. */
    assert_int_equal(plain_row_size(&row, 0), 2);
}

/* The tunnel worker for Go fails at a record whose old values have no key section, empty as it is.
 */
static void test_old_cells(void **state)
{
    struct wr_cell cell = {.name = BYTES_LIT("v"),
                           .value = {.type = WR_BIGINT, .integer = 0},
                           .timestamp_ms = 1700000000123};
    struct wr_row row = {.cells = &cell, .cell_count = 1};
    const struct wr_row *rows;
    uint8_t p[64];
    size_t n = PLAIN_HEADER_BYTES + plain_old_cells_size(&row), count;

    (void)state;
    assert_ptr_equal(plain_put_old_cells(plain_put_header(p), &row), p + n);
    assert_int_equal(p[4], 0x01); /* TAG_ROW_PK */
    assert_int_equal(p[5], 0x02); /* TAG_ROW_DATA */
    assert_int_equal(plain_decode_rows(&c, bytes_of(p, n), &rows, &count), 0);
    assert_int_equal(count, 1);
    assert_int_equal(rows[0].key.count, 0);
    assert_int_equal(rows[0].cell_count, 1);
    assert_int_equal(rows[0].cells[0].timestamp_ms, 1700000000123);

    row.cell_count = 0;
    assert_int_equal(plain_old_cells_size(&row), 3);
    plain_put_old_cells(p, &row);
    assert_memory_equal(p, "\x01\x09\x00", 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_texts),
        TEST(test_delete_marker),
        TEST(test_padding_is_zeros_only),
        TEST(test_cells),
        TEST(test_key_cells),
        TEST(test_other_types),
        TEST(test_row_before_an_end),
        TEST(test_many_cells),
        TEST(test_old_cells),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
