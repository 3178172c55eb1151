/* What the writer writes, the reader reads; what is no file of the sort is refused, however it is
 * damaged; and values of other programs' types. */
#include "base/buf.h"
#include "base/rng.h"
#include "parquet/codec.h"
#include "parquet/convert.h"
#include "parquet/format.h"
#include "parquet/reader.h"
#include "parquet/writer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#undef fail /* cmocka has its own */
#include <cmocka.h>

#define COLUMNS 5
#define ROWS 20000

static const enum wr_type types[COLUMNS] = {WR_BIGINT, WR_VARBINARY, WR_DOUBLE, WR_BOOLEAN,
                                            WR_VARCHAR};
static const char *const names[COLUMNS] = {"id", "raw", "d", "b", "s"};

static struct clock clock_;
static struct ctx c;

static bool read_memory(void *arg, uint64_t offset, void *to, size_t n, char *why, size_t size)
{
    const bytes *file = arg;

    (void)why;
    (void)size;
    assert_true(offset <= file->len && n <= file->len - offset);
    if (n)
        memcpy(to, bytes_u8(*file) + offset, n);
    return true;
}

/* Row i's values, made again for each question; of few different ones in every second column. */
static void make_row(uint64_t seed, uint64_t i, char room[COLUMNS][64], struct wr_value *v)
{
    for (size_t k = 0; k < COLUMNS; k++) {
        uint64_t r = (seed + i * COLUMNS + k) * UINT64_C(0x9E3779B97F4A7C15);

        r ^= r >> 29;
        r *= UINT64_C(0xBF58476D1CE4E5B9);
        r ^= r >> 32;
        v[k] = (struct wr_value){.type = types[k]};
        if (k == 0)
            v[k].integer = (int64_t)i;
        else if (r % 7 == 0)
            v[k].type = WR_NULL;
        else if (types[k] == WR_DOUBLE)
            v[k].real = (double)(int64_t)r / 3;
        else if (types[k] == WR_BOOLEAN)
            v[k].boolean = r >> 40 & 1;
        else
            v[k].bytes =
                bytes_of(room[k], (size_t)snprintf(room[k], 64, "%llx",
                                                   (unsigned long long)(r >> 8 * (k * 2 - 2))));
    }
}

static bytes write_file(uint64_t seed, size_t rows, size_t size_max)
{
    struct parquet_column columns[COLUMNS];
    uint8_t *data = mem_alloc(size_max);
    FILE *f = fmemopen(data, size_max, "w");
    struct group group = {0};
    struct parquet *p;
    long size;

    for (size_t k = 0; k < COLUMNS; k++)
        columns[k] = (struct parquet_column){bytes_str(names[k]), types[k], k == 0};
    p = parquet_open(f, columns, COLUMNS, BYTES_LIT("id:integer"));
    parquet_widen(p, &group, COLUMNS);
    for (size_t i = 0; i < rows; i++) {
        struct wr_value v[COLUMNS];
        const struct wr_value *at[COLUMNS];
        char room[COLUMNS][64];

        make_row(seed, i, room, v);
        for (size_t k = 0; k < COLUMNS; k++)
            at[k] = v[k].type == WR_NULL ? NULL : &v[k];
        group_put(&group, at);
        if (group_is_full(&group, GROUP_BYTES) || i + 1 == rows) {
            group_pack(&group);
            parquet_add(p, &group, 0);
        }
    }
    parquet_close(p, true);
    group_release(&group);
    size = ftell(f);
    assert_int_equal(fclose(f), 0);
    return bytes_of(data, (size_t)size);
}

static void assert_same(const struct wr_value *a, const struct wr_value *b)
{
    assert_int_equal(a->type, b->type);
    if (a->type == WR_VARCHAR || a->type == WR_VARBINARY)
        assert_true(bytes_equal(a->bytes, b->bytes));
    else if (a->type == WR_BOOLEAN)
        assert_int_equal(a->boolean, b->boolean);
    else if (a->type != WR_NULL)
        assert_int_equal(a->integer, b->integer); /* of doubles the bits */
}

static struct parquet_reader *open_file(bytes *file, int *code)
{
    struct parquet_source source = {.read = read_memory, .arg = file, .size = file->len};
    struct parquet_reader *r;

    ctx_init(&c, &clock_, NULL, NULL, 0);
    *code = parquet_reader_open(&c, &source, "file", 1 << 22, &r);
    return r;
}

static void test_round_trip(void **state)
{
    bytes file = write_file(1, ROWS, 8 << 20);
    const struct wr_value *values;
    struct parquet_reader *r;
    int code;

    (void)state;
    r = open_file(&file, &code);
    assert_int_equal(code, 0);
    assert_true(bytes_equal(parquet_reader_footer(r)->key_note, BYTES_LIT("id:integer")));
    for (size_t i = 0; i < ROWS; i++) {
        struct wr_value v[COLUMNS];
        char room[COLUMNS][64];

        make_row(1, i, room, v);
        assert_int_equal(parquet_reader_next(r, &values), PARQUET_ROW);
        for (size_t k = 0; k < COLUMNS; k++)
            assert_same(&v[k], &values[k]);
    }
    assert_int_equal(parquet_reader_next(r, &values), PARQUET_END);
    parquet_reader_close(r);
    ctx_release(&c);
    mem_free((void *)(uintptr_t)file.ptr);
}

#define PIECE_ROWS 3000

/* A row group of times, of which each begins as the one before does, and, if it is `wide`, of a
 * column that the file did not have before. */
static void put_piece(struct parquet *p, uint64_t piece, bool wide)
{
    struct group g = {0};

    parquet_widen(p, &g, wide ? 3 : 2);
    for (uint64_t i = 0; i < PIECE_ROWS; i++) {
        char text[32];
        struct wr_value id = {.type = WR_BIGINT, .integer = (int64_t)(piece * PIECE_ROWS + i)};
        struct wr_value time = {.type = WR_VARCHAR}, late = {.type = WR_BOOLEAN, .boolean = i & 1};
        const struct wr_value *row[] = {&id, i % 10 ? &time : NULL, i % 3 ? &late : NULL};
        int n = snprintf(text, sizeof(text), "2025-%02d-%02d %02d:%02d", (int)(i / 300 + 1),
                         (int)(i / 10 % 30 + 1), (int)(i * 7 % 24), (int)(i * 31 % 60));

        time.bytes = bytes_of(text, (size_t)n);
        group_put(&g, row);
    }
    group_pack(&g);
    assert_true(g.chunks[1].encodings & 1u << ENCODING_DELTA_BYTE_ARRAY);
    parquet_add(p, &g, piece);
    assert_int_equal(g.rows, 0);
    group_release(&g);
}

/* Groups that are written out of order, and one that lacks a column: rows come in order. */
static void test_pieces(void **state)
{
    static const struct parquet_column columns[] = {{{"id", 2}, WR_BIGINT, true},
                                                    {{"time", 4}, WR_VARCHAR, false}};
    static const struct parquet_column late = {{"late", 4}, WR_BOOLEAN, false};
    uint8_t *data = mem_alloc(1 << 20);
    FILE *f = fmemopen(data, 1 << 20, "w");
    struct parquet *p = parquet_open(f, columns, 2, BYTES_LIT("id:integer"));
    const struct wr_value *values;
    struct parquet_reader *r;
    bytes file;
    int code;

    (void)state;
    put_piece(p, 1, false);
    parquet_insert(p, &late, 1); /* in front of the time */
    put_piece(p, 2, true);
    put_piece(p, 0, false);
    parquet_close(p, true);
    file = bytes_of(data, (size_t)ftell(f));
    assert_int_equal(fclose(f), 0);
    r = open_file(&file, &code);
    assert_int_equal(code, 0);
    for (uint64_t i = 0; i < (uint64_t)3 * PIECE_ROWS; i++) {
        uint64_t at = i % PIECE_ROWS;
        bool has_late = i >= (uint64_t)2 * PIECE_ROWS && at % 3;

        assert_int_equal(parquet_reader_next(r, &values), PARQUET_ROW);
        assert_int_equal(values[0].integer, i);
        assert_int_equal(values[1].type, has_late ? WR_BOOLEAN : WR_NULL);
        assert_int_equal(values[2].type, at % 10 ? WR_VARCHAR : WR_NULL);
        if (at % 10)
            assert_int_equal(values[2].bytes.len, 16);
    }
    assert_int_equal(parquet_reader_next(r, &values), PARQUET_END);
    parquet_reader_close(r);
    ctx_release(&c);
    mem_free(data);
}

#define TIMES 80000
#define TIMES_OF_ONE 50 /* of one card, of a year */

/* Times of the day that have nothing to do with those near them pack by what they share with some
 * of the others: on zstd's first level they take 37 bits. */
static void test_times(void **state)
{
    struct group g = {0};
    struct rng rng;

    (void)state;
    rng_init(&rng, 1);
    group_add_column(&g, WR_VARCHAR, true);
    for (uint64_t i = 0; i < TIMES; i++) {
        uint64_t second = 7 * 3600 + rng_below(&rng, 54000);
        uint64_t day = (i % TIMES_OF_ONE * 336 + rng_below(&rng, 336)) / TIMES_OF_ONE;
        char text[64];
        int n = snprintf(text, sizeof(text), "2025-%02d-%02d %02d:%02d:%02d", (int)(day / 28 + 1),
                         (int)(day % 28 + 1), (int)(second / 3600), (int)(second / 60 % 60),
                         (int)(second % 60));
        struct wr_value time = {.type = WR_VARCHAR, .bytes = bytes_of(text, (size_t)n)};
        const struct wr_value *row[] = {&time};

        group_put(&g, row);
    }
    group_pack(&g);
    assert_in_range(g.chunks[0].pages.len * 8 / TIMES, 20, 34);
    group_release(&g);
}

/* Reads it whatever it is; returns whether all of it was good. */
static bool read_all(bytes file)
{
    enum parquet_result result = PARQUET_FAILED;
    const struct wr_value *values;
    struct parquet_reader *r;
    size_t rows = 0;
    int code;

    r = open_file(&file, &code);
    assert_true(code == 0 || (code == E_PARAMETER && c.text[0]));
    if (code == 0)
        do {
            result = parquet_reader_next(r, &values);
        } while ((result == PARQUET_ROW || result == PARQUET_BAD) && ++rows < 1000);
    if (result == PARQUET_FAILED && code == 0)
        assert_true(parquet_reader_message(r)[0]);
    parquet_reader_close(r);
    ctx_release(&c);
    return result == PARQUET_END;
}

/* Each bit flipped, and the file cut at each byte: an end, not a crash. */
static void test_damage(void **state)
{
    bytes file = write_file(2, 40, 1 << 16);
    uint8_t *copy = mem_alloc(file.len);

    (void)state;
    for (size_t i = 0; i < file.len * 8; i++) {
        memcpy(copy, file.ptr, file.len);
        copy[i / 8] ^= (uint8_t)(1u << i % 8);
        (void)read_all(bytes_of(copy, file.len));
    }
    for (size_t n = 0; n < file.len; n++) {
        uint8_t *part = mem_alloc(n + 1);

        memcpy(part, file.ptr, n);
        assert_false(read_all(bytes_of(part, n)));
        mem_free(part);
    }
    assert_true(read_all(file));
    mem_free(copy);
    mem_free((void *)(uintptr_t)file.ptr);
}

static void assert_text(const struct parquet_leaf *leaf, bool as_text, bytes raw, const char *want)
{
    char text[CONVERT_TEXT_BYTES];
    struct wr_value v;

    if (!want) {
        assert_false(convert_raw(leaf, as_text, raw, text, &v));
        return;
    }
    assert_true(convert_raw(leaf, as_text, raw, text, &v));
    assert_int_equal(v.type, WR_VARCHAR);
    assert_int_equal(v.bytes.len, strlen(want));
    assert_memory_equal(v.bytes.ptr, want, v.bytes.len);
}

static void test_decimals(void **state)
{
    struct parquet_leaf leaf = {.physical = PHYSICAL_BYTE_ARRAY, .meaning = MEANS_DECIMAL};

    (void)state;
    assert_text(&leaf, false, BYTES_LIT("\x01\x00"), "256");
    assert_text(&leaf, false, BYTES_LIT("\xFF"), "-1");
    assert_text(&leaf, false, BYTES_NONE, "0");
    leaf.scale = 3;
    assert_text(&leaf, false, BYTES_LIT("\xFF"), "-0.001");
    assert_text(&leaf, false, BYTES_LIT("\x04\xD2"), "1.234");
    assert_text(&leaf, false, BYTES_LIT("\x00"), "0.000");
    /* Twenty bytes of which four are sign; and as many that are not. */
    assert_text(&leaf, false,
                BYTES_LIT("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"
                          "\xFF\x85"),
                "-0.123");
    assert_text(&leaf, false,
                BYTES_LIT("\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"),
                NULL);
}

static void assert_moment(enum parquet_meaning meaning, uint64_t units_s, int64_t v,
                          const char *want)
{
    struct parquet_leaf leaf = {
        .physical = PHYSICAL_INT64, .meaning = meaning, .units_s = units_s, .type = WR_BIGINT};
    char text[CONVERT_TEXT_BYTES];
    struct wr_value value;
    uint8_t raw[8];

    store_u64(raw, (uint64_t)v);
    assert_text(&leaf, true, bytes_of(raw, 8), want);
    assert_true(convert_raw(&leaf, false, bytes_of(raw, 8), text, &value));
    assert_int_equal(value.type, WR_BIGINT);
    assert_int_equal(value.integer, v);
}

static void test_moments(void **state)
{
    uint8_t raw[12];
    struct parquet_leaf leaf = {.physical = PHYSICAL_INT96,
                                .meaning = MEANS_TIMESTAMP,
                                .units_s = 1000000000,
                                .type = WR_BIGINT};

    (void)state;
    assert_moment(MEANS_DATE, 0, 0, "1970-01-01");
    assert_moment(MEANS_DATE, 0, 19782, "2024-02-29");
    assert_moment(MEANS_DATE, 0, -1, "1969-12-31");
    assert_moment(MEANS_DATE, 0, -719163, "0000-12-31");
    assert_moment(MEANS_TIME, 1000, 45000500, "12:30:00.5");
    assert_moment(MEANS_TIME, 1000000, INT64_C(86399999999), "23:59:59.999999");
    assert_moment(MEANS_TIMESTAMP, 1000, -1, "1969-12-31 23:59:59.999");
    assert_moment(MEANS_TIMESTAMP, 1000000000, 1, "1970-01-01 00:00:00.000000001");
    assert_moment(MEANS_TIMESTAMP, 1000, INT64_MIN, "-292275055-05-16 16:47:04.192");
    store_u64(raw, UINT64_C(43200000000000));
    store_u32(raw + 8, 2440588 + 1);
    assert_text(&leaf, true, bytes_of(raw, 12), "1970-01-02 12:00:00");
    store_u32(raw + 8, 2440588 + 200000);
    assert_text(&leaf, true, bytes_of(raw, 12), NULL);
}

static void test_codecs(void **state)
{
    uint8_t out[16];

    (void)state;
    /* "abcabcabc!": literals, a copy that overlaps what it makes, a literal. */
    assert_true(codec_unpack(CODEC_SNAPPY,
                             BYTES_LIT("\x0a\x08"
                                       "abc\x09\x03\x00!"),
                             out, 10));
    assert_memory_equal(out, "abcabcabc!", 10);
    assert_false(codec_unpack(CODEC_SNAPPY,
                              BYTES_LIT("\x0a\x08"
                                        "abc\x09\x04\x00!"),
                              out, 10));
    assert_true(codec_unpack(CODEC_LZ4_RAW,
                             BYTES_LIT("\x32"
                                       "abc\x03\x00\x10!"),
                             out, 10));
    assert_memory_equal(out, "abcabcabc!", 10);
    assert_false(codec_unpack(CODEC_LZ4_RAW,
                              BYTES_LIT("\x32"
                                        "abc\x03\x00\x10!"),
                              out, 9));
    assert_true(codec_unpack(CODEC_NONE, BYTES_NONE, out, 0));
    assert_false(codec_unpack(CODEC_NONE, BYTES_LIT("x"), out, 0));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_damage),     cmocka_unit_test(test_decimals),
        cmocka_unit_test(test_moments),    cmocka_unit_test(test_codecs),
        cmocka_unit_test(test_times),
    };

    clock_real_init(&clock_);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
