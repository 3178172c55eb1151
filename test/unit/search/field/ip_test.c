/* IP addresses: one order for both kinds, and blocks. */
#include "search/field/ip.h"
#include "base/port.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

static void hex(const uint8_t in[IP_BYTES], char out[2 * IP_BYTES + 1])
{
    for (int i = 0; i < IP_BYTES; i++)
        snprintf(out + 2 * i, 3, "%02x", in[i]);
}

static void test_addresses(void **state)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"192.168.1.1", "00000000000000000000ffffc0a80101"},
        {"0.0.0.0", "00000000000000000000ffff00000000"},
        {"::ffff:192.168.1.1", "00000000000000000000ffffc0a80101"},
        {"::", "00000000000000000000000000000000"},
        {"::1", "00000000000000000000000000000001"},
        {"2001:DB8::ff00:42:8329", "20010db8000000000000ff0000428329"},
        {"ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255", "ffffffffffffffffffffffffffffffff"},
    };

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(cases); i++) {
        char got[2 * IP_BYTES + 1];
        uint8_t ip[IP_BYTES];

        assert_true(ip_of_text(bytes_str(cases[i].text), ip));
        hex(ip, got);
        assert_string_equal(got, cases[i].want);
    }
}

static void test_no_addresses(void **state)
{
    static const char *const texts[] = {
        "",          " ",         "1.2.3",
        "1.2.3.4.5", "256.1.1.1", "1.2.3.4 ",
        " 1.2.3.4",  "0x1.2.3.4", "1.2.3.-4",
        "fe80::1%1", "1::2::3",   "12345::",
        "[::1]",     "localhost", "1.2.3.4/24",
        "::1/128",   "1,2,3,4",   ":",
        "1.2.3.4\n", "::g",       "1.2.3.4.in-addr.arpa.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    };
    uint8_t ip[IP_BYTES];

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(texts); i++)
        if (ip_of_text(bytes_str(texts[i]), ip))
            fail_msg("'%s' was taken for an address", texts[i]);
    assert_false(ip_of_text(bytes_of("1.2.3.4\0", 8), ip));
    assert_false(ip_of_text(BYTES_NONE, ip));
}

static void test_order(void **state)
{
    static const char *const ascending[] = {
        "::",        "::fffe:1.2.3.4",  "0.0.0.1",     "9.9.9.9",     "10.0.0.0",
        "100.0.0.0", "255.255.255.255", "::1:0:0:0:0", "2001:db8::1", "ffff::"};
    uint8_t before[IP_BYTES], ip[IP_BYTES];

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(ascending); i++) {
        assert_true(ip_of_text(bytes_str(ascending[i]), ip));
        if (i)
            assert_true(memcmp(before, ip, IP_BYTES) < 0);
        memcpy(before, ip, IP_BYTES);
    }
}

static void test_blocks(void **state)
{
    static const struct {
        const char *text, *low, *high;
    } cases[] = {
        {"192.168.1.1/24", "192.168.1.0", "192.168.1.255"},
        {"192.168.1.1/32", "192.168.1.1", "192.168.1.1"},
        {"192.168.1.1", "192.168.1.1", "192.168.1.1"},
        {"192.168.1.1/0", "0.0.0.0", "255.255.255.255"},
        {"10.1.255.7/15", "10.0.0.0", "10.1.255.255"},
        {"10.1.2.7/31", "10.1.2.6", "10.1.2.7"},
        {"2001:db8::5/32", "2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff"},
        {"::1/128", "::1", "::1"},
        {"1::/0", "::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"},
    };
    static const char *const none[] = {"1.2.3.4/",     "1.2.3.4/33", "1.2.3.4/-1", "1.2.3.4/1/2",
                                       "1.2.3.4/ 8",   "::1/129",    "::1/1000",   "/8",
                                       "1.2.3.4/024x", "",           "/",          "1.2.3/8"};
    uint8_t low[IP_BYTES], high[IP_BYTES], want[IP_BYTES];

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(cases); i++) {
        assert_true(ip_range_of_cidr(bytes_str(cases[i].text), low, high));
        assert_true(ip_of_text(bytes_str(cases[i].low), want));
        assert_memory_equal(low, want, IP_BYTES);
        assert_true(ip_of_text(bytes_str(cases[i].high), want));
        assert_memory_equal(high, want, IP_BYTES);
    }
    for (size_t i = 0; i < PORT_COUNT(none); i++)
        if (ip_range_of_cidr(bytes_str(none[i]), low, high))
            fail_msg("'%s' was taken for a block", none[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_no_addresses),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_blocks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
