/* Bytes that nobody should send: every vector cut short at every byte and with every bit turned
 * over, bodies that want too much memory, filters without end. Nothing may crash (sanitizer builds
 * look closer), and what is accepted must hold together. */
#include "vectors.h"

#include "base/limit.h"
#include "base/rng.h"
#include "table/model/filter.h"
#include "wire/matrix.h"
#include "wire/ots.h"
#include "wire/ots_client.h"
#include "wire/plain.h"
#include "wire/zip.h"

static struct vectors vectors;

#define CAP (1 << 20)

/* A fresh context for each try, on memory that is handed back as it was. The input is copied to its
 * own heap block, so that a sanitizer sees a read past its end. */
struct
try {
    struct ctx c;
    _Alignas(16) uint8_t first[32768];
};

static struct try one;

static bytes try_start(bytes in)
{
    void *copy = malloc(in.len ? in.len : 1);

    ctx_init(&one.c, NULL, NULL, one.first, sizeof(one.first));
    one.c.arena.cap = CAP;
    arena_on_release(&one.c.arena, free, copy);
    if (in.len)
        memcpy(copy, in.ptr, in.len);
    return bytes_of(copy, in.len);
}

/* A failure must be one of the two that may be, and have a text. */
static bool try_end(int code)
{
    bool failed = code != 0;

    if (failed) {
        assert_true(code == E_PARAMETER || code == E_MEMORY);
        assert_int_equal(code, one.c.code);
        assert_true(one.c.text[0] != 0);
    }
    ctx_release(&one.c);
    return !failed;
}

/* ---- what can read a vector */

/* What was accepted can be asked again and is the same then. */
static int decode_request(enum wr_op op, bytes in)
{
    struct wr_request req, again;

    TRY(ots_decode(&one.c, op, in, &req));
    TRY(ots_decode(&one.c, op, ots_encode_request(&one.c, &req), &again));
    assert_string_equal(show_request(&one.c, &req), show_request(&one.c, &again));
    return 0;
}

static int decode_answer(enum wr_op op, bytes in)
{
    struct wr_request req = {.op = op};
    struct wr_reply reply, again;

    TRY(ots_decode_reply(&one.c, op, in, &reply));
    return ots_decode_reply(&one.c, op, ots_encode(&one.c, &req, &reply), &again);
}

static int decode_change(enum wr_change_type type, bytes in)
{
    struct wr_row row;

    return plain_decode_change(&one.c, in, type, &row);
}

static int decode_rest(int which, bytes in)
{
    const struct wr_row *rows;
    struct wr_value value;
    struct wr_key key;
    bytes a, b;
    size_t n;

    switch (which) {
    case 0:
        return plain_decode_key(&one.c, in, &key);
    case 1:
        return plain_decode_rows(&one.c, in, &rows, &n);
    case 2:
        return plain_decode_value(&one.c, in, &value);
    case 3:
        return matrix_decode(&one.c, in, &rows, &n);
    case 4:
        return ots_decode_error(&one.c, in, &a, &b);
    default:
        return zip_inflate(&one.c, in, 0, 65536, &a);
    }
}

enum { DECODERS = 2 * WR_OP_COUNT + 3 + 6 };

/* The i-th of all decoders; true if it took the bytes. */
static bool decode(int i, bytes in)
{
    bytes copy = try_start(in);
    int code;

    if (i < WR_OP_COUNT)
        code = decode_request((enum wr_op)i, copy);
    else if (i < 2 * WR_OP_COUNT)
        code = decode_answer((enum wr_op)(i - WR_OP_COUNT), copy);
    else if (i < 2 * WR_OP_COUNT + 3)
        code = decode_change((enum wr_change_type)(i - 2 * WR_OP_COUNT + 1), copy);
    else
        code = decode_rest(i - 2 * WR_OP_COUNT - 3, copy);
    return try_end(code);
}

static bool starts(bytes name, const char *prefix)
{
    return bytes_starts(name, bytes_str(prefix));
}

static int op_of(bytes name)
{
    for (int op = 0; op < WR_OP_COUNT; op++)
        if (starts(name, ots_op_name((enum wr_op)op)))
            return op;
    return -1;
}

/* The decoder that a vector is for; -1: none, it is no message. */
static int decoder_of(bytes name)
{
    const int changes = 2 * WR_OP_COUNT, rest = changes + 3;
    int op;

    if (starts(name, "req_"))
        return op_of(bytes_skip(name, 4));
    if (starts(name, "resp_Error"))
        return rest + 4;
    if (starts(name, "resp_")) {
        op = op_of(bytes_skip(name, 5));
        return op < 0 ? op : WR_OP_COUNT + op;
    }
    if (starts(name, "put_"))
        return changes;
    if (starts(name, "update_") || starts(name, "node_update"))
        return changes + 1;
    if (starts(name, "delete_row"))
        return changes + 2;
    if (starts(name, "pk_") || starts(name, "node_pk"))
        return rest;
    if (starts(name, "rows_"))
        return rest + 1;
    if (starts(name, "value_") || starts(name, "pkval_"))
        return rest + 2;
    if (starts(name, "matrix_"))
        return rest + 3;
    return starts(name, "deflate_request_body") ? rest + 5 : -1;
}

/* ---- cut and turned */

static void test_every_decoder_takes_cut_vectors(void **state)
{
    (void)state;
    for (size_t i = 0; i < vectors.count; i++) {
        bytes v = vectors.list[i].data;

        for (size_t n = 0; n <= v.len && n < 160; n++)
            for (int d = 0; d < DECODERS; d++)
                decode(d, bytes_of(v.ptr, n));
    }
}

static void test_own_decoder_takes_all_cuts(void **state)
{
    (void)state;
    for (size_t i = 0; i < vectors.count; i++) {
        int d = decoder_of(vectors.list[i].name);
        bytes v = vectors.list[i].data;

        for (size_t n = 0; d >= 0 && n < v.len; n++)
            decode(d, bytes_of(v.ptr, n));
    }
}

/* A row that is cut anywhere is refused, but for the zeros behind it. */
static void test_cut_rows_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < vectors.count; i++) {
        int d = decoder_of(vectors.list[i].name);
        bytes v = vectors.list[i].data;

        if (d < 2 * WR_OP_COUNT || d > 2 * WR_OP_COUNT + 3 || starts(vectors.list[i].name, "node_"))
            continue;
        for (size_t n = 0; n < v.len; n++)
            assert_false(decode(d, bytes_of(v.ptr, n)));
    }
}

static bytes flip(bytes v, size_t bit)
{
    uint8_t *copy = mem_alloc(v.len);

    memcpy(copy, v.ptr, v.len);
    copy[bit / 8] ^= (uint8_t)(1 << bit % 8);
    return bytes_of(copy, v.len);
}

/* One wrong bit in a row is always seen: the checksums see it in what they cover, and the lengths
 * and tags do not fit each other any more elsewhere. In other messages it need not be. */
static void test_turned_bits(void **state)
{
    (void)state;
    for (size_t i = 0; i < vectors.count; i++) {
        int d = decoder_of(vectors.list[i].name);
        bytes v = vectors.list[i].data;
        bool row = d >= 2 * WR_OP_COUNT && d <= 2 * WR_OP_COUNT + 3;

        for (size_t bit = 0; d >= 0 && bit < v.len * 8; bit++) {
            bytes turned = flip(v, bit);
            bool taken = decode(d, turned);

            if (row && taken)
                print_error("%.*s bit %zu\n", BYTES_FMT(vectors.list[i].name), bit);
            assert_false(row && taken);
            mem_free((void *)(uintptr_t)turned.ptr);
        }
    }
}

/* Several bytes changed at random, some of them to what tags and lengths are made of. */
static bytes damage(bytes v, struct rng *r)
{
    uint8_t *copy = mem_alloc(v.len);

    memcpy(copy, v.ptr, v.len);
    for (uint64_t n = 1 + rng_below(r, 6); n; n--) {
        uint64_t small = rng_below(r, 14), any = rng_next(r);

        copy[rng_below(r, v.len)] = (uint8_t)(rng_below(r, 2) ? small : any);
    }
    return bytes_of(copy, v.len - rng_below(r, v.len / 8 + 1));
}

static void test_random_damage(void **state)
{
    const char *rounds = getenv("WIRE_DAMAGE_ROUNDS"); /* more of it by hand */
    struct rng r;

    (void)state;
    rng_init(&r, 1);
    for (int round = rounds ? atoi(rounds) : 100; round; round--) {
        for (size_t i = 0; i < vectors.count; i++) {
            int d = decoder_of(vectors.list[i].name);
            bytes damaged;

            if (d < 0 || vectors.list[i].data.len == 0)
                continue;
            damaged = damage(vectors.list[i].data, &r);
            decode(d, damaged);
            mem_free((void *)(uintptr_t)damaged.ptr);
        }
    }
}

/* ---- too much */

static void fill(struct buf *b, bytes unit, size_t total)
{
    while (b->len < total)
        buf_put_bytes(b, unit);
}

/* Five megabytes of tiny messages would grow to hundreds in memory, which one request may have and
 * a few together may not. */
static void test_memory_is_bounded(void **state)
{
    static const struct {
        enum wr_op op;
        bytes unit;
    } list[] = {
        {WR_OP_BATCH_GET_ROW, BYTES_LIT("\x0a\x03\x0a\x01t")},
        {WR_OP_BATCH_GET_ROW, BYTES_LIT("\x0a\x00")},
        {WR_OP_BATCH_WRITE_ROW, BYTES_LIT("\x0a\x03\x0a\x01t")},
        {WR_OP_BULK_IMPORT, BYTES_LIT("\x12\x04\x08\x01\x12\x00")},
        {WR_OP_GET_RANGE, BYTES_LIT("\x1a\x00")},
        {WR_OP_LIST_TABLE, BYTES_LIT("\x0a\x00")},
    };
    const size_t cap = 256 << 20, most = 64 << 20;

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(list); i++) {
        struct arena memory;
        struct wr_request req;
        struct ctx c;
        struct buf b;

        arena_init(&memory, NULL, 0);
        buf_init(&b, &memory, 6 << 20);
        fill(&b, list[i].unit, 5 << 20);
        ctx_init(&c, NULL, NULL, NULL, 0);
        c.arena.cap = cap;
        assert_int_not_equal(ots_decode(&c, list[i].op, buf_bytes(&b), &req), 0);
        assert_true(c.code == E_MEMORY || c.code == E_PARAMETER);
        assert_true(c.arena.used <= most);
        ctx_release(&c);
        arena_release(&memory);
    }
}

/* `depth` filters one in the other. */
static int decode_nested(int depth)
{
    bytes key = vector(&vectors, "pk_int"), filter = vector(&vectors, "filter_single");
    struct filter *compiled;
    struct limits limits;
    struct wr_request req;
    struct buf b;
    int code;

    ctx_init(&one.c, NULL, NULL, one.first, sizeof(one.first));
    for (; depth > 1; depth--) {
        struct buf inner;

        /* Filter{composite, {NOT, [filter]}} */
        buf_init(&inner, &one.c.arena, 0);
        buf_put_bytes(&inner, BYTES_LIT("\x08\x01\x12"));
        buf_put_varint(&inner, filter.len);
        buf_put_bytes(&inner, filter);
        buf_init(&b, &one.c.arena, 0);
        buf_put_bytes(&b, BYTES_LIT("\x08\x02\x12"));
        buf_put_varint(&b, inner.len);
        buf_put_bytes(&b, buf_bytes(&inner));
        filter = buf_bytes(&b);
    }
    buf_init(&b, &one.c.arena, 0);
    buf_put_bytes(&b, BYTES_LIT("\x0a\x02t1\x12"));
    buf_put_varint(&b, key.len);
    buf_put_bytes(&b, key);
    buf_put_u8(&b, 7 << 3 | 2);
    buf_put_varint(&b, filter.len);
    buf_put_bytes(&b, filter);
    code = ots_decode(&one.c, WR_OP_GET_ROW, buf_bytes(&b), &req);
    assert_int_equal(code, 0);
    limits_init(&limits, false);
    code = filter_compile(&one.c, &limits, req.get_row.read.filter, FILTER_READ, &compiled);
    if (code)
        assert_string_equal(one.c.text, "The count of filter exceeds the max: 32.");
    ctx_release(&one.c);
    return code;
}

static void test_filters_are_bounded(void **state)
{
    (void)state;
    assert_int_equal(decode_nested(1), 0);
    assert_int_equal(decode_nested(32), 0);
    assert_int_equal(decode_nested(33), E_PARAMETER);
    assert_int_equal(decode_nested(OTS_FILTER_DEPTH_MAX), E_PARAMETER);
    assert_int_equal(decode_nested(OTS_FILTER_DEPTH_MAX + 1), E_PARAMETER);
    assert_int_equal(decode_nested(1000), E_PARAMETER);
    assert_int_equal(decode_nested(5000), E_PARAMETER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_decoder_takes_cut_vectors),
        cmocka_unit_test(test_own_decoder_takes_all_cuts),
        cmocka_unit_test(test_cut_rows_are_refused),
        cmocka_unit_test(test_turned_bits),
        cmocka_unit_test(test_random_damage),
        cmocka_unit_test(test_memory_is_bounded),
        cmocka_unit_test(test_filters_are_bounded),
    };
    int failed;

    vectors_load(&vectors, "wire-vectors.txt");
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    arena_release(&vectors.arena);
    return failed;
}
