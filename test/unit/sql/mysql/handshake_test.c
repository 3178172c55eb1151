/* Answers of Debian's `mariadb` client to the nonce "ABC...T", with the user id1, the password
 * secret2 and the database inst3. */
#include "sql/mysql/handshake.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

static const char sha2_client[] =
    "8ca2bf00000010002100000000000000000000000000000000000000000000006964310020f22ca94354e9c4d64aad"
    "e306972e64d01023a281751bdb1303cacaf27b57a35f696e7374330063616368696e675f736861325f70617373776f"
    "7264007f035f6f73054c696e75780c5f636c69656e745f6e616d650a6c69626d617269616462045f70696405323830"
    "34350f5f636c69656e745f76657273696f6e06332e332e3230095f706c6174666f726d067838365f36340c70726f67"
    "72616d5f6e616d65056d7973716c0c5f7365727665725f686f7374093132372e302e302e31";
static const char native_client[] =
    "8ca2bf00000010002100000000000000000000000000000000000000000000006964310014d5abdb3b75d0e49e4e2a"
    "649ca549a51537d04f80696e737433006d7973716c5f6e61746976655f70617373776f7264007f035f6f73054c696e"
    "75780c5f636c69656e745f6e616d650a6c69626d617269616462045f706964053238303437";

static bytes of_hex(struct arena *a, const char *hex)
{
    size_t n = strlen(hex) / 2;
    uint8_t *out = arena_alloc(a, n + 1);

    for (size_t i = 0; i < n; i++) {
        char two[3] = {hex[2 * i], hex[2 * i + 1], 0};

        out[i] = (uint8_t)strtoul(two, NULL, 16);
    }
    return bytes_of(out, n);
}

static void nonce_make(uint8_t out[AUTH_NONCE_BYTES])
{
    for (int i = 0; i < AUTH_NONCE_BYTES; i++)
        out[i] = (uint8_t)('A' + i);
}

static void test_clients(void **state)
{
    static const struct {
        const char *hex;
        enum auth_method method;
    } cases[] = {{sha2_client, AUTH_CACHING_SHA2}, {native_client, AUTH_NATIVE}};
    uint8_t nonce[AUTH_NONCE_BYTES];
    struct arena a;

    (void)state;
    arena_init(&a, NULL, 0);
    nonce_make(nonce);
    for (size_t i = 0; i < PORT_COUNT(cases); i++) {
        struct handshake h;

        assert_int_equal(handshake_parse(of_hex(&a, cases[i].hex), &h), HANDSHAKE_WHOLE);
        assert_true(bytes_equal(h.user, BYTES_LIT("id1")));
        assert_true(bytes_equal(h.database, BYTES_LIT("inst3")));
        assert_int_equal(h.method, cases[i].method);
        assert_true(auth_check(h.method, nonce, BYTES_LIT("secret2"), h.answer));
        assert_false(auth_check(h.method, nonce, BYTES_LIT("secret3"), h.answer));
        assert_false(auth_check(h.method, nonce, BYTES_LIT(""), h.answer));
        assert_false(auth_check(h.method, nonce, BYTES_LIT("secret2"), BYTES_LIT("")));
        nonce[3]++;
        assert_false(auth_check(h.method, nonce, BYTES_LIT("secret2"), h.answer));
        nonce[3]--;
    }
    arena_release(&a);
}

/* An answer that was cut is bad, unless what is missing need not be there: the name of the method,
 * or attributes. Nothing is read behind it. */
static void test_cut(void **state)
{
    const size_t before_method = 32 + sizeof("id1") + 1 + 20 + sizeof("inst3");
    const size_t behind_method = before_method + sizeof("mysql_native_password");
    struct arena a;
    bytes whole;

    (void)state;
    arena_init(&a, NULL, 0);
    whole = of_hex(&a, native_client);
    for (size_t n = 0; n < whole.len; n++) {
        uint8_t *copy = mem_alloc(n);
        struct handshake h;
        enum handshake_kind kind;

        memcpy(copy, whole.ptr, n);
        kind = handshake_parse(bytes_of(copy, n), &h);
        assert_int_equal(kind, n == before_method || n >= behind_method ? HANDSHAKE_WHOLE
                                                                        : HANDSHAKE_BAD);
        mem_free(copy);
    }
    arena_release(&a);
}

static void test_tls_first(void **state)
{
    struct handshake h;
    struct arena a;
    uint8_t *said;
    bytes whole;

    (void)state;
    arena_init(&a, NULL, 0);
    whole = of_hex(&a, sha2_client);
    said = arena_alloc(&a, 32);
    memcpy(said, whole.ptr, 32);
    store_u32(said, load_u32(said) | CAN_TLS);
    assert_int_equal(handshake_parse(bytes_of(said, 32), &h), HANDSHAKE_TLS);
    arena_release(&a);
}

static void test_greeting(void **state)
{
    struct greeting g = {.connection = 7, .version = BYTES_LIT("8.0.36"), .tls = true};
    struct reader r;
    struct arena a;
    struct buf b;
    uint32_t can;

    (void)state;
    arena_init(&a, NULL, 0);
    buf_init(&b, &a, 0);
    assert_true(auth_nonce(g.nonce));
    greeting_put(&b, &g);
    r = reader_of(buf_bytes(&b));
    assert_int_equal(read_u8(&r), 10);
    assert_true(bytes_equal(packet_read_string(&r), g.version));
    assert_int_equal(read_u32(&r), 7);
    assert_memory_equal(packet_read_string(&r).ptr, g.nonce, 8);
    can = packet_read_u16(&r);
    read_bytes(&r, 3);
    can |= (uint32_t)packet_read_u16(&r) << 16;
    assert_true(can & CAN_TLS && can & CAN_PLUGIN_AUTH && can & CAN_DEPRECATE_EOF);
    assert_int_equal(read_u8(&r), 21);
    read_bytes(&r, 10);
    assert_memory_equal(packet_read_string(&r).ptr, g.nonce + 8, 12);
    assert_int_equal(auth_method_of(packet_read_string(&r)), AUTH_CACHING_SHA2);
    assert_false(r.bad);
    assert_int_equal(reader_left(&r), 0);
    for (int i = 0; i < AUTH_NONCE_BYTES; i++)
        assert_true(g.nonce[i] > 0 && g.nonce[i] < 128);
    arena_release(&a);
}

static void test_change_user(void **state)
{
    static const char said[] = "id2\0\x02"
                               "xyinst4\0\x2d\0mysql_native_password";
    struct handshake h;

    (void)state;
    assert_true(change_user_parse(bytes_of(said, sizeof(said)), CAN_PLUGIN_AUTH, &h));
    assert_true(bytes_equal(h.user, BYTES_LIT("id2")));
    assert_true(bytes_equal(h.answer, BYTES_LIT("xy")));
    assert_true(bytes_equal(h.database, BYTES_LIT("inst4")));
    assert_int_equal(h.method, AUTH_NATIVE);
    assert_false(change_user_parse(bytes_of(said, 9), CAN_PLUGIN_AUTH, &h));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clients),     cmocka_unit_test(test_cut),
        cmocka_unit_test(test_tls_first),   cmocka_unit_test(test_greeting),
        cmocka_unit_test(test_change_user),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
