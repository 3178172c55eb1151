/* auth.h: how a MySQL client shows that it knows a secret without saying it: it answers with the
 * secret mixed into the nonce of this connection.
 *
 * A MySQL server keeps only hashes, and so has to ask for the password itself, encrypted, when it
 * meets one for the first time. This server knows the secret of each access key, since requests are
 * signed with it, so both methods end with the client's first answer, and no RSA key is needed.
 * Nothing here allocates. */
#ifndef SQL_MYSQL_AUTH_H
#define SQL_MYSQL_AUTH_H

#include "base/bytes.h"

#define AUTH_NONCE_BYTES 20

enum auth_method {
    AUTH_CACHING_SHA2, /* caching_sha2_password: MySQL 8 */
    AUTH_NATIVE,       /* mysql_native_password: MySQL 5.7, MariaDB */
    AUTH_UNKNOWN,
};

/* Its name in the protocol. Not of AUTH_UNKNOWN. */
bytes auth_method_name(enum auth_method m);
enum auth_method auth_method_of(bytes name);

/* A new nonce, of which no byte is 0. False: the system has no random numbers. */
bool auth_nonce(uint8_t out[AUTH_NONCE_BYTES]);

/* Is `answer` what a client that knows `secret` says to the nonce? An empty secret is known to
 * nobody. How long it takes does not depend on the secret's bytes. */
bool auth_check(enum auth_method m, const uint8_t nonce[AUTH_NONCE_BYTES], bytes secret,
                bytes answer);

#endif
