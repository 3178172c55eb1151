#include "sql/mysql/auth.h"

#include "base/port.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#define DIGEST_BYTES_MAX 32

bytes auth_method_name(enum auth_method m)
{
    static const bytes names[] = {BYTES_LIT("caching_sha2_password"),
                                  BYTES_LIT("mysql_native_password")};

    return names[m];
}

enum auth_method auth_method_of(bytes name)
{
    enum auth_method m = AUTH_CACHING_SHA2;

    while (m != AUTH_UNKNOWN && !bytes_equal(name, auth_method_name(m)))
        m++;
    return m;
}

bool auth_nonce(uint8_t out[AUTH_NONCE_BYTES])
{
    if (RAND_bytes(out, AUTH_NONCE_BYTES) != 1)
        return false;
    for (size_t i = 0; i < AUTH_NONCE_BYTES; i++)
        out[i] = (uint8_t)(out[i] % 127 + 1); /* clients take it for a text in ASCII */
    return true;
}

/* The digest of a and b, one after the other. */
static void digest(const EVP_MD *md, bytes a, bytes b, uint8_t out[DIGEST_BYTES_MAX])
{
    EVP_MD_CTX *c = EVP_MD_CTX_new();

    EVP_DigestInit_ex(c, md, NULL);
    EVP_DigestUpdate(c, a.ptr, a.len);
    EVP_DigestUpdate(c, b.ptr, b.len);
    EVP_DigestFinal_ex(c, out, NULL);
    EVP_MD_CTX_free(c);
}

bool auth_check(enum auth_method m, const uint8_t nonce[AUTH_NONCE_BYTES], bytes secret,
                bytes answer)
{
    const EVP_MD *md = m == AUTH_CACHING_SHA2 ? EVP_sha256() : EVP_sha1();
    size_t n = (size_t)EVP_MD_size(md);
    bytes nonce_bytes = bytes_of(nonce, AUTH_NONCE_BYTES);
    uint8_t once[DIGEST_BYTES_MAX], twice[DIGEST_BYTES_MAX], mask[DIGEST_BYTES_MAX];
    bool same;

    if (answer.len != n || !secret.len)
        return false;
    digest(md, secret, BYTES_NONE, once);
    digest(md, bytes_of(once, n), BYTES_NONE, twice);
    if (m == AUTH_CACHING_SHA2)
        digest(md, bytes_of(twice, n), nonce_bytes, mask);
    else
        digest(md, nonce_bytes, bytes_of(twice, n), mask);
    for (size_t i = 0; i < n; i++)
        once[i] ^= mask[i];
    same = CRYPTO_memcmp(once, answer.ptr, n) == 0;
    OPENSSL_cleanse(once, sizeof(once));
    OPENSSL_cleanse(twice, sizeof(twice));
    return same;
}
