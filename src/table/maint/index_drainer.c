#include "table/maint/index_drainer.h"

#include "base/fault.h"
#include "base/log.h"
#include "base/service.h"
#include "base/thread.h"
#include "table/catalog/catalog.h"
#include "table/core/db.h"
#include "table/index/outbox.h"
#include "table/index/outbox_queue.h"
#include "table/maint/index_drain.h"

#include <stdatomic.h>

#define RECORDS_AT_ONCE 256
#define WALK_EVERY_MS 10000
#define MARKS_STAY_US 60000000 /* how rarely fences move, and no more (settle.h) */
#define BUSY_PAUSE_US 20000
#define FAILED_PAUSE_US 500000
#define LAST_MS 3000 /* for what is left at the end */
#define LOG_EVERY_MS 10000

/* How far a walk over the records of all tables has come. */
struct drain_walk {
    int64_t next_ms; /* the next begins then, monotonic; it is under way if 0 */
    uint32_t table;  /* the id of the one it is at, or has been at last */
    bool inside;     /* it has not seen all of its records */
    uint64_t left;   /* records that it did not drain */
    size_t bucket;
    bytes after; /* allocated; ptr NULL: at the bucket's beginning */
};

struct index_drainer {
    struct wr_db *db;
    struct outbox_queue *queue;
    struct service service;
    struct drain_walk walk;
    _Atomic uint64_t left; /* what the last walk did not drain */
    int64_t logged_ms;     /* a failure, monotonic; 0: none yet */
};

/* Records whose last change was stamped lower lose their marks. */
static uint64_t marks_due(struct wr_db *db)
{
    struct stamp_time now = db_clock_read(db);

    return now.us > MARKS_STAY_US ? (uint64_t)(now.us - MARKS_STAY_US) * now.unit : 0;
}

static void log_failure(struct index_drainer *d, bytes table, const struct ctx *c, int code)
{
    int64_t now_ms = clock_mono_ms(&d->db->clock);

    if (d->logged_ms && now_ms - d->logged_ms < LOG_EVERY_MS)
        return;
    d->logged_ms = now_ms;
    log_warn(&d->db->log,
             "indexes: changes of table '%.*s' do not reach them: %s; it is tried "
             "again",
             BYTES_FMT(table), c->text ? c->text : err_info(code)->text);
}

/* ---- what this server wrote ---- */

/* The records of these rows. *busy: some were not drained. */
static int drain_taken(struct index_drainer *d, struct ctx *c, struct table *t,
                       const struct outbox_taken *taken, bool *busy)
{
    struct drain_key *keys = ARENA_ARRAY(&c->arena, struct drain_key, taken->count);
    bytes *left = ARENA_ARRAY(&c->arena, bytes, taken->count);
    size_t n = 0;
    int code;

    for (size_t i = 0; i < taken->count; i++)
        keys[i] = (struct drain_key){
            .key = beside_key(&c->arena, &t->schema.location, taken->cols[i], BESIDE_OUTBOX)};
    code = index_drain_keys(c, t, keys, taken->count, 0);
    for (size_t i = 0; i < taken->count; i++)
        if (code || keys[i].end == DRAINED_NOT)
            left[n++] = taken->cols[i];
    outbox_queue_return(d->queue, taken, left, n);
    *busy = n != 0;
    return code;
}

/* Of the table as it is now; records of one that cannot be found are the walk's. */
static int drain_some(struct index_drainer *d, struct ctx *c, const struct outbox_taken *taken,
                      bool *busy)
{
    struct table *t = catalog_get(d->db->catalog, taken->instance, taken->table);
    int code = E_OK;

    *busy = false;
    if (t && t->schema.id == taken->id)
        code = drain_taken(d, c, t, taken, busy);
    if (t)
        table_release(t);
    if (code)
        log_failure(d, taken->table, c, code);
    return code;
}

/* False: there was nothing. *pause_us: nothing can be done before. */
static bool drain_queue(struct index_drainer *d, int64_t *pause_us)
{
    struct outbox_taken taken;
    bool busy, any;
    struct ctx c;

    *pause_us = 0;
    ctx_init(&c, &d->db->clock, &d->db->log, NULL, 0);
    any = outbox_queue_take(d->queue, &c.arena, RECORDS_AT_ONCE, &taken);
    if (any) {
        int code = drain_some(d, &c, &taken, &busy);

        outbox_queue_taken_end(d->queue);
        *pause_us = code ? FAILED_PAUSE_US : busy ? BUSY_PAUSE_US : 0;
    }
    ctx_release(&c);
    return any;
}

/* ---- the walk over all records ---- */

static void walk_keep(struct drain_walk *w, bytes after)
{
    uint8_t *copy = after.ptr ? mem_alloc(after.len) : NULL;

    if (copy)
        memcpy(copy, after.ptr, after.len);
    mem_free((void *)w->after.ptr);
    w->after = copy ? bytes_of(copy, after.len) : BYTES_NONE;
}

/* A page of the table's records. */
static int walk_table(struct index_drainer *d, struct table *t)
{
    struct drain_walk *w = &d->walk;
    struct index_drain page = {.table = t, .due = marks_due(d->db)};
    struct ctx c;
    int code;

    ctx_init(&c, &d->db->clock, &d->db->log, NULL, 0);
    page.c = &c;
    if (w->inside) {
        page.bucket = w->bucket;
        page.after = w->after;
    }
    w->table = t->schema.id;
    code = index_drain_page(&page);
    if (code)
        log_failure(d, t->schema.d.table, &c, code);
    w->left += page.unsettled + (code != E_OK);
    w->inside = !code && !page.ended;
    w->bucket = page.bucket;
    walk_keep(w, w->inside ? page.after : BYTES_NONE);
    ctx_release(&c);
    return code;
}

/* The table to be gone on with, referenced; NULL: the walk is over. */
static struct table *walk_next(struct index_drainer *d, struct arena *a)
{
    const struct drain_walk *w = &d->walk;
    struct table **tables, *next = NULL;
    size_t n = catalog_all(d->db->catalog, a, &tables);

    for (size_t i = 0; i < n; i++) {
        uint32_t id = tables[i]->schema.id;

        if (tables[i]->schema.outbox && !tables[i]->schema.base.table.len &&
            (w->inside ? id >= w->table : id > w->table) && (!next || id < next->schema.id)) {
            if (next)
                table_release(next);
            next = tables[i];
        } else {
            table_release(tables[i]);
        }
    }
    return next;
}

/* One page, if it is time. False: it is not. */
static bool walk_some(struct index_drainer *d)
{
    struct drain_walk *w = &d->walk;
    struct table *t;
    struct ctx c;

    if (clock_mono_ms(&d->db->clock) < w->next_ms)
        return false;
    ctx_init(&c, &d->db->clock, &d->db->log, NULL, 0);
    t = catalog_check(&c, d->db->catalog) ? NULL : walk_next(d, &c.arena);
    if (t) {
        if (w->inside && t->schema.id != w->table)
            w->inside = false;
        (void)walk_table(d, t);
        table_release(t);
    } else {
        walk_keep(w, BYTES_NONE);
        atomic_store(&d->left, w->left);
        *w = (struct drain_walk){.next_ms = clock_mono_ms(&d->db->clock) + WALK_EVERY_MS};
    }
    ctx_release(&c);
    return t != NULL;
}

/* ---- the thread ---- */

/* Until there is something to do. */
static void drainer_rest(struct index_drainer *d)
{
    int64_t ms = d->walk.next_ms - clock_mono_ms(&d->db->clock);
    struct timespec until = thread_time_in((ms > 0 ? ms : 0) * 1000);

    pthread_mutex_lock(&d->service.lock);
    while (!d->service.stop && !outbox_queue_count(d->queue) && service_wait(&d->service, &until))
        ;
    pthread_mutex_unlock(&d->service.lock);
}

static void *drainer_main(void *arg)
{
    struct index_drainer *d = arg;

    while (!service_stopping(&d->service)) {
        int64_t pause_us;
        bool drained = drain_queue(d, &pause_us), walked = walk_some(d);

        if (pause_us)
            service_sleep(&d->service, pause_us);
        else if (!drained && !walked)
            drainer_rest(d);
    }
    for (int64_t end_ms = clock_mono_ms(&d->db->clock) + LAST_MS, pause_us = 0;
         clock_mono_ms(&d->db->clock) < end_ms && !pause_us && drain_queue(d, &pause_us);)
        ;
    return NULL;
}

static void drainer_wake(void *arg)
{
    struct index_drainer *d = arg;

    service_wake(&d->service);
}

struct index_drainer *index_drainer_start(struct wr_db *db, bool *needed)
{
    struct index_drainer *d;

    *needed = !engine_one_key_space(db->engine);
    if (!*needed)
        return NULL;
    d = mem_zalloc(sizeof(*d));
    d->db = db;
    d->queue = db->outboxes;
    d->walk.next_ms = clock_mono_ms(&db->clock) + WALK_EVERY_MS;
    if (!service_start(&d->service, "wr-drainer", drainer_main, d)) {
        mem_free(d);
        return NULL;
    }
    outbox_queue_on_work(d->queue, drainer_wake, d);
    return d;
}

void index_drainer_stop(struct index_drainer *d)
{
    if (!d)
        return;
    outbox_queue_on_work(d->queue, NULL, NULL);
    service_stop(&d->service);
    walk_keep(&d->walk, BYTES_NONE);
    mem_free(d);
}

void index_drainer_stat(struct index_drainer *d, struct index_drainer_stat *out)
{
    *out = (struct index_drainer_stat){0};
    if (!d)
        return;
    out->waiting = outbox_queue_count(d->queue);
    out->age_ms = (uint64_t)outbox_queue_age_ms(d->queue, clock_mono_ms(&d->db->clock));
    out->left = atomic_load(&d->left);
}
