/* A set is one reading of the file, sorted by key id and never changed. The store holds the current
 * one; a reader takes a reference under the lock and drops it when its answer is signed, so that a
 * set that was replaced goes with its last user, and its secrets are wiped then. */
#include "server/credential.h"

#include "base/ctx.h"
#include "base/err.h"
#include "base/rng.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_BYTES_MAX (1 << 20)
#define ID_BYTES_MAX 128
#define SECRET_BYTES_MAX 256
#define ID_BYTES 24
#define SECRET_BYTES 40

struct credential_set {
    atomic_int refs;
    struct credential *pairs; /* sorted by id */
    size_t count;
    size_t first; /* index of the pair to show */
    char *text;   /* what the pairs point into */
    size_t text_size;
};

struct credential_store {
    struct credential_conf conf;
    char *file;
    bool made;
    pthread_mutex_t lock; /* guards `set` */
    struct credential_set *set;
};

static int refuse(char *message, size_t size, const char *fmt, ...) PORT_PRINTF(3, 4);

static int refuse(char *message, size_t size, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vsnprintf(message, size, fmt, args);
    va_end(args);
    return E_PARAMETER;
}

/* ---- sets ---- */

static void set_drop(struct credential_set *set)
{
    if (!set || atomic_fetch_sub(&set->refs, 1) != 1)
        return;
    OPENSSL_cleanse(set->pairs, set->count * sizeof(*set->pairs));
    OPENSSL_cleanse(set->text, set->text_size);
    mem_free(set->pairs);
    mem_free(set->text);
    mem_free(set);
}

static int pair_compare(const void *a, const void *b)
{
    return strcmp(((const struct credential *)a)->id, ((const struct credential *)b)->id);
}

static const struct credential *set_find(const struct credential_set *set, bytes id)
{
    size_t low = 0, high = set->count;

    while (low < high) {
        size_t middle = (low + high) / 2;
        int r = bytes_compare(id, bytes_str(set->pairs[middle].id));

        if (r == 0)
            return &set->pairs[middle];
        if (r < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

/* ---- checking ---- */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Semantics, section 1: 3 to 16 bytes of letters, digits and hyphens, a letter first and no hyphen
 * last. The cloud's list of words that must not occur is not ours. */
static const char *instance_fault(const char *s)
{
    size_t n = strlen(s);

    if (n < 3 || n > 16)
        return "it must have 3 to 16 characters";
    if (!is_letter(s[0]) || s[n - 1] == '-')
        return "it must start with a letter and not end with a hyphen";
    for (; *s; s++)
        if (!is_letter(*s) && !(*s >= '0' && *s <= '9') && *s != '-')
            return "it may hold letters, digits and hyphens only";
    return NULL;
}

/* What every client can send: no colon, since answers put one behind the id. */
static bool id_is_valid(const char *s)
{
    size_t n = strlen(s);

    for (; *s; s++)
        if (!is_letter(*s) && !(*s >= '0' && *s <= '9') && !strchr("+./_-", *s))
            return false;
    return n >= 1 && n <= ID_BYTES_MAX;
}

static bool secret_is_valid(const char *s)
{
    size_t n = strlen(s);

    for (; *s; s++)
        if (*s <= ' ' || *s > '~')
            return false;
    return n >= 1 && n <= SECRET_BYTES_MAX;
}

/* `where` names the place in messages; the secret is never in one. */
static int pair_check(const char *where, char *instance, const char *id, const char *secret,
                      char *message, size_t size)
{
    const char *fault = instance_fault(instance);

    if (fault)
        return refuse(message, size, "%s: '%s' is no instance name: %s.", where, instance, fault);
    if (!id_is_valid(id))
        return refuse(message, size,
                      "%s: '%s' is no access key id: up to %d letters, digits and + . / _ - only.",
                      where, id, ID_BYTES_MAX);
    if (!secret_is_valid(secret))
        return refuse(message, size,
                      "%s: the secret is not 1 to %d printable characters without spaces.", where,
                      SECRET_BYTES_MAX);
    for (; *instance; instance++)
        if (*instance >= 'A' && *instance <= 'Z')
            *instance = (char)(*instance | 0x20);
    return E_OK;
}

/* ---- reading ---- */

static void set_add(struct credential_set *set, const char *instance, const char *id,
                    const char *secret, bool from_environment)
{
    struct credential *p = &set->pairs[set->count++];

    *p = (struct credential){.instance = instance,
                             .id = id,
                             .secret = secret,
                             .from_environment = from_environment,
                             .set = set};
    sign_key_init(&p->key, bytes_str(secret));
}

/* Cuts the next word out of *at; NULL: the line has no more. */
static char *word(char **at)
{
    char *p = *at + strspn(*at, " \t\r"), *end = p + strcspn(p, " \t\r");

    if (p == end)
        return NULL;
    *at = *end ? end + 1 : end;
    *end = 0;
    return p;
}

static int set_read_line(struct credential_store *s, struct credential_set *set, char *line,
                         int number, char *message, size_t size)
{
    char *instance, *id, *secret, *at = line, where[512];
    int code;

    if (line[strspn(line, " \t\r")] == '#' || !(instance = word(&at)))
        return E_OK;
    snprintf(where, sizeof(where), "%s line %d", s->file, number);
    id = word(&at);
    secret = word(&at);
    if (!id || !secret || word(&at))
        return refuse(message, size,
                      "%s: not \"instance access_key_id secret\". Mend the line or remove it.",
                      where);
    code = pair_check(where, instance, id, secret, message, size);
    if (!code)
        set_add(set, instance, id, secret, false);
    return code;
}

/* The file's text, ended by a NUL, in set->text with room for the environment's pair behind it. No
 * file: an empty text. */
static int set_read_file(struct credential_store *s, struct credential_set *set, char *message,
                         size_t size)
{
    FILE *f = s->file ? fopen(s->file, "r") : NULL;
    struct stat st;
    size_t n;

    if (s->file && !f)
        return refuse(message, size, "cannot read %s: %s. Check who owns it.", s->file,
                      strerror(errno));
    set->text_size = 1 + 64 + ID_BYTES_MAX + SECRET_BYTES_MAX;
    if (!f) {
        set->text = mem_zalloc(set->text_size);
        return E_OK;
    }
    if (fstat(fileno(f), &st) || !S_ISREG(st.st_mode) || st.st_size > FILE_BYTES_MAX) {
        fclose(f);
        return refuse(message, size, "%s is not a file of at most 1 MiB. Put it right or remove it.",
                      s->file);
    }
    if (st.st_mode & 077)
        log_warn(s->conf.log, "credentials: others may read %s; run chmod 600 on it", s->file);
    set->text_size += (size_t)st.st_size;
    set->text = mem_zalloc(set->text_size);
    n = fread(set->text, 1, (size_t)st.st_size, f);
    fclose(f);
    set->text[n] = 0;
    return E_OK;
}

/* A pair of the environment wins over one of the file with the same id. */
static int set_add_environment(struct credential_store *s, struct credential_set *set,
                               char *message, size_t size)
{
    char *instance = set->text + set->text_size - 64 - ID_BYTES_MAX - SECRET_BYTES_MAX;
    char *id = instance + 32, *secret = id + ID_BYTES_MAX + 1;
    int code;

    if (!s->conf.id)
        return E_OK;
    if (strlen(s->conf.instance) > 31 || strlen(s->conf.id) > ID_BYTES_MAX ||
        strlen(s->conf.secret) > SECRET_BYTES_MAX)
        return refuse(message, size,
                      "the environment's instance, access key id or secret is too long (16, %d, %d "
                      "bytes).",
                      ID_BYTES_MAX, SECRET_BYTES_MAX);
    strcpy(instance, s->conf.instance);
    strcpy(id, s->conf.id);
    strcpy(secret, s->conf.secret);
    code = pair_check("the environment", instance, id, secret, message, size);
    if (code)
        return code;
    for (size_t i = 0; i < set->count; i++)
        if (strcmp(set->pairs[i].id, id) == 0)
            set->pairs[i] = set->pairs[--set->count];
    set_add(set, instance, id, secret, true);
    return E_OK;
}

static int set_sort(struct credential_store *s, struct credential_set *set, char *message,
                    size_t size)
{
    char first[ID_BYTES_MAX + 1] = "";

    if (set->count)
        strcpy(first, set->pairs[s->conf.id ? set->count - 1 : 0].id);
    qsort(set->pairs, set->count, sizeof(*set->pairs), pair_compare);
    for (size_t i = 0; i < set->count; i++) {
        if (i && strcmp(set->pairs[i - 1].id, set->pairs[i].id) == 0)
            return refuse(message, size, "%s: access key id '%s' stands twice. Remove one.",
                          s->file, set->pairs[i].id);
        if (strcmp(set->pairs[i].id, first) == 0)
            set->first = i;
    }
    if (!set->count)
        return refuse(message, size,
                      "%s holds no access key. Remove it, and the next start makes one.", s->file);
    return E_OK;
}

static int set_fill(struct credential_store *s, struct credential_set *set, char *message,
                    size_t size)
{
    int code = set_read_file(s, set, message, size), number = 1;
    size_t lines = 2;

    if (code)
        return code;
    for (const char *p = set->text; *p; p++)
        lines += *p == '\n';
    set->pairs = mem_zalloc(lines * sizeof(*set->pairs));
    for (char *line = set->text, *next; *line; line = next, number++) {
        next = line + strcspn(line, "\n");
        if (*next)
            *next++ = 0;
        if ((code = set_read_line(s, set, line, number, message, size)))
            return code;
    }
    if ((code = set_add_environment(s, set, message, size)))
        return code;
    return set_sort(s, set, message, size);
}

int credential_store_reload(struct credential_store *s, char *message, size_t message_size)
{
    struct credential_set *set = mem_zalloc(sizeof(*set)), *old;
    int code;

    atomic_init(&set->refs, 1);
    set->text = mem_zalloc(1);
    mem_free(set->text);
    set->text = NULL;
    code = set_fill(s, set, message, message_size);
    if (code) {
        set_drop(set);
        return code;
    }
    pthread_mutex_lock(&s->lock);
    old = s->set;
    s->set = set;
    pthread_mutex_unlock(&s->lock);
    set_drop(old);
    return E_OK;
}

/* ---- making ---- */

static void random_text(char *out, size_t n)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    uint8_t b;

    for (size_t i = 0; i < n;) {
        rng_secret(&b, 1);
        if (b < 248) /* 4 * 62: each letter is as likely */
            out[i++] = letters[b % 62];
    }
    out[n] = 0;
}

/* Writes a new file whole or not at all, readable by its owner only from the first byte. */
static int file_write(const char *file, const char *text, char *message, size_t size)
{
    char temporary[4096];
    size_t n = strlen(text);
    int fd;

    snprintf(temporary, sizeof(temporary), "%s.new", file);
    unlink(temporary);
    fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, text, n) != (ssize_t)n || fsync(fd) || rename(temporary, file)) {
        int error = errno;

        if (fd >= 0)
            close(fd);
        unlink(temporary);
        return refuse(message, size, "cannot write %s: %s. Check who owns the data folder.", file,
                      strerror(error));
    }
    close(fd);
    return E_OK;
}

static int file_make(struct credential_store *s, char *message, size_t size)
{
    char id[ID_BYTES + 1], secret[SECRET_BYTES + 1], text[1024];
    char instance[32] = "";
    int code;

    random_text(id, ID_BYTES);
    random_text(secret, SECRET_BYTES);
    if (strlen(s->conf.instance) < sizeof(instance))
        strcpy(instance, s->conf.instance);
    code = pair_check("the first access key", instance, s->conf.id ? s->conf.id : id,
                      s->conf.secret ? s->conf.secret : secret, message, size);
    if (code)
        return code;
    snprintf(text, sizeof(text), "# instance access_key_id secret\n%s %s %s\n", instance,
             s->conf.id ? s->conf.id : id, s->conf.secret ? s->conf.secret : secret);
    code = file_write(s->file, text, message, size);
    OPENSSL_cleanse(text, sizeof(text));
    OPENSSL_cleanse(secret, sizeof(secret));
    s->made = !code;
    return code;
}

/* Without a data folder a pair is made for this start only, by way of the environment's. */
static void pair_make(struct credential_store *s)
{
    char *id = mem_alloc(ID_BYTES + 1 + SECRET_BYTES + 1), *secret = id + ID_BYTES + 1;

    random_text(id, ID_BYTES);
    random_text(secret, SECRET_BYTES);
    s->conf.id = id;
    s->conf.secret = secret;
    s->made = true;
}

int credential_store_open(const struct credential_conf *conf, struct credential_store **out,
                          char *message, size_t message_size)
{
    struct credential_store *s = mem_zalloc(sizeof(*s));
    int code = E_OK;

    *out = NULL;
    s->conf = *conf;
    s->conf.instance = mem_strdup(conf->instance);
    s->conf.id = conf->id ? mem_strdup(conf->id) : NULL;
    s->conf.secret = conf->id ? mem_strdup(conf->secret) : NULL;
    s->conf.dir = NULL;
    pthread_mutex_init(&s->lock, NULL);
    if (conf->dir) {
        size_t size = strlen(conf->dir) + sizeof("/credentials");

        s->file = mem_alloc(size);
        snprintf(s->file, size, "%s/credentials", conf->dir);
        if (access(s->file, F_OK) && errno == ENOENT)
            code = file_make(s, message, message_size);
    } else if (!conf->id) {
        pair_make(s);
    }
    if (!code)
        code = credential_store_reload(s, message, message_size);
    if (code) {
        credential_store_close(s);
        return code;
    }
    *out = s;
    return E_OK;
}

void credential_store_close(struct credential_store *s)
{
    if (!s)
        return;
    set_drop(s->set);
    pthread_mutex_destroy(&s->lock);
    mem_free(s->file);
    mem_free((char *)(uintptr_t)s->conf.instance);
    mem_free(s);
}

/* ---- asking ---- */

const struct credential *credential_find(struct credential_store *s, bytes id)
{
    const struct credential *c;

    pthread_mutex_lock(&s->lock);
    c = set_find(s->set, id);
    if (c)
        atomic_fetch_add(&s->set->refs, 1);
    pthread_mutex_unlock(&s->lock);
    return c;
}

const struct credential *credential_first(struct credential_store *s)
{
    const struct credential *c;

    pthread_mutex_lock(&s->lock);
    c = &s->set->pairs[s->set->first];
    atomic_fetch_add(&s->set->refs, 1);
    pthread_mutex_unlock(&s->lock);
    return c;
}

void credential_release(const struct credential *c)
{
    if (c)
        set_drop(c->set);
}

const char *credential_file(const struct credential_store *s)
{
    return s->file;
}

bool credential_made(const struct credential_store *s)
{
    return s->made;
}

bool credential_instance_equal(const struct credential *c, bytes instance)
{
    const char *p = instance.ptr;

    if (strlen(c->instance) != instance.len)
        return false;
    for (size_t i = 0; i < instance.len; i++) {
        char small = p[i] >= 'A' && p[i] <= 'Z' ? (char)(p[i] | 0x20) : p[i];

        if (small != c->instance[i])
            return false;
    }
    return true;
}
