/* sign.h: digests, signatures and dates of the Tablestore HTTP headers (doc/wire.md, "Requests",
 * "Signatures").
 *
 * Nothing here allocates. A key is prepared once for each secret and may then be used by any number
 * of threads at a time. Texts that come out are base64 with a closing NUL. */
#ifndef WIRE_SIGN_H
#define WIRE_SIGN_H

#include "base/bytes.h"

#include <openssl/md5.h>
#include <openssl/sha.h>

#define SIGN_MD5_TEXT 24    /* base64 of 16 bytes */
#define SIGN_SHA1_TEXT 28   /* base64 of 20 bytes */
#define SIGN_SHA256_TEXT 44 /* base64 of 32 bytes */
#define SIGN_DATE_TEXT 24   /* "2024-01-02T03:04:05.678Z" */
#define SIGN_HEADERS_MAX 64 /* x-ots-* headers in one message; more are refused */

/* One HTTP header, the name in any case. */
struct sign_header {
    bytes name;
    bytes value;
};

/* A secret made ready for HMAC-SHA1: the hash states after the padded key, copied for each use.
 * Holds what is as good as the secret: never log it. */
struct sign_key {
    SHA_CTX inner, outer;
};

/* A V4 key of one secret, day and region: `text` (base64, NUL-terminated) is the HMAC-SHA256 key of
 * requests and the secret of `response`. */
struct sign_v4_key {
    char text[SIGN_SHA256_TEXT + 1];
    struct sign_key response;
};

void sign_key_init(struct sign_key *key, bytes secret);

/* `date` is x-ots-signdate ("20240102"), `region` x-ots-signregion. */
void sign_v4_key_init(struct sign_v4_key *key, bytes secret, bytes date, bytes region);

/* base64(HMAC-SHA1) of any text. */
void sign_text(const struct sign_key *key, bytes text, char out[SIGN_SHA1_TEXT + 1]);

/* The signature of a request (x-ots-signature), with method POST and no query. Of `headers` those
 * whose name starts with x-ots- count, in any order; x-ots-signature itself is left out; values are
 * trimmed. `path` is "/GetRow". False: more than SIGN_HEADERS_MAX of them; out is "" then. */
bool sign_request(const struct sign_key *key, bytes path, const struct sign_header *headers,
                  size_t count, char out[SIGN_SHA1_TEXT + 1]);

/* The same for x-ots-signaturev4, which is left out too. */
bool sign_request_v4(const struct sign_v4_key *key, bytes path, const struct sign_header *headers,
                     size_t count, char out[SIGN_SHA256_TEXT + 1]);

/* The signature of a response, which follows "OTS <access key id>:" in Authorization. For a V4
 * client use key->response. */
bool sign_response(const struct sign_key *key, bytes path, const struct sign_header *headers,
                   size_t count, char out[SIGN_SHA1_TEXT + 1]);

/* What stands behind a value whose hash is known only at its end: the SHA-256 in hex, and the
 * signature (as sign_text()) over it and the signature of the request, which makes it part of
 * this one. */
#define SIGN_TRAILER_BYTES (64 + SIGN_SHA1_TEXT)
void sign_trailer(const struct sign_key *key, bytes request_signature, const uint8_t sha256[32],
                  char out[SIGN_TRAILER_BYTES + 1]);

/* base64(MD5) of a body (x-ots-contentmd5). */
void sign_md5(bytes body, char out[SIGN_MD5_TEXT + 1]);

/* In two steps: the sum itself, and the text of one that is there. */
void sign_md5_sum(bytes body, uint8_t sum[MD5_DIGEST_LENGTH]);
void sign_md5_text(const uint8_t sum[MD5_DIGEST_LENGTH], char out[SIGN_MD5_TEXT + 1]);

/* The same of a body that comes in pieces: start, any number of adds, end. */
struct sign_digest {
    MD5_CTX md5;
};

void sign_digest_start(struct sign_digest *d);
void sign_digest_add(struct sign_digest *d, bytes piece);
void sign_digest_end(struct sign_digest *d, char out[SIGN_MD5_TEXT + 1]);

/* True if a and b are equal; takes as long wherever they differ. Lengths are no secret. */
bool sign_equal(bytes a, bytes b);

/* The date of a request: YYYY-MM-DDTHH:MM:SS, then perhaps a point and 1 to 9 digits that mean
 * nothing, then Z. False if it is anything else or no such day. */
bool sign_date_parse(bytes text, int64_t *seconds);

/* The date of a response, with milliseconds. For the years 1970 to 9999; times outside are clamped.
 */
void sign_date_format(int64_t wall_us, char out[SIGN_DATE_TEXT + 1]);

#endif
