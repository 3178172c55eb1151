/* shared_text.c
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
 * Versions only rise, so it does not matter who is first when a change of our own and the
 * notification of another's come together: what is younger is taken. Nothing is locked while the
 * database is asked, least of all while others are told: two servers that tell each other would
 * wait for themselves. */
#include "server/shared_text.h"

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

#define TRIES_MAX 8 /* of a change that another server was faster with */
#define STAMP "# Version %" PRIu64 " of the shared %s (%016" PRIx64 "); leave this line as it is.\n"
#define STAMP_READ                                                                                 \
    "# Version %" SCNu64 " of the shared %31[a-z] (%16" SCNx64 "); leave this line as it is.%n"

struct shared_text {
    const struct shared_text_kind *kind;
    void *arg; /* of its calls */
    struct wr_db *db;
    struct log *log;
    char *file;
    char *aside;          /* the file that a refused one is to be merged with */
    pthread_mutex_t lock; /* of the file, of `version` and of what is taken */
    uint64_t version;     /* that was taken; 0: none yet */
};

/* ---- copies ---- */

/* The stamp's version; 0: the text has none. */
static uint64_t stamp_read(const struct shared_text_kind *kind, const char *file, uint64_t *hash,
                           size_t *len)
{
    uint64_t version = 0;
    char noun[32];
    int n = 0;

    if (sscanf(file, STAMP_READ, &version, noun, hash, &n) != 3 || !n ||
        strcmp(noun, kind->noun) != 0)
        return 0;
    n += file[n] == '\r';
    if (file[n] && file[n] != '\n')
        return 0;
    *len = (size_t)n + (file[n] == '\n');
    return version;
}

const char *text_body(const struct shared_text_kind *kind, const char *file)
{
    uint64_t hash;
    size_t len;

    return stamp_read(kind, file, &hash, &len) ? file + len : file;
}

char *text_file(const struct shared_text_kind *kind, const struct wr_text *stored)
{
    size_t size = sizeof(STAMP) + 96 + stored->len;
    char *text = mem_alloc(size);
    int n = snprintf(text, size, STAMP, stored->version, kind->noun,
                     XXH3_64bits(stored->text, stored->len));

    memcpy(text + n, stored->text, stored->len + 1);
    return text;
}

enum text_step text_step_of(const struct shared_text_kind *kind, const char *file,
                            const struct wr_text *stored)
{
    uint64_t hash = 0, version;
    size_t len = 0;
    const char *body;

    if (!file)
        return stored->version ? TEXT_WRITE : TEXT_MAKE;
    if (!stored->version)
        return TEXT_PUBLISH;
    version = stamp_read(kind, file, &hash, &len);
    body = version ? file + len : file;
    if (strcmp(body, stored->text) == 0)
        return version == stored->version ? TEXT_SAME : TEXT_WRITE;
    if (version && XXH3_64bits(body, strlen(body)) == hash)
        return TEXT_WRITE;
    return version == stored->version ? TEXT_PUBLISH : TEXT_STALE;
}

/* ---- the folder ---- */

/* *out NULL: there is none. */
static int file_read(struct shared_text *t, char **out, char *message, size_t size)
{
    *out = NULL;
    if (access(t->file, F_OK) && errno == ENOENT)
        return E_OK;
    return key_file_read(t->file, t->kind->secret ? t->log : NULL, out, message, size);
}

/* A copy that cannot be written keeps nobody from using the text. */
static void copy_write(struct shared_text *t, const char *file, const struct wr_text *stored)
{
    char why[512], *text = text_file(t->kind, stored);

    if (key_file_write(file, text, why, sizeof(why)))
        log_warn(t->log, "%s: no copy of the shared %s: %s", t->kind->noun, t->kind->what, why);
    key_file_free(text);
}

static int refuse_stale(struct shared_text *t, const char *file, const struct wr_text *stored,
                        char *message, size_t size)
{
    uint64_t hash, version;
    size_t len;

    copy_write(t, t->aside, stored);
    version = stamp_read(t->kind, file, &hash, &len);
    if (version)
        return err_refuse(message, size, E_CONFLICT,
                          "%s was edited from version %" PRIu64 " of the shared %s, but they "
                          "are at version %" PRIu64
                          " now. Bring the change into %s and rename that "
                          "over it.",
                          t->file, version, t->kind->what, stored->version, t->aside);
    return err_refuse(
        message, size, E_CONFLICT,
        "%s differs from the shared %s, and does not say which version it was "
        "made from. Bring what you need of it into %s and rename that over it, or remove "
        "it.",
        t->file, t->kind->what, t->aside);
}

/* ---- taking ---- */

/* Under the lock. */
static int shared_text_take(struct shared_text *t, const struct wr_text *stored, bool made,
                            char *message, size_t size)
{
    if (stored->version <= t->version)
        return E_OK;
    TRY(t->kind->take(t->arg, stored->text, made, message, size));
    if (t->version)
        log_info(t->log, "%s: version %" PRIu64 " of the shared %s is in use", t->kind->noun,
                 stored->version, t->kind->what);
    t->version = stored->version;
    return E_OK;
}

/* Uses what is stored, and brings the copy up to it where nobody has edited that. */
static int shared_text_follow(struct shared_text *t, const struct wr_text *stored,
                              enum text_step *step, char **file, char *message, size_t size)
{
    int code = E_OK;

    pthread_mutex_lock(&t->lock);
    if (stored->version)
        code = shared_text_take(t, stored, false, message, size);
    if (!code) {
        code = file_read(t, file, message, size);
        if (code && stored->version)
            *step = TEXT_STALE; /* whatever it says, it does not count */
    }
    if (!code) {
        *step = text_step_of(t->kind, *file, stored);
        if (*step == TEXT_WRITE && stored->version == t->version)
            copy_write(t, t->file, stored);
    }
    pthread_mutex_unlock(&t->lock);
    return code;
}

/* On the database's own thread: others have changed the text. Not 0: it may be another than that in
 * use. What is there and makes no sense, to this program at least, is known: nobody need wait
 * for it to be read again. */
static int on_change(void *arg)
{
    struct shared_text *t = arg;
    struct wr_text stored;
    enum text_step step;
    char message[1024], *file = NULL;
    int code = wr_text_load(t->db, t->kind->noun, &stored, message, sizeof(message));

    if (code) {
        log_error(t->log, "%s: the shared %s cannot be read, those before stay: %s", t->kind->noun,
                  t->kind->what, message);
        return code == E_FORMAT || code == E_CORRUPT ? E_OK : E_UNAVAILABLE;
    }
    if (shared_text_follow(t, &stored, &step, &file, message, sizeof(message)))
        log_error(t->log, "%s: %s", t->kind->noun, message);
    key_file_free(file);
    wr_text_clear(&stored);
    return E_OK;
}

/* ---- publishing ---- */

/* Under the lock. Somebody may have edited it again, which he will send SIGHUP for. */
static bool file_is(struct shared_text *t, const char *file)
{
    char why[512], *now;
    bool same;

    if (file_read(t, &now, why, sizeof(why)))
        return false;
    same = now && file ? strcmp(now, file) == 0 : now == file;
    key_file_free(now);
    return same;
}

/* `file`: where the text is from; NULL: there is none. E_CONFLICT: somebody else was faster. */
static int store(struct shared_text *t, struct wr_text *text, const char *file, char *message,
                 size_t size)
{
    TRY(wr_text_store(t->db, t->kind->noun, text, message, size));
    text->version++;
    pthread_mutex_lock(&t->lock);
    (void)shared_text_take(t, text, !file, message, size); /* it was checked */
    if (text->version == t->version && file_is(t, file))
        copy_write(t, t->file, text);
    pthread_mutex_unlock(&t->lock);
    return E_OK;
}

static int publish_file(struct shared_text *t, const char *file, uint64_t version, char *message,
                        size_t size)
{
    const char *body = text_body(t->kind, file);
    struct wr_text text = {version, (char *)(uintptr_t)body, strlen(body)};

    TRY(t->kind->check(t->arg, t->file, file, message, size));
    return store(t, &text, file, message, size);
}

static int publish_made(struct shared_text *t, char *message, size_t size)
{
    struct wr_text text = {0};
    int code;

    TRY(t->kind->make(t->arg, &text.text, message, size));
    text.len = strlen(text.text);
    code = store(t, &text, NULL, message, size);
    key_file_free(text.text);
    return code;
}

/* One attempt. E_CONFLICT with a step other than TEXT_STALE: once more. */
static int reconcile(struct shared_text *t, enum text_step *step, char *message, size_t size)
{
    struct wr_text stored;
    char *file = NULL;
    int code;

    *step = TEXT_SAME;
    TRY(wr_text_load(t->db, t->kind->noun, &stored, message, size));
    code = shared_text_follow(t, &stored, step, &file, message, size);
    if (!code && *step == TEXT_PUBLISH)
        code = publish_file(t, file, stored.version, message, size);
    else if (!code && *step == TEXT_MAKE)
        code = publish_made(t, message, size);
    else if (!code && *step == TEXT_STALE)
        code = refuse_stale(t, file, &stored, message, size);
    key_file_free(file);
    wr_text_clear(&stored);
    return code;
}

static int reconcile_all(struct shared_text *t, enum text_step *step, char *message, size_t size)
{
    int code = E_CONFLICT;

    for (int i = 0; i < TRIES_MAX && code == E_CONFLICT; i++) {
        code = reconcile(t, step, message, size);
        if (*step == TEXT_STALE)
            break;
    }
    return code;
}

int shared_text_reconcile(struct shared_text *t, char *message, size_t message_size)
{
    enum text_step step;

    return reconcile_all(t, &step, message, message_size);
}

uint64_t shared_text_version(struct shared_text *t)
{
    uint64_t version;

    pthread_mutex_lock(&t->lock);
    version = t->version;
    pthread_mutex_unlock(&t->lock);
    return version;
}

/* ---- open and close ---- */

/* A file that is refused keeps the server from nothing: it has the text that the others have. */
static int shared_text_start(struct shared_text *t, char *message, size_t size)
{
    enum text_step step;
    int code = reconcile_all(t, &step, message, size);

    if (code && step == TEXT_STALE) {
        log_error(t->log, "%s: %s", t->kind->noun, message);
        return E_OK;
    }
    TRY(code);
    if (step != TEXT_SAME && step != TEXT_WRITE && wr_text_tell(t->db, message, size))
        log_error(t->log, "%s: %s", t->kind->noun, message);
    return E_OK;
}

int shared_text_open(const struct shared_text_kind *kind, void *arg, struct wr_db *db,
                     const char *file, struct log *log, struct shared_text **out, char *message,
                     size_t message_size)
{
    struct shared_text *t = mem_zalloc(sizeof(*t));
    size_t size = strlen(file) + sizeof(".shared");
    int code;

    *out = NULL;
    t->kind = kind;
    t->arg = arg;
    t->db = db;
    t->log = log;
    t->file = mem_alloc(size);
    memcpy(t->file, file, strlen(file) + 1);
    t->aside = mem_alloc(size);
    snprintf(t->aside, size, "%s.shared", file);
    pthread_mutex_init(&t->lock, NULL);
    wr_text_watch(db, on_change, t);
    code = shared_text_start(t, message, message_size);
    if (code) {
        shared_text_close(t);
        return code;
    }
    *out = t;
    return E_OK;
}

void shared_text_close(struct shared_text *t)
{
    if (!t)
        return;
    wr_text_watch(t->db, NULL, t);
    pthread_mutex_destroy(&t->lock);
    mem_free(t->file);
    mem_free(t->aside);
    mem_free(t);
}
