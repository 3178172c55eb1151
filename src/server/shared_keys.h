/* shared_keys.h: access keys that all servers over the same data share, as a text in the form of a
 * `credentials` file (shared_text.h). */
#ifndef SERVER_SHARED_KEYS_H
#define SERVER_SHARED_KEYS_H

#include "server/credential.h"
#include "server/shared_text.h"

extern const struct shared_text_kind shared_keys;

/* Fills `store` (opened with `shared`) and keeps it so, as shared_text_open(). */
int shared_keys_open(struct wr_db *db, struct credential_store *store, struct log *log,
                     struct shared_text **out, char *message, size_t message_size);

#endif
