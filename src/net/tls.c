#include "net/tls.h"

#include "base/err.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_BYTES_MAX (1 << 20)

struct check {
    const char *cert_file, *key_file;
    char *message;
    size_t size;
};

static int tls_refuse(struct check *c, const char *fmt, ...) PORT_PRINTF(2, 3);

static int tls_refuse(struct check *c, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vsnprintf(c->message, c->size, fmt, args);
    va_end(args);
    return E_PARAMETER;
}

static void text_free(char *text)
{
    if (text)
        OPENSSL_cleanse(text, strlen(text));
    mem_free(text);
}

static int text_load(struct check *c, const char *file, char **out)
{
    FILE *f = fopen(file, "r");
    struct stat st;
    size_t n;

    if (!f)
        return tls_refuse(c, "cannot read %s: %s. Check its name and who may read it.", file,
                          strerror(errno));
    if (fstat(fileno(f), &st) || !S_ISREG(st.st_mode) || st.st_size > FILE_BYTES_MAX) {
        fclose(f);
        return tls_refuse(c, "%s is not a file of at most 1 MiB. Is it the right file?", file);
    }
    *out = mem_zalloc((size_t)st.st_size + 1);
    n = fread(*out, 1, (size_t)st.st_size, f);
    fclose(f);
    (*out)[n] = 0;
    return E_OK;
}

/* An encrypted key is refused instead of asked for at the terminal. */
static int no_pass_phrase(char *buffer, int size, int writing, void *arg)
{
    (void)buffer;
    (void)size;
    (void)writing;
    (void)arg;
    return -1;
}

static BIO *text_bio(const char *text)
{
    return BIO_new_mem_buf(text, (int)strlen(text)); /* at most FILE_BYTES_MAX */
}

static int pair_check(struct check *c, const struct tls_pair *p)
{
    BIO *cert_bio = text_bio(p->cert), *key_bio = text_bio(p->key);
    X509 *cert = PEM_read_bio_X509(cert_bio, NULL, no_pass_phrase, NULL);
    EVP_PKEY *key = PEM_read_bio_PrivateKey(key_bio, NULL, no_pass_phrase, NULL);
    int code = E_OK;

    if (!cert)
        code = tls_refuse(c, "%s holds no certificate in PEM form. Is it the right file?",
                          c->cert_file);
    else if (!key)
        code =
            tls_refuse(c,
                       "%s holds no private key in PEM form without a pass phrase. Is it the right "
                       "file?",
                       c->key_file);
    else if (X509_check_private_key(cert, key) != 1)
        code = tls_refuse(
            c, "%s is not the key of the first certificate in %s. Give files of one pair.",
            c->key_file, c->cert_file);
    EVP_PKEY_free(key);
    X509_free(cert);
    BIO_free(key_bio);
    BIO_free(cert_bio);
    ERR_clear_error();
    return code;
}

int tls_pair_load(const char *cert_file, const char *key_file, struct tls_pair *out, char *message,
                  size_t message_size)
{
    struct check c = {cert_file, key_file, message, message_size};
    int code;

    *out = (struct tls_pair){.cert = NULL};
    if ((code = text_load(&c, cert_file, &out->cert)) ||
        (code = text_load(&c, key_file, &out->key)) || (code = pair_check(&c, out))) {
        tls_pair_release(out);
        return code;
    }
    return E_OK;
}

bool tls_pair_equal(const struct tls_pair *a, const struct tls_pair *b)
{
    return strcmp(a->cert, b->cert) == 0 && strcmp(a->key, b->key) == 0;
}

void tls_pair_release(struct tls_pair *p)
{
    text_free(p->cert);
    text_free(p->key);
    *p = (struct tls_pair){.cert = NULL};
}

/* ---- the context ---- */

/* The certificates behind the first: of its issuers. */
static bool context_add_issuers(SSL_CTX *context, BIO *bio)
{
    X509 *issuer;

    while ((issuer = PEM_read_bio_X509(bio, NULL, no_pass_phrase, NULL)))
        if (!SSL_CTX_add0_chain_cert(context, issuer)) {
            X509_free(issuer);
            return false;
        }
    ERR_clear_error(); /* the end of the file is one */
    return true;
}

static bool context_use(SSL_CTX *context, const struct tls_pair *p)
{
    BIO *cert_bio = text_bio(p->cert), *key_bio = text_bio(p->key);
    X509 *cert = PEM_read_bio_X509(cert_bio, NULL, no_pass_phrase, NULL);
    EVP_PKEY *key = PEM_read_bio_PrivateKey(key_bio, NULL, no_pass_phrase, NULL);
    bool used = cert && key && SSL_CTX_use_certificate(context, cert) == 1 &&
                SSL_CTX_use_PrivateKey(context, key) == 1 && context_add_issuers(context, cert_bio);

    EVP_PKEY_free(key);
    X509_free(cert);
    BIO_free(key_bio);
    BIO_free(cert_bio);
    return used;
}

int tls_context_new(const struct tls_pair *p, SSL_CTX **out, char *message, size_t message_size)
{
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    char reason[256] = "";

    *out = context;
    if (context && SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1 &&
        context_use(context, p)) {
        SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION);
        SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE |
                                      SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                      SSL_MODE_RELEASE_BUFFERS);
        SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF); /* tickets do */
        return E_OK;
    }
    ERR_error_string_n(ERR_get_error(), reason, sizeof(reason));
    ERR_clear_error();
    SSL_CTX_free(context);
    *out = NULL;
    snprintf(message, message_size, "TLS does not take the certificate or its key: %s.", reason);
    return E_PARAMETER;
}

void tls_context_free(SSL_CTX *context)
{
    SSL_CTX_free(context);
}
