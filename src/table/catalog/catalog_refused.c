/* catalog_refused.c: tables whose stored description this program cannot read.
 *
 * A newer program may have written it, beside this one over a pool or before it in a data folder.
 * Each such table is refused by a named error, and nothing of it is touched; all others are served.
 */
#include "table/catalog/catalog_own.h"

#include "table/model/key.h"

struct refused {
    struct refused *next;
    bytes instance, name; /* in `memory`, as the text */
    int code;
    const char *text;
    char memory[];
};

static struct refused **refused_at(struct catalog *cat, bytes instance, bytes name)
{
    struct refused **at = &cat->refused;

    while (*at && !(bytes_equal((*at)->name, name) && bytes_equal((*at)->instance, instance)))
        at = &(*at)->next;
    return at;
}

struct refused *refused_new(bytes instance, bytes name, int code, const char *text)
{
    size_t len = strlen(text) + 1;
    struct refused *r = mem_zalloc(sizeof(*r) + instance.len + name.len + len);
    char *at = r->memory;

    r->code = code;
    r->text = memcpy(at, text, len);
    at += len;
    if (instance.len)
        memcpy(at, instance.ptr, instance.len);
    r->instance = bytes_of(at, instance.len);
    at += instance.len;
    if (name.len)
        memcpy(at, name.ptr, name.len);
    r->name = bytes_of(at, name.len);
    return r;
}

bool refused_set(struct catalog *cat, bytes instance, bytes name, struct refused *r)
{
    struct refused **at = refused_at(cat, instance, name), *old = *at;

    if (old)
        *at = old->next;
    mem_free(old);
    if (r) {
        r->next = cat->refused;
        cat->refused = r;
    }
    return !old;
}

void refused_free(struct catalog *cat)
{
    while (cat->refused) {
        struct refused *r = cat->refused;

        cat->refused = r->next;
        mem_free(r);
    }
}

int catalog_refusal(struct ctx *c, struct catalog *cat, bytes instance, bytes name)
{
    const struct refused *r;
    int code = E_OK;

    pthread_rwlock_rdlock(&cat->lock);
    r = *refused_at(cat, instance, name);
    if (r)
        code = fail(c, r->code, "%s", r->text);
    pthread_rwlock_unlock(&cat->lock);
    return code;
}

size_t catalog_refused_count(struct catalog *cat)
{
    size_t n = 0;

    pthread_rwlock_rdlock(&cat->lock);
    for (const struct refused *r = cat->refused; r; r = r->next)
        n++;
    pthread_rwlock_unlock(&cat->lock);
    return n;
}

size_t catalog_refused_names(struct catalog *cat, struct arena *a, bytes instance, bytes *names,
                             size_t max)
{
    size_t n = 0;

    pthread_rwlock_rdlock(&cat->lock);
    for (const struct refused *r = cat->refused; r && n < max; r = r->next)
        if (bytes_equal(r->instance, instance))
            names[n++] = arena_copy(a, r->name);
    pthread_rwlock_unlock(&cat->lock);
    return n;
}

bool catalog_may_refuse(const struct catalog *cat, int code)
{
    return code == E_FORMAT || (code == E_CORRUPT && db_is_shared(cat->db));
}

int catalog_key_names(struct ctx *c, bytes key, bytes *instance, bytes *name)
{
    struct reader r = reader_of(bytes_skip(key, KEY_PREFIX_BYTES));

    TRY(key_read_text(c, &r, instance));
    return key_read_text(c, &r, name);
}
