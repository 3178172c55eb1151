#include "server/shared_keys.h"

#define SOURCE "the shared access keys"

static int keys_take(void *arg, const char *text, bool made, char *message, size_t size)
{
    return credential_store_take(arg, SOURCE, text, made, message, size);
}

static int keys_check(void *arg, const char *source, const char *text, char *message, size_t size)
{
    return credential_store_check(arg, source, text, message, size);
}

static int keys_make(void *arg, char **text, char *message, size_t size)
{
    return credential_store_make(arg, text, message, size);
}

const struct shared_text_kind shared_keys = {
    .noun = "keys",
    .what = "access keys",
    .secret = true,
    .take = keys_take,
    .check = keys_check,
    .make = keys_make,
};

int shared_keys_open(struct wr_db *db, struct credential_store *store, struct log *log,
                     struct shared_text **out, char *message, size_t message_size)
{
    return shared_text_open(&shared_keys, store, db, credential_file(store), log, out, message,
                            message_size);
}
