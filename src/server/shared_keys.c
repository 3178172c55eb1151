/* shared_keys.c
 *
 * The database's text rules; the file is a copy with a first line of its own:
 *
 *   # Version 5 of the shared keys (8c1f2e…); leave this line as it is.
 *
 * In brackets stands a hash of what follows, which tells an edited copy from one that only became
 * old. The latter is replaced without a word; the former is published if its version is the one
 * that is there, and else refused: whoever edited it did not know of a later change, such as a key
 * that was taken away. SIGHUP is also sent for logs and certificates, so it must not bring back
 * what an old file says.
 *
 * Versions only rise, so it does not matter who is first when a change of our own and news of
 * another's come together: the store takes what is younger. Nothing is locked while the database is
 * asked, least of all while others are told: two servers that tell each other would wait for
 * themselves. */
#include "server/shared_keys.h"

#include "base/ctx.h"
#include "base/err.h"
#include "server/key_file.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#define NAME "keys"
#define SOURCE "the shared access keys"
#define TRIES_MAX 8 /* of a change that another server was faster with */
#define STAMP                                                                                      \
    "# Version %" PRIu64 " of the shared keys (%016" PRIx64 "); leave this line as it is.\n"
#define STAMP_READ                                                                                 \
    "# Version %" SCNu64 " of the shared keys (%16" SCNx64 "); leave this line as it is.%n"

struct shared_keys {
    struct wr_db *db;
    struct credential_store *store;
    struct log *log;
    char *aside;          /* the file that a refused one is to be merged with */
    pthread_mutex_t lock; /* of the file, of `version` and of what goes into the store */
    uint64_t version;     /* in the store; 0: none yet */
};

/* ---- copies ---- */

/* The stamp's version; 0: the text has none. */
static uint64_t stamp_read(const char *file, uint64_t *hash, size_t *len)
{
    uint64_t version = 0;
    int n = 0;

    if (sscanf(file, STAMP_READ, &version, hash, &n) != 2 || !n)
        return 0;
    n += file[n] == '\r';
    if (file[n] && file[n] != '\n')
        return 0;
    *len = (size_t)n + (file[n] == '\n');
    return version;
}

const char *keys_body(const char *file)
{
    uint64_t hash;
    size_t len;

    return stamp_read(file, &hash, &len) ? file + len : file;
}

char *keys_file_text(const struct wr_text *stored)
{
    size_t size = sizeof(STAMP) + 64 + stored->len;
    char *text = mem_alloc(size);
    int n = snprintf(text, size, STAMP, stored->version, XXH3_64bits(stored->text, stored->len));

    memcpy(text + n, stored->text, stored->len + 1);
    return text;
}

enum keys_step keys_step_of(const char *file, const struct wr_text *stored)
{
    uint64_t hash = 0, version;
    size_t len = 0;
    const char *body;

    if (!file)
        return stored->version ? KEYS_WRITE : KEYS_MAKE;
    if (!stored->version)
        return KEYS_PUBLISH;
    version = stamp_read(file, &hash, &len);
    body = version ? file + len : file;
    if (strcmp(body, stored->text) == 0)
        return version == stored->version ? KEYS_SAME : KEYS_WRITE;
    if (version && XXH3_64bits(body, strlen(body)) == hash)
        return KEYS_WRITE;
    return version == stored->version ? KEYS_PUBLISH : KEYS_STALE;
}

/* ---- the folder ---- */

/* *out NULL: there is none. */
static int file_read(struct shared_keys *k, char **out, char *message, size_t size)
{
    const char *file = credential_file(k->store);

    *out = NULL;
    if (access(file, F_OK) && errno == ENOENT)
        return E_OK;
    return key_file_read(file, k->log, out, message, size);
}

/* A copy that cannot be written keeps nobody from using the keys. */
static void copy_write(struct shared_keys *k, const char *file, const struct wr_text *stored)
{
    char why[512], *text = keys_file_text(stored);

    if (key_file_write(file, text, why, sizeof(why)))
        log_warn(k->log, "keys: no copy of the shared access keys: %s", why);
    key_file_free(text);
}

static int refuse_stale(struct shared_keys *k, const char *file, const struct wr_text *stored,
                        char *message, size_t size)
{
    uint64_t hash, version;
    size_t len;

    copy_write(k, k->aside, stored);
    version = stamp_read(file, &hash, &len);
    if (version)
        return err_refuse(
            message, size, E_CONFLICT,
            "%s was edited from version %" PRIu64 " of the shared access keys, but they "
            "are at version %" PRIu64 " now. Bring the change into %s and rename that "
            "over it.",
            credential_file(k->store), version, stored->version, k->aside);
    return err_refuse(
        message, size, E_CONFLICT,
        "%s differs from the shared access keys, and does not say which version it was "
        "made from. Bring what you need of it into %s and rename that over it, or remove "
        "it.",
        credential_file(k->store), k->aside);
}

/* ---- taking ---- */

/* Under the lock. */
static int take(struct shared_keys *k, const struct wr_text *stored, bool made, char *message,
                size_t size)
{
    if (stored->version <= k->version)
        return E_OK;
    TRY(credential_store_take(k->store, SOURCE, stored->text, made, message, size));
    if (k->version)
        log_info(k->log, "keys: version %" PRIu64 " of the shared access keys is in use",
                 stored->version);
    k->version = stored->version;
    return E_OK;
}

/* Uses what is stored, and brings the copy up to it where nobody has edited that. */
static int follow(struct shared_keys *k, const struct wr_text *stored, enum keys_step *step,
                  char **file, char *message, size_t size)
{
    int code = E_OK;

    pthread_mutex_lock(&k->lock);
    if (stored->version)
        code = take(k, stored, false, message, size);
    if (!code) {
        code = file_read(k, file, message, size);
        if (code && stored->version)
            *step = KEYS_STALE; /* whatever it says, it does not count */
    }
    if (!code) {
        *step = keys_step_of(*file, stored);
        if (*step == KEYS_WRITE && stored->version == k->version)
            copy_write(k, credential_file(k->store), stored);
    }
    pthread_mutex_unlock(&k->lock);
    return code;
}

/* On the database's own thread: others have changed the keys. Not 0: they may be others than those
 * in use. What is there and makes no sense, to this program at least, is known: nobody need wait
 * for it to be read again. */
static int on_change(void *arg)
{
    struct shared_keys *k = arg;
    struct wr_text stored;
    enum keys_step step;
    char message[1024], *file = NULL;
    int code = wr_text_load(k->db, NAME, &stored, message, sizeof(message));

    if (code) {
        log_error(k->log, "keys: the shared access keys cannot be read, those before stay: %s",
                  message);
        return code == E_FORMAT || code == E_CORRUPT ? E_OK : E_UNAVAILABLE;
    }
    if (follow(k, &stored, &step, &file, message, sizeof(message)))
        log_error(k->log, "keys: %s", message);
    key_file_free(file);
    wr_text_clear(&stored);
    return E_OK;
}

/* ---- publishing ---- */

/* Under the lock. Somebody may have edited it again, which he will send SIGHUP for. */
static bool file_is(struct shared_keys *k, const char *file)
{
    char why[512], *now;
    bool same;

    if (file_read(k, &now, why, sizeof(why)))
        return false;
    same = now && file ? strcmp(now, file) == 0 : now == file;
    key_file_free(now);
    return same;
}

/* `file`: where the text is from; NULL: there is none. E_CONFLICT: somebody else was faster. */
static int store(struct shared_keys *k, struct wr_text *text, const char *file, char *message,
                 size_t size)
{
    TRY(wr_text_store(k->db, NAME, text, message, size));
    text->version++;
    pthread_mutex_lock(&k->lock);
    (void)take(k, text, !file, message, size); /* it was checked */
    if (text->version == k->version && file_is(k, file))
        copy_write(k, credential_file(k->store), text);
    pthread_mutex_unlock(&k->lock);
    return E_OK;
}

static int publish_file(struct shared_keys *k, const char *file, uint64_t version, char *message,
                        size_t size)
{
    const char *body = keys_body(file);
    struct wr_text text = {version, (char *)(uintptr_t)body, strlen(body)};

    TRY(credential_store_check(k->store, credential_file(k->store), file, message, size));
    return store(k, &text, file, message, size);
}

static int publish_made(struct shared_keys *k, char *message, size_t size)
{
    struct wr_text text = {0};
    int code;

    TRY(credential_store_make(k->store, &text.text, message, size));
    text.len = strlen(text.text);
    code = store(k, &text, NULL, message, size);
    key_file_free(text.text);
    return code;
}

/* One attempt. E_CONFLICT with a step other than KEYS_STALE: once more. */
static int settle(struct shared_keys *k, enum keys_step *step, char *message, size_t size)
{
    struct wr_text stored;
    char *file = NULL;
    int code;

    *step = KEYS_SAME;
    TRY(wr_text_load(k->db, NAME, &stored, message, size));
    code = follow(k, &stored, step, &file, message, size);
    if (!code && *step == KEYS_PUBLISH)
        code = publish_file(k, file, stored.version, message, size);
    else if (!code && *step == KEYS_MAKE)
        code = publish_made(k, message, size);
    else if (!code && *step == KEYS_STALE)
        code = refuse_stale(k, file, &stored, message, size);
    key_file_free(file);
    wr_text_clear(&stored);
    return code;
}

static int settle_all(struct shared_keys *k, enum keys_step *step, char *message, size_t size)
{
    int code = E_CONFLICT;

    for (int i = 0; i < TRIES_MAX && code == E_CONFLICT; i++) {
        code = settle(k, step, message, size);
        if (*step == KEYS_STALE)
            break;
    }
    return code;
}

int shared_keys_publish(struct shared_keys *k, char *message, size_t message_size)
{
    enum keys_step step;

    TRY(settle_all(k, &step, message, message_size));
    /* Also when nothing was to be done: whoever changed them last may not have come to it. */
    return wr_text_tell(k->db, message, message_size);
}

uint64_t shared_keys_version(struct shared_keys *k)
{
    uint64_t version;

    pthread_mutex_lock(&k->lock);
    version = k->version;
    pthread_mutex_unlock(&k->lock);
    return version;
}

/* ---- open and close ---- */

/* A file that is refused keeps the server from nothing: it has the keys that the others have. */
static int start(struct shared_keys *k, char *message, size_t size)
{
    enum keys_step step;
    int code = settle_all(k, &step, message, size);

    if (code && step == KEYS_STALE) {
        log_error(k->log, "keys: %s", message);
        return E_OK;
    }
    TRY(code);
    if (step != KEYS_SAME && step != KEYS_WRITE && wr_text_tell(k->db, message, size))
        log_error(k->log, "keys: %s", message);
    return E_OK;
}

int shared_keys_open(struct wr_db *db, struct credential_store *s, struct log *log,
                     struct shared_keys **out, char *message, size_t message_size)
{
    struct shared_keys *k = mem_zalloc(sizeof(*k));
    size_t size = strlen(credential_file(s)) + sizeof(".shared");
    int code;

    *out = NULL;
    k->db = db;
    k->store = s;
    k->log = log;
    k->aside = mem_alloc(size);
    snprintf(k->aside, size, "%s.shared", credential_file(s));
    pthread_mutex_init(&k->lock, NULL);
    wr_text_watch(db, on_change, k);
    code = start(k, message, message_size);
    if (code) {
        shared_keys_close(k);
        return code;
    }
    *out = k;
    return E_OK;
}

void shared_keys_close(struct shared_keys *k)
{
    if (!k)
        return;
    wr_text_watch(k->db, NULL, NULL);
    pthread_mutex_destroy(&k->lock);
    mem_free(k->aside);
    mem_free(k);
}
