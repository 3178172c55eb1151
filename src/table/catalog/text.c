/* text.c
 *
 * A text is one key of the catalog. A change guards the whole value it was made from, so of two
 * that change one version, one is told E_CONFLICT. The others hear of it as they hear of a changed
 * table (catalog_lease.c): who may have missed notifications serves nothing until it has loaded the
 * texts, too. */
#include "table/catalog/text.h"

#include "base/buf.h"
#include "base/fault.h"
#include "table/catalog/catalog_journal.h"
#include "table/catalog/catalog.h"
#include "table/core/db.h"
#include "table/sync/wait.h"

#include <stdio.h>
#include <string.h>

#define FORM 1
#define HEAD_BYTES (1 + 8)

struct texts *texts_new(void)
{
    struct texts *t = mem_zalloc(sizeof(*t));

    pthread_mutex_init(&t->lock, NULL);
    return t;
}

void texts_free(struct texts *t)
{
    pthread_mutex_destroy(&t->lock);
    mem_free(t);
}

int texts_changed(struct texts *t)
{
    int code = E_OK;

    pthread_mutex_lock(&t->lock);
    for (size_t i = 0; i < t->count; i++) {
        int each = t->watchers[i].fn(t->watchers[i].arg);

        code = code ? code : each;
    }
    pthread_mutex_unlock(&t->lock);
    return code;
}

void wr_text_watch(struct wr_db *db, wr_text_fn *fn, void *arg)
{
    struct texts *t = db->texts;
    size_t i = 0;

    pthread_mutex_lock(&t->lock);
    while (i < t->count && t->watchers[i].arg != arg)
        i++;
    if (!fn && i < t->count)
        t->watchers[i] = t->watchers[--t->count];
    if (fn && i == t->count && t->count < TEXT_WATCHERS_MAX)
        t->count++;
    if (fn && i < t->count)
        t->watchers[i] = (struct text_watcher){fn, arg};
    pthread_mutex_unlock(&t->lock);
}

bool wr_in_touch(struct wr_db *db)
{
    struct ctx c;
    bool yes;

    if (!db_is_shared(db))
        return true;
    ctx_init(&c, &db->clock, &db->log, NULL, 0);
    yes = !catalog_check(&c, db->catalog);
    ctx_release(&c);
    return yes;
}

/* ---- the stored form ---- */

bytes text_encode(struct arena *a, const struct wr_text *t)
{
    struct buf b;

    buf_init(&b, a, HEAD_BYTES + t->len);
    buf_put_u8(&b, FORM);
    buf_put_u64(&b, t->version);
    buf_put_bytes(&b, bytes_of(t->text, t->len));
    return buf_bytes(&b);
}

int text_decode(struct ctx *c, bytes stored, struct wr_text *out)
{
    const uint8_t *p = stored.ptr;

    if (stored.len && p[0] != FORM)
        return fail(c, E_FORMAT, "A shared text is of version %d; this program reads %d.", p[0],
                    FORM);
    if (stored.len < HEAD_BYTES || !load_u64(p + 1))
        return fail(c, E_CORRUPT, "A shared text is damaged.");
    *out = (struct wr_text){load_u64(p + 1), (char *)(uintptr_t)(p + HEAD_BYTES),
                            stored.len - HEAD_BYTES};
    return E_OK;
}

/* ---- load and store ---- */

/* What is overwritten may be a secret, and the arena goes back to the allocator as it is. */
static void wipe(bytes b)
{
    if (b.len)
        explicit_bzero((void *)(uintptr_t)b.ptr, b.len);
}

/* The stored bytes in the arena of c; found false: none. What we are about to store ourselves is
 * not there before it is there to stay: it may fail, and who had taken it would pass over the
 * version that stands in its place. */
static int text_get(struct ctx *c, struct wr_db *db, const char *name, struct get *get)
{
    *get = (struct get){.partition = PARTITION_SYSTEM,
                        .key = catalog_text_key(&c->arena, bytes_str(name)),
                        .view = VIEW_DURABLE};
    return wait_get(c, db->engine, get);
}

static int text_take(struct ctx *c, struct wr_db *db, const char *name, struct wr_text *out)
{
    struct get get;
    struct wr_text view;
    int code;

    TRY(text_get(c, db, name, &get));
    if (!get.found)
        return E_OK;
    code = text_decode(c, get.value, &view);
    if (!code) {
        *out = (struct wr_text){view.version, mem_alloc(view.len + 1), view.len};
        memcpy(out->text, view.text, view.len);
        out->text[view.len] = 0;
    }
    return code;
}

static int text_put(struct ctx *c, struct wr_db *db, const char *name, const struct wr_text *t)
{
    struct wr_text next = {t->version + 1, t->text, t->len}, now = {0};
    bytes value = text_encode(&c->arena, &next);
    struct get get;
    struct guard guard = {.absent = true};
    struct batch_builder builder = {.arena = &c->arena};
    struct write_batch batch = {.partition = PARTITION_SYSTEM, .guards = &guard, .guard_count = 1};
    int code;

    TRY(text_get(c, db, name, &get));
    if (get.found)
        TRY(text_decode(c, get.value, &now));
    if (now.version != t->version)
        return fail(c, E_CONFLICT, "The text has version %llu, not %llu.",
                    (unsigned long long)now.version, (unsigned long long)t->version);
    guard = (struct guard){get.key, get.found ? get.value : BYTES_NONE, !get.found};
    batch_add(&builder, EDIT_PUT, get.key, value);
    journal_add(db, &builder, &(struct journal_entry){.version = next.version});
    batch.edits = builder.items;
    batch.edit_count = builder.count;
    code = wait_apply(c, db->engine, &batch);
    if (code == E_UNSURE && !text_get(c, db, name, &get) && get.found &&
        bytes_equal(get.value, value))
        code = E_OK; /* it was stored after all */
    if (!code)
        (void)fault_hit(FAULT_text_stored);
    wipe(value);
    if (code == E_GUARD)
        return fail(c, E_CONFLICT, "Another process has changed the text at this moment.");
    return code && !c->code ? fail_code(c, code) : code;
}

static int text_answer(struct ctx *c, int code, char *message, size_t message_size)
{
    if (message && message_size)
        snprintf(message, message_size, "%s", code ? c->text ? c->text : err_info(code)->text : "");
    ctx_release(c);
    return code;
}

int wr_text_load(struct wr_db *db, const char *name, struct wr_text *out, char *message,
                 size_t message_size)
{
    struct ctx c;

    *out = (struct wr_text){0};
    ctx_init(&c, &db->clock, &db->log, NULL, 0);
    return text_answer(&c, text_take(&c, db, name, out), message, message_size);
}

int wr_text_store(struct wr_db *db, const char *name, const struct wr_text *text, char *message,
                  size_t message_size)
{
    struct ctx c;
    int code;

    ctx_init(&c, &db->clock, &db->log, NULL, 0);
    if (text->len > WR_TEXT_BYTES_MAX)
        code = fail(&c, E_PARAMETER, "The text has %zu bytes; %d is the most.", text->len,
                    WR_TEXT_BYTES_MAX);
    else
        code = text_put(&c, db, name, text);
    return text_answer(&c, code, message, message_size);
}

int wr_text_tell(struct wr_db *db, char *message, size_t message_size)
{
    struct waiter w;
    struct ctx c;
    int code = E_OK;

    ctx_init(&c, &db->clock, &db->log, NULL, 0);
    if (db_is_shared(db)) {
        waiter_init(&w);
        engine_publish(db->engine, catalog_notification_of_texts(&c.arena), ENGINE_PUBLISH_MS,
                       waiter_done, &w);
        code = waiter_wait(&w);
        if (code == E_BUSY) /* the silent serve nothing before they have read it */
            code = E_OK;
    }
    if (code)
        fail(&c, code, "Some of the other servers may not know of the change yet.");
    return text_answer(&c, code, message, message_size);
}

void wr_leave(struct wr_db *db)
{
    engine_leave(db->engine);
}

void wr_text_clear(struct wr_text *t)
{
    wipe(bytes_of(t->text, t->len));
    mem_free(t->text);
    *t = (struct wr_text){0};
}
