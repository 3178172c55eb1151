/* tls.h: a certificate and its private key, read from files and checked to fit, and the TLS context
 * of a server made of them. */
#ifndef NET_TLS_H
#define NET_TLS_H

#include "base/port.h"

#include <openssl/types.h>
#include <stdbool.h>
#include <stddef.h>

struct tls_pair {
    char *cert, *key; /* PEM with a closing NUL, as they stand in the files; NULL: none */
};

/* Returns 0, or an error code with one line in `message` that names the file, says what is wrong
 * with it and how to mend it; *out is empty then. */
int tls_pair_load(const char *cert_file, const char *key_file, struct tls_pair *out, char *message,
                  size_t message_size);

/* True if both hold the same texts; neither is empty. */
bool tls_pair_equal(const struct tls_pair *a, const struct tls_pair *b);

/* Wipes and frees. An empty pair is allowed. */
void tls_pair_release(struct tls_pair *p);

/* TLS 1.2 and 1.3. Returns 0, or an error code with one line in `message`. */
int tls_context_new(const struct tls_pair *p, SSL_CTX **out, char *message, size_t message_size);

/* Connections that were made with it keep what they need. NULL is allowed. */
void tls_context_free(SSL_CTX *context);

#endif
