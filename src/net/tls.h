/* tls.h: a certificate and its private key, read from files and checked to fit. */
#ifndef NET_TLS_H
#define NET_TLS_H

#include "base/port.h"

#include <stddef.h>
#include <stdint.h>

#define TLS_SUM_BYTES 32

struct tls_pair {
    char *cert, *key;           /* PEM with a closing NUL, as they stand in the files; NULL: none */
    uint8_t sum[TLS_SUM_BYTES]; /* of both: two pairs are equal if these are */
};

/* Returns 0, or an error code with one line in `message` that names the file, says what is wrong
 * with it and how to mend it; *out is empty then. */
int tls_pair_load(const char *cert_file, const char *key_file, struct tls_pair *out, char *message,
                  size_t message_size);

/* Wipes and frees. An empty pair is allowed. */
void tls_pair_release(struct tls_pair *p);

#endif
