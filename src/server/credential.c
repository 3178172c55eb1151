/* A set is one reading of the file, sorted by key id and instance and never changed: the pairs of
 * one id, which all have its one secret, stand together. The store holds the current one; a reader
 * takes a reference under the lock and drops it when its answer is signed, so that a set that was
 * replaced goes with its last user, and its secrets are wiped then. */
#include "server/credential.h"

#include "base/ctx.h"
#include "base/err.h"
#include "base/rng.h"
#include "server/key_file.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ID_BYTES 24
#define SECRET_BYTES 40

struct credential_set {
    atomic_int refs;
    size_t count, capacity;
    size_t first;              /* index of the pair to show */
    struct arena arena;        /* of the grants */
    struct credential pairs[]; /* sorted by id, then by instance */
};

struct credential_store {
    struct credential_conf conf; /* after opening only `log` counts */
    char *file;
    bool made;
    bool has_own;          /* `own` counts */
    struct credential own; /* not of the file: the environment's, or without a file a random one */
    char *text;            /* without a file: what is edited instead; NULL: nothing yet */
    pthread_mutex_t edit;  /* one edit at a time */
    pthread_mutex_t lock;  /* guards `set` */
    struct credential_set *set;
};

/* ---- sets ---- */

static struct credential_set *set_new(size_t capacity)
{
    struct credential_set *set = mem_zalloc(sizeof(*set) + capacity * sizeof(set->pairs[0]));

    atomic_init(&set->refs, 1);
    set->capacity = capacity;
    arena_init(&set->arena, NULL, 0);
    return set;
}

static void set_drop(struct credential_set *set)
{
    if (!set || atomic_fetch_sub(&set->refs, 1) != 1)
        return;
    OPENSSL_cleanse(set->pairs, set->capacity * sizeof(set->pairs[0]));
    arena_release(&set->arena);
    mem_free(set);
}

static int pair_compare(const void *a, const void *b)
{
    const struct credential *x = a, *y = b;
    int r = strcmp(x->id, y->id);

    return r ? r : strcmp(x->instance, y->instance);
}

/* The first pair of an id. */
static const struct credential *set_find(const struct credential_set *set, bytes id)
{
    size_t low = 0, high = set->count;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (bytes_compare(id, bytes_str(set->pairs[middle].id)) <= 0)
            high = middle;
        else
            low = middle + 1;
    }
    return low < set->count && bytes_equal(id, bytes_str(set->pairs[low].id)) ? &set->pairs[low]
                                                                              : NULL;
}

/* ---- checking ---- */

static bool credential_is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static char letter_small(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

/* doc/data-model.md, "Objects": 3 to 16 bytes of letters, digits and hyphens, a letter first and no
 * hyphen last. The cloud's list of words that must not occur is not ours. */
static const char *instance_fault(const char *s)
{
    size_t n = strlen(s);

    if (n < 3 || n > CREDENTIAL_INSTANCE_MAX)
        return "it must have 3 to 16 characters";
    if (!credential_is_letter(s[0]) || s[n - 1] == '-')
        return "it must start with a letter and not end with a hyphen";
    for (; *s; s++)
        if (!credential_is_letter(*s) && !(*s >= '0' && *s <= '9') && *s != '-')
            return "it may hold letters, digits and hyphens only";
    return NULL;
}

/* What every client can send: no colon, since answers put one behind the id. */
static bool id_is_valid(const char *s)
{
    size_t n = strlen(s);

    for (; *s; s++)
        if (!credential_is_letter(*s) && !(*s >= '0' && *s <= '9') && !strchr("+./_-", *s))
            return false;
    return n >= 1 && n <= CREDENTIAL_ID_MAX;
}

static bool secret_is_valid(const char *s)
{
    size_t n = strlen(s);

    for (; *s; s++)
        if (*s <= ' ' || *s > '~')
            return false;
    return n >= 1 && n <= CREDENTIAL_SECRET_MAX;
}

/* Checks a pair and fills *out; it may do everything. `where` names the place in messages; the
 * secret is never in one. */
static int pair_fill(const char *where, const char *instance, const char *id, const char *secret,
                     struct credential *out, char *message, size_t size)
{
    const char *fault = instance_fault(instance);

    if (fault)
        return err_refuse(message, size, E_PARAMETER, "%s: '%s' is no instance name: %s.", where,
                          instance, fault);
    if (!id_is_valid(id))
        return err_refuse(
            message, size, E_PARAMETER,
            "%s: '%s' is no access key id: up to %d letters, digits and + . / _ - only.", where, id,
            CREDENTIAL_ID_MAX);
    if (!secret_is_valid(secret))
        return err_refuse(message, size, E_PARAMETER,
                          "%s: the secret is not 1 to %d printable characters without spaces.",
                          where, CREDENTIAL_SECRET_MAX);
    *out = (struct credential){.grants = grants_all()};
    for (size_t i = 0; instance[i]; i++)
        out->instance[i] = letter_small(instance[i]);
    memcpy(out->id, id, strlen(id) + 1);
    memcpy(out->secret, secret, strlen(secret) + 1);
    sign_key_init(&out->key, bytes_str(secret));
    return E_OK;
}

/* ---- reading ---- */

static void set_add(struct credential_set *set, const struct credential *pair)
{
    set->pairs[set->count] = *pair;
    set->pairs[set->count++].set = set;
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

/* One id may stand for several instances, with one secret. */
static int credential_check_repeated(const struct credential_set *set, const char *where,
                                     const struct credential *pair, char *message, size_t size)
{
    for (size_t i = 0; i < set->count; i++) {
        const struct credential *other = &set->pairs[i];

        if (strcmp(other->id, pair->id) != 0)
            continue;
        if (strcmp(other->instance, pair->instance) == 0)
            return err_refuse(message, size, E_PARAMETER,
                              "%s: access key id '%s' stands twice for the instance '%s'. Remove "
                              "one.",
                              where, pair->id, pair->instance);
        if (strcmp(other->secret, pair->secret) != 0)
            return err_refuse(message, size, E_PARAMETER,
                              "%s: access key id '%s' stands twice with two secrets. A key has one "
                              "secret in all its instances: write that, or another id.",
                              where, pair->id);
    }
    return E_OK;
}

static int set_read_line(struct credential_set *set, const char *source, char *line, int number,
                         char *message, size_t size)
{
    char *instance, *id, *secret, *grants, *at = line, where[512], why[256];
    struct credential pair;

    instance = word(&at);
    if (!instance || instance[0] == '#')
        return E_OK;
    snprintf(where, sizeof(where), "%s line %d", source, number);
    id = word(&at);
    secret = word(&at);
    grants = word(&at);
    if (!id || !secret || word(&at))
        return err_refuse(
            message, size, E_PARAMETER,
            "%s: not \"instance access_key_id secret [grants]\". Mend the line or remove "
            "it.",
            where);
    TRY(pair_fill(where, instance, id, secret, &pair, message, size));
    TRY(credential_check_repeated(set, where, &pair, message, size));
    if (grants && grants_parse(&set->arena, bytes_str(grants), &pair.grants, why, sizeof(why)))
        return err_refuse(message, size, E_PARAMETER, "%s: %s", where, why);
    set_add(set, &pair);
    return E_OK;
}

static int set_read_lines(struct credential_set *set, const char *source, char *text, char *message,
                          size_t size)
{
    int number = 1;

    for (char *line = text, *next; *line; line = next, number++) {
        next = line + strcspn(line, "\n");
        if (*next)
            *next++ = 0;
        TRY(set_read_line(set, source, line, number, message, size));
    }
    if (!set->count)
        return err_refuse(message, size, E_PARAMETER,
                          "%s holds no access key. Remove it, and the next start makes one.",
                          source);
    return E_OK;
}

/* Does our own pair take the place of one of the file? Of one with its id in the same instance, and
 * of all with its id but another secret. */
static bool own_replaces(const struct credential *own, const struct credential *pair)
{
    return strcmp(pair->id, own->id) == 0 &&
           (strcmp(pair->instance, own->instance) == 0 || strcmp(pair->secret, own->secret) != 0);
}

/* The file's pairs and our own, which wins. */
static void set_finish(struct credential_store *s, struct credential_set *set)
{
    struct credential first;
    size_t kept = 0;

    if (!set->count && !s->has_own)
        return;
    for (size_t i = 0; s->has_own && i < set->count; i++)
        if (!own_replaces(&s->own, &set->pairs[i]))
            set->pairs[kept++] = set->pairs[i];
    if (s->has_own) {
        set->count = kept;
        set_add(set, &s->own);
    }
    first = s->has_own ? s->own : set->pairs[0];
    qsort(set->pairs, set->count, sizeof(set->pairs[0]), pair_compare);
    while (pair_compare(&set->pairs[set->first], &first) != 0)
        set->first++;
    OPENSSL_cleanse(&first, sizeof(first));
}

/* Consumes `text`: it is cut into words and wiped. */
static int set_parse(struct credential_store *s, const char *source, char *text,
                     struct credential_set **out, char *message, size_t size)
{
    struct credential_set *set;
    size_t lines = 2, len = strlen(text);
    int code;

    for (const char *p = text; *p; p++)
        lines += *p == '\n';
    set = set_new(lines);
    code = set_read_lines(set, source, text, message, size);
    OPENSSL_cleanse(text, len);
    if (code) {
        set_drop(set);
        return code;
    }
    set_finish(s, set);
    *out = set;
    return E_OK;
}

static void set_use(struct credential_store *s, struct credential_set *set)
{
    struct credential_set *old;

    pthread_mutex_lock(&s->lock);
    old = s->set;
    s->set = set;
    pthread_mutex_unlock(&s->lock);
    set_drop(old);
}

/* Our own pair alone, where there is no file or it is not known yet. */
static struct credential_set *set_of_own(struct credential_store *s)
{
    struct credential_set *set = set_new(1);

    set_finish(s, set);
    return set;
}

static int text_copy_parse(struct credential_store *s, const char *source, const char *text,
                           struct credential_set **out, char *message, size_t size)
{
    char *copy = mem_strdup(text);
    int code = set_parse(s, source, copy, out, message, size);

    mem_free(copy);
    return code;
}

int credential_store_check(struct credential_store *s, const char *source, const char *text,
                           char *message, size_t message_size)
{
    struct credential_set *set;

    TRY(text_copy_parse(s, source, text, &set, message, message_size));
    set_drop(set);
    return E_OK;
}

int credential_store_take(struct credential_store *s, const char *source, const char *text,
                          bool made, char *message, size_t message_size)
{
    struct credential_set *set;

    TRY(text_copy_parse(s, source, text, &set, message, message_size));
    s->made |= made;
    set_use(s, set);
    return E_OK;
}

int credential_store_reload(struct credential_store *s, char *message, size_t message_size)
{
    struct credential_set *set = NULL;
    char *text;
    int code;

    if (!s->file) {
        set_use(s, set_of_own(s));
        return E_OK;
    }
    TRY(key_file_read(s->file, s->conf.log, &text, message, message_size));
    code = set_parse(s, s->file, text, &set, message, message_size);
    mem_free(text);
    TRY(code);
    set_use(s, set);
    return E_OK;
}

/* ---- editing ---- */

static int text_read(struct credential_store *s, char **out, char *message, size_t size)
{
    if (s->file)
        return key_file_read(s->file, s->conf.log, out, message, size);
    *out = mem_strdup(s->text ? s->text : "");
    return E_OK;
}

/* Without a file there may be no pair in it: then our own is left. */
static int text_write(struct credential_store *s, const char *text, char *message, size_t size)
{
    struct credential_set *set;

    if (!s->file && !*text)
        set = set_of_own(s);
    else
        TRY(text_copy_parse(s, s->file ? s->file : "users", text, &set, message, size));
    if (s->file && key_file_write(s->file, text, message, size)) {
        set_drop(set);
        return E_INTERNAL;
    }
    if (!s->file) {
        key_file_free(s->text);
        s->text = mem_strdup(text);
    }
    set_use(s, set);
    return E_OK;
}

static int text_edit(struct credential_store *s, struct ctx *c, credential_edit_fn *edit, void *arg)
{
    char *text = NULL, message[512];
    bytes made;
    int code;

    if (text_read(s, &text, message, sizeof(message)))
        return fail(c, E_INTERNAL, "%s", message);
    code = edit(arg, bytes_str(text), &made);
    if (!code && made.len > WR_TEXT_BYTES_MAX)
        code = fail(c, E_PARAMETER, "there are too many users");
    if (!code && text_write(s, arena_printf(&c->arena, "%.*s", BYTES_FMT(made)).ptr, message,
                            sizeof(message)))
        code = fail(c, E_INTERNAL, "%s", message);
    key_file_free(text);
    return code;
}

int credential_store_edit(struct credential_store *s, struct ctx *c, credential_edit_fn *edit,
                          void *arg)
{
    int code;

    if (s->conf.shared)
        return fail(c, E_UNSUPPORTED,
                    "On a pool all servers share the access keys: change the file that they come "
                    "from (doc/operations.md)");
    pthread_mutex_lock(&s->edit);
    code = text_edit(s, c, edit, arg);
    pthread_mutex_unlock(&s->edit);
    return code;
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

/* What a new file says about itself. */
static const char file_head[] =
    "# Access keys, one a line: instance access_key_id secret [grants]\n"
    "#\n"
    "# A key for several instances has a line for each of them, with the same id and the same\n"
    "# secret.\n"
    "#\n"
    "# grants say what the key may do; without them it may do everything:\n"
    "#   rw          read and write every table\n"
    "#   ro          read every table\n"
    "#   rw:cards*   read and write the tables whose names start with cards\n"
    "#   ro:logs     read the table logs\n"
    "# Several go with commas: ro,rw:cards*,orders* reads everything and writes tables that start\n"
    "# with cards or orders. A key may do what any one of its grants allows. Creating, updating "
    "and\n"
    "# deleting a table needs rw on it.\n"
    "#\n"
    "# After a change, send the server SIGHUP; a file with a mistake is not taken, and the log "
    "says\n"
    "# why.\n";

static int pair_random(struct credential_store *s, struct credential *out, char *message,
                       size_t size)
{
    char id[ID_BYTES + 1], secret[SECRET_BYTES + 1];
    int code;

    random_text(id, ID_BYTES);
    random_text(secret, SECRET_BYTES);
    code = pair_fill("--instance", s->conf.instance, id, secret, out, message, size);
    OPENSSL_cleanse(secret, sizeof(secret));
    return code;
}

int credential_store_make(struct credential_store *s, char **out, char *message, size_t size)
{
    struct credential made = s->own;
    size_t text_size =
        sizeof(file_head) + sizeof(made.instance) + sizeof(made.id) + sizeof(made.secret) + 8;

    if (!s->has_own)
        TRY(pair_random(s, &made, message, size));
    *out = mem_alloc(text_size);
    snprintf(*out, text_size, "%s%s %s %s\n", file_head, made.instance, made.id, made.secret);
    OPENSSL_cleanse(&made, sizeof(made));
    return E_OK;
}

static int file_make(struct credential_store *s, char *message, size_t size)
{
    char *text;
    int code;

    TRY(credential_store_make(s, &text, message, size));
    code = key_file_write(s->file, text, message, size);
    key_file_free(text);
    s->made = !code;
    return code;
}

/* Finds the pairs: our own, then those of the file, which is made if it is missing. */
static int store_fill(struct credential_store *s, char *message, size_t size)
{
    if (s->conf.id) {
        TRY(pair_fill("the environment's access key", s->conf.instance, s->conf.id, s->conf.secret,
                      &s->own, message, size));
        s->has_own = true;
    }
    if (s->conf.shared) {
        s->set = set_of_own(s);
        return E_OK;
    }
    if (!s->file && !s->has_own) {
        TRY(pair_random(s, &s->own, message, size));
        s->has_own = s->made = true;
    }
    if (s->file && access(s->file, F_OK) && errno == ENOENT)
        TRY(file_make(s, message, size));
    return credential_store_reload(s, message, size);
}

int credential_store_open(const struct credential_conf *conf, struct credential_store **out,
                          char *message, size_t message_size)
{
    struct credential_store *s = mem_zalloc(sizeof(*s));
    int code;

    *out = NULL;
    s->conf = *conf;
    pthread_mutex_init(&s->lock, NULL);
    pthread_mutex_init(&s->edit, NULL);
    if (conf->dir) {
        size_t size = strlen(conf->dir) + sizeof("/credentials");

        s->file = mem_alloc(size);
        snprintf(s->file, size, "%s/credentials", conf->dir);
    }
    code = store_fill(s, message, message_size);
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
    pthread_mutex_destroy(&s->edit);
    key_file_free(s->text);
    OPENSSL_cleanse(&s->own, sizeof(s->own));
    mem_free(s->file);
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

static bool instance_equal(const struct credential *c, bytes instance)
{
    const char *p = instance.ptr;

    if (strlen(c->instance) != instance.len)
        return false;
    for (size_t i = 0; i < instance.len; i++)
        if (letter_small(p[i]) != c->instance[i])
            return false;
    return true;
}

const struct credential *credential_at(const struct credential *c, bytes instance)
{
    const struct credential *end = c->set->pairs + c->set->count;

    if (instance_equal(c, instance))
        return c;
    for (const struct credential *p = set_find(c->set, bytes_str(c->id));
         p < end && strcmp(p->id, c->id) == 0; p++)
        if (instance_equal(p, instance))
            return p;
    return NULL;
}

void credential_each(const struct credential *c, void (*each)(void *arg, const struct credential *),
                     void *arg)
{
    for (size_t i = 0; i < c->set->count; i++)
        each(arg, &c->set->pairs[i]);
}

bytes *credential_instances(const struct credential *c, struct arena *a, size_t *count)
{
    const struct credential *end = c->set->pairs + c->set->count;
    bytes *out = ARENA_ARRAY(a, bytes, c->set->count + 1);

    *count = 0;
    for (const struct credential *p = set_find(c->set, bytes_str(c->id));
         p < end && strcmp(p->id, c->id) == 0; p++)
        out[(*count)++] = arena_copy(a, bytes_str(p->instance));
    return out;
}
