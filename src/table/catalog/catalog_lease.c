/* catalog_lease.c: what other processes change, and whether what is cached may be used.
 *
 * Where others change tables, too, each change guards the stored record that it was made from, and
 * is published to all before it is answered; a process that hears of it reads the record again. A
 * process that may have missed notifications serves nothing until it has read all of them. */
#include "table/catalog/catalog_own.h"

#include "base/fault.h"
#include "base/invariant.h"
#include "base/log.h"
#include "table/core/jobs.h"
#include "table/sync/wait.h"

#include <unistd.h>

struct heard {
    struct job job;
    struct catalog *cat;
    struct notification *notification;
    int64_t came_ms; /* monotonic */
};

static int hear(struct ctx *c, struct heard *h, bytes *answer)
{
    struct catalog *cat = h->cat;
    bytes instance, name;

    switch (catalog_notice_of(h->notification->text, &instance, &name)) {
    case NOTICE_TABLE:
        if (fault_hit(FAULT_catalog_deaf))
            return E_OK;
        return catalog_reread(c, cat, instance, name);
    case NOTICE_TEXTS:
        return cat->listener->texts_changed(cat->db);
    case NOTICE_QUESTION:
        *answer = cat->listener->asked(c, cat->db, h->notification->text,
                                       clock_mono_ms(&cat->db->clock) - h->came_ms);
        return E_OK;
    case NOTICE_DAMAGED:
        break;
    }
    return E_CORRUPT;
}

static void heard_run(struct job *self)
{
    struct heard *h = PORT_CONTAINER(self, struct heard, job);
    struct catalog *cat = h->cat;
    bytes answer = BYTES_NONE;
    struct ctx c;
    int code;

    ctx_init(&c, &cat->db->clock, &cat->db->log, NULL, 0);
    code = hear(&c, h, &answer);
    if (code) { /* without the record we know less than we say we do */
        log_warn(
            &cat->db->log,
            "peers: what another server changed is not known here: %s; all tables are read again",
            c.text ? c.text : err_info(code)->text);
        atomic_fetch_add(&cat->lease.lost, 1);
    }
    engine_notification_done(cat->db->engine, h->notification, answer);
    ctx_release(&c);
    mem_free(h);
}

static void on_notification(void *arg, struct notification *n)
{
    struct catalog *cat = arg;
    struct heard *h = mem_zalloc(sizeof(*h));

    h->cat = cat;
    h->notification = n;
    h->came_ms = clock_mono_ms(&cat->db->clock);
    h->job.run = heard_run;
    jobs_hear(cat->db->jobs, &h->job);
}

static void notify_done(void *arg, int code)
{
    struct ctx *c = arg;

    (void)code;
    ctx_release(c);
    mem_free(c);
}

void catalog_notify_soon(struct catalog *cat, bytes instance, bytes name)
{
    struct ctx *c = mem_zalloc(sizeof(*c));

    ctx_init(c, &cat->db->clock, &cat->db->log, NULL, 0);
    engine_publish(cat->db->engine, catalog_notification_text(&c->arena, instance, name),
                   ENGINE_PUBLISH_MS, notify_done, c);
}

static int listen_begin(struct ctx *c, struct catalog *cat)
{
    int64_t now = clock_mono_ms(&cat->db->clock);

    TRY(engine_subscribe(c, cat->db->engine, on_notification, cat));
    atomic_store(&cat->lease.until_ms, now + ENGINE_LEASE_MS);
    return E_OK;
}

/* All that is stored is read again, in listening. */
static int reload_all(struct ctx *c, struct catalog *cat)
{
    TRY(catalog_load_all(c, cat));
    return cat->listener->texts_changed(cat->db);
}

/* Moves the end of the lease. False: the lease is lost. */
static bool renew(struct catalog *cat)
{
    int64_t now = clock_mono_ms(&cat->db->clock), age = engine_lease_age_ms(cat->db->engine);

    if (age >= ENGINE_LEASE_MS)
        return false;
    atomic_store(&cat->lease.until_ms, now - age + ENGINE_LEASE_MS);
    return true;
}

/* False: it is not `from`; nothing has changed. */
static bool listening_enter(struct catalog *cat, enum catalog_listening from,
                            enum catalog_listening next)
{
    int expected = from;

    invariant(next == CATALOG_RELOADING ? from != CATALOG_RELOADING
                                        : from == CATALOG_RELOADING || next == CATALOG_CLOSED);
    return atomic_compare_exchange_strong(&cat->listening, &expected, next);
}

static void reload_over(struct catalog *cat)
{
    bool was_ours = listening_enter(cat, CATALOG_RELOADING, CATALOG_OPEN);

    invariant(was_ours);
}

/* By whoever is RELOADING. Later than the first time the journal's thread renews the lease.
 */
static int catch_up(struct ctx *c, struct catalog *cat, bool first)
{
    struct engine *e = cat->db->engine;
    uint64_t lost = atomic_load(&cat->lease.lost);

    if (atomic_exchange(&cat->lapsed, false) || engine_lease_age_ms(e) == INT64_MAX)
        TRY(listen_begin(c, cat));
    if (engine_lease_age_ms(e) >= ENGINE_LEASE_MS)
        return fail(c, E_UNAVAILABLE,
                    "The lease on notifications of the other servers was lost again.");
    TRY(reload_all(c, cat));
    if (first)
        (void)renew(cat);
    atomic_store(&cat->made_up, lost); /* what was missed since counts anew */
    return E_OK;
}

static void reload_run(struct job *self)
{
    struct catalog *cat = PORT_CONTAINER(self, struct catalog, reload);
    struct ctx c;

    ctx_init(&c, &cat->db->clock, &cat->db->log, NULL, 0);
    if (!catch_up(&c, cat, false))
        log_info(&cat->db->log, "catalog: in touch with the other servers again");
    ctx_release(&c);
    reload_over(cat);
}

int catalog_start(struct ctx *c, struct catalog *cat)
{
    int code;

    if (!db_is_shared(cat->db))
        return E_OK;
    if (!listening_enter(cat, CATALOG_CLOSED, CATALOG_RELOADING))
        return fail(c, E_INTERNAL, "The catalog listens already.");
    code = catch_up(c, cat, true);
    reload_over(cat);
    return code;
}

void catalog_stop(struct catalog *cat)
{
    struct ctx c;

    if (!cat || atomic_load(&cat->listening) == CATALOG_CLOSED)
        return;
    while (!listening_enter(cat, CATALOG_OPEN,
                            CATALOG_CLOSED)) /* a thread for notifications ends what it has begun */
        usleep(1000);
    ctx_init(&c, &cat->db->clock, &cat->db->log, NULL, 0);
    engine_subscribe(&c, cat->db->engine, NULL, NULL);
    ctx_release(&c);
}

static bool is_stale(const struct catalog *cat)
{
    return atomic_load(&cat->lease.lost) != atomic_load(&cat->made_up);
}

static int out_of_touch(struct ctx *c)
{
    return fail(c, E_UNAVAILABLE,
                "This server is out of touch with the others; it reads its tables again.");
}

int catalog_check(struct ctx *c, struct catalog *cat)
{
    int64_t now;

    if (!db_is_shared(cat->db))
        return E_OK;
    now = clock_mono_ms(&cat->db->clock);
    if (!is_stale(cat) && now < atomic_load(&cat->lease.until_ms) - ENGINE_LEASE_MS / 2)
        return catalog_numbers_check(c, cat);
    /* A task in the background asks while catalog_start() is at it: there is no lease yet that
     * could be lost, and one that counted as lost would refuse the first requests. */
    if (!atomic_load(&cat->made_up))
        return out_of_touch(c);
    /* The journal's thread comes by every few seconds. It did not: this process, or its machine,
     * was paused, and what the lease tells now says nothing of the time before. */
    if (now >= atomic_load(&cat->lease.until_ms)) {
        atomic_fetch_add(&cat->lease.lost, 1);
        atomic_store(&cat->lapsed, true);
    }
    if (!renew(cat))
        atomic_fetch_add(&cat->lease.lost, 1);
    if (!is_stale(cat))
        return catalog_numbers_check(c, cat);
    if (listening_enter(cat, CATALOG_OPEN, CATALOG_RELOADING)) {
        cat->reload.run = reload_run;
        jobs_hear(cat->db->jobs, &cat->reload);
    }
    return out_of_touch(c);
}

bool catalog_is_fresh(struct catalog *cat)
{
    int64_t now, age;

    if (!db_is_shared(cat->db))
        return true;
    now = clock_mono_ms(&cat->db->clock);
    if (is_stale(cat) || fault_hit(FAULT_catalog_late))
        return false;
    if (now < atomic_load(&cat->fresh_until_ms))
        return true;
    age = engine_lease_age_ms(cat->db->engine);
    if (age >= CATALOG_FRESH_MS)
        return false;
    atomic_store(&cat->fresh_until_ms, now - age + CATALOG_FRESH_MS);
    return true;
}
