#include "sql/mysql/packet.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

/* Puts a payload together again as a client does; returns how many packets it came in. */
static int joined(bytes stream, uint8_t first, size_t *length, uint8_t *last_byte)
{
    int packets = 0;
    size_t size;

    *length = 0;
    do {
        uint8_t number;

        assert_true(stream.len >= PACKET_HEADER_BYTES);
        size = packet_header(stream.ptr, &number);
        assert_int_equal(number, (uint8_t)(first + packets));
        stream = bytes_skip(stream, PACKET_HEADER_BYTES);
        assert_true(stream.len >= size);
        if (size)
            *last_byte = bytes_u8(stream)[size - 1];
        stream = bytes_skip(stream, size);
        *length += size;
        packets++;
    } while (size == PACKET_BYTES_MAX);
    assert_int_equal(stream.len, 0);
    return packets;
}

static void test_long_payloads(void **state)
{
    static const struct {
        size_t size;
        int packets;
    } cases[] = {
        {0, 1},
        {1, 1},
        {PACKET_BYTES_MAX - 1, 1},
        {PACKET_BYTES_MAX, 2},
        {PACKET_BYTES_MAX + 1, 2},
        {2 * PACKET_BYTES_MAX, 3},
        {2 * PACKET_BYTES_MAX + 77, 3},
    };

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(cases); i++) {
        struct packet_out p;
        struct arena a;
        struct buf b;
        size_t length;
        uint8_t last = 0;

        arena_init(&a, NULL, 0);
        buf_init(&b, &a, 0);
        p = (struct packet_out){.buf = &b, .number = 255};
        packet_begin(&p);
        for (size_t n = 0; n < cases[i].size; n++)
            buf_put_u8(&b, (uint8_t)(n * 7));
        packet_end(&p);
        assert_int_equal(joined(buf_bytes(&b), 255, &length, &last), cases[i].packets);
        assert_int_equal(length, cases[i].size);
        if (length)
            assert_int_equal(last, (uint8_t)((length - 1) * 7));
        assert_int_equal(p.number, (uint8_t)(255 + cases[i].packets));
        arena_release(&a);
    }
}

static void test_lengths(void **state)
{
    static const uint64_t values[] = {0,        250,       251,        0xffff,    0x10000,
                                      0xffffff, 0x1000000, UINT32_MAX, UINT64_MAX};
    static const size_t sizes[] = {1, 1, 3, 3, 4, 4, 9, 9, 9};
    struct arena a;
    struct buf b;

    (void)state;
    arena_init(&a, NULL, 0);
    for (size_t i = 0; i < PORT_COUNT(values); i++) {
        struct reader r;

        buf_init(&b, &a, 0);
        packet_put_length(&b, values[i]);
        assert_int_equal(b.len, sizes[i]);
        r = reader_of(buf_bytes(&b));
        assert_true(packet_read_length(&r) == values[i]);
        assert_false(r.bad);
        assert_int_equal(reader_left(&r), 0);
    }
    arena_release(&a);
}

static void test_what_is_cut(void **state)
{
    static const bytes cut[] = {BYTES_LIT(""),
                                BYTES_LIT("\xfb"),
                                BYTES_LIT("\xff"),
                                BYTES_LIT("\xfc\x01"),
                                BYTES_LIT("\x03"
                                          "ab"),
                                BYTES_LIT("\xfe\xff\xff\xff\xff\xff\xff\xff\xff"
                                          "ab")};
    struct reader r;

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(cut); i++) {
        r = reader_of(cut[i]);
        packet_read_counted(&r);
        assert_true(r.bad);
    }
    r = reader_of(BYTES_LIT("no end"));
    assert_null(packet_read_string(&r).ptr);
    assert_true(r.bad);
    r = reader_of(BYTES_LIT("an end\0more"));
    assert_true(bytes_equal(packet_read_string(&r), BYTES_LIT("an end")));
    assert_int_equal(reader_left(&r), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_long_payloads),
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_what_is_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
