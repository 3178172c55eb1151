#include "table/core/db_clock.h"

#include "table/core/catalog_key.h"
#include "table/core/db.h"
#include "table/sync/wait.h"

#define SLOT_UNIT 1024   /* of a row's stamp, where several servers write */
#define LEASE_US 1000000 /* on one machine: a restart after a crash may begin so far ahead */
#define LEASE_SHARED_US 4000000
#define LEASE_RETRY_US 1000000
#define SET_BACK_US 10000 /* less is another thread's reading */
#define VERSIONS_MS 1000

/* ---- the lease ---- */

static int64_t lease_length(const struct wr_db *db)
{
    return db_is_shared(db) ? LEASE_SHARED_US : LEASE_US;
}

struct lease_store {
    struct db_clock *k;
    struct ctx c;
    struct edit edit;
    int64_t until_us;
};

static int64_t raise_to(_Atomic int64_t *to, int64_t us)
{
    int64_t last = atomic_load_explicit(to, memory_order_relaxed);

    while (last < us && !atomic_compare_exchange_weak(to, &last, us))
        ;
    return last < us ? us : last;
}

static void lease_stored(void *arg, int code)
{
    struct lease_store *s = arg;
    struct db_clock *k = s->k;

    if (code) {
        atomic_store(&k->retry_us, clock_mono_us(&k->db->clock) + LEASE_RETRY_US);
        atomic_fetch_add(&k->lease_failures, 1);
        atomic_store(&k->lease_us, atomic_load(&k->stored_us));
    } else {
        raise_to(&k->stored_us, s->until_us);
    }
    ctx_release(&s->c);
    mem_free(s);
}

static struct write_batch lease_batch(struct arena *a, struct edit *edit, int64_t until_us)
{
    *edit = (struct edit){EDIT_PUT, catalog_plain_key(a, CATALOG_CLOCK),
                          catalog_number_value(a, (uint64_t)until_us)};
    return (struct write_batch){.partition = PARTITION_SYSTEM, .edits = edit, .edit_count = 1};
}

/* Holds lease_lock. The lease counts from when it is appended; it may have failed by then. */
static void lease_append(struct db_clock *k, int64_t until_us)
{
    struct lease_store *s = mem_zalloc(sizeof(*s));
    unsigned failures = atomic_load(&k->lease_failures);
    struct write_batch batch;

    s->k = k;
    s->until_us = until_us;
    ctx_init(&s->c, &k->db->clock, &k->db->log, NULL, 0);
    batch = lease_batch(&s->c.arena, &s->edit, until_us);
    engine_apply(&s->c, k->db->engine, &batch, lease_stored, s);
    raise_to(&k->lease_us, until_us);
    if (atomic_load(&k->lease_failures) != failures)
        atomic_store(&k->lease_us, atomic_load(&k->stored_us));
}

/* A completion that is called within the append may come back here and append a later lease: then
 * that one is appended again, as the last lease of the log counts. */
static void lease_extend(struct db_clock *k, int64_t until_us)
{
    do {
        until_us = until_us > k->requested_us ? until_us : k->requested_us;
        k->requested_us = until_us;
        lease_append(k, until_us);
    } while (k->requested_us > until_us);
}

/* Nobody waits for storage: the lease is appended before the batch of whoever reads a time that
 * needs it, so a log that has that batch has the lease too. While the lease is only half spent, one
 * thread appends the next; past its end all others wait until that is done. On a pool a lease and a
 * batch may land in any order, and the stamps of rows hold the time in theirs; there a lease that
 * failed is left alone for a while. */
static void lease_renew(struct db_clock *k, int64_t now_us)
{
    bool is_past = now_us > atomic_load(&k->lease_us) && !db_is_shared(k->db);

    if (is_past)
        pthread_mutex_lock(&k->lease_lock);
    else if (clock_mono_us(&k->db->clock) < atomic_load(&k->retry_us) ||
             pthread_mutex_trylock(&k->lease_lock))
        return;
    if (now_us > atomic_load(&k->lease_us) - lease_length(k->db) / 2)
        lease_extend(k, now_us + lease_length(k->db));
    pthread_mutex_unlock(&k->lease_lock);
}

static int lease_store_now(struct ctx *c, struct db_clock *k, int64_t until_us)
{
    struct edit edit;
    struct write_batch batch = lease_batch(&c->arena, &edit, until_us);

    TRY(wait_apply(c, k->db->engine, &batch));
    atomic_store(&k->stored_us, until_us);
    atomic_store(&k->lease_us, until_us);
    return E_OK;
}

/* ---- reading ---- */

/* The wall clock lies behind: it was set back, or another thread was faster. */
static int64_t own_behind(struct db_clock *k, int64_t wall_us)
{
    int64_t mono_us, now_us, passed_us;

    pthread_mutex_lock(&k->lock);
    mono_us = clock_mono_us(&k->db->clock);
    now_us = atomic_load(&k->own_us);
    if (!atomic_load(&k->is_ahead) && now_us - wall_us >= SET_BACK_US) {
        log_warn(&k->db->log,
                 "clock: the wall clock is %lld ms behind the stamps that were given. Stamps go on "
                 "from there, slower than time passes, until it has caught up.",
                 (long long)(now_us - wall_us) / 1000);
        k->ahead_us = now_us;
        k->ahead_since_us = mono_us;
        atomic_store(&k->is_ahead, true);
    }
    if (atomic_load(&k->is_ahead)) {
        passed_us = mono_us > k->ahead_since_us ? mono_us - k->ahead_since_us : 0;
        now_us = k->ahead_us + passed_us - passed_us / 8;
        if (wall_us >= now_us) {
            atomic_store(&k->is_ahead, false);
            now_us = wall_us;
        }
    }
    pthread_mutex_unlock(&k->lock);
    return raise_to(&k->own_us, now_us);
}

static int64_t own_read(struct db_clock *k)
{
    int64_t wall_us = clock_wall_us(&k->db->clock);

    if (PORT_LIKELY(wall_us >= atomic_load_explicit(&k->own_us, memory_order_relaxed) &&
                    !atomic_load_explicit(&k->is_ahead, memory_order_relaxed)))
        return raise_to(&k->own_us, wall_us);
    return own_behind(k, wall_us);
}

static int64_t own_or_met(const struct db_clock *k, int64_t own_us)
{
    int64_t met_us = atomic_load_explicit(&k->met_us, memory_order_relaxed);

    return own_us > met_us ? own_us : met_us;
}

int64_t db_clock_peek(struct wr_db *db)
{
    return own_or_met(&db->stamps, own_read(&db->stamps));
}

struct stamp_time db_clock_read(struct wr_db *db)
{
    struct db_clock *k = &db->stamps;
    int64_t own_us = own_read(k);
    struct stamp_time t = {
        .us = own_or_met(k, own_us), .versions_to_ms = own_us / 1000 + VERSIONS_MS, .unit = 1};

    if (db_is_shared(db)) {
        t.unit = SLOT_UNIT;
        t.slot = db->slot % SLOT_UNIT;
    }
    if (PORT_UNLIKELY(t.us > atomic_load_explicit(&k->lease_us, memory_order_acquire) -
                                 lease_length(db) / 2))
        lease_renew(k, t.us);
    return t;
}

int64_t db_clock_ms(struct wr_db *db)
{
    return db_clock_read(db).us / 1000;
}

bool db_clock_is_before(struct wr_db *db, int64_t stamp_ms)
{
    return !db_is_shared(db) && stamp_ms < db->stamps.opened_us / 1000;
}

void db_clock_meet(struct wr_db *db, uint64_t row_stamp)
{
    int64_t us = (int64_t)(row_stamp / SLOT_UNIT);

    if (us > atomic_load_explicit(&db->stamps.own_us, memory_order_relaxed) &&
        us < own_read(&db->stamps) + DB_CLOCK_SKEW_US)
        raise_to(&db->stamps.met_us, us);
}

/* ---- opening and closing ---- */

void db_clock_init(struct db_clock *k, struct wr_db *db)
{
    pthread_mutexattr_t again;

    k->db = db;
    pthread_mutex_init(&k->lock, NULL);
    pthread_mutexattr_init(&again);
    pthread_mutexattr_settype(&again, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&k->lease_lock, &again);
    pthread_mutexattr_destroy(&again);
}

void db_clock_destroy(struct db_clock *k)
{
    pthread_mutex_destroy(&k->lease_lock);
    pthread_mutex_destroy(&k->lock);
}

/* On a pool the lease is the fastest server's, and an opening does not wait for others: it begins
 * where they surely have been. */
static int64_t opening_us(struct wr_db *db, int64_t wall_us, int64_t lease_us)
{
    int64_t least_us = db_is_shared(db) ? lease_us - LEASE_SHARED_US : lease_us;

    return least_us > wall_us ? least_us : wall_us;
}

int db_clock_open(struct ctx *c, struct wr_db *db, bool reset)
{
    struct db_clock *k = &db->stamps;
    int64_t wall_us = clock_wall_us(&db->clock), lease_us;
    uint64_t stored;

    TRY(catalog_load_number(c, db->engine, CATALOG_CLOCK, &stored));
    lease_us = (int64_t)stored;
    k->opened_us = reset ? wall_us : opening_us(db, wall_us, lease_us);
    if (k->opened_us - wall_us > 60 * 1000000ll)
        log_warn(&db->log,
                 "clock: stamps were given up to %lld s ahead of the wall clock, and go on from "
                 "there. If the wall clock is right: doc/operations.md, \"The clock\".",
                 (long long)(k->opened_us - wall_us) / 1000000);
    atomic_store(&k->own_us, k->opened_us);
    atomic_store(&k->stored_us, lease_us);
    atomic_store(&k->lease_us, lease_us);
    k->requested_us = 0;
    k->ahead_us = k->opened_us;
    k->ahead_since_us = clock_mono_us(&db->clock);
    atomic_store(&k->is_ahead, k->opened_us > wall_us);
    if (reset && lease_us > wall_us) {
        log_warn(&db->log, "clock: set back by %lld s to the wall clock, as was asked",
                 (long long)(lease_us - wall_us) / 1000000);
        TRY(lease_store_now(c, k, wall_us + lease_length(db)));
    }
    return E_OK;
}

/* A millisecond on, so that what is kept in milliseconds can be told to be of before. */
void db_clock_close(struct ctx *c, struct wr_db *db)
{
    if (!db_is_shared(db) && atomic_load(&db->stamps.lease_us)) /* others may be ahead of us */
        lease_store_now(c, &db->stamps, atomic_load(&db->stamps.own_us) + 1000);
}
