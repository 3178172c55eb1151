/* Signatures beyond the vectors: what counts of the headers, long secrets, dates. */
#include "show.h"

#include "wire/sign.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#define HEADER(n, v)                                                                               \
    {                                                                                              \
        BYTES_LIT(n), BYTES_LIT(v)                                                                 \
    }

/* Case, blanks, order and other headers make no difference; values and names do. */
static void test_headers(void **state)
{
    const struct sign_header plain[] = {HEADER("x-ots-a", "1"), HEADER("x-ots-ab", "two words")};
    const struct sign_header odd[] = {
        HEADER("X-Ots-Ab", " two words\t"),
        HEADER("Host", "somewhere"),
        HEADER("x-ots-A", "1 "),
        HEADER("x-ots-", "too short to count"),
        HEADER("x-ots-signature", "no"),
    };
    const struct sign_header other[] = {HEADER("x-ots-a", "1"), HEADER("x-ots-ab", "two  words")};
    char a[SIGN_SHA1_TEXT + 1], b[SIGN_SHA1_TEXT + 1];
    struct sign_key key;

    (void)state;
    sign_key_init(&key, BYTES_LIT("secret"));
    assert_true(sign_request(&key, BYTES_LIT("/GetRow"), plain, 2, a));
    sign_text(&key, BYTES_LIT("/GetRow\nPOST\n\nx-ots-a:1\nx-ots-ab:two words\n"), b);
    assert_string_equal(a, b);
    assert_true(sign_request(&key, BYTES_LIT("/GetRow"), odd, 5, b));
    assert_string_equal(a, b);
    assert_true(sign_request(&key, BYTES_LIT("/GetRow"), other, 2, b));
    assert_string_not_equal(a, b);
    assert_true(sign_request(&key, BYTES_LIT("/PutRow"), plain, 2, b));
    assert_string_not_equal(a, b);
    assert_true(sign_equal(bytes_str(a), bytes_str(a)));
    assert_false(sign_equal(bytes_str(a), bytes_str(b)));
    assert_false(sign_equal(bytes_str(a), bytes_of(a, 5)));
}

/* The trailer is a hash and a signature over it and the request's. */
static void test_trailer(void **state)
{
    char out[SIGN_TRAILER_BYTES + 1], text[200], expected[SIGN_SHA1_TEXT + 1];
    uint8_t sha256[32];
    struct sign_key key;

    (void)state;
    for (int i = 0; i < 32; i++)
        sha256[i] = (uint8_t)(i * 37);
    sign_key_init(&key, BYTES_LIT("secret"));
    sign_trailer(&key, BYTES_LIT("the request's"), sha256, out);
    assert_int_equal(strlen(out), SIGN_TRAILER_BYTES);
    for (int i = 0; i < 32; i++)
        snprintf(text + 2 * i, 3, "%02x", sha256[i]);
    assert_memory_equal(out, text, 64);
    strcat(text, "\nthe request's");
    sign_text(&key, bytes_str(text), expected);
    assert_string_equal(out + 64, expected);
}

/* A digest of pieces is that of the whole. */
static void test_digest_of_pieces(void **state)
{
    char whole[SIGN_MD5_TEXT + 1], pieces[SIGN_MD5_TEXT + 1], text[1000];
    struct sign_digest d;

    (void)state;
    memset(text, 'd', sizeof(text));
    sign_md5(bytes_of(text, sizeof(text)), whole);
    sign_digest_start(&d);
    for (size_t at = 0; at < sizeof(text); at += 8)
        sign_digest_add(&d, bytes_of(text + at, 8));
    sign_digest_end(&d, pieces);
    assert_string_equal(whole, pieces);
}

/* Values longer than what is gathered before hashing. */
static void test_long_values(void **state)
{
    char value[2000], text[2100], a[SIGN_SHA1_TEXT + 1], b[SIGN_SHA1_TEXT + 1];
    struct sign_header h = {BYTES_LIT("x-ots-ststoken"), {value, 0}};
    struct sign_key key;

    (void)state;
    memset(value, 'v', sizeof(value));
    sign_key_init(&key, BYTES_LIT("secret"));
    for (size_t n = 400; n < sizeof(value); n += 7) {
        int len = snprintf(text, sizeof(text), "x-ots-ststoken:%.*s\n/GetRow", (int)n, value);

        h.value.len = n;
        sign_text(&key, bytes_of(text, (size_t)len), a);
        assert_true(sign_response(&key, BYTES_LIT("/GetRow"), &h, 1, b));
        assert_string_equal(a, b);
    }
}

static void test_too_many_headers(void **state)
{
    struct sign_header headers[SIGN_HEADERS_MAX + 1];
    char out[SIGN_SHA1_TEXT + 1];
    struct sign_key key;

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(headers); i++)
        headers[i] = (struct sign_header)HEADER("x-ots-x", "y");
    sign_key_init(&key, BYTES_LIT("secret"));
    assert_true(sign_request(&key, BYTES_LIT("/"), headers, SIGN_HEADERS_MAX, out));
    assert_int_equal(strlen(out), SIGN_SHA1_TEXT);
    assert_false(sign_request(&key, BYTES_LIT("/"), headers, SIGN_HEADERS_MAX + 1, out));
    assert_string_equal(out, "");
}

/* Against the library's own HMAC, around the block size, where keys begin to be hashed. */
static void test_secrets_of_all_lengths(void **state)
{
    const bytes text = BYTES_LIT("text");
    uint8_t sum[32], base64[64], prefixed[160] = "aliyun_v4", key1[32];
    char secret[130], out[SIGN_SHA1_TEXT + 1];
    struct sign_v4_key v4;
    struct sign_key key;
    unsigned n;

    (void)state;
    memset(secret, 's', sizeof(secret));
    for (size_t len = 1; len <= sizeof(secret); len++) {
        const char *steps[] = {"day", "region", "ots", "aliyun_v4_request"};

        sign_key_init(&key, bytes_of(secret, len));
        sign_text(&key, text, out);
        HMAC(EVP_sha1(), secret, (int)len, text.ptr, text.len, sum, &n);
        EVP_EncodeBlock(base64, sum, 20);
        assert_string_equal(out, (char *)base64);

        memcpy(prefixed + 9, secret, len);
        HMAC(EVP_sha256(), prefixed, (int)len + 9, (const uint8_t *)steps[0], 3, key1, &n);
        for (int i = 1; i < 4; i++)
            HMAC(EVP_sha256(), key1, 32, (const uint8_t *)steps[i], strlen(steps[i]), key1, &n);
        EVP_EncodeBlock(base64, key1, 32);
        sign_v4_key_init(&v4, bytes_of(secret, len), BYTES_LIT("day"), BYTES_LIT("region"));
        assert_string_equal(v4.text, (char *)base64);
    }
}

static void test_dates(void **state)
{
    static const struct {
        const char *text;
        int64_t seconds; /* -1: no date */
    } list[] = {
        {"1970-01-01T00:00:00Z", 0},
        {"2024-01-02T03:04:05.000Z", 1704164645},
        {"2024-01-02T03:04:05.678Z", 1704164645},
        {"2026-11-21T12:30:30.112112Z", 1795264230},
        {"2024-02-29T00:00:00.123456789Z", 1709164800},
        {"2000-02-29T23:59:59Z", 951868799},
        {"9999-12-31T23:59:59.999Z", 253402300799},
        {"2023-02-29T00:00:00Z", -1},
        {"1900-02-29T00:00:00Z", -1},
        {"2024-13-01T00:00:00Z", -1},
        {"2024-00-01T00:00:00Z", -1},
        {"2024-01-00T00:00:00Z", -1},
        {"2024-04-31T00:00:00Z", -1},
        {"2024-01-02T24:00:00Z", -1},
        {"2024-01-02T03:60:00Z", -1},
        {"2024-01-02T03:04:05", -1},
        {"2024-01-02T03:04:05.Z", -1},
        {"2024-01-02T03:04:05.1234567890Z", -1},
        {"2024-01-02T03:04:05.12x4Z", -1},
        {"2024-01-02T03:04:05+00:00", -1},
        {"2024-01-02 03:04:05Z", -1},
        {"2024-1-02T03:04:05.000Z", -1},
        {"-024-01-02T03:04:05Z", -1},
        {"", -1},
        {"Z", -1},
    };

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(list); i++) {
        int64_t seconds = -1;
        bool ok = sign_date_parse(bytes_str(list[i].text), &seconds);

        if (ok != (list[i].seconds >= 0) || seconds != list[i].seconds)
            print_error("%s: %d %" PRId64 "\n", list[i].text, ok, seconds);
        assert_true(ok == (list[i].seconds >= 0) && seconds == list[i].seconds);
    }
}

/* Every day of eight hundred years, there and back. */
static void test_dates_there_and_back(void **state)
{
    char text[SIGN_DATE_TEXT + 1];
    int64_t seconds;

    (void)state;
    sign_date_format(INT64_C(1704164645678901), text);
    assert_string_equal(text, "2024-01-02T03:04:05.678Z");
    sign_date_format(-5, text);
    assert_string_equal(text, "1970-01-01T00:00:00.000Z");
    sign_date_format(INT64_MAX, text);
    assert_string_equal(text, "9999-12-31T23:59:59.999Z");
    for (int64_t day = 0; day < 292194; day++) {
        int64_t at = day * 86400 + day % 86400;

        sign_date_format(at * 1000000, text);
        assert_true(sign_date_parse(bytes_str(text), &seconds));
        assert_true(seconds == at);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_headers),
        cmocka_unit_test(test_trailer),
        cmocka_unit_test(test_digest_of_pieces),
        cmocka_unit_test(test_long_values),
        cmocka_unit_test(test_too_many_headers),
        cmocka_unit_test(test_secrets_of_all_lengths),
        cmocka_unit_test(test_dates),
        cmocka_unit_test(test_dates_there_and_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
