/* Signatures.
 *
 * The one-shot hash functions of OpenSSL are used, not EVP: HMAC over a 260-byte request from a
 * prepared key takes 0.45 us with copied SHA_CTX, 1.0 us with copied EVP contexts and 4.9 us with
 * HMAC() (OpenSSL 3.0, measured), and it happens twice for each request. OpenSSL 3 marks these
 * functions as old, hence the line below. */
#define OPENSSL_API_COMPAT 0x10100000L

#include "wire/sign.h"

#include "base/gregorian.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/md5.h>
#include <openssl/sha.h>

#define BLOCK_BYTES 64 /* of SHA-1 and SHA-256 alike */

/* ---- HMAC */

/* The key as HMAC mixes it in: padded with zeros, or its hash if it is longer than a block. */
static void pad_sha1(bytes secret, uint8_t pad[BLOCK_BYTES])
{
    memset(pad, 0, BLOCK_BYTES);
    if (secret.len > BLOCK_BYTES)
        SHA1(secret.ptr, secret.len, pad);
    else if (secret.len)
        memcpy(pad, secret.ptr, secret.len);
}

static void pad_sha256(bytes secret, uint8_t pad[BLOCK_BYTES])
{
    memset(pad, 0, BLOCK_BYTES);
    if (secret.len > BLOCK_BYTES)
        SHA256(secret.ptr, secret.len, pad);
    else if (secret.len)
        memcpy(pad, secret.ptr, secret.len);
}

static void pad_xor(uint8_t pad[BLOCK_BYTES], uint8_t with)
{
    for (int i = 0; i < BLOCK_BYTES; i++)
        pad[i] ^= with;
}

void sign_key_init(struct sign_key *key, bytes secret)
{
    uint8_t pad[BLOCK_BYTES];

    pad_sha1(secret, pad);
    pad_xor(pad, 0x36);
    SHA1_Init(&key->inner);
    SHA1_Update(&key->inner, pad, BLOCK_BYTES);
    pad_xor(pad, 0x36 ^ 0x5C);
    SHA1_Init(&key->outer);
    SHA1_Update(&key->outer, pad, BLOCK_BYTES);
    OPENSSL_cleanse(pad, sizeof(pad));
}

/* Ends an HMAC whose inner hash has eaten the text. */
static void finish_sha1(const struct sign_key *key, SHA_CTX *inner, char out[SIGN_SHA1_TEXT + 1])
{
    uint8_t sum[SHA_DIGEST_LENGTH];
    SHA_CTX outer = key->outer;

    SHA1_Final(sum, inner);
    SHA1_Update(&outer, sum, sizeof(sum));
    SHA1_Final(sum, &outer);
    EVP_EncodeBlock((unsigned char *)out, sum, sizeof(sum));
}

void sign_text(const struct sign_key *key, bytes text, char out[SIGN_SHA1_TEXT + 1])
{
    SHA_CTX inner = key->inner;

    SHA1_Update(&inner, text.ptr, text.len);
    finish_sha1(key, &inner, out);
}

static void start_sha256(bytes secret, SHA256_CTX *inner, SHA256_CTX *outer)
{
    uint8_t pad[BLOCK_BYTES];

    pad_sha256(secret, pad);
    pad_xor(pad, 0x36);
    SHA256_Init(inner);
    SHA256_Update(inner, pad, BLOCK_BYTES);
    pad_xor(pad, 0x36 ^ 0x5C);
    SHA256_Init(outer);
    SHA256_Update(outer, pad, BLOCK_BYTES);
    OPENSSL_cleanse(pad, sizeof(pad));
}

static void finish_sha256(SHA256_CTX *inner, SHA256_CTX *outer, uint8_t sum[SHA256_DIGEST_LENGTH])
{
    SHA256_Final(sum, inner);
    SHA256_Update(outer, sum, SHA256_DIGEST_LENGTH);
    SHA256_Final(sum, outer);
}

/* sum = HMAC-SHA256(sum, text): one step of the V4 derivation. */
static void derive(uint8_t sum[SHA256_DIGEST_LENGTH], bytes text)
{
    SHA256_CTX inner, outer;

    start_sha256(bytes_of(sum, SHA256_DIGEST_LENGTH), &inner, &outer);
    SHA256_Update(&inner, text.ptr, text.len);
    finish_sha256(&inner, &outer, sum);
}

/* HMAC-SHA256("aliyun_v4" + secret, date). The key is hashed first if it is longer than a block, so
 * the two parts are put together only as far as that needs. */
static void derive_first(bytes secret, bytes date, uint8_t sum[SHA256_DIGEST_LENGTH])
{
    static const char prefix[] = "aliyun_v4";
    const size_t n = sizeof(prefix) - 1;
    uint8_t key[BLOCK_BYTES];
    SHA256_CTX inner, outer;
    size_t len = n + secret.len;

    if (len > BLOCK_BYTES) {
        SHA256_Init(&inner);
        SHA256_Update(&inner, prefix, n);
        SHA256_Update(&inner, secret.ptr, secret.len);
        SHA256_Final(key, &inner);
        len = SHA256_DIGEST_LENGTH;
    } else {
        memcpy(key, prefix, n);
        if (secret.len)
            memcpy(key + n, secret.ptr, secret.len);
    }
    start_sha256(bytes_of(key, len), &inner, &outer);
    SHA256_Update(&inner, date.ptr, date.len);
    finish_sha256(&inner, &outer, sum);
    OPENSSL_cleanse(key, sizeof(key));
}

void sign_v4_key_init(struct sign_v4_key *key, bytes secret, bytes date, bytes region)
{
    uint8_t sum[SHA256_DIGEST_LENGTH];

    derive_first(secret, date, sum);
    derive(sum, region);
    derive(sum, BYTES_LIT("ots"));
    derive(sum, BYTES_LIT("aliyun_v4_request"));
    EVP_EncodeBlock((unsigned char *)key->text, sum, sizeof(sum));
    sign_key_init(&key->response, bytes_of(key->text, SIGN_SHA256_TEXT));
    OPENSSL_cleanse(sum, sizeof(sum));
}

/* ---- the text to sign */

/* Pieces are gathered, since a hash takes few large pieces faster than many small ones. */
struct sink {
    SHA_CTX *sha1; /* one of the two is set */
    SHA256_CTX *sha256;
    size_t len;
    uint8_t data[512];
};

static void sink_update(struct sink *s, const void *ptr, size_t n)
{
    if (s->sha1)
        SHA1_Update(s->sha1, ptr, n);
    else
        SHA256_Update(s->sha256, ptr, n);
}

static void sink_flush(struct sink *s)
{
    sink_update(s, s->data, s->len);
    s->len = 0;
}

static void sink_put(struct sink *s, bytes b)
{
    if (b.len > sizeof(s->data) - s->len)
        sink_flush(s);
    if (b.len > sizeof(s->data)) {
        sink_update(s, b.ptr, b.len);
    } else if (b.len) {
        memcpy(s->data + s->len, b.ptr, b.len);
        s->len += b.len;
    }
}

static uint8_t lower(uint8_t ch)
{
    return (uint8_t)(ch + ((unsigned)ch - 'A' < 26) * ('a' - 'A'));
}

static void sink_put_lower(struct sink *s, bytes b)
{
    while (b.len) {
        size_t n = b.len < sizeof(s->data) - s->len ? b.len : sizeof(s->data) - s->len;
        uint8_t *to = s->data + s->len;

        for (size_t i = 0; i < n; i++)
            to[i] = lower(bytes_u8(b)[i]);
        s->len += n;
        b = bytes_skip(b, n);
        if (b.len)
            sink_flush(s);
    }
}

static bool is_space(uint8_t ch)
{
    return ch == ' ' || (ch >= '\t' && ch <= '\r');
}

static bytes sign_trim(bytes b)
{
    while (b.len && is_space(bytes_u8(b)[0]))
        b = bytes_skip(b, 1);
    while (b.len && is_space(bytes_u8(b)[b.len - 1]))
        b.len--;
    return b;
}

/* Of x-ots-, which all names that count begin with. */
#define PREFIX_BYTES 6

/* Compares names without regard to case. */
static int name_compare(bytes a, bytes b)
{
    size_t n = a.len < b.len ? a.len : b.len;

    for (size_t i = 0; i < n; i++) {
        int d = lower(bytes_u8(a)[i]) - lower(bytes_u8(b)[i]);

        if (d)
            return d;
    }
    return a.len < b.len ? -1 : a.len > b.len;
}

static bool name_is(bytes name, bytes other)
{
    return name.len == other.len && name_compare(name, other) == 0;
}

static bool name_counts(bytes name)
{
    return name.len > PREFIX_BYTES &&
           name_is(bytes_of(name.ptr, PREFIX_BYTES), BYTES_LIT("x-ots-")) &&
           !name_is(name, BYTES_LIT("x-ots-signature")) &&
           !name_is(name, BYTES_LIT("x-ots-signaturev4"));
}

/* A header in its place: by the bytes behind the prefix, which tell nearly all names apart, then by
 * the whole name. */
struct header_order {
    uint64_t lead;
    const struct sign_header *header;
};

static struct header_order header_order_of(const struct sign_header *h)
{
    bytes rest = bytes_skip(h->name, PREFIX_BYTES);
    struct header_order p = {0, h};

    for (size_t i = 0; i < 8; i++)
        p.lead = p.lead << 8 | (i < rest.len ? lower(bytes_u8(rest)[i]) : 0);
    return p;
}

static bool header_before(const struct header_order *a, const struct header_order *b)
{
    return a->lead != b->lead ? a->lead < b->lead
                              : name_compare(a->header->name, b->header->name) < 0;
}

/* Feeds "name:value\n" for each header that counts, in the order of names. There are about ten, so
 * they are sorted by insertion. */
static bool sink_put_headers(struct sink *s, const struct sign_header *headers, size_t count)
{
    struct header_order sorted[SIGN_HEADERS_MAX];
    size_t n = 0, k;

    for (size_t i = 0; i < count; i++) {
        struct header_order p;

        if (!name_counts(headers[i].name))
            continue;
        if (n == SIGN_HEADERS_MAX)
            return false;
        p = header_order_of(&headers[i]);
        for (k = n++; k && header_before(&p, &sorted[k - 1]); k--)
            sorted[k] = sorted[k - 1];
        sorted[k] = p;
    }
    for (k = 0; k < n; k++) {
        sink_put_lower(s, sorted[k].header->name);
        sink_put(s, BYTES_LIT(":"));
        sink_put(s, sign_trim(sorted[k].header->value));
        sink_put(s, BYTES_LIT("\n"));
    }
    return true;
}

static bool sink_put_request(struct sink *s, bytes path, const struct sign_header *headers,
                             size_t count)
{
    sink_put(s, path);
    sink_put(s, BYTES_LIT("\nPOST\n\n")); /* the empty line is the query */
    return sink_put_headers(s, headers, count);
}

bool sign_request(const struct sign_key *key, bytes path, const struct sign_header *headers,
                  size_t count, char out[SIGN_SHA1_TEXT + 1])
{
    SHA_CTX inner = key->inner;
    struct sink s;

    s.sha1 = &inner;
    s.len = 0;
    out[0] = 0;
    if (!sink_put_request(&s, path, headers, count))
        return false;
    sink_flush(&s);
    finish_sha1(key, &inner, out);
    return true;
}

bool sign_request_v4(const struct sign_v4_key *key, bytes path, const struct sign_header *headers,
                     size_t count, char out[SIGN_SHA256_TEXT + 1])
{
    uint8_t sum[SHA256_DIGEST_LENGTH];
    SHA256_CTX inner, outer;
    struct sink s;

    s.sha1 = NULL;
    s.sha256 = &inner;
    s.len = 0;
    out[0] = 0;
    start_sha256(bytes_of(key->text, SIGN_SHA256_TEXT), &inner, &outer);
    if (!sink_put_request(&s, path, headers, count))
        return false;
    sink_put(&s, BYTES_LIT("ots"));
    sink_flush(&s);
    finish_sha256(&inner, &outer, sum);
    EVP_EncodeBlock((unsigned char *)out, sum, sizeof(sum));
    return true;
}

bool sign_response(const struct sign_key *key, bytes path, const struct sign_header *headers,
                   size_t count, char out[SIGN_SHA1_TEXT + 1])
{
    SHA_CTX inner = key->inner;
    struct sink s;

    s.sha1 = &inner;
    s.len = 0;
    out[0] = 0;
    if (!sink_put_headers(&s, headers, count))
        return false;
    sink_put(&s, path);
    sink_flush(&s);
    finish_sha1(key, &inner, out);
    return true;
}

void sign_trailer(const struct sign_key *key, bytes request_signature, const uint8_t sha256[32],
                  char out[SIGN_TRAILER_BYTES + 1])
{
    static const char digits[] = "0123456789abcdef";
    SHA_CTX inner = key->inner;

    for (size_t i = 0; i < 32; i++) {
        out[2 * i] = digits[sha256[i] >> 4];
        out[2 * i + 1] = digits[sha256[i] & 15];
    }
    SHA1_Update(&inner, out, 64);
    SHA1_Update(&inner, "\n", 1);
    SHA1_Update(&inner, request_signature.ptr, request_signature.len);
    finish_sha1(key, &inner, out + 64);
}

/* ---- digests */

void sign_digest_start(struct sign_digest *d)
{
    MD5_Init(&d->md5);
}

void sign_digest_add(struct sign_digest *d, bytes piece)
{
    MD5_Update(&d->md5, piece.ptr, piece.len);
}

void sign_digest_end(struct sign_digest *d, char out[SIGN_MD5_TEXT + 1])
{
    uint8_t sum[MD5_DIGEST_LENGTH];

    MD5_Final(sum, &d->md5);
    sign_md5_text(sum, out);
}

void sign_md5_sum(bytes body, uint8_t sum[MD5_DIGEST_LENGTH])
{
    MD5(bytes_u8(body), body.len, sum);
}

void sign_md5_text(const uint8_t sum[MD5_DIGEST_LENGTH], char out[SIGN_MD5_TEXT + 1])
{
    EVP_EncodeBlock((unsigned char *)out, sum, MD5_DIGEST_LENGTH);
}

void sign_md5(bytes body, char out[SIGN_MD5_TEXT + 1])
{
    uint8_t sum[MD5_DIGEST_LENGTH];

    sign_md5_sum(body, sum);
    sign_md5_text(sum, out);
}

bool sign_equal(bytes a, bytes b)
{
    return a.len == b.len && CRYPTO_memcmp(a.ptr, b.ptr, a.len) == 0;
}

/* ---- dates */

/* n digits at p as a number; -1 if one of them is none. */
static int digits(const char *p, int n)
{
    int v = 0;

    for (; n; n--, p++) {
        if (*p < '0' || *p > '9')
            return -1;
        v = v * 10 + (*p - '0');
    }
    return v;
}

/* The optional fraction and the Z. */
static bool date_tail(const char *p, size_t n)
{
    if (n == 1)
        return *p == 'Z';
    return n >= 3 && n <= 11 && p[0] == '.' && digits(p + 1, (int)n - 2) >= 0 && p[n - 1] == 'Z';
}

bool sign_date_parse(bytes text, int64_t *seconds)
{
    static const char form[] = "0000-00-00T00:00:00";
    const size_t n = sizeof(form) - 1;
    const char *p = text.ptr;
    int year, month, day, hour, minute, second;

    if (text.len <= n || !date_tail(p + n, text.len - n))
        return false;
    for (size_t i = 0; i < n; i++)
        if (form[i] != '0' && p[i] != form[i])
            return false;
    year = digits(p, 4);
    month = digits(p + 5, 2);
    day = digits(p + 8, 2);
    hour = digits(p + 11, 2);
    minute = digits(p + 14, 2);
    second = digits(p + 17, 2);
    if (year < 0 || !gregorian_has(year, month, day) || hour < 0 || hour > 23 || minute < 0 ||
        minute > 59 || second < 0 || second > 60)
        return false;
    *seconds = gregorian_number(year, month, day) * 86400 + hour * 3600 + minute * 60 + second;
    return true;
}

/* v as n digits, zeros in front. */
static char *put_digits(char *p, int v, int n)
{
    for (int i = n - 1; i >= 0; i--, v /= 10)
        p[i] = (char)('0' + v % 10);
    return p + n;
}

void sign_date_format(int64_t wall_us, char out[SIGN_DATE_TEXT + 1])
{
    const int64_t last_ms = 253402300799999; /* the end of 9999 */
    int64_t ms = wall_us < 0 ? 0 : wall_us / 1000 > last_ms ? last_ms : wall_us / 1000;
    struct gregorian day = gregorian_of(ms / 86400000);
    int rest = (int)(ms % 86400000);
    char *p = put_digits(out, (int)day.year, 4);

    *p++ = '-';
    p = put_digits(p, day.month, 2);
    *p++ = '-';
    p = put_digits(p, day.day, 2);
    *p++ = 'T';
    p = put_digits(p, rest / 3600000, 2);
    *p++ = ':';
    p = put_digits(p, rest / 60000 % 60, 2);
    *p++ = ':';
    p = put_digits(p, rest / 1000 % 60, 2);
    *p++ = '.';
    p = put_digits(p, rest % 1000, 3);
    *p++ = 'Z';
    *p = 0;
}
