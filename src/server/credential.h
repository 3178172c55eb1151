/* credential.h: who may ask: pairs of access key id and secret, each for one instance. A key for
 * several instances is several pairs with one id and one secret, each with grants of its own.
 * Where several servers share the data, they share the pairs, too (shared_keys.h); else:
 *
 * The pairs lie in the file `credentials` of the data folder (mode 0600), one line each: "instance
 * access_key_id secret", and perhaps what the key may do (grant.h), which is everything if nothing
 * is said. A first start makes a pair. A pair from the environment may do everything and is used
 * for as long as the process runs, besides those of the file and instead of those with the same id
 * that have another secret or are for the same instance.
 * Any thread may look one up at any time, also while the file is read again. Secrets are never
 * logged. */
#ifndef SERVER_CREDENTIAL_H
#define SERVER_CREDENTIAL_H

#include "base/log.h"
#include "server/grant.h"
#include "wire/sign.h"

#define CREDENTIAL_INSTANCE_MAX 16
#define CREDENTIAL_ID_MAX 128
#define CREDENTIAL_SECRET_MAX 256

struct credential_set;

struct credential {
    char instance[CREDENTIAL_INSTANCE_MAX + 1]; /* in small letters */
    char id[CREDENTIAL_ID_MAX + 1];
    char secret[CREDENTIAL_SECRET_MAX + 1];
    struct sign_key key; /* of the secret */
    struct grants grants;
    struct credential_set *set; /* keeps it while anybody uses it */
};

struct credential_conf {
    const char *dir; /* the data folder, which must be there; NULL: nothing is read or written */
    const char *instance; /* of a pair that is made, and of the environment's */
    const char *id;       /* the environment's pair; both NULL: none */
    const char *secret;
    /* Nothing is read or made: the pairs come by credential_store_take() (shared_keys.h). */
    bool shared;
    struct log *log; /* used as long as the store; the texts above only while opening */
};

struct credential_store;

/* Reads the file (unless `shared`); if there is none, makes it, with the environment's pair or a
 * random one. On failure returns an error code, *out is NULL and `message` says in one line what is
 * wrong and how to mend it. */
int credential_store_open(const struct credential_conf *conf, struct credential_store **out,
                          char *message, size_t message_size);
/* Nothing may be held any more. NULL is allowed. */
void credential_store_close(struct credential_store *s);

/* Reads the file again. On failure what was known before stays. */
int credential_store_reload(struct credential_store *s, char *message, size_t message_size);

/* The text of a first file, with the environment's pair or a random one; key_file_free() it. */
int credential_store_make(struct credential_store *s, char **out, char *message,
                          size_t message_size);
/* Is `text` such as a file must be? `source` names it in the message, which holds no secret. */
int credential_store_check(struct credential_store *s, const char *source, const char *text,
                           char *message, size_t message_size);
/* Uses the pairs of `text` instead of those before; `made`: as credential_made(). On failure what
 * was known before stays. */
int credential_store_take(struct credential_store *s, const char *source, const char *text,
                          bool made, char *message, size_t message_size);

/* Changes the file's text by `edit`, which gives the new one in the arena of `c`, or a code with a
 * text there. The new text is checked, written whole, and used; on failure all stays as it was. A
 * store without a file keeps a text as long as it lives; a shared one is refused. One edit at a
 * time; may wait for the disk. */
typedef int credential_edit_fn(void *arg, bytes text, bytes *out);
int credential_store_edit(struct credential_store *s, struct ctx *c, credential_edit_fn *edit,
                          void *arg);

/* Calls `each` with all pairs that were there when `c`, which is held, was found. */
void credential_each(const struct credential *c, void (*each)(void *arg, const struct credential *),
                     void *arg);

/* A pair of a key id, held until credential_release(); NULL: there is none. Which instance it is
 * for counts for nothing yet: credential_at() finds the one that is asked for. */
const struct credential *credential_find(struct credential_store *s, bytes id);
/* The pair to show to a new user: the environment's or the one just made, else the file's
 * first. Held likewise. Not before there is one. */
const struct credential *credential_first(struct credential_store *s);
/* NULL is allowed. */
void credential_release(const struct credential *c);

/* The file's name; NULL: there is none. */
const char *credential_file(const struct credential_store *s);
/* True if this start made the file. */
bool credential_made(const struct credential_store *s);

/* The pair with the id and the secret of `c`, which is held, for an instance; case does not count.
 * NULL: the key was not given that instance. It is held with `c`: either is released, not both. */
const struct credential *credential_at(const struct credential *c, bytes instance);

/* All instances of the key, in the arena. */
bytes *credential_instances(const struct credential *c, struct arena *a, size_t *count);

#endif
