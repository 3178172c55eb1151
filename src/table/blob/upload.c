#include "table/blob/upload.h"

#include "base/fault.h"
#include "base/service.h"
#include "base/waiter.h"
#include "table/catalog/route.h"
#include "table/model/key.h"
#include "table/sync/wait.h"

#include <time.h>

#define GRACE_MS 60000
#define GRACE_SHORT_MS 4000 /* of test builds, when a test asks for it */
#define RENEW_PARTS 6       /* of a grace: how long a record is left as it is */
#define RETRY_PAUSE_MS 20
#define RETRIES 1500 /* of a batch that storage is too busy for: 30 s */

struct uploads {
    struct wr_db *db;
    struct service service;
    bool renews;          /* there is a thread, since others may take what is not renewed */
    pthread_mutex_t lock; /* of the list */
    struct upload *list;
    unsigned round;
};

int64_t upload_grace_ms(void)
{
    return fault_hit(FAULT_garbage_grace_short) ? GRACE_SHORT_MS : GRACE_MS;
}

/* ---- the record ---- */

static bytes record_key(struct arena *a, const struct upload *u)
{
    return big_garbage_key(a, &u->table->schema.location, u->cols, u->id);
}

static void make_value(struct upload *u, uint8_t *to)
{
    uint8_t first[64];
    struct arena a;
    enum garbage_kind kind = db_is_shared(u->db) ? GARBAGE_UPLOAD : GARBAGE_CELL;

    arena_init(&a, first, sizeof(first));
    memcpy(to, big_garbage_value(&a, kind, db_clock_ms(u->db)).ptr, BIG_GARBAGE_BYTES);
    arena_release(&a);
}

static int fail_lost(struct ctx *c)
{
    return fail(c, E_BUSY,
                "The upload made no progress that other servers could see, and they have removed "
                "what was stored of it; the cell was not changed. Send it again.");
}

/* Under the lock: what the record is after a change of it whose answer did not come. Batches of one
 * process land in the order in which they were sent, so what is read now stays so. */
static int clear_doubt(struct ctx *c, struct upload *u)
{
    struct get get = {.view = VIEW_LATEST, .key = record_key(&c->arena, u)};
    bool is_new;

    TRY(route_get_now(c, u->table, &get));
    is_new = get.found && bytes_equal(get.value, bytes_of(u->maybe, BIG_GARBAGE_BYTES));
    if (is_new)
        memcpy(u->value, u->maybe, BIG_GARBAGE_BYTES);
    else if (!get.found || !bytes_equal(get.value, bytes_of(u->value, BIG_GARBAGE_BYTES)))
        u->lost = true;
    u->doubt = false;
    return u->lost ? fail_lost(c) : E_OK;
}

/* Under the lock: lands `builder` (may be empty) and gives the record the value `next` (NULL: it
 * stays), unless somebody has taken it. */
static int change_once(struct ctx *c, struct upload *u, const struct batch_builder *builder,
                       const uint8_t *next)
{
    struct batch_builder all = {.arena = &c->arena};
    struct guard guard = {record_key(&c->arena, u),
                          arena_copy(&c->arena, bytes_of(u->value, BIG_GARBAGE_BYTES)), false};
    struct write_batch batch = {.guards = &guard, .guard_count = 1};
    int code;

    for (size_t i = 0; builder && i < builder->count; i++)
        batch_add(&all, builder->items[i].type, builder->items[i].key, builder->items[i].value);
    if (next)
        batch_add(&all, EDIT_PUT, guard.key,
                  arena_copy(&c->arena, bytes_of(next, BIG_GARBAGE_BYTES)));
    batch.edits = all.items;
    batch.edit_count = all.count;
    code = route_apply_now(c, u->table, &batch);
    if (code == E_UNSURE && next) {
        memcpy(u->maybe, next, BIG_GARBAGE_BYTES);
        u->doubt = true;
    }
    if (code == E_GUARD) {
        u->lost = true;
        ctx_clear(c);
        return fail_lost(c);
    }
    if (!code && next)
        memcpy(u->value, next, BIG_GARBAGE_BYTES);
    return code;
}

static int change(struct ctx *c, struct upload *u, const struct batch_builder *builder, bool renew)
{
    uint8_t next[BIG_GARBAGE_BYTES];
    int64_t now_ms = clock_mono_ms(&u->db->clock);
    int code;

    if (u->lost)
        return fail_lost(c);
    if (u->doubt)
        TRY(clear_doubt(c, u));
    if (renew)
        make_value(u, next);
    code = change_once(c, u, builder, renew ? next : NULL);
    if (!code && renew)
        u->renewed_ms = now_ms;
    return code;
}

static bool is_due(struct upload *u)
{
    return clock_mono_ms(&u->db->clock) - u->renewed_ms > upload_grace_ms() / RENEW_PARTS;
}

/* Tries again while storage is too busy. The lock is free in between, so that the record can be
 * renewed. What nobody publishes was not applied, whether or not it landed. */
static int patiently(struct ctx *c, struct upload *u, const struct batch_builder *builder,
                     bool renew)
{
    int code = E_BUSY;

    for (int i = 0; code == E_BUSY && i < RETRIES; i++) {
        if (i)
            nanosleep(&(struct timespec){0, RETRY_PAUSE_MS * 1000000l}, NULL);
        ctx_clear(c);
        pthread_mutex_lock(&u->lock);
        code = change(c, u, builder, renew || is_due(u));
        if (u->lost)
            i = RETRIES;
        pthread_mutex_unlock(&u->lock);
    }
    if (code == E_UNSURE)
        code = E_UNAVAILABLE;
    return code && !c->text ? fail(c, code, "%s", err_info(code)->text) : code;
}

/* ---- where nobody else writes ---- */

static int apply_alone(struct ctx *c, struct upload *u, const struct batch_builder *builder)
{
    struct write_batch batch = {.edits = builder->items, .edit_count = builder->count};
    int code;

    for (int i = 0; (code = route_apply_now(c, u->table, &batch)) == E_BUSY && i < RETRIES; i++)
        nanosleep(&(struct timespec){0, RETRY_PAUSE_MS * 1000000l}, NULL);
    return code ? fail(c, code, "%s", err_info(code)->text) : E_OK;
}

static int put_record(struct ctx *c, struct upload *u, bytes value)
{
    struct batch_builder builder = {.arena = &c->arena};

    batch_add(&builder, EDIT_PUT, record_key(&c->arena, u), value);
    batch_add_shadow(&builder, 0, &u->table->schema);
    return apply_alone(c, u, &builder);
}

/* ---- the thread ---- */

/* One that is due, held by its lock; NULL: none was left of this round. */
static struct upload *take_due(struct uploads *all)
{
    struct upload *u;

    pthread_mutex_lock(&all->lock);
    for (u = all->list; u; u = u->next) {
        if (u->round == all->round || pthread_mutex_trylock(&u->lock))
            continue; /* what is at work renews by itself */
        u->round = all->round;
        if (!u->publishing && !u->lost && is_due(u))
            break;
        pthread_mutex_unlock(&u->lock);
    }
    pthread_mutex_unlock(&all->lock);
    return u;
}

static void upload_renew(struct upload *u)
{
    struct ctx c;
    int code;

    ctx_init(&c, &u->db->clock, &u->db->log, NULL, 0);
    code = change(&c, u, NULL, true);
    if (code)
        log_warn(&u->db->log, "upload: the record of a cell on its way cannot be renewed: %s",
                 c.text ? c.text : err_info(code)->text);
    ctx_release(&c);
    pthread_mutex_unlock(&u->lock);
}

static void *uploads_main(void *arg)
{
    struct uploads *all = arg;

    while (service_sleep(&all->service, upload_grace_ms() * 1000 / RENEW_PARTS / 2)) {
        struct upload *u;

        all->round++;
        while (!service_stopping(&all->service) && (u = take_due(all)))
            upload_renew(u);
    }
    return NULL;
}

struct uploads *uploads_start(struct wr_db *db)
{
    struct uploads *all = mem_zalloc(sizeof(*all));

    all->db = db;
    all->renews = db_is_shared(db);
    pthread_mutex_init(&all->lock, NULL);
    if (!all->renews || service_start(&all->service, "wr-upload", uploads_main, all))
        return all;
    pthread_mutex_destroy(&all->lock);
    mem_free(all);
    return NULL;
}

void uploads_stop(struct uploads *all)
{
    if (!all)
        return;
    if (all->renews)
        service_stop(&all->service);
    pthread_mutex_destroy(&all->lock);
    mem_free(all);
}

/* ---- what a writer calls ---- */

void upload_init(struct upload *u, struct wr_db *db, struct table *table, bytes cols, uint64_t id)
{
    *u = (struct upload){.db = db, .table = table, .cols = cols, .id = id};
    pthread_mutex_init(&u->lock, NULL);
}

static void upload_list_add(struct upload *u)
{
    struct uploads *all = u->db->uploads;

    pthread_mutex_lock(&all->lock);
    u->next = all->list;
    u->at = &all->list;
    if (u->next)
        u->next->at = &u->next;
    all->list = u;
    pthread_mutex_unlock(&all->lock);
}

static void upload_list_remove(struct upload *u)
{
    struct uploads *all = u->db->uploads;

    pthread_mutex_lock(&all->lock);
    *u->at = u->next;
    if (u->next)
        u->next->at = u->at;
    pthread_mutex_unlock(&all->lock);
    pthread_mutex_lock(&u->lock); /* whom the thread has in hand it lets go of first */
    pthread_mutex_unlock(&u->lock);
}

int upload_begin(struct ctx *c, struct upload *u)
{
    u->begun = true;
    make_value(u, u->value);
    u->renewed_ms = clock_mono_ms(&u->db->clock);
    TRY(put_record(c, u, bytes_of(u->value, BIG_GARBAGE_BYTES)));
    if (db_is_shared(u->db))
        upload_list_add(u);
    return E_OK;
}

int upload_store(struct ctx *c, struct upload *u, struct batch_builder *builder)
{
    if (db_is_shared(u->db))
        return patiently(c, u, builder, false);
    batch_add_shadow(builder, 0, &u->table->schema);
    return apply_alone(c, u, builder);
}

int upload_publish_begin(struct ctx *c, struct upload *u)
{
    if (!db_is_shared(u->db) || !u->begun)
        return E_OK;
    TRY(patiently(c, u, NULL, true));
    pthread_mutex_lock(&u->lock);
    u->publishing = true;
    pthread_mutex_unlock(&u->lock);
    return E_OK;
}

void upload_end(struct upload *u, bool failed)
{
    struct ctx c;

    ctx_init(&c, &u->db->clock, &u->db->log, NULL, 0);
    if (u->at)
        upload_list_remove(u);
    /* If this fails: after a grace, or after a restart, at the latest. */
    if (u->begun && failed) {
        bytes given_up = big_garbage_value(&c.arena, GARBAGE_CELL, 0);

        if (!db_is_shared(u->db))
            put_record(&c, u, given_up);
        else if (!u->lost && !(u->doubt && clear_doubt(&c, u)))
            change_once(&c, u, NULL, given_up.ptr);
    }
    ctx_release(&c);
    pthread_mutex_destroy(&u->lock);
}

bool upload_guard(struct arena *a, struct wr_db *db, const struct location *p, bytes cols,
                  uint64_t id, struct guard *out)
{
    struct uploads *all = db->uploads;
    struct upload *u;

    pthread_mutex_lock(&all->lock);
    for (u = all->list; u && u->id != id; u = u->next)
        ;
    /* Settled, so that nobody changes it while we look. */
    if (u)
        *out = (struct guard){big_garbage_key(a, p, cols, id),
                              arena_copy(a, bytes_of(u->value, BIG_GARBAGE_BYTES)), false};
    pthread_mutex_unlock(&all->lock);
    return u != NULL;
}
