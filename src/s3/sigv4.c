#include "s3/sigv4.h"

#include <openssl/hmac.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <time.h>

#define HASH_BYTES SHA256_DIGEST_LENGTH
#define DAY_TEXT 8
#define SCOPE_END "/s3/aws4_request"

static void to_hex(const uint8_t *hash, char out[SIGV4_HEX + 1])
{
    for (size_t i = 0; i < HASH_BYTES; i++)
        snprintf(out + 2 * i, 3, "%02x", hash[i]);
}

void sigv4_sha256(bytes body, char out[SIGV4_HEX + 1])
{
    uint8_t hash[HASH_BYTES];

    SHA256(body.ptr ? body.ptr : (const void *)"", body.len, hash);
    to_hex(hash, out);
}

void sigv4_date(int64_t wall_us, char out[SIGV4_DATE_TEXT + 1])
{
    time_t s = (time_t)(wall_us / 1000000);
    struct tm tm;

    gmtime_r(&s, &tm);
    if (!strftime(out, SIGV4_DATE_TEXT + 1, "%Y%m%dT%H%M%SZ", &tm))
        out[0] = 0;
}

void sigv4_encode(struct buf *b, bytes text, bool path)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    char code[4];

    for (size_t i = 0; i < text.len; i++) {
        uint8_t ch = bytes_u8(text)[i];

        if ((ch && strchr(plain, ch)) || (path && ch == '/')) {
            buf_put_u8(b, ch);
        } else {
            snprintf(code, sizeof(code), "%%%02X", ch);
            buf_put(b, code, 3);
        }
    }
}

void sigv4_put_query(struct buf *b, const char *name, const char *value)
{
    if (b->len)
        buf_put_u8(b, '&');
    sigv4_encode(b, bytes_str(name), false);
    buf_put_u8(b, '=');
    sigv4_encode(b, bytes_str(value), false);
}

static void hmac(const void *key, size_t key_len, const char *text, uint8_t out[HASH_BYTES])
{
    unsigned len = HASH_BYTES;

    HMAC(EVP_sha256(), key, (int)key_len, (const uint8_t *)text, strlen(text), out, &len);
}

static const char *signed_headers(const struct sigv4 *with, const struct sigv4_request *r)
{
    if (with->token)
        return r->id ? "host;x-amz-content-sha256;x-amz-date;x-amz-meta-widerow-id;"
                       "x-amz-security-token"
                     : "host;x-amz-content-sha256;x-amz-date;x-amz-security-token";
    return r->id ? "host;x-amz-content-sha256;x-amz-date;x-amz-meta-widerow-id"
                 : "host;x-amz-content-sha256;x-amz-date";
}

static const char *canonical(struct arena *a, const struct sigv4 *with,
                             const struct sigv4_request *r)
{
    const char *id = r->id ? arena_printf(a, "x-amz-meta-widerow-id:%s\n", r->id).ptr : "";
    const char *token =
        with->token ? arena_printf(a, "x-amz-security-token:%s\n", with->token).ptr : "";

    return arena_printf(a,
                        "%s\n%s\n%s\nhost:%s\nx-amz-content-sha256:%s\nx-amz-date:%s\n%s%s\n%s\n%s",
                        r->method, r->path, r->query, r->host, r->sha256, r->date, id, token,
                        signed_headers(with, r), r->sha256)
        .ptr;
}

const char *sigv4_authorization(struct arena *a, const struct sigv4 *with,
                                const struct sigv4_request *r)
{
    const char *scope = arena_printf(a, "%.*s/%s" SCOPE_END, DAY_TEXT, r->date, with->region).ptr;
    char hash[SIGV4_HEX + 1], signature[SIGV4_HEX + 1];
    bytes secret = arena_printf(a, "AWS4%s", with->secret);
    char day[DAY_TEXT + 1];
    uint8_t key[HASH_BYTES];

    sigv4_sha256(bytes_str(canonical(a, with, r)), hash);
    snprintf(day, sizeof(day), "%.*s", DAY_TEXT, r->date);
    hmac(secret.ptr, secret.len, day, key);
    hmac(key, HASH_BYTES, with->region, key);
    hmac(key, HASH_BYTES, "s3", key);
    hmac(key, HASH_BYTES, "aws4_request", key);
    hmac(key, HASH_BYTES, arena_printf(a, "AWS4-HMAC-SHA256\n%s\n%s\n%s", r->date, scope, hash).ptr,
         key);
    to_hex(key, signature);
    return arena_printf(a, "AWS4-HMAC-SHA256 Credential=%s/%s,SignedHeaders=%s,Signature=%s",
                        with->key_id, scope, signed_headers(with, r), signature)
        .ptr;
}
